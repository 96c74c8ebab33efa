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

// SwapOn enables swapping to a file, which may be opened with OpenPath. Areas with a higher priority fill
// first. With a negative priority, the kernel chooses the next lower one, which is always negative.
func SwapOn(f *os.File, priority int) error {
	flags := 0
	if priority >= 0 {
		flags = swapPrefer | priority&swapPriorityMask
	}
	return swap("swapon", unix.SYS_SWAPON, f, uintptr(flags))
}

// SwapOff disables a swap area. It returns when all its pages are in memory again, which takes minutes for
// gigabytes. The error is EINVAL if the area is not active, and ENOMEM if there is not enough memory.
func SwapOff(f *os.File) error { return swap("swapoff", unix.SYS_SWAPOFF, f, 0) }

// swap names the file by its descriptor, so that the checked file is the one that is used. After an interrupted
// call, swapoff continues where it stopped.
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
