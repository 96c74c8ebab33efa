package linux

import (
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// forkSteps forks. The child executes the steps; see the assembly code.
//
//go:noescape
func forkSteps(clone *cloneArgs, size uintptr, steps *laidStep, count, report uintptr, failed *StepError) (pid,
	errno uintptr)

// StepError is the report that a forked child writes to its report descriptor before it
// exits because a step failed.
type StepError struct {
	Step  int32 // index of the step
	Errno int32 // 0: the call succeeded but returned an unexpected result
}

// parkedMark as Step means that the child is parked and that no step failed.
const parkedMark = -1

// Parked reports whether e is the message of ParkedStep.
func (e StepError) Parked() bool { return e.Step == parkedMark }

// StepErrorSize is the encoded size of a StepError in bytes.
const StepErrorSize = int(unsafe.Sizeof(StepError{}))

// DecodeStepError decodes a StepError.
func DecodeStepError(b [StepErrorSize]byte) StepError {
	return *(*StepError)(unsafe.Pointer(&b))
}

// ForkedChild describes how a child is created and what it does before execve.
type ForkedChild struct {
	Cgroup     int     // directory of a v2 cgroup for CLONE_INTO_CGROUP, or -1
	Namespaces uintptr // CLONE_NEW* flags: the child's own namespaces
	Sibling    bool    // the child has the caller's parent as its parent (CLONE_PARENT)
	Report     int     // descriptor that a StepError is written to
	// PIDHandoff is where the kernel stores the pid. It does so before the child runs, even if the caller is
	// killed meanwhile. It may be nil.
	PIDHandoff *atomic.Int32
	Steps      []Step
}

var everySignal = unix.Sigset_t{Val: [16]uint64{^uint64(0)}}

// cloneArgs is the third version of struct clone_args in linux/sched.h (with cgroup, Linux 5.7).
type cloneArgs struct {
	flags, pidfd, childTID, parentTID, exitSignal, stack, stackSize, tls, setTID, setTIDSize, cgroup uint64
}

// ForkSteps forks a child that executes the steps, the last of which must not return, and returns its pid. It
// uses fork and not vfork, because the child parks in the middle of its steps while the caller continues. It
// does not share memory with the caller, because the OOM killer kills all processes that share memory.
//
// The child never runs Go code or anything that needs a stack: its steps are in separate memory, and a loop of
// a few instructions executes them. A caller that has called ExcludeMemoryFromChildren therefore forks in a third
// of the time.
func ForkSteps(c *ForkedChild) (pid int, err error) {
	// The child must not run the runtime's signal handlers (Linux 5.5).
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
		// CLONE_PARENT uses the parent's exit signal (clone(2)).
		args.flags |= unix.CLONE_PARENT
		args.exitSignal = 0
	}
	// The second version (Linux 5.5) also works on kernels without the cgroup member.
	size := unsafe.Offsetof(args.cgroup)
	if c.Cgroup >= 0 {
		size = unsafe.Sizeof(*args)
	}
	l, err := layOut(c.Steps)
	if err != nil {
		return 0, err
	}
	defer l.free()
	// The child starts with all signals blocked, so that signals before AllSignalsStep stay pending. The mask
	// belongs to the thread.
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
