package evidence

import (
	"bytes"
	"strconv"
	"time"
)

// kernelTimes are the run times of the kernel's threads by their pids, in nanoseconds.
type kernelTimes map[int]uint64

// late is what was read when a run reached a limit first.
type late struct {
	system tally // ticks
	kernel kernelTimes
}

// others bounds the time that programs used in kernel mode on the slot's CPUs since then, at most. Of the ticks in
// kernel mode those of the kernel's threads are left out, all of them: where each ran is not known. The ticks in
// interrupts are counted apart.
func (l *late) others(after Snapshot) (time.Duration, bool) {
	if l == nil || l.kernel == nil || after.kernel == nil {
		return 0, false
	}
	n, ok := l.system.growth(after.ticks.system)
	return max(time.Duration(n-1)*tick-l.kernel.growth(after.kernel), 0), ok
}

// growth is what all threads have run since. One that was not there before is new.
func (k kernelTimes) growth(after kernelTimes) time.Duration {
	var sum time.Duration
	for pid, ran := range after {
		if before := k[pid]; ran >= before {
			sum += time.Duration(ran - before)
		} else {
			sum += time.Duration(ran) // another thread with the same pid
		}
	}
	return sum
}

// kernelThreads reads the run times of all of the kernel's threads: about 10 µs for each, so it is read only when a run
// reaches a limit while others have the CPUs. It is nil where they are not visible, as in a container, and without
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
