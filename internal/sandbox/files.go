package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"judged/internal/base/linux"
	"judged/internal/base/units"
)

// The memory that is set aside for the first output of a run, so that neither its
// pages nor their making are billed to it. It is the same for every run: with an
// amount that depends on the answer, a program's CPU time would, too. More would cost
// every run.
const (
	stdoutAside = 64 << 10
	stderrAside = 16 << 10
)

// Output is what a run writes to one of its streams: a file in memory that
// nobody reads while the program runs, so that reading is neither billed to it
// nor disturbs it.
type Output struct {
	read  *os.File
	write *os.File
	aside units.Bytes // what of its pages is charged to judged
}

// newOutput makes a stream with its first pages on the slot's node and charged
// to judged.
func newOutput(name string, aside units.Bytes, slot Slot) (*Output, error) {
	read, err := linux.Memfd(name)
	if err != nil {
		return nil, err
	}
	o := &Output{read: read}
	if aside > 0 {
		err = onNode(slot, func() error { return linux.Preallocate(read, int64(aside)) })
	}
	if err == nil {
		var pages int64
		pages, err = linux.Allocated(read)
		o.aside = units.Bytes(pages)
	}
	if err == nil {
		o.write, err = linux.OpenWriteOnly(read)
	}
	if err == nil {
		// The run's user may neither open it again nor change it
		// otherwise.
		err = read.Chmod(0o600)
	}
	if err != nil {
		o.Close()
		return nil, err
	}
	return o, nil
}

// onNode runs f with memory bound to the slot's node.
func onNode(slot Slot, f func() error) error {
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

// Size is how much was written.
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
	return io.NewSectionReader(o.read, 0, info.Size()), nil
}

// Open returns a descriptor of the whole stream that can only be read and outlives the sandbox. Every user may open
// the stream again from now on, so the run must be over.
func (o *Output) Open() (*os.File, error) {
	if err := o.read.Chmod(0o444); err != nil {
		return nil, err
	}
	return linux.Open(fmt.Sprintf("/proc/self/fd/%d", o.read.Fd()), os.O_RDONLY)
}

// Close lets go of the stream.
func (o *Output) Close() error {
	if o.write != nil {
		o.write.Close()
	}
	return o.read.Close()
}

// Input is an input that is ready to be read by runs on one node, one after the
// other. None of them can leave anything in it for the next one.
type Input struct {
	copies *Copies
	copied *copied
	named  *os.File // instead: the file itself
}

// maxCopiedInput bounds what NewInput copies. Larger inputs stay in the page
// cache, on whatever node has them, and under their names.
const maxCopiedInput = 1 << 30

// NewInput makes the content of a file the stdin of runs: a copy in memory, so
// that no run waits for the disk or is charged for its cache. The copy has no
// name either: /proc/self/fd/0 would show that of a file, and with it which
// test this is. On a host with several NUMA nodes it lies on the slot's: the
// page cache stays on the node that read a file first and does not follow
// cpuset.mems. Close it when no run uses it any more.
func NewInput(path string, slot Slot) (*Input, error) {
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
	k, err := slot.Copies.takeInput(f, info, slot)
	if err != nil {
		return nil, fmt.Errorf("copy input: %w", err)
	}
	return &Input{copies: slot.Copies, copied: k}, nil
}

// newNamedInput makes a file itself an input, by a mount of it that sets no times.
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

// Open returns a descriptor with an offset of its own: runs do not share a position.
// No input is an empty one, another for each run: /dev/null is the host's, and its
// times can be set through a descriptor.
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
	// Its times show nothing from before this run.
	if err := linux.Touch(in.copied.input); err != nil {
		return nil, err
	}
	return reopen(in.copied.input)
}

func reopen(f *os.File) (*os.File, error) {
	return linux.Open(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), os.O_RDONLY)
}

// View is Open for a program of the jury, which may read an input while a contestant's program has it: that program
// sees nothing of it, not even a time.
func (in *Input) View() (*os.File, error) {
	if in == nil || in.named != nil {
		return in.Open()
	}
	return reopen(in.copied.input)
}

// Close lets go of the input.
func (in *Input) Close() error {
	if in.named != nil {
		return in.named.Close()
	}
	return in.copies.release(in.copied)
}
