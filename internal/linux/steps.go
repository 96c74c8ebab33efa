package linux

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The constructors below build the steps of a forked child. Each is one system
// call; the order is the caller's.

// WriteStep writes b to fd.
func WriteStep(name string, fd int, b []byte) Step {
	return Step{Name: name, Call: unix.SYS_WRITE, Args: [6]uintptr{uintptr(fd), ptr(&b[0]), uintptr(len(b))},
		Want: uintptr(len(b)), Exact: true, keep: b}
}

// ParkedStep tells whoever reads the report descriptor that all steps so far
// have succeeded.
func ParkedStep(report int) Step {
	mark := &StepError{Step: parkedMark}
	return Step{Name: "write parked", Call: unix.SYS_WRITE, Args: [6]uintptr{uintptr(report), ptr(mark), uintptr(StepErrorSize)},
		Want: uintptr(StepErrorSize), Exact: true, keep: mark}
}

// parkedUsage is what ParkedUsageSteps write.
type parkedUsage struct {
	mark  StepError
	usage syscall.Rusage
}

// ParkedUsageSize is the number of bytes that ParkedUsageSteps write. They
// start with those of ParkedStep.
const ParkedUsageSize = int(unsafe.Sizeof(parkedUsage{}))

// ParkedUsageSteps are ParkedStep, telling also what the process has used so
// far: to ask /proc for it from outside takes 60 µs, to ask here takes 1.
func ParkedUsageSteps(report int) []Step {
	m := &parkedUsage{mark: StepError{Step: parkedMark}}
	const self = 0 // RUSAGE_SELF
	return []Step{
		{Name: "getrusage", Call: unix.SYS_GETRUSAGE, Args: [6]uintptr{self, ptr(&m.usage)}, keep: m},
		{Name: "write parked", Call: unix.SYS_WRITE, Args: [6]uintptr{uintptr(report), ptr(m), uintptr(ParkedUsageSize)},
			Want: uintptr(ParkedUsageSize), Exact: true, keep: m},
	}
}

// DecodeParkedUsage reads what ParkedUsageSteps wrote behind the mark.
func DecodeParkedUsage(b [ParkedUsageSize]byte) Usage {
	return usageOf(&(*parkedUsage)(unsafe.Pointer(&b)).usage)
}

// ReadByteStep blocks until one byte arrives on fd; the end of the stream is a
// failure.
func ReadByteStep(name string, fd int) Step {
	b := new([1]byte)
	return Step{Name: name, Call: unix.SYS_READ, Args: [6]uintptr{uintptr(fd), ptr(b), 1}, Want: 1, Exact: true, keep: b}
}

// DupStep makes fd available as to.
func DupStep(fd, to int) Step {
	return Step{Name: "dup3", Call: unix.SYS_DUP3, Args: [6]uintptr{uintptr(fd), uintptr(to), 0}}
}

// CloseOnExecStep marks every descriptor from first on (Linux 5.11).
func CloseOnExecStep(first int) Step {
	return Step{Name: "close_range", Call: unix.SYS_CLOSE_RANGE, Args: [6]uintptr{uintptr(first), uintptr(^uint32(0)), unix.CLOSE_RANGE_CLOEXEC}}
}

// CloseFromStep closes every descriptor from first on (Linux 5.9).
func CloseFromStep(first int) Step {
	return Step{Name: "close_range", Call: unix.SYS_CLOSE_RANGE, Args: [6]uintptr{uintptr(first), uintptr(^uint32(0)), 0}}
}

// NewProcessGroupStep makes the child leader of a process group.
func NewProcessGroupStep() Step { return Step{Name: "setpgid", Call: unix.SYS_SETPGID} }

// DefaultSignalStep takes an inherited SIG_IGN back, which execve would keep.
func DefaultSignalStep(sig syscall.Signal) Step {
	// struct sigaction of the kernel: handler, flags, restorer, mask. All
	// zero is SIG_DFL.
	act := new([4]uint64)
	return Step{Name: "rt_sigaction", Call: unix.SYS_RT_SIGACTION, Args: [6]uintptr{uintptr(sig), ptr(act), 0, 8}, keep: act}
}

