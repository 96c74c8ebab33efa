package linux

import (
	"fmt"
	"syscall"
)

// Alone runs f in a child process of a single thread and returns when it has ended. A Go program has
// further threads of its runtime, one of which looks up every 10 ms: on the same CPU that is just
// what f may want to see of others.
//
// The child is a copy without the runtime's other threads. f must not start goroutines, wait for any,
// or allocate more than a trifle, and what it changes in memory is lost: it hands its result to a
// descriptor. The caller has collected garbage and switched the collector off.
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
