package sandbox

import (
	"context"
	"errors"
	"strconv"
	"time"

	"judged/internal/base/linux"
	"judged/internal/host/hostfs"
)

// watch supervises one run.
type watch struct {
	s     *Sandbox
	base  time.Duration  // CPU time of the group when the program started
	user  *time.Duration // user part of it; nil if unknown
	start time.Time      // monotonic
	stop  Stop
	idle  bool
	late  bool
	// allowed is how far the run may exceed its limits because of noise.
	allowed Allowance
	asked   bool // allowed has been requested
	waits   waits
	// markUsed and markAt are a reading late in the wall time, to distinguish sleep from work.
	markUsed, markAt time.Duration
}

// Progress holds the resources that a run has used when it reaches a limit.
type Progress struct {
	CPUTime  time.Duration
	UserTime *time.Duration // user part of CPUTime; nil if unknown
	WallTime time.Duration
	// Waited is how long the run was runnable while others had its CPUs; nil if unknown.
	Waited *time.Duration
}

// Allowance is how much of what a run has used is explained by noise.
type Allowance struct{ CPUTime, WallTime time.Duration }

// The largest allowance for noise, as a multiple of the limit. It bounds the duration of a run on a busy host.
const (
	maxCPUAllowance  = 1
	maxWallAllowance = 9
)

// minWake is the shortest sleep of the supervisor, and so roughly the overshoot of a kill. A shorter one would
// only use more CPU time on the housekeeping CPU.
const minWake = time.Millisecond

