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

// excuse says whether noise explains a finding about time.
type excuse int

const (
	counts   excuse = iota // it does not
	doubtful               // it may; when more runs do not settle it the finding workers, and its confidence says so
	unproven               // it does; when more runs do not settle it there is no verdict
)

// How many runs of a test are set aside at most.
const (
	mostDoubtful = 6
	mostUnproven = 3
)

// A run waits for busy neighbours to rest for so long at most, and so many runs of a test do.
const (
	restPatience = time.Second
	mostRests    = mostDoubtful
	restWindow   = 30 * time.Millisecond // a busy CPU has a tick of 10 ms in it
)

// noise is what noise has done to the runs of a test so far.
type noise struct {
	doubtful, unproven int // runs set aside
	rests              int // runs that were to wait for the neighbours
	rest               time.Duration
}

// excuse holds a run against its limits. Measured time counts without what noise can
// have added: only a run that is then within its limit is set aside.
func (t test) excuse(o outcome) excuse {
	x, limit := o.run.Explained, t.Limits.CPUTime()
	switch {
	case o.verdict == job.WallTimeLimit || o.verdict == job.IdlenessLimit:
		if o.result.Explained {
			return unproven
		}
	case o.verdict == job.TimeLimit && o.run.CPUTime-x.Except(job.CauseNeighbours, job.CauseCanary).CPUTime <= limit:
		return unproven
	case o.verdict == job.TimeLimit && o.run.CPUTime-x.CPUTime <= limit:
		return doubtful
	case o.run.CPUTime <= limit && o.run.CPUTime+o.saved > limit:
		return doubtful
	}
	return counts
}

// keeps decides whether a run counts. A given number of runs is a measurement: all of
// them count.
func (t test) keeps(o *outcome, n *noise) (bool, error) {
	n.rest = 0
	if fixed(t.rule) {
		return true, nil
	}
	if o.verdict == job.TimeLimit && blames(o.run.Explained, job.CauseNeighbours) && n.rests < mostRests {
		n.rests, n.rest = n.rests+1, restPatience
	}
	switch t.excuse(*o) {
	case doubtful:
		if n.doubtful == mostDoubtful {
			o.noisy = true
			return true, nil
		}
		n.doubtful++
		return false, nil
	case unproven:
		if n.unproven == mostUnproven {
			return false, &NoiseError{Test: t.Name, Verdict: o.verdict, CPUs: o.run.CPUs, Runs: n.unproven + 1, Explained: o.run.Explained}
		}
		n.unproven++
		return false, nil
	}
	return true, nil
}

// place is where the next run is wished to be: after one that was set aside it is away
// from other slots, then on another core.
func (n *noise) place(p stats.Placement) stats.Placement {
	aside := n.doubtful + n.unproven
	return stats.Placement{Quiet: p.Quiet || aside > 0, OtherCore: p.OtherCore || aside > 1}
}

func blames(x job.Explained, c job.Cause) bool {
	return slices.ContainsFunc(x.Causes, func(e job.Explanation) bool { return e.Cause == c })
}

// NoiseError is a test without a verdict: in all runs that were allowed noise explains
// why a time was over its limit.
type NoiseError struct {
	Test      string
	Verdict   job.Verdict // that the last run would have had
	CPUs      string
	Runs      int
	Explained job.Explained // of the last run
}

func (e *NoiseError) Error() string {
	var causes []string
	for _, x := range e.Explained.Causes {
		causes = append(causes, fmt.Sprintf("%s up to %s", x.Cause, max(x.CPUTime, x.WallTime).Round(time.Millisecond)))
	}
	return fmt.Sprintf("decide test %q: noise explains the %s of %d runs on CPU %s (%s); run judged doctor, and judge it again when the host is quiet",
		e.Test, e.Verdict, e.Runs, e.CPUs, strings.Join(causes, ", "))
}

// explained is how much of what a run has used so far noise explains.
func (s *Worker) explained(before evidence.Snapshot, p sandbox.Progress) sandbox.Allowance {
	f := evidence.Facts{CPUTime: p.CPUTime, UserTime: p.UserTime, WallTime: p.WallTime, RunDelay: p.RunDelay, Width: len(s.slot.CPUs)}
	x := evidence.Explain(evidence.Between(before, s.reader.Glance(), f), f, *s.thresholds.Load())
	return sandbox.Allowance{CPUTime: x.CPUTime, WallTime: x.WallTime}
}

// awaitRest returns when the neighbours rest, or after that time.
func (s *Worker) awaitRest(ctx context.Context, atMost time.Duration) {
	if atMost == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	for before := s.reader.Glance(); ctx.Err() == nil; {
		window := time.NewTimer(restWindow)
		select {
		case <-window.C:
		case <-ctx.Done():
			window.Stop()
			return
		}
		after := s.reader.Glance()
		if evidence.NeighboursRest(before, after) {
			return
		}
		before = after
	}
}
