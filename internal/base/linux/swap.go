package linux

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The flags of swapon(2) that carry a priority (include/linux/swap.h).
const (
	swapPrefer       = 0x8000
	swapPriorityMask = 0x7fff
)

// SwapOn makes an open file, or one that OpenPath holds, a swap area. Areas of a higher priority fill
// first; below 0 the kernel chooses the next lower one, always below 0.
func SwapOn(f *os.File, priority int) error {
	flags := 0
	if priority >= 0 {
		flags = swapPrefer | priority&swapPriorityMask
	}
	return swap("swapon", unix.SYS_SWAPON, f, uintptr(flags))
}

// SwapOff returns when all that is in the area is in memory again, which takes minutes for gigabytes.
// EINVAL says that it is no active area, ENOMEM that memory would not do.
func SwapOff(f *os.File) error { return swap("swapoff", unix.SYS_SWAPOFF, f, 0) }

// swap names a file by its descriptor, so that what was looked at is what is used. What a signal
// interrupts has read a part already, and continues there.
func swap(op string, number uintptr, f *os.File, flags uintptr) error {
	path, err := unix.BytePtrFromString(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil {
		return err
	}
	defer runtime.KeepAlive(f)
	err = ignoringEINTR(func() error {
		if _, _, e := unix.Syscall(number, uintptr(unsafe.Pointer(path)), flags, 0); e != 0 {
			return e
		}
		return nil
	})
	if err != nil {
		return &os.PathError{Op: op, Path: f.Name(), Err: err}
	}
	return nil
}
