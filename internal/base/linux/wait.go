package linux

import (
	"context"
	"errors"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Await blocks until f can be read or is closed by its peer, or until the
// timeout, and reports whether it can. f is one that the runtime's poller knows
// (OpenProcess, Socketpair, ReadPipe): no thread waits, while one that blocks in
// the kernel has the runtime look every 20 µs whether it is back. The end of the
// context ends it like the timeout, which is late by up to 1 ms: that is what the
// poller counts in. WaitReadable is more precise.
func Await(ctx context.Context, f *os.File, timeout time.Duration) (bool, error) {
	if err := f.SetReadDeadline(time.Now().Add(timeout)); err != nil {
		return false, err
	}
	// After the deadline is set, or it would take this one back.
	stop := context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	c, err := f.SyscallConn()
	if err != nil {
		return false, err
	}
	var failed error
	err = c.Read(func(fd uintptr) bool {
		var ready bool
		ready, failed = WaitReadable(0, int(fd))
		return ready || failed != nil
	})
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return false, nil
	}
	return err == nil && failed == nil, errors.Join(err, failed)
}

// WaitReadable blocks a thread until the descriptor can be read or is closed by
// its peer, or until the timeout, with the kernel's precision and the slack of the
// thread, and reports whether it can.
func WaitReadable(timeout time.Duration, fd int) (bool, error) {
	return wait(timeout, unix.POLLIN, fd)
}

// WaitException blocks until the descriptor reports an exceptional condition,
// which is how the kernel reports that a cgroup.events file changed.
func WaitException(timeout time.Duration, fd int) (bool, error) {
	return wait(timeout, unix.POLLPRI, fd)
}

func wait(timeout time.Duration, events int16, fd int) (bool, error) {
	polled := []unix.PollFd{{Fd: int32(fd), Events: events}}
	deadline := time.Now().Add(timeout)
	for {
		ts := unix.NsecToTimespec(int64(max(timeout, 0)))
		_, err := unix.Ppoll(polled, &ts, nil)
		if err == unix.EINTR {
			timeout = time.Until(deadline)
			continue
		}
		if err != nil {
			return false, os.NewSyscallError("ppoll", err)
		}
		return polled[0].Revents != 0, nil
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

// OwnCPUTime is the time that all threads of this process have run, and its part in user mode.
func OwnCPUTime() (total, user time.Duration, err error) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0, 0, os.NewSyscallError("getrusage", err)
	}
	user = time.Duration(r.Utime.Nano())
	return user + time.Duration(r.Stime.Nano()), user, nil
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
