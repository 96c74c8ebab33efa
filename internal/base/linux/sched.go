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

// cpuMask returns cpus as words of a kernel cpumask. The kernel accepts any length and pads with zeros.
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

// SetAffinity binds a thread to cpus. The thread 0 is the calling one.
func SetAffinity(tid int, cpus []int) error {
	mask := cpuMask(cpus)
	_, _, e := syscall.RawSyscall(unix.SYS_SCHED_SETAFFINITY, uintptr(tid), uintptr(len(mask)*8),
		uintptr(unsafe.Pointer(&mask[0])))
	if e != 0 {
		return &os.PathError{Op: "sched_setaffinity thread", Path: strconv.Itoa(tid), Err: e}
	}
	return nil
}

// ownThreads returns the threads of the calling process.
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

// ConfineProcess binds all threads of the calling process to cpus. New threads inherit the affinity of their
// creator, so it reads the list again until it finds no unbound thread.
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

// schedAttr is the first version of struct sched_attr in linux/sched/types.h.
type schedAttr struct {
	size, policy              uint32
	flags                     uint64
	nice                      int32
	priority                  uint32
	runtime, deadline, period uint64
}

// TouchAccounting makes the scheduler update a thread's CPU time by switching it from SCHED_OTHER to
// SCHED_BATCH and back. On a nohz_full CPU there is no other way: without a tick the counters of a running
// thread lag by up to a second. It returns nil if the thread has exited.
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

// ThreadCPUTime returns the CPU time of the calling thread (CLOCK_THREAD_CPUTIME_ID).
func ThreadCPUTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		panic("linux: clock_gettime: " + err.Error()) // cannot fail for this clock
	}
	return time.Duration(ts.Nano())
}

// BindMemory makes the calling thread allocate new pages on the NUMA node.
func BindMemory(node int) error {
	mask := cpuMask([]int{node})
	// The kernel reads one bit fewer than maxnode (mm/mempolicy.c, get_nodes).
	_, _, e := syscall.RawSyscall(unix.SYS_SET_MEMPOLICY, unix.MPOL_BIND, uintptr(unsafe.Pointer(&mask[0])),
		uintptr(len(mask)*64+1))
	if e != 0 {
		return &os.PathError{Op: "set_mempolicy node", Path: strconv.Itoa(node), Err: e}
	}
	return nil
}

// UnbindMemory undoes BindMemory.
func UnbindMemory() error {
	if _, _, e := syscall.RawSyscall(unix.SYS_SET_MEMPOLICY, unix.MPOL_DEFAULT, 0, 0); e != 0 {
		return os.NewSyscallError("set_mempolicy default", e)
	}
	return nil
}
