package linux

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// IsFirstThread reports whether the calling thread is the main thread, which /proc/self shows.
func IsFirstThread() bool { return unix.Gettid() == os.Getpid() }

// NoHugePages disables transparent huge pages for the calling process and its children.
func NoHugePages() error {
	if err := unix.Prctl(unix.PR_SET_THP_DISABLE, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl PR_SET_THP_DISABLE", err)
	}
	return nil
}

// DropBounding empties the capability bounding set of the calling thread and its children, so that execve
// cannot grant capabilities. The thread keeps its current capabilities.
func DropBounding() error {
	// The kernel returns EINVAL for the first capability that it does not know.
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

// CloseInherited marks all descriptors above stderr close-on-exec. Go does so for files that it opens, but not
// for inherited ones. A leaked descriptor of the host's file system allows an escape from any sandbox
// (CVE-2024-21626).
func CloseInherited() error {
	if err := unix.CloseRange(3, ^uint(0)>>33, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return os.NewSyscallError("close_range", err)
	}
	return nil
}

// Resources of setrlimit(2) that judged limits, by their kernel numbers.
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

// IsRoot reports whether the effective user is root.
func IsRoot() bool { return os.Geteuid() == 0 }

// OpenProcess returns a pidfd, which becomes readable when the process exits (PIDFD_NONBLOCK: Linux 5.10). Use
// Await to wait for it.
func OpenProcess(pid int) (*os.File, error) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil, &os.PathError{Op: "pidfd_open", Path: strconv.Itoa(pid), Err: err}
	}
	return os.NewFile(uintptr(fd), "pidfd"), nil
}

// KillProcess sends SIGKILL. It returns nil if the process has exited.
func KillProcess(pidfd *os.File) error {
	err := unix.PidfdSendSignal(int(pidfd.Fd()), unix.SIGKILL, nil, 0)
	if err != nil && err != unix.ESRCH {
		return os.NewSyscallError("pidfd_send_signal", err)
	}
	return nil
}

// ChildrenIn makes the calling thread create its children in the pid namespace of a process. To undo it, pass
// the caller's own pidfd.
func ChildrenIn(pidfd int) error {
	if err := unix.Setns(pidfd, unix.CLONE_NEWPID); err != nil {
		return os.NewSyscallError("setns CLONE_NEWPID", err)
	}
	return nil
}