// IgnoreSignalStep ignores a signal. With SIGCHLD ignored the kernel reaps
// children itself.
func IgnoreSignalStep(sig syscall.Signal) Step {
	const ignore = 1 // SIG_IGN
	act := &[4]uint64{ignore}
	return Step{Name: "rt_sigaction", Call: unix.SYS_RT_SIGACTION, Args: [6]uintptr{uintptr(sig), ptr(act), 0, 8}, keep: act}
}

// DieWithParentStep kills the child when the thread that is its parent ends.
func DieWithParentStep() Step {
	return prctlStep("prctl PR_SET_PDEATHSIG", unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL))
}

// EnterNetworkStep enters a network namespace.
func EnterNetworkStep(network int) Step {
	return Step{Name: "setns network", Call: unix.SYS_SETNS, Args: [6]uintptr{uintptr(network), unix.CLONE_NEWNET}}
}

// JoinStep enters the mount, IPC and network namespaces of a process (Linux 5.8).
func JoinStep(pidfd int) Step {
	return Step{Name: "setns", Call: unix.SYS_SETNS, Args: [6]uintptr{uintptr(pidfd), unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWNET}}
}

// ChdirStep changes the working directory.
func ChdirStep(path string) Step {
	p := cString(path)
	return Step{Name: "chdir " + path, Call: unix.SYS_CHDIR, Args: [6]uintptr{ptr(p)}, keep: p}
}

// AttachStep puts a mount that is nowhere yet in its place.
func AttachStep(mount int, target string) Step {
	type paths struct{ empty, target *byte }
	p := &paths{cString(""), cString(target)}
	at := unix.AT_FDCWD
	return Step{Name: "move_mount " + target, Call: unix.SYS_MOVE_MOUNT,
		Args: [6]uintptr{uintptr(mount), ptr(p.empty), uintptr(at), ptr(p.target), unix.MOVE_MOUNT_F_EMPTY_PATH}, keep: p}
}

// MountStep mounts a new instance of a file system.
func MountStep(fstype, target string, flags uintptr, data string) Step {
	type texts struct{ fstype, target, data *byte }
	t := &texts{cString(fstype), cString(target), cString(data)}
	return Step{Name: "mount " + fstype, Call: unix.SYS_MOUNT,
		Args: [6]uintptr{ptr(t.fstype), ptr(t.target), ptr(t.fstype), flags, ptr(t.data)}, keep: t}
}

// NormalPolicyStep sets SCHED_OTHER, whatever the daemon runs under.
func NormalPolicyStep() Step {
	prio := new(int32)
	return Step{Name: "sched_setscheduler", Call: unix.SYS_SCHED_SETSCHEDULER, Args: [6]uintptr{0, unix.SCHED_NORMAL, ptr(prio)}, keep: prio}
}

// NormalPriorityStep sets the nice value 0, which NormalPolicyStep leaves as it
// is. Less than the daemon's needs CAP_SYS_NICE.
func NormalPriorityStep() Step {
	return Step{Name: "setpriority", Call: unix.SYS_SETPRIORITY, Args: [6]uintptr{unix.PRIO_PROCESS, 0, 0}}
}

// AffinityStep binds the child to the CPUs.
func AffinityStep(cpus []int) Step {
	mask := cpuMask(cpus)
	return Step{Name: "sched_setaffinity", Call: unix.SYS_SCHED_SETAFFINITY,
		Args: [6]uintptr{0, uintptr(len(mask) * 8), ptr(&mask[0])}, keep: mask}
}

// RlimitStep sets both the soft and the hard limit of a resource.
func RlimitStep(resource int, value uint64) Step {
	lim := &unix.Rlimit{Cur: value, Max: value}
	return Step{Name: "prlimit64", Call: unix.SYS_PRLIMIT64, Args: [6]uintptr{0, uintptr(resource), ptr(lim), 0}, keep: lim}
}

// UmaskStep sets the file mode creation mask.
func UmaskStep(mask uintptr) Step {
	return Step{Name: "umask", Call: unix.SYS_UMASK, Args: [6]uintptr{mask}}
}

