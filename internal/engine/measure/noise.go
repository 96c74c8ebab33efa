package measure

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/base/units"
	"judged/internal/sandbox"
	"judged/internal/timing/evidence"
	"judged/internal/timing/stats"
)

// A run waits for busy neighbours to become idle for at most as long as the previous run took, and the runs of a test
// together for at most maxIdleWait.
const (
	maxIdleWait = time.Second
	idleWindow  = 30 * time.Millisecond // three ticks: /proc/stat counts in ticks of 10 ms
)

// statsRun returns the run as the rule uses it. Only a verdict about time can be noise, and a program that was stopped
// at its wall limit proves nothing about its CPU time. Such a run is void if it is within that limit after subtracting
// what noise can have added.
func (o outcome) statsRun(l api.Limits) stats.Run {
	x := o.run.Explained
	if o.decided() {
		return stats.Run{CPUTime: o.run.CPUTime} // regardless of its time
	}
	switch o.verdict {
	case api.WallTimeLimit, api.IdlenessLimit:
		return stats.Run{CPUTime: o.run.CPUTime, Void: o.wall-x.WallTime-o.delay < l.WallTime()}
	case api.TimeLimit:
		bounds := x.Except(api.CauseFrequency, api.CauseSteal)
		return stats.Run{CPUTime: o.run.CPUTime, Explained: x.CPUTime, Measured: x.CPUTime - bounds.CPUTime}
	}
	return stats.Run{CPUTime: o.run.CPUTime, Saved: o.gain}
}

// patience is how long the remaining runs of a test wait for busy neighbours.
type patience struct{ left, next time.Duration }

// after decides how long the next run waits. If neighbours stay busy for as long as a run takes, no further run waits.
func (p *patience) after(o outcome) {
	p.left = max(p.left-o.waited, 0)
	if p.next > 0 && o.waited >= p.next {
		p.left = 0
	}
	p.next = 0
	if o.verdict == api.TimeLimit && hasCause(o.run.Explained, api.CauseNeighbours) {
		p.next = min(p.left, o.run.WallTime)
	}
}

func hasCause(x api.Explained, c api.Cause) bool {
	return slices.ContainsFunc(x.Causes, func(e api.Explanation) bool { return e.Cause == c })
}

// NoiseError means that a test has no verdict: noise explains why its time was over its limit, in as many runs as are
// allowed.
type NoiseError struct {
	Test      string
	Verdict   api.Verdict // verdict that the last run would have had
	CPUs      string
	Runs      int
	Explained api.Explained // of the last run
	Delay     time.Duration // of the jury's program in the last run
}

// Fault returns the party at fault for the IE.
func (e *NoiseError) Fault() api.Fault { return api.NoiseFault }

// newNoiseError returns the error for runs of a test that noise explains.
func newNoiseError(q Request, all []outcome) *NoiseError {
	last := all[len(all)-1]
	return &NoiseError{Test: q.Name, Verdict: last.verdict, CPUs: last.run.CPUs, Runs: len(all),
		Explained: last.run.Explained, Delay: last.delay}
}

func (e *NoiseError) Error() string {
	kind, of := "wall time", func(x api.Explanation) time.Duration { return x.WallTime }
	if e.Verdict == api.TimeLimit {
		kind, of = "CPU time", func(x api.Explanation) time.Duration { return x.CPUTime }
	}
	var causes []string
	for _, x := range e.Explained.Causes {
		if d := of(x); d > 0 {
			causes = append(causes, fmt.Sprintf("%s up to %s of %s", x.Cause, units.Duration(d), kind))
		}
	}
	if e.Delay > 0 && e.Verdict != api.TimeLimit {
		causes = append(causes, "the program of the jury waited "+units.Duration(e.Delay)+" for a CPU")
	}
	return fmt.Sprintf("decide test %q: noise explains the %s of %d runs on CPU %s (%s); run judged doctor, and judge "+
		"it again when the host is quiet",
		e.Test, e.Verdict, e.Runs, e.CPUs, strings.Join(causes, ", "))
}

// explained returns the most that noise can have added so far to an unfinished run.
func (w *Worker) explained(before *evidence.Snapshot, p sandbox.Progress) sandbox.Allowance {
	f := evidence.Facts{CPUTime: p.CPUTime, WallTime: p.WallTime, Waited: p.Waited, Width: len(w.slot.CPUs)}
	if p.UserTime != nil {
		f.UserTime, f.SystemTime = *p.UserTime, p.CPUTime-*p.UserTime
	}
	x := evidence.Explain(evidence.Between(*before, w.reader.GlanceAtLimit(before), f), f, *w.thresholds.Load())
	return sandbox.Allowance{CPUTime: x.CPUTime, WallTime: x.WallTime}
}

// awaitIdleNeighbours waits until the neighbours are idle, or for the timeout, and returns how long that took.
func (w *Worker) awaitIdleNeighbours(ctx context.Context, timeout time.Duration) (waited time.Duration) {
	if timeout == 0 {
		return 0
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for before := w.reader.Glance(); ctx.Err() == nil; {
		window := time.NewTimer(idleWindow)
		select {
		case <-window.C:
		case <-ctx.Done():
			window.Stop()
			return max(time.Since(start), timeout)
		}
		after := w.reader.Glance()
		if evidence.NeighboursIdle(before, after) {
			return time.Since(start)
		}
		before = after
	}
	return max(time.Since(start), timeout)
}
