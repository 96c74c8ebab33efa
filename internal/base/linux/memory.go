package linux

import (
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TotalMemory returns the memory of the host in bytes.
func TotalMemory() (uint64, error) {
	var s unix.Sysinfo_t
	if err := unix.Sysinfo(&s); err != nil {
		return 0, os.NewSyscallError("sysinfo", err)
	}
	return uint64(s.Totalram) * uint64(s.Unit), nil
}

// Map returns n bytes of zeroed anonymous memory in pages of the smallest size. Pages are allocated on first
// access. The garbage collector does not manage this memory.
func Map(n int) ([]byte, error) {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	// EINVAL: the kernel does not support huge pages.
	if err := unix.Madvise(b, unix.MADV_NOHUGEPAGE); err != nil && err != unix.EINVAL {
		_ = unix.Munmap(b)
		return nil, os.NewSyscallError("madvise", err)
	}
	return b, nil
}

// Unmap unmaps all memory returned by one call of Map or CopyLocked.
func Unmap(b []byte) error {
	return os.NewSyscallError("munmap", unix.Munmap(b))
}

// Constants of linux/futex.h.
const (
	futexWait    = 0
	futexWake    = 1
	futexPrivate = 128
)

// FutexWait sleeps while word holds value.
func FutexWait(word *uint32, value uint32) {
	for atomic.LoadUint32(word) == value {
		// EINTR, EAGAIN and a wake-up all mean that the caller checks again. Syscall6 notifies the runtime that
		// the thread blocks; otherwise a waiting thread would block garbage collection.
		_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWait|futexPrivate, uintptr(value),
			0, 0, 0)
	}
}

// FutexWake stores value in word and wakes one thread that waits on it.
func FutexWake(word *uint32, value uint32) {
	atomic.StoreUint32(word, value)
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWake|futexPrivate, 1, 0, 0, 0)
}
