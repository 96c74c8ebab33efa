package sandbox

import (
	"context"
	"errors"
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
	// precise is how long before a limit a vigil begins, see precision.
	precise time.Duration
	vigil   *linux.Vigil
	vigils  time.Duration // monotonic, since when there is one after the other, or 0
	// mark is a reading late in the wall time, for telling sleep from work.
	markUsed, markAt time.Duration
}

// minWake is the shortest sleep of the supervisor, and so about the overshoot
// of a kill. Shorter only burns the housekeeping CPU.
const minWake = 100 * time.Microsecond

// vigilMost is how long vigils may follow each other. A program that takes longer
// for the last stretch to its limit sleeps most of the time. It leaves the CPU to
// others meanwhile, and so must who watches it at every turn.
const vigilMost = 100 * time.Millisecond

// untilExit sleeps until a limit could be reached at the earliest, looks, and
// kills when one is. A program that spins alone is looked at once.
//
// The end is when we see it, a wake-up later than it was: wall time decides
// only about programs that do not end.
func (w *watch) untilExit(ctx context.Context) (at time.Duration, err error) {
	// Not from now on: the run may have had this CPU first.
	until := w.nextWake(w.s.limits.CPUTime, w.start)
	for w.stop == StopNone {
		if at, err := w.wait(ctx, until); at != 0 || err != nil {
			return at, err
		}
		if ctx.Err() != nil {
			w.stop = StopCancelled
		} else if w.stop == StopNone {
			if until, err = w.look(); err != nil {
				return 0, err
			}
		}
	}
	if err := w.s.kill(); err != nil {
		return 0, err
	}
	over, err := linux.Await(context.WithoutCancel(ctx), w.s.solution.fd, w.s.settle)
	if !over && err == nil {
		err = errors.New("end the run: killed, and still there; look for a process in state D")
	}
	return linux.Monotonic(), err
}

// wait waits until a moment or the end of the run, and tells when it saw that. It
// takes no thread as long as there is time, which nearly every run has; the last
// stretch is a vigil, which also kills.
func (w *watch) wait(ctx context.Context, until time.Duration) (at time.Duration, err error) {
	ended, now := w.s.solution.fd, linux.Monotonic()
	if long := until - w.precise - now; long > 0 {
		w.vigils = 0
		over, err := linux.Await(ctx, ended, long)
		if over {
			return linux.Monotonic(), err
		}
		if err != nil || ctx.Err() != nil {
			return 0, err
		}
	}
	if w.vigils == 0 {
		w.vigils = linux.Monotonic()
	}
	last := min(w.vigils+vigilMost, w.nextLook())
	if linux.Monotonic() < last {
		return w.keepVigil(until, last)
	}
	over, err := linux.WaitReadable(max(until-linux.Monotonic(), 0), int(ended.Fd()))
	if over {
		at = linux.Monotonic()
	}
	return at, err
}

// keepVigil is the stretch before the CPU time limit.
func (w *watch) keepVigil(next, last time.Duration) (at time.Duration, err error) {
	if w.vigil == nil {
		v := w.s.group.Vigil()
		v.Ended, v.Process = w.s.solution.fd, w.s.solution.fd
		v.Base, v.Limit, v.Exact = w.base, w.s.limits.CPUTime, w.exactFrom()
		v.Width, v.Pause, v.Break = len(w.s.slot.CPUs), minWake, w.precise
		w.vigil = v
	}
	fate, at, err := w.vigil.Keep(next, last)
	if fate == linux.VigilKilled {
		w.stop = StopCPU
	}
	return at, err
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
	return max(w.nextWake(w.left(used), asked), linux.Monotonic()+minWake), nil
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
	if total-w.base < w.exactFrom() {
		return total - w.base, nil
	}
	if err := w.touch(); err != nil {
		return 0, err
	}
	total, err = w.s.group.CPUTime()
	return total - w.base, err
}

// exactFrom is the CPU time from which on a tick can decide.
func (w *watch) exactFrom() time.Duration {
	if w.s.slot.NohzFull {
		return 0
	}
	return w.s.limits.CPUTime - maxTick*time.Duration(len(w.s.slot.CPUs))
}

func markTime(wall time.Duration) time.Duration { return wall - wall/4 }

// left is what the run can use, by a reading, until it has to be looked at: where
// that may lack what was used since the last ticks, until readings are exact. Two
// threads were stopped 4 ms beyond their limit by a reading that was taken for exact.
func (w *watch) left(used time.Duration) time.Duration {
	if exact := w.exactFrom(); used < exact {
		return exact - used
	}
	return w.s.limits.CPUTime - used
}

// nextWake is the earliest moment at which that can be used, from the given one on:
// CPU time grows at most by the width of the slot.
func (w *watch) nextWake(left, at time.Duration) time.Duration {
	return min(at+left/time.Duration(len(w.s.slot.CPUs)), w.nextLook())
}

// nextLook is when something else than CPU time has to be looked at.
func (w *watch) nextLook() time.Duration {
	wall := w.s.limits.WallTime
	if w.markAt == 0 {
		wall = min(wall, markTime(wall))
	}
	return w.start + wall
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
