package linux

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The functions below create the steps of a forked child. Each step is one system call; the caller determines
// their order.

// WriteStep writes b to fd.
func WriteStep(name string, fd int, b []byte) Step {
	return Step{Name: name, Call: unix.SYS_WRITE, Args: [6]uintptr{uintptr(fd), 0, uintptr(len(b))},
		Pointers: [6]pointer{1: {to: &memory{bytes: b}}},
		Want:     uintptr(len(b)), Exact: true}
}

// ParkedStep reports on the report descriptor that all steps so far have
// succeeded.
func ParkedStep(report int) Step {
	return WriteStep("write parked", report, bytesOf(&StepError{Step: parkedMark}))
}

// parkedUsage is the message of ParkedUsageSteps.
type parkedUsage struct {
	mark  StepError
	usage syscall.Rusage
}

// ParkedUsageSize is the size of the message of ParkedUsageSteps in bytes. It starts with the message of
// ParkedStep.
const ParkedUsageSize = int(unsafe.Sizeof(parkedUsage{}))

// ParkedUsageSteps are like ParkedStep but also report the resource usage so far. This takes 1 µs; reading
// /proc from another process takes 60 µs.
func ParkedUsageSteps(report int) []Step {
	write := WriteStep("write parked", report, bytesOf(&parkedUsage{mark: StepError{Step: parkedMark}}))
	const self = 0 // RUSAGE_SELF
	into := pointer{write.Pointers[1].to, int(unsafe.Offsetof(parkedUsage{}.usage))}
	return []Step{{Name: "getrusage", Call: unix.SYS_GETRUSAGE, Args: [6]uintptr{self}, Pointers: [6]pointer{1: into}},
		write}
}

// DecodeParkedUsage decodes the usage in a message of ParkedUsageSteps.
func DecodeParkedUsage(b [ParkedUsageSize]byte) Usage {
	return usageOf(&(*parkedUsage)(unsafe.Pointer(&b)).usage)
}

// ReadByteStep blocks until one byte arrives on fd. It fails at the end of the stream.
func ReadByteStep(name string, fd int) Step {
	return Step{Name: name, Call: unix.SYS_READ, Args: [6]uintptr{uintptr(fd), 0, 1},
		Pointers: [6]pointer{1: {to: &memory{bytes: make([]byte, 1)}}},
		Want:     1, Exact: true}
}

// DupStep duplicates fd as to.
func DupStep(fd, to int) Step {
	return Step{Name: "dup3", Call: unix.SYS_DUP3, Args: [6]uintptr{uintptr(fd), uintptr(to), 0}}
}

func CloseStep(fd int) Step {
	return Step{Name: "close", Call: unix.SYS_CLOSE, Args: [6]uintptr{uintptr(fd)}}
}

// CloseOnExecStep marks every descriptor from first on (Linux 5.11).
func CloseOnExecStep(first int) Step {
	return Step{Name: "close_range", Call: unix.SYS_CLOSE_RANGE,
		Args: [6]uintptr{uintptr(first), uintptr(^uint32(0)), unix.CLOSE_RANGE_CLOEXEC}}
}

// CloseFromStep closes every descriptor from first on (Linux 5.9).
func CloseFromStep(first int) Step {
	return Step{Name: "close_range", Call: unix.SYS_CLOSE_RANGE,
		Args: [6]uintptr{uintptr(first), uintptr(^uint32(0)), 0}}
}

// NewProcessGroupStep makes the child the leader of a new process group.
func NewProcessGroupStep() Step { return Step{Name: "setpgid", Call: unix.SYS_SETPGID} }

// DefaultSignalStep resets a signal to its default action, because execve keeps an inherited SIG_IGN.
func DefaultSignalStep(sig syscall.Signal) Step {
	const byDefault = 0 // SIG_DFL
	return actionStep(sig, byDefault)
}

// IgnoreSignalStep ignores a signal. If SIGCHLD is ignored, the kernel reaps children.
func IgnoreSignalStep(sig syscall.Signal) Step {
	const ignore = 1 // SIG_IGN
	return actionStep(sig, ignore)
}

// actionStep sets the action of a signal. The kernel's struct sigaction consists of the handler, flags, a
// restorer and a mask.
func actionStep(sig syscall.Signal, handler uint64) Step {
	return Step{Name: "rt_sigaction", Call: unix.SYS_RT_SIGACTION, Args: [6]uintptr{uintptr(sig), 0, 0, 8},
		Pointers: [6]pointer{1: toBytes(&[4]uint64{handler})}}
}

