package linux

import (
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// forkSteps forks; the child goes through the steps. See the assembly.
//
//go:noescape
func forkSteps(clone *cloneArgs, size uintptr, steps *laidStep, count, report uintptr, failed *StepError) (pid,
	errno uintptr)

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
	// PIDHandoff is where the kernel writes the pid, before the child runs and
	// even if the caller is killed then. It may be nil.
	PIDHandoff *atomic.Int32
	Steps      []Step
}

var everySignal = unix.Sigset_t{Val: [16]uint64{^uint64(0)}}

// cloneArgs is struct clone_args of linux/sched.h up to its third version
// (cgroup, Linux 5.7).
type cloneArgs struct {
	flags, pidfd, childTID, parentTID, exitSignal, stack, stackSize, tls, setTID, setTIDSize, cgroup uint64
}

// ForkSteps forks a child that runs the steps, the last of which does not
// return, and gives its pid. It is a real fork and not a vfork, because the child
// stays parked in the middle of its list while the caller continues; nor does it
// share the caller's memory, since the kernel's OOM killer ends all that do.
//
// The child never runs Go code, nor anything that needs a stack: it has the
// steps in separate memory and a loop of a few instructions. So a caller that
// has called KeepMemoryFromChildren forks in a third of the time.
func ForkSteps(c *ForkedChild) (pid int, err error) {
	// No handler of the runtime may run in the child (Linux 5.5).
	args := &cloneArgs{flags: uint64(c.Namespaces) | unix.CLONE_CLEAR_SIGHAND, exitSignal: uint64(unix.SIGCHLD)}
	if c.Cgroup >= 0 {
		args.flags |= unix.CLONE_INTO_CGROUP
		args.cgroup = uint64(c.Cgroup)
	}
	if c.PIDHandoff != nil {
		args.flags |= unix.CLONE_PARENT_SETTID
		args.parentTID = uint64(uintptr(unsafe.Pointer(c.PIDHandoff)))
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
	l, err := layOut(c.Steps)
	if err != nil {
		return 0, err
	}
	defer l.free()
	// The child is born with all signals blocked, so that what comes before AllSignalsStep
	// waits. The mask is the thread's.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var mask unix.Sigset_t
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &everySignal, &mask); err != nil {
		return 0, os.NewSyscallError("rt_sigprocmask", err)
	}
	syscall.ForkLock.Lock()
	r, errno := forkSteps(args, size, l.steps, uintptr(len(c.Steps)), uintptr(c.Report), l.failed)
	syscall.ForkLock.Unlock()
	runtime.KeepAlive(c)
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &mask, nil); err != nil {
		return int(r), os.NewSyscallError("rt_sigprocmask", err)
	}
	if errno != 0 {
		return 0, os.NewSyscallError("clone3", syscall.Errno(errno))
	}
	return int(r), nil
}
