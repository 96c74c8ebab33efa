package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"

	"judged/internal/base/linux"
	"judged/internal/base/units"
	"judged/internal/sandbox/initproc"
)

// Memory that is allocated before a run for its first output, so that the run is billed neither for the pages nor for
// making them. The amount is the same for every run: if it depended on the answer, so would a program's CPU time.
// More would make every run slower.
const (
	stdoutPreallocated = 64 << 10
	stderrPreallocated = 16 << 10
)

// Output is what a run writes to one of its streams: a file in memory that is not read while the program runs, so
// that reading is neither billed to the program nor disturbs it.
type Output struct {
	read         *os.File
	write        *os.File
	preallocated units.Bytes // pages charged to judged
}

// newOutput makes a stream with its first pages on the slot's node and charged to judged.
func newOutput(name string, preallocated units.Bytes, slot Resources) (*Output, error) {
	read, err := linux.Memfd(name)
	if err != nil {
		return nil, err
	}
	o := &Output{read: read}
	if preallocated > 0 {
		err = onNode(slot, func() error { return linux.Preallocate(read, int64(preallocated)) })
	}
	if err == nil {
		var pages int64
		pages, err = linux.Allocated(read)
		o.preallocated = units.Bytes(pages)
	}
	if err == nil {
		o.write, err = linux.OpenWriteOnly(read)
	}
	if err == nil {
		// The run's user may open it again, as /dev/stdout, but only for writing, and may not change its mode.
		err = read.Chmod(0o602)
	}
	if err != nil {
		o.Close()
		return nil, err
	}
	return o, nil
}