// AllSignalsStep unblocks all signals. ForkSteps starts the child with all signals blocked, so that no signal
// is lost before this step.
func AllSignalsStep() Step {
	return Step{Name: "rt_sigprocmask", Call: unix.SYS_RT_SIGPROCMASK, Args: [6]uintptr{unix.SIG_SETMASK, 0, 0, 8},
		Pointers: [6]pointer{1: toBytes(new(uint64))}}
}

// DieWithParentStep makes the kernel kill the child when the thread that created it exits.
func DieWithParentStep() Step {
	return prctlStep("prctl PR_SET_PDEATHSIG", unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL))
}

func EnterNetworkStep(network int) Step {
	return Step{Name: "setns network", Call: unix.SYS_SETNS, Args: [6]uintptr{uintptr(network), unix.CLONE_NEWNET}}
}

// JoinStep enters the mount, IPC and network namespaces of a process (Linux 5.8).
func JoinStep(pidfd int) Step {
	return Step{Name: "setns", Call: unix.SYS_SETNS,
		Args: [6]uintptr{uintptr(pidfd), unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWNET}}
}

// ChdirStep changes the working directory.
func ChdirStep(path string) Step {
	return Step{Name: "chdir " + path, Call: unix.SYS_CHDIR, Pointers: [6]pointer{toString(path)}}
}

// AttachStep attaches a detached mount.
func AttachStep(mount int, target string) Step {
	at := unix.AT_FDCWD
	return Step{Name: "move_mount " + target, Call: unix.SYS_MOVE_MOUNT,
		Args:     [6]uintptr{uintptr(mount), 0, uintptr(at), 0, unix.MOVE_MOUNT_F_EMPTY_PATH},
		Pointers: [6]pointer{1: toString(""), 3: toString(target)}}
}

// MountStep mounts a new instance of a file system.
func MountStep(fstype, target string, flags uintptr, data string) Step {
	return Step{Name: "mount " + fstype, Call: unix.SYS_MOUNT, Args: [6]uintptr{3: flags},
		Pointers: [6]pointer{toString(fstype), toString(target), toString(fstype), {}, toString(data)}}
}

// NormalPolicyStep sets SCHED_OTHER, regardless of the daemon's policy.
func NormalPolicyStep() Step {
	return Step{Name: "sched_setscheduler", Call: unix.SYS_SCHED_SETSCHEDULER, Args: [6]uintptr{0, unix.SCHED_NORMAL},
		Pointers: [6]pointer{2: toBytes(new(int32))}}
}

// NormalPriorityStep sets the nice value to 0; NormalPolicyStep does not change it. Lowering the nice value
// needs CAP_SYS_NICE.
func NormalPriorityStep() Step {
	return Step{Name: "setpriority", Call: unix.SYS_SETPRIORITY, Args: [6]uintptr{unix.PRIO_PROCESS, 0, 0}}
}

// AffinityStep binds the child to the CPUs.
func AffinityStep(cpus []int) Step {
	mask := cpuMask(cpus)
	return Step{Name: "sched_setaffinity", Call: unix.SYS_SCHED_SETAFFINITY,
		Args: [6]uintptr{0, uintptr(len(mask) * 8)}, Pointers: [6]pointer{2: {to: &memory{bytes: sliceBytes(mask)}}}}
}

// RlimitStep sets both the soft and the hard limit of a resource.
func RlimitStep(resource int, value uint64) Step {
	return Step{Name: "prlimit64", Call: unix.SYS_PRLIMIT64, Args: [6]uintptr{0, uintptr(resource)},
		Pointers: [6]pointer{2: toBytes(&unix.Rlimit{Cur: value, Max: value})}}
}

// UmaskStep sets the file mode creation mask.
func UmaskStep(mask uintptr) Step {
	return Step{Name: "umask", Call: unix.SYS_UMASK, Args: [6]uintptr{mask}}
}

// NewCgroupNamespaceStep makes the child's current cgroups the roots that it sees in /proc/self/cgroup.
func NewCgroupNamespaceStep() Step {
	return Step{Name: "unshare", Call: unix.SYS_UNSHARE, Args: [6]uintptr{unix.CLONE_NEWCGROUP}}
}

