package linux

import (
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// SharedWord maps the first word of a memfd: every process that maps it has the
// same, also what another wrote into it just before it was killed. The mapping
// stays until UnmapWord or the end of the process.
func SharedWord(memfd int) (*atomic.Int32, error) {
	if err := ignoringEINTR(func() error { return unix.Ftruncate(memfd, int64(os.Getpagesize())) }); err != nil {
		return nil, os.NewSyscallError("ftruncate", err)
	}
	p, err := unix.MmapPtr(memfd, 0, nil, uintptr(os.Getpagesize()), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	return (*atomic.Int32)(p), nil
}

// UnmapWord gives back what SharedWord mapped.
func UnmapWord(word *atomic.Int32) error {
	return os.NewSyscallError("munmap", unix.MunmapPtr(unsafe.Pointer(word), uintptr(os.Getpagesize())))
}
