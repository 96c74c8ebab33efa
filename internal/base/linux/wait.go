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

// Await blocks until f is readable or its peer has closed it, or until the timeout, and reports whether f is
// ready. f must be registered with the runtime's poller (OpenProcess, Socketpair, ReadPipe), so that no thread
// blocks; for a thread that blocks in the kernel, the runtime checks every 20 µs whether it has returned. If
// ctx is done, Await returns as after the timeout. The poller's resolution is 1 ms, so the timeout can be late
// by up to 1 ms. WaitReadable is more precise.
func Await(ctx context.Context, f *os.File, timeout time.Duration) (bool, error) {
	if err := f.SetReadDeadline(time.Now().Add(timeout)); err != nil {
		return false, err
	}
	// Must follow SetReadDeadline, which would override this deadline.
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		_ = f.SetReadDeadline(time.Unix(1, 0))
	})
	defer func() {
		if !stop() {
			<-interrupted // otherwise it could interrupt the next call
		}
	}()
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

// WaitReadable blocks the thread until the descriptor is readable or its peer has closed it, or until the
// timeout, and reports whether it is ready. The precision is that of the kernel plus the thread's timer slack.
func WaitReadable(timeout time.Duration, fd int) (bool, error) {
	return wait(timeout, unix.POLLIN, fd)
}

// WaitException blocks until the descriptor reports an exceptional condition, such as a changed cgroup.events
// file.
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

// Usage is the resource usage of a process and the children that it has waited for, since it started.
type Usage struct {
	VoluntarySwitches, InvoluntarySwitches int64
	MinorFaults, MajorFaults               int64
}

// Reap waits for a child that has exited.
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

// OwnCPUTime returns the CPU time of this process and its user part.
func OwnCPUTime() (total, user time.Duration, err error) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0, 0, os.NewSyscallError("getrusage", err)
	}
	user = time.Duration(r.Utime.Nano())
	return user + time.Duration(r.Stime.Nano()), user, nil
}

func usageOf(r *syscall.Rusage) Usage { return Usage{r.Nvcsw, r.Nivcsw, r.Minflt, r.Majflt} }

// SignalName returns the name of a signal in signal.h, such as SIGKILL, or SIGRT+n.
func SignalName(s syscall.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return "SIGRT+" + strconv.Itoa(int(s)-32)
}
