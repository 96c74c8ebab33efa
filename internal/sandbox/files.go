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

// Memory allocated before a run for its first output, so that neither the pages nor the work of allocating them
// are billed to the run. The amount is the same for each run: if it depended on the answer, so would the
// program's CPU time. More would make each run slower.
const (
	stdoutPreallocated = 64 << 10
	stderrPreallocated = 16 << 10
)

// Output is a stream that a run writes: a file in memory that is not read while the program runs, so that
// reading is neither billed to the program nor disturbs it.
type Output struct {
	read         *os.File
	write        *os.File
	preallocated units.Bytes // pages charged to judged
}

// newOutput creates a stream with its first pages on the slot's node and charged to judged.
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

// Size returns the number of bytes written.
func (o *Output) Size() (units.Bytes, error) {
	info, err := o.read.Stat()
	if err != nil {
		return 0, err
	}
	return units.Bytes(info.Size()), nil
}

// Reader returns a reader from the start of the stream.
func (o *Output) Reader() (io.Reader, error) {
	info, err := o.read.Stat()
	if err != nil {
		return nil, err
	}
	// With a LimitedReader io.Copy allocates a small buffer.
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

// Input is an input for consecutive runs on one node. A run cannot leave anything in it for the next one.
type Input struct {
	copies *Copies
	copied *copied
	named  *os.File // the file itself, if it is not copied
}

// maxCopiedInput is the largest input that NewInput copies. Larger inputs stay in the page cache, on any node,
// and keep their names.
const maxCopiedInput = 1 << 30

// NewInput makes the content of a file available as the stdin of runs. It copies the file to memory, so that no
// run waits for the disk or is charged for the page cache. /proc/self/fd/0 shows no name of the copy, which could say
// which test this is. On a host with several NUMA nodes the copy is on the slot's node; the
// page cache stays on the node that read a file first and does not follow cpuset.mems. The caller closes the
// Input after the last run.
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

// NewSingleInput is like NewInput for an open file that is used for one test only and is at most as large as an
// output.
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
	k, err := slot.Copies.acquireInput(f, info, key, slot)
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

// Open returns a descriptor with its own offset, so that runs do not share a position. A nil Input is empty,
// and each run gets its own empty file: /dev/null belongs to the host, and its times can be set through a
// descriptor.
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
	if err := in.touch(); err != nil {
		return nil, err
	}
	return reopen(in.copied.input)
}

// touch resets the times of a copy, which must not show anything from before a run.
func (in *Input) touch() error { return linux.Touch(in.copied.input) }

func reopen(f *os.File) (*os.File, error) {
	return linux.Open(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), os.O_RDONLY)
}

// View is like Open, for a checker or interactor that reads an input while a contestant's program has it open.
// The contestant's program cannot detect this, not even by the times.
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

// nameInput puts the input into the working directory instead of stdin. For the program it is a regular file: many
// resolve all links in a name before they open it, and a link to a descriptor leads to no name. Where the input is
// mounted by park, the name cannot be deleted or renamed. The caller closes the returned file, which may be nil.
func (s *Sandbox) nameInput(spec *Spec) (f *os.File, err error) {
	in, name := spec.Input, workFile(spec.InputFile)
	if spec.InputFile == "" {
		return nil, nil
	}
	spec.Input = nil
	if in != nil && in.named != nil {
		// /proc/self/mountinfo would show the path of the file on the host, so this is a link to a descriptor.
		if f, err = in.Open(); err == nil {
			spec.Open = append(slices.Clone(spec.Open), OpenFile{Name: name, File: f})
		}
		return f, err
	}
	if in != nil {
		spec.mounted = in.copied
		if err := in.touch(); err != nil {
			return nil, err
		}
	}
	return linux.MakeEmpty(s.box, name)
}

// namePipes lets the run reopen its ends of pipes by name, as /dev/stdin and /dev/stdout, and only in the
// direction that it has. The program at the other end has the other direction: it does the same with its own
// group, or owns the pipe. No other program has a name for the pipe.
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
			continue // an input, which everyone may read
		}
		if err := errors.Join(end.file.Chown(-1, s.uid), end.file.Chmod(end.mode)); err != nil {
			return err
		}
	}
	return nil
}

func workFile(name string) string { return initproc.Work + "/" + name }

// findAnswer opens the named output file, which the program creates in the box. Without it the answer is empty.
func (s *Sandbox) findAnswer() error {
	if s.answerName == "" {
		return nil
	}
	f, err := s.OpenFile(s.answerName)
	if err != nil {
		return err
	}
	if f != nil {
		s.answer = &Output{read: f}
		return nil
	}
	s.noAnswer = true
	s.answer, err = newOutput("answer", 0, s.slot)
	return err
}

// HasAnswer reports whether the program has created the named output file, as a regular file. Without a name the answer is
// stdout, which is always there. It is valid after Run.
func (s *Sandbox) HasAnswer() bool { return !s.noAnswer }

// outputs returns all streams that count as output of the program: the named output file only after Run.
func (s *Sandbox) outputs() []*Output {
	all := []*Output{s.stdout, s.stderr, s.answer}
	return slices.DeleteFunc(all, func(o *Output) bool { return o == nil })
}

// Answer returns the named output file, or else stdout. It is valid after Run until Close.
func (s *Sandbox) Answer() *Output {
	if s.answer != nil {
		return s.answer
	}
	return s.stdout
}

// makeFIFOs creates the named pipes of a run. Nobody else can open them, and the run cannot remove them.
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

// isPipeWait reports whether a kernel function, as in /proc/PID/wchan, waits for the other end of a pipe or
// polls descriptors. A kernel that does not show the function writes "0".
func isPipeWait(wchan string) bool {
	for _, part := range []string{"pipe", "poll", "select", "wait_for_partner"} {
		if strings.Contains(wchan, part) {
			return true
		}
	}
	return wchan == "0"
}