// onNode runs f with memory allocations bound to the slot's node.
func onNode(slot Resources, f func() error) error {
	if !slot.BindNode {
		return f()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := linux.BindMemory(slot.Node); err != nil {
		return err
	}
	return errors.Join(f(), linux.UnbindMemory())
}

// Size is the number of bytes written.
func (o *Output) Size() (units.Bytes, error) {
	info, err := o.read.Stat()
	if err != nil {
		return 0, err
	}
	return units.Bytes(info.Size()), nil
}

// Reader reads the stream from its start.
func (o *Output) Reader() (io.Reader, error) {
	info, err := o.read.Stat()
	if err != nil {
		return nil, err
	}
	// A LimitedReader shows io.Copy that a small buffer is enough.
	return io.LimitReader(io.NewSectionReader(o.read, 0, info.Size()), info.Size()), nil
}

// Open returns a read-only descriptor of the whole stream that outlives the sandbox. From now on every user may open
// the stream again, so the run must have ended.
func (o *Output) Open() (*os.File, error) {
	if err := o.read.Chmod(0o444); err != nil {
		return nil, err
	}
	return linux.Open(fmt.Sprintf("/proc/self/fd/%d", o.read.Fd()), os.O_RDONLY)
}

// Close closes the stream.
func (o *Output) Close() error {
	if o.write != nil {
		o.write.Close()
	}
	return o.read.Close()
}

// Input is an input for runs on one node, one after the other. A run cannot leave anything in it for the next one.
type Input struct {
	copies *Copies
	copied *copied
	named  *os.File // the file itself, when it is not copied
}

// maxCopiedInput bounds what NewInput copies. Larger inputs stay in the page cache, on any node, and keep their
// names.
const maxCopiedInput = 1 << 30

// NewInput makes the content of a file the stdin of runs. It is a copy in memory, so that no run waits for the disk
// or is charged for the page cache. The copy has no name: /proc/self/fd/0 would show the name of a file, and so which
// test this is. On a host with several NUMA nodes the copy is on the slot's node; the page cache stays on the node
// that read a file first and does not follow cpuset.mems. Close it when no run uses it any more.
func NewInput(path string, slot Resources) (*Input, error) {
	f, err := linux.Open(path, os.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("open input: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("open input: %w", err)
	}
	if info.Size() > maxCopiedInput {
		return newNamedInput(f)
	}
	return newCopiedInput(f, info, identity(info), slot)
}

// NewSingleInput is NewInput for an open file that no further test will use, of at most what an output may have.
func NewSingleInput(f *os.File, slot Resources) (*Input, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("copy input: %w", err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("copy input: %w", err)
	}
	return newCopiedInput(f, info, "", slot)
}

func newCopiedInput(f *os.File, info fs.FileInfo, key string, slot Resources) (*Input, error) {
	k, err := slot.Copies.takeInput(f, info, key, slot)
	if err != nil {
		return nil, fmt.Errorf("copy input: %w", err)
	}
	return &Input{copies: slot.Copies, copied: k}, nil
}

// newNamedInput uses a file itself as an input, through a mount that does not update times.
func newNamedInput(f *os.File) (*Input, error) {
	if _, err := io.Copy(io.Discard, f); err != nil {
		return nil, fmt.Errorf("read input: %w", err)
	}
	mount, err := linux.CloneMount(f.Name())
	if err == nil {
		err = linux.CloseToWrites(mount)
	}
	if err != nil {
		return nil, fmt.Errorf("mount input: %w", err)
	}
	return &Input{named: mount}, nil
}

// Open returns a descriptor with its own offset: runs do not share a position. A nil input is empty, and each run
// gets its own: /dev/null is the host's, and its times can be set through a descriptor.
func (in *Input) Open() (*os.File, error) {
	switch {
	case in == nil:
		m, err := linux.Memfd("stdin")
		if err != nil {
			return nil, err
		}
		defer m.Close()
		if err := errors.Join(linux.SealContent(m), m.Chmod(0o444)); err != nil {
			return nil, err
		}
		return reopen(m)
	case in.named != nil:
		return reopen(in.named)
	}
	// Its times must not show anything from before this run.
	if err := linux.Touch(in.copied.input); err != nil {
		return nil, err
	}
	return reopen(in.copied.input)
}

func reopen(f *os.File) (*os.File, error) {
	return linux.Open(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), os.O_RDONLY)
}

// View is like Open, for a jury program, which may read an input while a contestant's program has it open: the
// contestant's program cannot see that, not even in the times.
func (in *Input) View() (*os.File, error) {
	if in == nil || in.named != nil {
		return in.Open()
	}
	return reopen(in.copied.input)
}

// Close returns the copy or closes the file.
func (in *Input) Close() error {
	if in.named != nil {
		return in.named.Close()
	}
	return in.copies.release(in.copied)
}

// A named input or output is a link in the working directory to a descriptor of the program, and so the same memory
// as stdin or stdout, with the same accounting. A program may also replace the link by a file, which it does when it
// renames one to that name, or deletes the name first.

// nameStreams opens what spec names, and adds it to spec.Open. The caller closes the input, which may be nil.
func (s *Sandbox) nameStreams(spec *Spec) (input *os.File, err error) {
	spec.Open = slices.Clone(spec.Open)
	if spec.InputFile != "" {
		if input, err = spec.Input.Open(); err != nil {
			return nil, err
		}
		spec.Input = nil
		spec.Open = append(spec.Open, OpenFile{Name: workFile(spec.InputFile), File: input})
	}
	if spec.OutputFile == "" {
		return input, nil
	}
	// To open a file for writing usually truncates it: pages of judged's would be lost.
	if s.answer, err = newOutput("answer", 0, s.slot); err == nil {
		err = s.answer.read.Chmod(0o666) // the run's user opens it
	}
	if err != nil {
		input.Close()
		return nil, err
	}
	s.answerName = workFile(spec.OutputFile)
	spec.Open = append(spec.Open, OpenFile{Name: s.answerName, File: s.answer.write})
	return input, nil
}

// namePipes lets the run open its ends of pipes again by name, as /dev/stdin and /dev/stdout, and only in the direction
// that it has. The program at the other end, which does the same with its own group or owns the pipe, has the other
// direction; it is the only one of the others that has a name for the pipe.
func (s *Sandbox) namePipes(spec Spec) error {
	for _, end := range []struct {
		file *os.File
		mode os.FileMode
	}{{spec.Stdin, 0o642}, {spec.Stdout, 0o624}} {
		if end.file == nil {
			continue
		}
		info, err := end.file.Stat()
		if err != nil {
			return err
		}
		if info.Mode()&os.ModeNamedPipe == 0 {
			continue // an input, which everybody may read
		}
		if err := errors.Join(end.file.Chown(-1, s.uid), end.file.Chmod(end.mode)); err != nil {
			return err
		}
	}
	return nil
}

func workFile(name string) string { return initproc.Work + "/" + name }

// findAnswer takes the file that the program has put in the place of the link, if it did.
func (s *Sandbox) findAnswer() error {
	if s.answer == nil {
		return nil
	}
	f, err := s.OpenFile(s.answerName)
	if err != nil || f == nil {
		return err
	}
	err = s.answer.Close()
	s.answer = &Output{read: f}
	return err
}

// outputs are all that the program writes to and that counts as output.
func (s *Sandbox) outputs() []*Output {
	all := []*Output{s.stdout, s.stderr, s.answer}
	return slices.DeleteFunc(all, func(o *Output) bool { return o == nil })
}

// Answer is what the program wrote to the named output file, or to its standard output without one. It is valid until
// Close.
func (s *Sandbox) Answer() *Output {
	if s.answer != nil {
		return s.answer
	}
	return s.stdout
}

// makeFIFOs makes the named pipes of a run. Nobody else can open them, and the run cannot remove them.
func (s *Sandbox) makeFIFOs(names []string) error {
	for _, name := range names {
		if err := linux.MakeFIFO(s.box, name, 0o600, s.uid); err != nil {
			return err
		}
	}
	return nil
}

// OpenFIFO opens one end of a named pipe of the loaded sandbox without waiting for the other end.
func (s *Sandbox) OpenFIFO(name string, flags int) (*os.File, error) {
	both, err := linux.Open(s.fifo(name), os.O_RDWR)
	if err != nil {
		return nil, err
	}
	defer both.Close()
	return linux.Open(s.fifo(name), flags)
}

// WatchFIFOs reports which named pipes of the loaded sandbox its program opens.
func (s *Sandbox) WatchFIFOs(names []string) (*linux.Opens, error) {
	var paths []string
	for _, name := range names {
		paths = append(paths, s.fifo(name))
	}
	return linux.NewOpens(paths)
}

func (s *Sandbox) fifo(name string) string {
	return fmt.Sprintf("/proc/self/fd/%d/%s", s.box.Fd(), name)
}

// isPipeWait reports whether a function of the kernel, as in /proc/PID/wchan, waits for the other end of a pipe or for
// descriptors. A file "0" is that of a kernel that does not show it.
func isPipeWait(wchan string) bool {
	for _, part := range []string{"pipe", "poll", "select", "wait_for_partner"} {
		if strings.Contains(wchan, part) {
			return true
		}
	}
	return wchan == "0"
}
