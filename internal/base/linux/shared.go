package linux

import (
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// SharedWord maps the first word of a memfd. All processes that map it share the word, including writes of a
// process that was killed afterwards. The mapping exists until UnmapWord is called or the process exits.
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

// UnmapWord unmaps a word returned by SharedWord.
func UnmapWord(word *atomic.Int32) error {
	return os.NewSyscallError("munmap", unix.MunmapPtr(unsafe.Pointer(word), uintptr(os.Getpagesize())))
}