// untilExit sleeps until a limit could be reached at the earliest, reads the clocks, and kills the run if it
// has reached one. The clocks of a single-threaded program that spins are read once, and once before that if
// noise may explain its times.
//
// judged notices the exit one wake-up late, so wall time is decisive only for programs that do not exit.
func (w *watch) untilExit(ctx context.Context) (at time.Duration, err error) {
	// Counted from the start of the run, not from now, because the run may already have used this CPU.
	until := w.nextWake(w.s.limits.CPUTime, 0)
	for w.stop == StopNone {
		over, err := linux.Await(ctx, w.s.solution.fd, until-w.elapsed())
		switch {
		case over || err != nil:
			return w.elapsed(), err
		case ctx.Err() != nil:
			w.stop = StopCancelled
		default:
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
		err = errors.New("kill the run: still alive after SIGKILL; look for a process in state D")
	}
	return w.elapsed(), err
}

// look reads the clocks and decides whether to stop the run. If not, it returns until when to sleep.
func (w *watch) look() (time.Duration, error) {
	asked := w.elapsed()
	own, others, err := w.used()
	if err != nil {
		return 0, err
	}
	elapsed, used := w.elapsed(), own+others
	if w.waits.counts() {
		w.waits.waited(elapsed, used)
	}
	if used >= w.cpuLimit() || elapsed >= w.wallLimit() || !w.asked {
		if err := w.allow(used, elapsed); err != nil {
			return 0, err
		}
	}
	w.decide(own, used, elapsed)
	return max(w.nextWake(w.left(used), asked), w.elapsed()+minWake), nil
}

// decide stops the run if it has reached a limit. Where it cannot reach its CPU limit within its wall limit, and has
// reached both, judged looks late: its CPU or the virtual machine has stood still.
func (w *watch) decide(own, used, elapsed time.Duration) {
	cpu, wall := used >= w.cpuLimit(), elapsed >= w.wallLimit()
	w.late = cpu && wall && w.wallLimit()*time.Duration(len(w.s.slot.CPUs)) < w.s.limits.CPUTime
	switch {
	case cpu && !w.late:
		w.stop = StopCPU
	case wall:
		w.stop = StopWall
		w.idle = w.slept(own, elapsed)
	case w.markAt == 0 && elapsed >= markTime(w.s.limits.WallTime):
		w.markUsed, w.markAt = own, elapsed
	}
}

// elapsed returns the wall time of the run so far. All times of a watch are relative to its start.
func (w *watch) elapsed() time.Duration { return time.Since(w.start) }

func (w *watch) cpuLimit() time.Duration  { return w.s.limits.CPUTime + w.allowed.CPUTime }
func (w *watch) wallLimit() time.Duration { return w.s.limits.WallTime + w.allowed.WallTime }

// wallMargin is how far a run whose time is lengthened by noise may exceed its wall limit. Its time then also
// exceeds the limit according to the evidence read after its end, which has a resolution of ticks and may
// explain a few of them more.
const wallMargin = 3 * maxTick

// allow requests how much of what the run has used so far is explained by noise. An allowance never shrinks.
// The first request is at the first look, before a limit is reached, because some evidence is counted from then
// on.
func (w *watch) allow(used, elapsed time.Duration) error {
	w.asked = true
	if w.s.explained == nil {
		return nil
	}
	p, err := w.progress(used, elapsed)
	if err != nil {
		return err
	}
	x, limits := w.s.explained(p), w.s.limits
	if x.WallTime > 0 {
		x.WallTime += wallMargin
	}
	w.allowed.CPUTime = max(w.allowed.CPUTime, min(x.CPUTime, maxCPUAllowance*limits.CPUTime))
	w.allowed.WallTime = max(w.allowed.WallTime, min(x.WallTime, maxWallAllowance*limits.WallTime))
	return nil
}

func (w *watch) progress(used, elapsed time.Duration) (Progress, error) {
	cpu, err := w.s.group.CPU()
	if err != nil {
		return Progress{}, err
	}
	p := Progress{CPUTime: used, UserTime: difference(cpu.User, w.user), WallTime: elapsed,
		Waited: w.waits.waited(elapsed, used)}
	if len(w.s.others) > 0 {
		p.UserTime, err = w.s.userTimeOfAll()
	}
	return p, err
}

// maxTick is the longest tick of a kernel (HZ=100).
const maxTick = 10 * time.Millisecond

// used returns the CPU time so far of the run and of those that share its limit. A running thread is accounted
// at ticks, and on a nohz_full CPU hardly ever. If the difference matters, used makes the kernel account it
// now: waiting for the tick would cost 2 ms of overshoot at HZ=250.
func (w *watch) used() (own, others time.Duration, err error) {
	own, others, err = w.accounted()
	if err != nil || own+others < w.exactFrom() {
		return own, others, err
	}
	for _, s := range append([]*Sandbox{w.s}, w.s.others...) {
		if err := s.touch(); err != nil {
			return 0, 0, err
		}
	}
	return w.accounted()
}

// accounted returns the part of used that the kernel has accounted.
func (w *watch) accounted() (own, others time.Duration, err error) {
	total, err := w.s.group.CPUTime()
	if err == nil {
		others, err = w.s.othersCPUTime()
	}
	return total - w.base, others, err
}

// exactFrom returns the CPU time from which a tick makes a difference.
func (w *watch) exactFrom() time.Duration {
	if w.s.slot.NohzFull {
		return 0
	}
	return w.cpuLimit() - maxTick*time.Duration(len(w.s.slot.CPUs))
}

func markTime(wall time.Duration) time.Duration { return wall - wall/4 }

// firstLook returns when a run is first examined if noise may explain its times: late enough that most runs
// have ended, and early enough that little noise precedes it in a long run.
func firstLook(wall time.Duration) time.Duration { return wall / 10 }

// left returns how much CPU time the run can use after a reading until the next one is needed: up to exactFrom
// if the reading may lack the time since the last ticks, otherwise up to the limit. Two threads were once
// stopped 4 ms beyond their limit because a reading was treated as exact.
func (w *watch) left(used time.Duration) time.Duration {
	if exact := w.exactFrom(); used < exact {
		return exact - used
	}
	return w.cpuLimit() - used
}

// nextWake returns the earliest time at which that much CPU time can be used, counted from at: CPU time grows
// at most by the number of CPUs of the slot.
func (w *watch) nextWake(left, at time.Duration) time.Duration {
	return min(at+left/time.Duration(len(w.s.slot.CPUs)), w.nextLook())
}

// nextLook returns the next time at which something other than CPU time must be checked.
func (w *watch) nextLook() time.Duration {
	wall := w.wallLimit()
	if w.markAt == 0 {
		wall = min(wall, markTime(w.s.limits.WallTime))
	}
	if w.s.explained != nil && !w.asked {
		wall = min(wall, firstLook(w.s.limits.WallTime))
	}
	if w.waits.counts() {
		wall = min(wall, w.waits.next)
	}
	return wall
}

// touch makes the kernel update the counters of every thread.
func (s *Sandbox) touch() error {
	threads, err := s.group.Threads()
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

// idleRatio is the share of CPU time in the last quarter of its wall time up to which a program counts as
// sleeping.
const idleRatio = 0.01

// slept reports whether the program waits for something that does not happen, rather than being busy, blocked
// on I/O, or kept from running: its CPU time has not grown, and none of its threads is runnable now.
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

// threadState returns the third field of /proc/TID/stat, or 0 if the thread has exited.
func threadState(tid int) byte {
	b, err := hostfs.FS{}.ReadFile("/proc/" + strconv.Itoa(tid) + "/stat")
	if err != nil {
		return 0
	}
	s, err := hostfs.ParseStat(string(b))
	if err != nil {
		return 0
	}
	return s.State[0]
}
