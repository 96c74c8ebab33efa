package linux

import (
	"fmt"
	"syscall"
)

// Alone runs f in a single-threaded child process and returns when the child has exited. A Go program has
// further runtime threads, one of which wakes up every 10 ms and would disturb what f measures on the same CPU.
//
// The child has no other runtime threads. f must not start or wait for goroutines and must allocate very
// little. Its changes to memory are lost, so it must write its result to a descriptor. The caller must run the
// garbage collector and disable it before the call.
func Alone(f func()) error {
	pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("fork: %w", errno)
	}
	if pid == 0 {
		f()
		for {
			syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(int(pid), &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return fmt.Errorf("wait for child: %w", err)
		case status != 0:
			return fmt.Errorf("wait for child: status %#x", int(status))
		default:
			return nil
		}
	}
}
