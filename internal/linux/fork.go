package linux

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The hooks that package syscall itself uses around fork. Their signatures
// are frozen: the runtime lists them as reached from outside.

//go:linkname runtimeBeforeFork syscall.runtime_BeforeFork
func runtimeBeforeFork()

//go:linkname runtimeAfterFork syscall.runtime_AfterFork
func runtimeAfterFork()

//go:linkname runtimeAfterForkInChild syscall.runtime_AfterForkInChild
func runtimeAfterForkInChild()

// Step is one system call of a forked child. Everything that it points to is
// made before the fork: between fork and execve a child of a Go program may
// neither allocate nor call into the runtime.
type Step struct {
	Name   string // what failed, for people
	Call   uintptr
	Args   [6]uintptr
	Ignore syscall.Errno // an errno that is as good as success
	Want   uintptr       // the result that a step must have where Exact is set
	Exact  bool
	keep   any // what Args points to
}

// StepError is what a forked child writes to its report descriptor before it
// exits because a step failed.
type StepError struct {
	Step  int32 // index into the list
	Errno int32 // 0: the call succeeded with another result than wanted
}

// parkedMark in Step says that the child is parked and nothing failed.
const parkedMark = -1

// Parked reports whether this is the mark that ParkedStep wrote.
func (e StepError) Parked() bool { return e.Step == parkedMark }

// StepErrorSize is the number of bytes of a StepError on the descriptor.
const StepErrorSize = int(unsafe.Sizeof(StepError{}))

// DecodeStepError reads what a child wrote.
func DecodeStepError(b [StepErrorSize]byte) StepError {
	return *(*StepError)(unsafe.Pointer(&b))
}

// ForkedChild says how a child is born and what it does until it execs.
type ForkedChild struct {
	Cgroup     int     // directory of a v2 cgroup for CLONE_INTO_CGROUP, or -1
	Namespaces uintptr // CLONE_NEW flags: what it has for itself from its birth
	Sibling    bool    // it is its parent's parent's child (CLONE_PARENT)
	Report     int     // descriptor for the StepError
	Steps      []Step
}

// cloneArgs is struct clone_args of linux/sched.h up to its third version
// (cgroup, Linux 5.7).
type cloneArgs struct {
	flags, pidfd, childTID, parentTID, exitSignal, stack, stackSize, tls, setTID, setTIDSize, cgroup uint64
}

// failedStatus is the exit status of a child whose step failed. It decides
// nothing: the StepError does.
const failedStatus = 125

// ForkSteps forks a child that runs the steps, the last of which does not
// return, and gives its pid. It is a real fork and not a vfork, because the child
// stays parked in the middle of its list while the caller goes on.
//
//go:noinline
//go:norace
//go:nocheckptr
func ForkSteps(c *ForkedChild) (pid int, err error) {
	args := &cloneArgs{flags: uint64(c.Namespaces), exitSignal: uint64(unix.SIGCHLD)}
	if c.Cgroup >= 0 {
		args.flags |= unix.CLONE_INTO_CGROUP
		args.cgroup = uint64(c.Cgroup)
	}
	if c.Sibling {
		// The exit signal is then that of the parent (clone(2)).
		args.flags |= unix.CLONE_PARENT
		args.exitSignal = 0
	}
	// The size of the second version (Linux 5.5) keeps kernels working that
	// do not know the cgroup member.
	size := unsafe.Offsetof(args.cgroup)
	if c.Cgroup >= 0 {
		size = unsafe.Sizeof(*args)
	}
	fail := new(StepError)
	steps, report := c.Steps, uintptr(c.Report)
	var (
		i  int
		s  *Step
		r1 uintptr
		e  syscall.Errno
	)
	syscall.ForkLock.Lock()
	runtimeBeforeFork()
	r1, _, e = syscall.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(args)), size, 0)
	if e != 0 || r1 != 0 {
		runtimeAfterFork()
		syscall.ForkLock.Unlock()
		runtime.KeepAlive(c)
		if e != 0 {
			return 0, os.NewSyscallError("clone3", e)
		}
		return int(r1), nil
	}
	// The child. Nothing below may allocate, lock or grow the stack.
	runtimeAfterForkInChild()
	for i = 0; i < len(steps); i++ {
		s = &steps[i]
		r1, _, e = syscall.RawSyscall6(s.Call, s.Args[0], s.Args[1], s.Args[2], s.Args[3], s.Args[4], s.Args[5])
		if e != 0 && e == s.Ignore {
			continue
		}
		if e != 0 || (s.Exact && r1 != s.Want) {
			fail.Step, fail.Errno = int32(i), int32(e)
			syscall.RawSyscall(unix.SYS_WRITE, report, uintptr(unsafe.Pointer(fail)), uintptr(StepErrorSize))
			break
		}
	}
	for {
		syscall.RawSyscall(unix.SYS_EXIT_GROUP, failedStatus, 0, 0)
	}
}
