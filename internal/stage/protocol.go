package stage

import (
	"encoding/binary"
	"errors"
	"os"
	"time"
)

// The messages that judged-init sends, by their first byte.
const (
	msgReady  = 'r'
	msgParked = 'p'
	msgExit   = 'x'
	msgFailed = 'f' // the rest is an error text
)

// The descriptors that judged-init is started with.
const controlFD = 3

// Load is what judged tells judged-init about one run. It travels as a memfd
// that holds Encode's bytes, followed by the descriptors in the order of the
// members that are named FD here.
type Load struct {
	Args      []string // Args[0] is looked up in the sandbox's PATH if it has no slash
	Env       []string
	UID       int // user and group of the run
	CPUs      []int
	FileSize  uint64 // RLIMIT_FSIZE, bytes
	Stack     uint64 // RLIMIT_STACK, bytes
	OpenFiles uint64 // RLIMIT_NOFILE
	Seccomp   []byte // struct sock_filter instructions
	Files     []File // their descriptors follow at the end
	Tasks     int    // how many v1 tasks files there are
	Birth     bool   // whether there is a v2 group
}

// File is one file of the working directory.
type File struct {
	Name string
	Exec bool
}

// The order of the descriptors: the load itself, stdin, stdout, stderr, the
// read end of the go pipe, the v2 group if Birth, the v1 tasks files, the
// files.
const fixedFDs = 5

// Exit is how the run's first process ended.
type Exit struct {
	Status      uint32        // wait status
	FailedStep  int32         // index of the step before execve that failed, -1 for none
	FailedErrno int32         // its errno
	FailedExec  bool          // the failed step is the execve itself
	Ended       time.Duration // CLOCK_MONOTONIC
	StepName    string        // of FailedStep
	counters                  // while it ran; -1 where the kernel does not show one
}

// encoder writes integers as varints and strings with their length before
// them.
type encoder struct{ b []byte }

func (e *encoder) int(v int64)     { e.b = binary.AppendVarint(e.b, v) }
func (e *encoder) string(s string) { e.int(int64(len(s))); e.b = append(e.b, s...) }
func (e *encoder) bool(v bool) {
	if v {
		e.int(1)
	} else {
		e.int(0)
	}
}
func (e *encoder) strings(list []string) {
	e.int(int64(len(list)))
	for _, s := range list {
		e.string(s)
	}
}

type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) int() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.bad = true
		d.b = nil
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) string() string {
	n := d.int()
	if n < 0 || n > int64(len(d.b)) {
		d.bad = true
		return ""
	}
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}

func (d *decoder) bool() bool { return d.int() != 0 }

// count reads the length of a list; no element is shorter than a byte.
func (d *decoder) count() int {
	n := d.int()
	if n < 0 || n > int64(len(d.b)) {
		d.bad = true
		return 0
	}
	return int(n)
}

func (d *decoder) strings() []string {
	list := make([]string, d.count())
	for i := range list {
		list[i] = d.string()
	}
	return list
}

// Encode returns the bytes of the load's memfd.
func (l *Load) Encode() []byte {
	var e encoder
	e.strings(l.Args)
	e.strings(l.Env)
	e.int(int64(l.UID))
	e.int(int64(len(l.CPUs)))
	for _, c := range l.CPUs {
		e.int(int64(c))
	}
	e.int(int64(l.FileSize))
	e.int(int64(l.Stack))
	e.int(int64(l.OpenFiles))
	e.string(string(l.Seccomp))
	e.int(int64(len(l.Files)))
	for _, f := range l.Files {
		e.string(f.Name)
		e.bool(f.Exec)
	}
	e.int(int64(l.Tasks))
	e.bool(l.Birth)
	return e.b
}

// Decode is the reverse of Encode.
func (l *Load) Decode(b []byte) error {
	d := decoder{b: b}
	l.Args, l.Env, l.UID = d.strings(), d.strings(), int(d.int())
	l.CPUs = make([]int, d.count())
	for i := range l.CPUs {
		l.CPUs[i] = int(d.int())
	}
	l.FileSize, l.Stack, l.OpenFiles = uint64(d.int()), uint64(d.int()), uint64(d.int())
	l.Seccomp = []byte(d.string())
	l.Files = make([]File, d.count())
	for i := range l.Files {
		l.Files[i] = File{Name: d.string(), Exec: d.bool()}
	}
	l.Tasks, l.Birth = int(d.int()), d.bool()
	if d.bad || len(d.b) > 0 {
		return errors.New("decode load: malformed")
	}
	return nil
}

// FDs is how many descriptors travel with the load, its own included.
func (l *Load) FDs() int {
	n := fixedFDs + l.Tasks + len(l.Files)
	if l.Birth {
		n++
	}
	return n
}

func (x *Exit) encode() []byte {
	e := encoder{b: []byte{msgExit}}
	e.int(int64(x.Status))
	e.int(int64(x.FailedStep))
	e.int(int64(x.FailedErrno))
	e.bool(x.FailedExec)
	e.int(int64(x.Ended))
	for _, v := range x.counters.list() {
		e.int(*v)
	}
	e.string(x.StepName)
	return e.b
}

// ErrClosed says that judged-init ended before it had said what was expected.
var ErrClosed = errors.New("judged-init ended unexpectedly")

// ParseReady, ParseParked and ParseExit read one message of judged-init; an
// empty one is the end of the connection.

// ParseReady expects the message that the template is in place.
func ParseReady(msg []byte) error { return expect(msg, msgReady) }

// ParseParked expects the message that the child waits for its go byte.
func ParseParked(msg []byte) error { return expect(msg, msgParked) }

// ParseExit expects the message that the first process has ended.
func ParseExit(msg []byte) (Exit, error) {
	if err := expect(msg, msgExit); err != nil {
		return Exit{}, err
	}
	d := decoder{b: msg[1:]}
	x := Exit{Status: uint32(d.int()), FailedStep: int32(d.int()), FailedErrno: int32(d.int()), FailedExec: d.bool(), Ended: time.Duration(d.int())}
	for _, v := range x.counters.list() {
		*v = d.int()
	}
	x.StepName = d.string()
	if d.bad {
		return Exit{}, errors.New("read message of judged-init: malformed exit")
	}
	return x, nil
}

func expect(msg []byte, kind byte) error {
	switch {
	case len(msg) == 0:
		return ErrClosed
	case msg[0] == msgFailed:
		return errors.New("judged-init: " + string(msg[1:]))
	case msg[0] != kind:
		return errors.New("read message of judged-init: got " + string(msg[:1]) + ", want " + string(kind))
	}
	return nil
}

// MaxMessage is the longest message that judged-init sends, in bytes.
const MaxMessage = 4096

// readAll reads a whole descriptor from its start, wherever its offset is.
func readAll(fd int) ([]byte, error) {
	f := os.NewFile(uintptr(fd), "load")
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	b := make([]byte, info.Size())
	if len(b) == 0 {
		return nil, nil
	}
	_, err = f.ReadAt(b, 0)
	return b, err
}