// NewCgroupNamespaceStep makes the cgroups that the child is in the roots that
// it sees in /proc/self/cgroup.
func NewCgroupNamespaceStep() Step {
	return Step{Name: "unshare", Call: unix.SYS_UNSHARE, Args: [6]uintptr{unix.CLONE_NEWCGROUP}}
}

// NoNewPrivsStep makes set-user-ID files powerless.
func NoNewPrivsStep() Step {
	return prctlStep("prctl PR_SET_NO_NEW_PRIVS", unix.PR_SET_NO_NEW_PRIVS, 1)
}

// ClearAmbientStep empties the ambient set.
func ClearAmbientStep() Step {
	return prctlStep("prctl PR_CAP_AMBIENT", unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL)
}

// LockSecurebitsStep makes user ID 0 mean nothing and locks that.
func LockSecurebitsStep() Step {
	const noroot, norootLocked, noSetuidFixup, noSetuidFixupLocked, noAmbient, noAmbientLocked = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 6, 1 << 7
	return prctlStep("prctl PR_SET_SECUREBITS", unix.PR_SET_SECUREBITS, noroot|norootLocked|noSetuidFixup|noSetuidFixupLocked|noAmbient|noAmbientLocked)
}

// SetgroupsStep leaves all supplementary groups.
func SetgroupsStep() Step { return Step{Name: "setgroups", Call: unix.SYS_SETGROUPS} }

// SetgidStep sets real, effective and saved group.
func SetgidStep(gid int) Step {
	return Step{Name: "setresgid", Call: unix.SYS_SETRESGID, Args: [6]uintptr{uintptr(gid), uintptr(gid), uintptr(gid)}}
}

// SetuidStep sets real, effective and saved user.
func SetuidStep(uid int) Step {
	return Step{Name: "setresuid", Call: unix.SYS_SETRESUID, Args: [6]uintptr{uintptr(uid), uintptr(uid), uintptr(uid)}}
}

// NoCapabilitiesStep empties the permitted, effective and inheritable sets.
func NoCapabilitiesStep() Step {
	type sets struct {
		head unix.CapUserHeader
		data [2]unix.CapUserData
	}
	c := &sets{head: unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}}
	return Step{Name: "capset", Call: unix.SYS_CAPSET, Args: [6]uintptr{ptr(&c.head), ptr(&c.data[0])}, keep: c}
}

// SeccompStep installs a program of struct sock_filter instructions, 8 bytes
// each. SPEC_ALLOW keeps kernels before 5.16 from slowing the process down
// with speculative store bypass disabled; the flag is the kernel's since 4.17.
func SeccompStep(program []byte) Step {
	type fprog struct {
		prog unix.SockFprog
		code []byte
	}
	f := &fprog{code: program}
	f.prog = unix.SockFprog{Len: uint16(len(program) / 8), Filter: (*unix.SockFilter)(unsafe.Pointer(&program[0]))}
	return Step{Name: "seccomp", Call: unix.SYS_SECCOMP,
		Args: [6]uintptr{unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW, ptr(&f.prog)}, keep: f}
}

// ExecStep replaces the child. It is the last step.
func ExecStep(path string, argv, env []string) (Step, error) {
	type vectors struct {
		path       *byte
		argv, envv []*byte
	}
	var v vectors
	var err error
	if v.path, err = syscall.BytePtrFromString(path); err != nil {
		return Step{}, err
	}
	if v.argv, err = syscall.SlicePtrFromStrings(argv); err != nil {
		return Step{}, err
	}
	if v.envv, err = syscall.SlicePtrFromStrings(env); err != nil {
		return Step{}, err
	}
	return Step{Name: "execve", Call: unix.SYS_EXECVE, Args: [6]uintptr{ptr(v.path), ptr(&v.argv[0]), ptr(&v.envv[0])}, keep: &v}, nil
}

func prctlStep(name string, option, arg uintptr) Step {
	return Step{Name: name, Call: unix.SYS_PRCTL, Args: [6]uintptr{option, arg}}
}

// cString is a string of the program itself, which has no NUL.
func cString(s string) *byte {
	b := append([]byte(s), 0)
	return &b[0]
}

// ptr is the address of something on the heap that a Step keeps alive. The
// heap does not move.
func ptr[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }
