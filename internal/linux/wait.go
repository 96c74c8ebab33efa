package linux

import (
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Forever is the timeout that never comes.
const Forever time.Duration = -1

// WaitReadable blocks until one of the descriptors can be read or is closed by
// its peer, or until the timeout, and returns the index of the first that can,
// or -1. It is ppoll and not the runtime's poller because a run's supervisor
// has a thread of its own and wants the kernel's precision.
func WaitReadable(timeout time.Duration, fds ...int) (int, error) {
	return wait(timeout, unix.POLLIN, fds)
}

// WaitException blocks until one of the descriptors reports an exceptional
// condition, which is how the kernel tells that a cgroup.events file changed.
func WaitException(timeout time.Duration, fds ...int) (int, error) {
	return wait(timeout, unix.POLLPRI, fds)
}

func wait(timeout time.Duration, events int16, fds []int) (int, error) {
	polled := make([]unix.PollFd, len(fds))
	for i, fd := range fds {
		polled[i] = unix.PollFd{Fd: int32(fd), Events: events}
	}
	deadline := Monotonic() + timeout
	for {
		var ts *unix.Timespec
		if timeout >= 0 {
			t := unix.NsecToTimespec(int64(max(timeout, 0)))
			ts = &t
		}
		_, err := unix.Ppoll(polled, ts, nil)
		if err == unix.EINTR {
			if timeout >= 0 {
				timeout = max(deadline-Monotonic(), 0)
			}
			continue
		}
		if err != nil {
			return -1, os.NewSyscallError("ppoll", err)
		}
		for i := range polled {
			if polled[i].Revents != 0 {
				return i, nil
			}
		}
		return -1, nil
	}
}

// Usage is what the kernel counted of a process and of the children that it
// waited for itself, from its birth on.
type Usage struct {
	VoluntarySwitches, InvoluntarySwitches int64
	MinorFaults, MajorFaults               int64
}

// Reap collects an ended child.
func Reap(pid int) (syscall.WaitStatus, Usage, error) {
	var status syscall.WaitStatus
	var r syscall.Rusage
	err := ignoringEINTR(func() error {
		_, err := syscall.Wait4(pid, &status, 0, &r)
		return err
	})
	if err != nil {
		return 0, Usage{}, &os.PathError{Op: "wait4", Path: strconv.Itoa(pid), Err: err}
	}
	return status, usageOf(&r), nil
}

func usageOf(r *syscall.Rusage) Usage { return Usage{r.Nvcsw, r.Nivcsw, r.Minflt, r.Majflt} }

// SignalName is the name of a signal as in signal.h, SIGKILL for instance, or
// SIGRT+n.
func SignalName(s syscall.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return "SIGRT+" + strconv.Itoa(int(s)-32)
}
