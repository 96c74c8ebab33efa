package sandbox

import (
	"runtime"
	"time"

	"judged/internal/cpuset"
	"judged/internal/linux"
)

// urgency is a time in which the calling goroutine has a thread of its own, which
// comes before all that computes on its CPU. An ordinary thread that wakes up
// waits until the kernel's fair scheduler takes the CPU from who has it: from a
// checker, or from the very run that is beyond its limit, whose milliseconds those
// are.
//
// It is for moments: the runtime has spots where a thread spins until another has
// finished, and an ordinary one on the same CPU never does before the kernel's
// brake on real-time threads (sched_rt_runtime_us) lets it, up to a second later.
type urgency struct {
	since time.Duration // monotonic; 0 is outside of one
	back  func() error  // nil where the thread is ordinary
}

// urgentMost is how long an urgency lasts. A program that takes longer for the
// last stretch to its limit sleeps most of the time. It leaves the CPU to others
// meanwhile, and so must who watches it at every turn.
const urgentMost = 100 * time.Millisecond

// begin makes the thread urgent, if it is not the same urgency for too long. Where
// the kernel refuses all stays as it is: a run is then stopped later than it could
// be.
func (u *urgency) begin() error {
	now := linux.Monotonic()
	if u.since != 0 {
		if now-u.since > urgentMost {
			return u.relax()
		}
		return nil
	}
	u.since = now
	runtime.LockOSThread()
	back, err := linux.Urgent()
	if err != nil {
		runtime.UnlockOSThread()
		return nil
	}
	u.back = back
	return nil
}

// end takes begin back.
func (u *urgency) end() error {
	u.since = 0
	return u.relax()
}

// relax makes the thread ordinary. One that cannot become so stays the goroutine's
// own, and ends with it.
func (u *urgency) relax() error {
	if u.back == nil {
		return nil
	}
	if err := u.back(); err != nil {
		return err
	}
	u.back = nil
	runtime.UnlockOSThread()
	return nil
}

// precision is how long before a limit the supervisor of a run on these CPUs takes
// a thread to wait with the kernel's precision, by when the runtime must have woken
// it. Its threads are ordinary ones: late by a slice or two of a run that takes all
// CPUs that this thread may have.
func precision(cpus cpuset.Set) (time.Duration, error) {
	ours, err := linux.Affinity()
	if err != nil {
		return 0, err
	}
	if cpuset.New(ours...).IsSubsetOf(cpus) {
		return 20 * time.Millisecond, nil
	}
	return 2 * time.Millisecond, nil
}
