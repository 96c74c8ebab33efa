package initproc

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"os"
	"syscall"
)

// Descriptors that judged-init is started with in addition to its standard streams: its end of the connection to
// judged; a pipe that nobody writes to and whose other end only judged holds; and the memory where the kernel stores
// the pid of each fork.
const (
	controlFD    = 3
	lifelineFD   = 4
	pidHandoffFD = 5
)

// The first byte of a message. A request carries descriptors, an answer a pid or the text of an error.
const (
	msgMaps   = 'm' // keep judged-init's memory from its children
	msgInit   = 'i' // start process 1 of a sandbox
	msgChild  = 'c' // park a child in a sandbox
	msgPID    = 'p'
	msgFailed = 'f'
)

// MaxMessage is the longest message, in bytes.
const MaxMessage = 4096

// MapsRequest is the first request, and is repeated from time to time. It carries the /proc/PID/maps of
// judged-init, which has no /proc. The answer is its pid.
func MapsRequest(maps *os.File) ([]byte, []int) {
	return []byte{msgMaps}, []int{int(maps.Fd())}
}

// InitRequest requests a process 1. It returns the message, and the descriptor of the network namespace to
// enter, if any.
func InitRequest(network *os.File) ([]byte, []int) {
	if network == nil {
		return []byte{msgInit}, nil
	}
	return []byte{msgInit}, []int{int(network.Fd())}
}

// Load describes how a run is started. It is sent in encoded form in a memfd, because arguments can be longer
// than a message.
type Load struct {
	Args      []string
	Program   string // file to execute; if empty, Args[0], looked up in Path if it has no slash
	Env       []string
	UID       int // user and group of the run
	CPUs      []int
	InputFile string // name of LoadFDs.Input in the working directory
	FileSize  uint64 // RLIMIT_FSIZE, bytes
	Stack     uint64 // RLIMIT_STACK, bytes
	OpenFiles uint64 // RLIMIT_NOFILE
	Seccomp   []byte // struct sock_filter instructions
}

// LoadFDs are the descriptors sent with a Load.
type LoadFDs struct {
	Load                  int // the memfd
	Stdin, Stdout, Stderr int
	Gate                  int   // the child waits here for the byte that starts the program
	Report                int   // the child writes its report here
	Process1              int   // pidfd
	Box                   int   // mount of the file system that the run can write to
	Birth                 int   // folder of the cgroup v2 group, or -1
	Tree                  int   // mount of the host's files, or -1
	Files                 int   // mount of the run's files, or -1
	Input                 int   // mount of the input, a file, or -1
	Open                  []int // files available to the program from FirstOpen on; at most maxOpen
	Tasks                 []int // tasks files of the cgroup v1 groups
}

// FirstOpen is the number of the first descriptor of LoadFDs.Open in the program. All descriptors that
// judged-init receives have higher numbers than its own, so none is overwritten before it is duplicated.
const FirstOpen = 3

// maxOpen is the number of descriptors that judged-init itself has above the standard ones.
const maxOpen = pidHandoffFD - FirstOpen + 1

// The second byte of a request for a child: the optional descriptors that it carries.
const (
	withBirth = 1 << iota
	withTree
	withFiles
	withInput
	countShift = 4 // the higher bits are the number of open files
)

// Request requests a parked child.
func (f LoadFDs) Request() ([]byte, []int) {
	fds := []int{f.Load, f.Stdin, f.Stdout, f.Stderr, f.Gate, f.Report, f.Process1, f.Box}
	with := byte(0)
	if f.Birth >= 0 {
		with |= withBirth
		fds = append(fds, f.Birth)
	}
	if f.Tree >= 0 {
		with |= withTree
		fds = append(fds, f.Tree)
	}
	if f.Files >= 0 {
		with |= withFiles
		fds = append(fds, f.Files)
	}
	if f.Input >= 0 {
		with |= withInput
		fds = append(fds, f.Input)
	}
	with |= byte(len(f.Open)) << countShift
	return []byte{msgChild, with}, append(append(fds, f.Open...), f.Tasks...)
}

