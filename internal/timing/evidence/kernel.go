package evidence

import (
	"bytes"
	"strconv"
	"time"
)

// kernelTimes are the run times of the kernel's threads in nanoseconds, by PID.
type kernelTimes map[int]uint64

// late holds the readings at the time when a run first reached a limit.
type late struct {
	system tally // ticks
	kernel kernelTimes
}

// others returns the most time that programs used in kernel mode on the slot's CPUs since then. The ticks of all kernel
// threads are excluded from those in kernel mode, because it is not known where each thread ran. The ticks in
// interrupts are counted separately.
func (l *late) others(after Snapshot) (time.Duration, bool) {
	if l == nil || l.kernel == nil || after.kernel == nil {
		return 0, false
	}
	n, ok := l.system.growth(after.ticks.system)
	return max(time.Duration(n-1)*tick-l.kernel.growth(after.kernel), 0), ok
}

// growth returns how long all threads have run since before. A thread that is missing in before is new.
func (k kernelTimes) growth(after kernelTimes) time.Duration {
	var sum time.Duration
	for pid, ran := range after {
		if before := k[pid]; ran >= before {
			sum += time.Duration(ran - before)
		} else {
			sum += time.Duration(ran) // another thread with the same PID
		}
	}
	return sum
}

// kernelThreads reads the run times of all kernel threads. Each takes about 10 µs, so it is called only if a run
// reaches a limit while others use the CPUs. It returns nil if they are not visible, as in a container, and without
// CONFIG_PROC_CHILDREN.
func (r *Reader) kernelThreads() kernelTimes {
	const daemon = "/proc/2/"
	if name, err := r.fs.Read(daemon + "comm"); err != nil || name != "kthreadd" {
		return nil
	}
	children, err := r.fs.ReadFile(daemon + "task/2/children")
	if err != nil {
		return nil
	}
	times := kernelTimes{}
	for _, word := range append(bytes.Fields(children), []byte("2")) {
		pid, ok := number(word)
		if !ok {
			continue
		}
		text, err := r.fs.ReadFile("/proc/" + strconv.FormatUint(pid, 10) + "/schedstat")
		if err != nil {
			continue // it has ended
		}
		if ran, ok := field(text, 0); ok {
			times[int(pid)] = ran
		}
	}
	return times
}
