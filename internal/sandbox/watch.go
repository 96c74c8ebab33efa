package sandbox

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"judged/internal/hostfs"
	"judged/internal/linux"
)

// watch is the supervision of one run.
type watch struct {
	s     *Sandbox
	base  time.Duration // CPU time of the group at go
	start time.Duration // monotonic
	stop  Stop
	idle  bool
	// precise is how long before a limit the supervisor takes a thread to wait
	// with the kernel's precision, see precision.
	precise time.Duration
	urgency urgency
	// mark is a reading late in the wall time, for telling sleep from work.
	markUsed, markAt time.Duration
}

// minWake is the shortest sleep of the supervisor, and so about the overshoot
// of a kill. Shorter only burns the housekeeping CPU.
const minWake = 100 * time.Microsecond

// untilExit sleeps until a limit could be reached at the earliest, looks, and
// kills when one is. A program that spins alone is looked at twice.
//
// The end is when we see it, a wake-up later than it was: wall time decides
// only about programs that do not end.
func (w *watch) untilExit(ctx context.Context) (at time.Duration, err error) {
	ended := w.s.solution.fd
	defer func() { err = errors.Join(err, w.urgency.end()) }()
	// Not from now on: the run may have had this CPU first.
	until := w.nextWake(0, w.start)
	for {
		over, err := w.wait(ctx, ended, until)
		if err != nil {
			return 0, err
		}
		if over {
			return linux.Monotonic(), nil
		}
		if w.stop != StopNone {
			return 0, errors.New("end the run: killed, and still there; look for a process in state D")
		}
		if ctx.Err() != nil {
			w.stop = StopCancelled
		} else if until, err = w.look(); err != nil {
			return 0, err
		}
		if w.stop != StopNone {
			if err := w.s.group.Kill(); err != nil {
				return 0, err
			}
			until = linux.Monotonic() + w.s.settle
		}
	}
}

// wait waits for the end: with no thread as long as there is time, which is what
// nearly every run is, then with one that is urgent, and stays so: it has to look
// and to kill. It returns early when the context ends and nothing is killed yet.
func (w *watch) wait(ctx context.Context, ended *os.File, until time.Duration) (bool, error) {
	if long := until - w.precise - linux.Monotonic(); w.stop == StopNone && long > 0 {
		if err := w.urgency.end(); err != nil {
			return false, err
		}
		over, err := linux.Await(ctx, ended, long)
		if over || err != nil || ctx.Err() != nil {
			return over, err
		}
	}
	if err := w.urgency.begin(); err != nil {
		return false, err
	}
	return linux.WaitReadable(max(until-linux.Monotonic(), 0), int(ended.Fd()))
}

// look reads the clocks, decides whether to stop and returns until when to sleep
// otherwise.
func (w *watch) look() (time.Duration, error) {
	asked := linux.Monotonic()
	used, err := w.used()
	if err != nil {
		return 0, err
	}
	elapsed := linux.Monotonic() - w.start
	switch limits := w.s.limits; {
	case used >= limits.CPUTime:
		w.stop = StopCPU
	case elapsed >= limits.WallTime:
		w.stop = StopWall
		w.idle = w.slept(used, elapsed)
	case w.markAt == 0 && elapsed >= markTime(limits.WallTime):
		w.markUsed, w.markAt = used, elapsed
	}
	return max(w.nextWake(used, asked), linux.Monotonic()+minWake), nil
}

// maxTick is the longest tick of a kernel (HZ=100).
const maxTick = 10 * time.Millisecond

// used is the CPU time of the run so far. A running thread is accounted at
// ticks, and on a nohz_full CPU hardly ever, so where the difference decides
// the kernel is made to account now: waiting for its tick instead costs 2 ms
// of overshoot at HZ=250.
func (w *watch) used() (time.Duration, error) {
	total, err := w.s.group.CPUTime()
	if err != nil {
		return 0, err
	}
	late := maxTick * time.Duration(len(w.s.slot.CPUs))
	if !w.s.slot.NohzFull && total-w.base+late < w.s.limits.CPUTime {
		return total - w.base, nil
	}
	if err := w.touch(); err != nil {
		return 0, err
	}
	total, err = w.s.group.CPUTime()
	return total - w.base, err
}

func markTime(wall time.Duration) time.Duration { return wall - wall/4 }

// nextWake is the earliest moment at which a limit can be reached by a run that had
// used so much at the given one: CPU time grows at most by the width of the slot.
func (w *watch) nextWake(used, at time.Duration) time.Duration {
	limits := w.s.limits
	next := min(at+(limits.CPUTime-used)/time.Duration(len(w.s.slot.CPUs)), w.start+limits.WallTime)
	if w.markAt == 0 {
		next = min(next, w.start+markTime(limits.WallTime))
	}
	return next
}

// touch brings the counters of every thread up to date.
func (w *watch) touch() error {
	threads, err := w.s.group.Threads()
	if err != nil {
		return err
	}
	for _, tid := range threads {
		if err := linux.TouchAccounting(tid); err != nil {
			return err
		}
	}
	return nil
}

// idleRatio is how much of the last quarter of its wall time a sleeping
// program may have computed.
const idleRatio = 0.01

// slept tells a program that waits for something that will not come from one
// that was busy, blocked on I/O, or kept from running: its CPU time was flat,
// and none of its threads wants to run now.
func (w *watch) slept(used, elapsed time.Duration) bool {
	if w.markAt == 0 || float64(used-w.markUsed) > idleRatio*float64(elapsed-w.markAt) {
		return false
	}
	threads, err := w.s.group.Threads()
	if err != nil {
		return false
	}
	for _, tid := range threads {
		switch threadState(tid) {
		case 'R', 'D':
			return false
		}
	}
	return true
}

// threadState is the third field of /proc/TID/stat, or 0 when it has ended.
func threadState(tid int) byte {
	b, err := hostfs.FS{}.ReadFile("/proc/" + strconv.Itoa(tid) + "/stat")
	if err != nil {
		return 0
	}
	after := strings.TrimLeft(string(b[strings.LastIndexByte(string(b), ')')+1:]), " ")
	if after == "" {
		return 0
	}
	return after[0]
}
