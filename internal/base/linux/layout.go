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
	Name     string // name for error messages
	Call     uintptr
	Args     [6]uintptr
	Pointers [6]pointer    // pointers that replace the arguments of the same index
	Ignore   syscall.Errno // an errno that counts as success
	Want     uintptr       // the required result if Exact is set
	Exact    bool
}

// pointer points into memory. A pointer to nil means none.
type pointer struct {
	to *memory
	at int // offset in bytes
}

// memory is memory that the child can use. Steps that share it see each other's writes.
type memory struct {
	bytes    []byte
	pointers []pointer // stored at the start of bytes
}

// laidStep is the encoding of a Step for the child. The assembly code depends on its layout.
type laidStep struct {
	call                uintptr
	args                [6]uintptr
	ignore, want, exact uintptr
}

// layout is the memory of a forked child: its steps, its error report, and everything that they point to.
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

// layOut builds the memory of the child. It is mapped separately, outside the Go heap, because the child has no
// other memory. Addresses are the same in the caller and in the child.
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
	laid := unsafe.Slice((*laidStep)(l.alloc(len(steps)*stepBytes)), len(steps))
	l.steps, l.failed = unsafe.SliceData(laid), (*StepError)(l.alloc(StepErrorSize))
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

func (l *layout) free() { _ = unix.Munmap(l.mapped) } // Munmap cannot fail for a whole mapping

// aligned rounds n up to a multiple of the word size.
func aligned(n int) int { return (n + wordBytes - 1) &^ (wordBytes - 1) }

// room returns the size of m and everything that it points to. It skips memory in seen.
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

func (l *layout) alloc(n int) unsafe.Pointer {
	at := unsafe.Pointer(&l.mapped[l.used])
	l.used += aligned(n)
	return at
}

// address returns the address that p points to, and places the memory on first use.
func (l *layout) address(p pointer) uintptr {
	base, ok := l.placed[p.to]
	if !ok {
		at := l.alloc(len(p.to.bytes))
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

// ExcludeMemoryFromChildren excludes all current writable memory of the process from forked children
// (MADV_DONTFORK). The memory is not copied, and the next write to a page does not cause a page fault. Children
// can then only execute the steps of ForkSteps; any other fork crashes. maps is the content of the process's
// /proc/PID/maps. The function does nothing in a program built with cgo.
func ExcludeMemoryFromChildren(maps []byte) error {
	if withC {
		return nil
	}
	for line := range strings.Lines(string(maps)) {
		begin, end, ok := writable(line)
		if !ok {
			continue
		}
		// ENOMEM: the range is no longer mapped.
		if _, _, e := syscall.RawSyscall(unix.SYS_MADVISE, begin, end-begin, unix.MADV_DONTFORK); e != 0 &&
			e != syscall.ENOMEM {
			return os.NewSyscallError("madvise", e)
		}
	}
	return nil
}

// writable parses a line of /proc/PID/maps: "begin-end rw-p offset …".
func writable(line string) (begin, end uintptr, ok bool) {
	area, rest, _ := strings.Cut(line, " ")
	from, to, _ := strings.Cut(area, "-")
	b, err1 := strconv.ParseUint(from, 16, 64)
	e, err2 := strconv.ParseUint(to, 16, 64)
	return uintptr(b), uintptr(e), err1 == nil && err2 == nil && strings.HasPrefix(rest, "rw")
}