// NoNewPrivsStep makes execve ignore set-user-ID bits.
func NoNewPrivsStep() Step {
	return prctlStep("prctl PR_SET_NO_NEW_PRIVS", unix.PR_SET_NO_NEW_PRIVS, 1)
}

// ClearAmbientStep empties the ambient capability set.
func ClearAmbientStep() Step {
	return prctlStep("prctl PR_CAP_AMBIENT", unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL)
}

// LockSecurebitsStep removes the privileges of user ID 0 and locks this setting.
func LockSecurebitsStep() Step {
	const noroot, norootLocked, noSetuidFixup, noSetuidFixupLocked, noAmbient, noAmbientLocked = 1 << 0, 1 << 1, 1 << 2,
		1 << 3, 1 << 6, 1 << 7
	return prctlStep("prctl PR_SET_SECUREBITS", unix.PR_SET_SECUREBITS,
		noroot|norootLocked|noSetuidFixup|noSetuidFixupLocked|noAmbient|noAmbientLocked)
}

// SetgroupsStep removes all supplementary groups.
func SetgroupsStep() Step { return Step{Name: "setgroups", Call: unix.SYS_SETGROUPS} }

// SetgidStep sets the real, effective and saved group ID.
func SetgidStep(gid int) Step {
	return Step{Name: "setresgid", Call: unix.SYS_SETRESGID, Args: [6]uintptr{uintptr(gid), uintptr(gid), uintptr(gid)}}
}

// SetuidStep sets the real, effective and saved user ID.
func SetuidStep(uid int) Step {
	return Step{Name: "setresuid", Call: unix.SYS_SETRESUID, Args: [6]uintptr{uintptr(uid), uintptr(uid), uintptr(uid)}}
}

// NoCapabilitiesStep empties the permitted, effective and inheritable capability sets.
func NoCapabilitiesStep() Step {
	return Step{Name: "capset", Call: unix.SYS_CAPSET, Pointers: [6]pointer{
		toBytes(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}), toBytes(new([2]unix.CapUserData))}}
}

// SeccompStep installs a filter of struct sock_filter instructions of 8 bytes each.
// SECCOMP_FILTER_FLAG_SPEC_ALLOW (Linux 4.17) keeps kernels before 5.16 from slowing the process down by
// disabling speculative store bypass.
func SeccompStep(program []byte) Step {
	// fprog is struct sock_fprog: the number of instructions and their address.
	type fprog struct {
		count   uint16
		program uintptr
	}
	m := &memory{bytes: bytesOf(&fprog{count: uint16(len(program) / 8)})}
	m.pointers = []pointer{1: {to: &memory{bytes: program}}}
	return Step{Name: "seccomp", Call: unix.SYS_SECCOMP,
		Args:     [6]uintptr{unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW},
		Pointers: [6]pointer{2: {to: m}}}
}

// ExecStep executes a program. It must be the last step.
func ExecStep(path string, argv, env []string) (Step, error) {
	for _, text := range slices.Concat([]string{path}, argv, env) {
		if strings.IndexByte(text, 0) >= 0 {
			return Step{}, os.NewSyscallError("execve", syscall.EINVAL)
		}
	}
	return Step{Name: "execve", Call: unix.SYS_EXECVE,
		Pointers: [6]pointer{toString(path), toStrings(argv), toStrings(env)}}, nil
}

func prctlStep(name string, option, arg uintptr) Step {
	return Step{Name: name, Call: unix.SYS_PRCTL, Args: [6]uintptr{option, arg}}
}

// toString returns a pointer to a NUL-terminated string.
func toString(s string) pointer { return pointer{to: &memory{bytes: append([]byte(s), 0)}} }

// toStrings returns a pointer to a NULL-terminated array of strings.
func toStrings(all []string) pointer {
	m := &memory{bytes: make([]byte, (len(all)+1)*wordBytes)}
	for _, s := range all {
		m.pointers = append(m.pointers, toString(s))
	}
	return pointer{to: m}
}

// toBytes returns a pointer to a value that contains no pointers.
func toBytes[T any](v *T) pointer { return pointer{to: &memory{bytes: bytesOf(v)}} }

func bytesOf[T any](v *T) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v)) }

func sliceBytes(words []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*8)
}
