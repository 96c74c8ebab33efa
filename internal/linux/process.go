package linux

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// HideProcess makes /proc/PID of the caller root's, and keeps other processes
// from attaching to it.
func HideProcess() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl PR_SET_DUMPABLE", err)
	}
	return nil
}

// CloseInherited marks every descriptor above stderr close-on-exec. Go marks
// what it opens itself but keeps what it was started with: a leaked descriptor
// of the host's file system is a way out of any sandbox (CVE-2024-21626).
func CloseInherited() error {
	if err := unix.CloseRange(3, ^uint(0)>>33, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return os.NewSyscallError("close_range", err)
	}
	return nil
}

// ResourceLimits of setrlimit(2) that judged sets, by their kernel numbers.
const (
	LimitFileSize   = unix.RLIMIT_FSIZE
	LimitStack      = unix.RLIMIT_STACK
	LimitCore       = unix.RLIMIT_CORE
	LimitOpenFiles  = unix.RLIMIT_NOFILE
	LimitLocked     = unix.RLIMIT_MEMLOCK
	LimitSigPending = unix.RLIMIT_SIGPENDING
	LimitMsgQueue   = unix.RLIMIT_MSGQUEUE
	LimitNice       = unix.RLIMIT_NICE
	LimitRealtime   = unix.RLIMIT_RTPRIO
)

// IsRoot reports whether the caller may do what only root may.
func IsRoot() bool { return os.Geteuid() == 0 }

// ReapAll collects every child that has ended, without blocking.
func ReapAll() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if pid <= 0 && !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}

// LockFile takes an exclusive lock on an open file without waiting.
func LockFile(f *os.File) error {
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return &os.PathError{Op: "flock", Path: f.Name(), Err: err}
	}
	return nil
}
