package hostfs

import "syscall"

// The three calls below go past os.File on purpose. os.File registers every pollable file, and each
// sysfs attribute is pollable, with the runtime's poller: two more system calls for every read.

func open(path string, flags int) (int, error) {
	return retry(func() (int, error) { return syscall.Open(path, flags|syscall.O_CLOEXEC, 0) })
}

func read(fd int, buf []byte) (int, error) {
	return retry(func() (int, error) { return syscall.Read(fd, buf) })
}

func write(fd int, buf []byte) (int, error) {
	return retry(func() (int, error) { return syscall.Write(fd, buf) })
}

// retry repeats a call that a signal interrupted; the Go runtime sends itself such signals to
// preempt goroutines.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != syscall.EINTR {
			return n, err
		}
	}
}
