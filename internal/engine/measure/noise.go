package measure

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"judged/internal/base/job"
	"judged/internal/sandbox"
	"judged/internal/timing/evidence"
	"judged/internal/timing/stats"
)

// validity says whether a run counts, given what noise may have added to its times.
type validity int

const (
	valid        validity = iota
	questionable          // noise may explain the finding; if that stays so, runs count and the confidence is noisy
	invalid               // noise explains the finding; if that stays so, there is no verdict
)

// How many runs of a test are discarded at most.
const (
	maxQuestionable = 6
	maxInvalid      = 3
)

// A run waits for busy neighbours to become idle at most maxIdleWait, and at most maxIdleWaits runs of a test do.
const (
	maxIdleWait  = time.Second
	maxIdleWaits = maxQuestionable
	idleWindow   = 30 * time.Millisecond // three ticks: /proc/stat counts in ticks of 10 ms
)

// discards counts the runs of a test that were discarded because of noise.
type discards struct {
	questionable, invalid int
	idleWaits             int           // runs that were to wait for the neighbours
	idleWait              time.Duration // that of the next run
}

// validity compares a run with its limits. A time over a limit is discarded only if it is within the limit without
// what noise can have added.
func (t test) validity(o outcome) validity {
	x, limit := o.run.Explained, t.Limits.CPUTime()
	switch {
	case o.verdict == job.WallTimeLimit || o.verdict == job.IdlenessLimit:
		if o.result.Explained {
			return invalid
		}
	case o.verdict == job.TimeLimit && o.run.CPUTime-x.Except(job.CauseNeighbours, job.CauseCanary).CPUTime <= limit:
		return invalid
	case o.verdict == job.TimeLimit && o.run.CPUTime-x.CPUTime <= limit:
		return questionable
	case o.run.CPUTime <= limit && o.run.CPUTime+o.gain > limit:
		return questionable
	}
	return valid
}

// keep decides whether a run counts, and updates d. With a fixed number of runs all count: that is a measurement.
func (t test) keep(o *outcome, d *discards) (bool, error) {
	d.idleWait = 0
	if fixed(t.rule) {
		return true, nil
	}
	if o.verdict == job.TimeLimit && hasCause(o.run.Explained, job.CauseNeighbours) && d.idleWaits < maxIdleWaits {
		d.idleWaits, d.idleWait = d.idleWaits+1, maxIdleWait
	}
	switch t.validity(*o) {
	case questionable:
		if d.questionable == maxQuestionable {
			o.noisy = true
			return true, nil
		}
		d.questionable++
		return false, nil
	case invalid:
		if d.invalid == maxInvalid {
			return false, &NoiseError{Test: t.Name, Verdict: o.verdict, CPUs: o.run.CPUs, Runs: d.invalid + 1,
				Explained: o.run.Explained}
		}
		d.invalid++
		return false, nil
	}
	return true, nil
}

// place is the placement of the next run: after one discarded run no other slot may be busy, after two it is also on
// another core.
func (d *discards) place(p stats.Placement) stats.Placement {
	n := d.questionable + d.invalid
	return stats.Placement{Quiet: p.Quiet || n > 0, OtherCore: p.OtherCore || n > 1}
}

func hasCause(x job.Explained, c job.Cause) bool {
	return slices.ContainsFunc(x.Causes, func(e job.Explanation) bool { return e.Cause == c })
}

// NoiseError is a test without a verdict: noise explains why a time was over its limit, in as many runs as are allowed.
type NoiseError struct {
	Test      string
	Verdict   job.Verdict // that the last run would have had
	CPUs      string
	Runs      int
	Explained job.Explained // of the last run
}

// Fault returns whose fault the IE is.
func (e *NoiseError) Fault() job.Fault { return job.NoiseFault }

func (e *NoiseError) Error() string {
	var causes []string
	for _, x := range e.Explained.Causes {
		causes = append(causes, fmt.Sprintf("%s up to %s", x.Cause, max(x.CPUTime, x.WallTime).Round(time.Millisecond)))
	}
	if len(causes) == 0 {
		causes = append(causes, "the program of the jury waited for a CPU")
	}
	return fmt.Sprintf("decide test %q: noise explains the %s of %d runs on CPU %s (%s); run judged doctor, and judge "+
		"it again when the host is quiet",
		e.Test, e.Verdict, e.Runs, e.CPUs, strings.Join(causes, ", "))
}

// explained bounds what noise can have added so far to a run that is not finished.
func (w *Worker) explained(before evidence.Snapshot, p sandbox.Progress) sandbox.Allowance {
	f := evidence.Facts{CPUTime: p.CPUTime, UserTime: p.UserTime, WallTime: p.WallTime, RunDelay: p.RunDelay,
		Width: len(w.slot.CPUs)}
	x := evidence.Explain(evidence.Between(before, w.reader.Glance(), f), f, *w.thresholds.Load())
	return sandbox.Allowance{CPUTime: x.CPUTime, WallTime: x.WallTime}
}

// awaitIdleNeighbours returns when the neighbours are idle, or after the timeout.
func (w *Worker) awaitIdleNeighbours(ctx context.Context, timeout time.Duration) {
	if timeout == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for before := w.reader.Glance(); ctx.Err() == nil; {
		window := time.NewTimer(idleWindow)
		select {
		case <-window.C:
		case <-ctx.Done():
			window.Stop()
			return
		}
		after := w.reader.Glance()
		if evidence.NeighboursIdle(before, after) {
			return
		}
		before = after
	}
}