func parseRequest(msg []byte, fds []int) (f LoadFDs, err error) {
	const fixed = 8
	if len(msg) != 2 {
		return f, errors.New("read request: malformed")
	}
	with, open := msg[1]&(1<<countShift-1), int(msg[1]>>countShift)
	if open > maxOpen || len(fds) < fixed+bits.OnesCount8(with)+open {
		return f, errors.New("read request: malformed")
	}
	f = LoadFDs{fds[0], fds[1], fds[2], fds[3], fds[4], fds[5], fds[6], fds[7], -1, -1, -1, -1, nil, fds[fixed:]}
	if msg[1]&withBirth != 0 {
		f.Birth, f.Tasks = f.Tasks[0], f.Tasks[1:]
	}
	if msg[1]&withTree != 0 {
		f.Tree, f.Tasks = f.Tasks[0], f.Tasks[1:]
	}
	if msg[1]&withFiles != 0 {
		f.Files, f.Tasks = f.Tasks[0], f.Tasks[1:]
	}
	if msg[1]&withInput != 0 {
		f.Input, f.Tasks = f.Tasks[0], f.Tasks[1:]
	}
	f.Open, f.Tasks = f.Tasks[:open], f.Tasks[open:]
	return f, nil
}

// answer is judged-init's reply to a request. A failure includes the pid, if there is a process: its parent has to
// reap it.
func answer(pid int, err error) []byte {
	kind := byte(msgPID)
	if err != nil {
		kind = msgFailed
	}
	b := binary.AppendVarint([]byte{kind}, int64(pid))
	if err != nil {
		b = append(b, err.Error()...)
	}
	return b[:min(len(b), MaxMessage)]
}

// ParseAnswer returns the pid of the requested process. With an error it is the pid of a process that must be
// reaped, or 0. An empty answer means that judged-init has exited.
func ParseAnswer(msg []byte) (int, error) {
	if len(msg) == 0 {
		return 0, errors.New("judged-init ended unexpectedly; look for an out-of-memory kill in the kernel's log")
	}
	pid, n := binary.Varint(msg[1:])
	switch {
	case n <= 0:
		return 0, errors.New("read answer of judged-init: malformed")
	case msg[0] == msgFailed:
		return int(pid), errors.New("judged-init: " + string(msg[1+n:]))
	case msg[0] != msgPID || pid <= 0:
		return 0, errors.New("read answer of judged-init: malformed")
	}
	return int(pid), nil
}

// Encode returns the bytes of the load's memfd: integers as varints, lists and strings preceded by their length.
func (l *Load) Encode() []byte {
	var b []byte
	number := func(v int64) { b = binary.AppendVarint(b, v) }
	text := func(s string) { number(int64(len(s))); b = append(b, s...) }
	for _, list := range [][]string{l.Args, l.Env} {
		number(int64(len(list)))
		for _, s := range list {
			text(s)
		}
	}
	text(l.Program)
	text(l.InputFile)
	number(int64(len(l.CPUs)))
	for _, c := range l.CPUs {
		number(int64(c))
	}
	for _, v := range []int64{int64(l.UID), int64(l.FileSize), int64(l.Stack), int64(l.OpenFiles)} {
		number(v)
	}
	text(string(l.Seccomp))
	return b
}

// Decode decodes the output of Encode.
func (l *Load) Decode(b []byte) error {
	d := decoder{b: b}
	l.Args, l.Env, l.Program, l.InputFile = d.strings(), d.strings(), d.string(), d.string()
	l.CPUs = make([]int, d.count())
	for i := range l.CPUs {
		l.CPUs[i] = int(d.number())
	}
	l.UID = int(d.number())
	l.FileSize, l.Stack, l.OpenFiles = uint64(d.number()), uint64(d.number()), uint64(d.number())
	l.Seccomp = []byte(d.string())
	if d.bad || len(d.b) > 0 {
		return errors.New("decode load: malformed")
	}
	return nil
}

type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) number() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[n:]
	return v
}

// count reads the length of a list. Every element takes at least one byte.
func (d *decoder) count() int {
	n := d.number()
	if n < 0 || n > int64(len(d.b)) {
		d.bad = true
		return 0
	}
	return int(n)
}

func (d *decoder) string() string {
	n := d.count()
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}

func (d *decoder) strings() []string {
	list := make([]string, d.count())
	for i := range list {
		list[i] = d.string()
	}
	return list
}

// readAll reads a whole file from its start, regardless of its offset. It also works for kernel files, which
// report no size. It does not close the descriptor: the function that received it does so exactly once. A
// second close could close a descriptor that another thread has opened in between, for example that of the
// runtime's poller, which would end the process.
func readAll(fd int) ([]byte, error) {
	var info syscall.Stat_t
	if err := syscall.Fstat(fd, &info); err != nil {
		return nil, os.NewSyscallError("fstat load", err)
	}
	b := make([]byte, 0, max(info.Size+1, 4<<10))
	for {
		n, err := syscall.Pread(fd, b[len(b):cap(b)], int64(len(b)))
		if err != nil {
			return nil, os.NewSyscallError("read request", err)
		}
		if n == 0 {
			return b, nil
		}
		if b = b[:len(b)+n]; len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
	}
}
