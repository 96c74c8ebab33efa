package linux

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// IsFirstThread reports whether the calling thread is the one that /proc/self
// shows.
func IsFirstThread() bool { return unix.Gettid() == os.Getpid() }

// NoHugePages switches transparent huge pages off for the calling process and
// everything that it forks.
func NoHugePages() error {
	if err := unix.Prctl(unix.PR_SET_THP_DISABLE, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl PR_SET_THP_DISABLE", err)
	}
	return nil
}

// DropBounding empties the bounding set of the calling thread and of what it
// forks: no execve can give a capability any more. What the thread has it
// keeps.
func DropBounding() error {
	// The kernel says EINVAL to the first capability that it does not know.
	for c := uintptr(0); ; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if err == unix.EINVAL && c > 0 {
			return nil
		}
		if err != nil {
			return os.NewSyscallError("prctl PR_CAPBSET_DROP", err)
		}
	}
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

// OpenProcess returns a descriptor of a process, which becomes readable when
// the process ends (PIDFD_NONBLOCK: Linux 5.10). Await waits for it.
func OpenProcess(pid int) (*os.File, error) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil, &os.PathError{Op: "pidfd_open", Path: strconv.Itoa(pid), Err: err}
	}
	return os.NewFile(uintptr(fd), "pidfd"), nil
}

// KillProcess sends SIGKILL. A process that has ended is no error.
func KillProcess(pidfd *os.File) error {
	err := unix.PidfdSendSignal(int(pidfd.Fd()), unix.SIGKILL, nil, 0)
	if err != nil && err != unix.ESRCH {
		return os.NewSyscallError("pidfd_send_signal", err)
	}
	return nil
}

// ChildrenIn makes the calling thread's children be born in the pid namespace
// of a process. The way back is the caller's own pidfd.
func ChildrenIn(pidfd int) error {
	if err := unix.Setns(pidfd, unix.CLONE_NEWPID); err != nil {
		return os.NewSyscallError("setns CLONE_NEWPID", err)
	}
	return nil
}
