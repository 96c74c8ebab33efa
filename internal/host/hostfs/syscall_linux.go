package hostfs

import "syscall"

// The calls below avoid os.File, which registers pollable files with the runtime's poller. All sysfs attributes
// are pollable, so each read would take two more system calls.

func open(path string, flags int) (int, error) {
	return retry(func() (int, error) { return syscall.Open(path, flags|syscall.O_CLOEXEC, 0) })
}

func read(fd int, buf []byte) (int, error) {
	return retry(func() (int, error) { return syscall.Read(fd, buf) })
}

func write(fd int, buf []byte) (int, error) {
	return retry(func() (int, error) { return syscall.Write(fd, buf) })
}

// retry repeats a call that was interrupted by a signal. The Go runtime uses signals to preempt goroutines.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != syscall.EINTR {
			return n, err
		}
	}
}
