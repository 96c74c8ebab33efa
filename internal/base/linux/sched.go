package linux

import (
	"errors"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// cpuMask is the set as the words of the kernel's cpumask. The kernel takes
// any length and pads with zeros.
func cpuMask(cpus []int) []uint64 {
	top := 0
	for _, c := range cpus {
		top = max(top, c)
	}
	mask := make([]uint64, top/64+1)
	for _, c := range cpus {
		mask[c/64] |= 1 << (c % 64)
	}
	return mask
}

// SetAffinity binds one thread, 0 is the calling one, to the CPUs.
func SetAffinity(tid int, cpus []int) error {
	mask := cpuMask(cpus)
	_, _, e := syscall.RawSyscall(unix.SYS_SCHED_SETAFFINITY, uintptr(tid), uintptr(len(mask)*8),
		uintptr(unsafe.Pointer(&mask[0])))
	if e != 0 {
		return &os.PathError{Op: "sched_setaffinity thread", Path: strconv.Itoa(tid), Err: e}
	}
	return nil
}

// ownThreads lists the threads of the calling process.
func ownThreads() ([]int, error) {
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil, err
	}
	var tids []int
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			tids = append(tids, tid)
		}
	}
	return tids, nil
}

// ConfineProcess binds every thread of the calling process to the CPUs. New
// threads inherit from the thread that makes them, so the list is read again
// until a pass finds no thread that it has not bound.
func ConfineProcess(cpus []int) error {
	bound := map[int]bool{}
	for {
		tids, err := ownThreads()
		if err != nil {
			return err
		}
		fresh := 0
		for _, tid := range tids {
			if bound[tid] {
				continue
			}
			if err := SetAffinity(tid, cpus); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
			bound[tid] = true
			fresh++
		}
		if fresh == 0 {
			return nil
		}
	}
}

// schedAttr is struct sched_attr of linux/sched/types.h, first version.
type schedAttr struct {
	size, policy              uint32
	flags                     uint64
	nice                      int32
	priority                  uint32
	runtime, deadline, period uint64
}

// TouchAccounting makes the scheduler bring a thread's CPU time up to date by
// moving it from SCHED_OTHER to SCHED_BATCH and back. On a nohz_full CPU
// nothing else does: without a tick the counters of a running thread lag by up
// to a second, whatever reads them. A thread that has ended is no error.
func TouchAccounting(tid int) error {
	for _, policy := range []uint32{unix.SCHED_BATCH, unix.SCHED_NORMAL} {
		attr := schedAttr{policy: policy}
		attr.size = uint32(unsafe.Sizeof(attr))
		_, _, e := syscall.RawSyscall(unix.SYS_SCHED_SETATTR, uintptr(tid), uintptr(unsafe.Pointer(&attr)), 0)
		if e == unix.ESRCH {
			return nil
		}
		if e != 0 {
			return &os.PathError{Op: "sched_setattr thread", Path: strconv.Itoa(tid), Err: e}
		}
	}
	return nil
}

// ThreadCPUTime reads CLOCK_THREAD_CPUTIME_ID: what the calling thread has run
// on CPUs, the part of a control group's CPU time that is its own.
func ThreadCPUTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		panic("linux: clock_gettime: " + err.Error()) // cannot fail for this clock
	}
	return time.Duration(ts.Nano())
}

// BindMemory makes every page that the calling thread touches first come from
// the NUMA node.
func BindMemory(node int) error {
	mask := cpuMask([]int{node})
	// The kernel reads one bit less than maxnode says (mm/mempolicy.c,
	// get_nodes).
	_, _, e := syscall.RawSyscall(unix.SYS_SET_MEMPOLICY, unix.MPOL_BIND, uintptr(unsafe.Pointer(&mask[0])),
		uintptr(len(mask)*64+1))
	if e != 0 {
		return &os.PathError{Op: "set_mempolicy node", Path: strconv.Itoa(node), Err: e}
	}
	return nil
}

// UnbindMemory takes BindMemory back.
func UnbindMemory() error {
	if _, _, e := syscall.RawSyscall(unix.SYS_SET_MEMPOLICY, unix.MPOL_DEFAULT, 0, 0); e != 0 {
		return os.NewSyscallError("set_mempolicy default", e)
	}
	return nil
}
