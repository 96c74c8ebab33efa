package linux

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Step is one system call of a forked child.
type Step struct {
	Name     string // what failed, for people
	Call     uintptr
	Args     [6]uintptr
	Pointers [6]pointer    // arguments that are addresses instead
	Ignore   syscall.Errno // an errno that is as good as success
	Want     uintptr       // the result that a step must have where Exact is set
	Exact    bool
}

// pointer leads into memory; one to nil is no pointer.
type pointer struct {
	to *memory
	at int // bytes from its start
}

// memory is what a child has before it. Steps that share it see what the others
// have written.
type memory struct {
	bytes    []byte
	pointers []pointer // the bytes begin with these
}

// laidStep is a Step as the child reads it; the assembly knows its layout.
type laidStep struct {
	call                uintptr
	args                [6]uintptr
	ignore, want, exact uintptr
}

// layout is the memory of a forked child: its steps, what it reports when one
// fails, and all that they point to.
type layout struct {
	mapped []byte
	used   int
	placed map[*memory]uintptr
	steps  *laidStep
	failed *StepError
}

const (
	wordBytes = int(unsafe.Sizeof(uintptr(0)))
	stepBytes = int(unsafe.Sizeof(laidStep{}))
)

// layOut makes the memory. It is mapped apart and not the collector's: a child
// has nothing else. Its addresses are good in the caller and in the child alike.
func layOut(steps []Step) (*layout, error) {
	l := &layout{placed: map[*memory]uintptr{}}
	room := len(steps)*stepBytes + StepErrorSize
	seen := map[*memory]bool{}
	for _, s := range steps {
		for _, p := range s.Pointers {
			room += p.to.room(seen)
		}
	}
	var err error
	if l.mapped, err = unix.Mmap(-1, 0, room, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS); err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	laid := unsafe.Slice((*laidStep)(l.take(len(steps)*stepBytes)), len(steps))
	l.steps, l.failed = unsafe.SliceData(laid), (*StepError)(l.take(StepErrorSize))
	for i, s := range steps {
		laid[i] = laidStep{call: s.Call, args: s.Args, ignore: uintptr(s.Ignore), want: s.Want}
		if s.Exact {
			laid[i].exact = 1
		}
		for a, p := range s.Pointers {
			if p.to != nil {
				laid[i].args[a] = l.address(p)
			}
		}
	}
	return l, nil
}

func (l *layout) free() { _ = unix.Munmap(l.mapped) } // it was mapped as it is

// aligned is what n bytes take: everything begins at a word.
func aligned(n int) int { return (n + wordBytes - 1) &^ (wordBytes - 1) }

// room is how much m and what it leads to take, of which seen is counted already.
func (m *memory) room(seen map[*memory]bool) int {
	if m == nil || seen[m] {
		return 0
	}
	seen[m] = true
	n := aligned(len(m.bytes))
	for _, p := range m.pointers {
		n += p.to.room(seen)
	}
	return n
}

func (l *layout) take(n int) unsafe.Pointer {
	at := unsafe.Pointer(&l.mapped[l.used])
	l.used += aligned(n)
	return at
}

// address is where p leads; what is there is laid out the first time.
func (l *layout) address(p pointer) uintptr {
	base, ok := l.placed[p.to]
	if !ok {
		at := l.take(len(p.to.bytes))
		copy(unsafe.Slice((*byte)(at), len(p.to.bytes)), p.to.bytes)
		words := unsafe.Slice((*uintptr)(at), len(p.to.pointers))
		base = uintptr(at)
		l.placed[p.to] = base
		for i, inner := range p.to.pointers {
			if inner.to != nil {
				words[i] = l.address(inner)
			}
		}
	}
	return base + uintptr(p.at)
}

// KeepMemoryFromChildren keeps what the process has in writable memory now from
// the processes that it forks (MADV_DONTFORK): neither is it copied, nor does the
// next write of the process to each page cost a fault. Such a child can do
// nothing but the steps of ForkSteps; a fork of any other kind crashes. maps is
// the process's /proc/PID/maps. A program built with cgo keeps nothing.
func KeepMemoryFromChildren(maps []byte) error {
	if withC {
		return nil
	}
	for line := range strings.Lines(string(maps)) {
		begin, end, ok := writable(line)
		if !ok {
			continue
		}
		// ENOMEM is for what is no longer there.
		if _, _, e := syscall.RawSyscall(unix.SYS_MADVISE, begin, end-begin, unix.MADV_DONTFORK); e != 0 &&
			e != syscall.ENOMEM {
			return os.NewSyscallError("madvise", e)
		}
	}
	return nil
}

// writable reads a line of /proc/PID/maps: "begin-end rw-p offset …".
func writable(line string) (begin, end uintptr, ok bool) {
	area, rest, _ := strings.Cut(line, " ")
	from, to, _ := strings.Cut(area, "-")
	b, err1 := strconv.ParseUint(from, 16, 64)
	e, err2 := strconv.ParseUint(to, 16, 64)
	return uintptr(b), uintptr(e), err1 == nil && err2 == nil && strings.HasPrefix(rest, "rw")
}
