package front

import (
	"context"
	"math"
	"time"

	"judged/internal/api"
)

const (
	// rejudgeFactor is the width of the window around the limit relative to the deviation: the deviation is an
	// estimate, and runs vary.
	rejudgeFactor = 2
	// mostRejudged limits the size of a rejudging set.
	mostRejudged = 10_000
)

// rejudgingSet returns the jobs of a retired node with a test near its limit, on either side.
func (a *Auditor) rejudgingSet(ctx context.Context, r retirement) (api.RejudgingSet, error) {
	s := api.RejudgingSet{Node: r.Node, Since: r.Since, Until: r.At, Deviation: ratio(r.Effect),
		Window: rejudgeFactor * math.Abs(ratio(r.Effect)), Jobs: []api.RejudgedJob{}}
	err := a.o.Store.JudgedSince(ctx, r.Since, func(rep api.Report) error {
		if rep.Host == nil || rep.Host.Node != r.Node {
			return nil
		}
		t, near := nearest(rep.Tests, s.Window)
		switch {
		case !near:
		case len(s.Jobs) == mostRejudged:
			s.Truncated = true
		default:
			s.Jobs = append(s.Jobs, api.RejudgedJob{ID: rep.ID, Verdict: rep.Verdict, Test: t.Name, CPUTime: *t.CPUTime,
				Limit: t.Timing.Limit})
		}
		return nil
	})
	return s, err
}

func (a *Auditor) storeRejudgingSet(ctx context.Context, r retirement) (api.RejudgingSet, error) {
	set, err := a.rejudgingSet(ctx, r)
	if err == nil {
		err = a.o.Nodes.SetRejudgingSet(ctx, set)
	}
	return set, err
}

// completeSets determines the rejudging sets of retired nodes again, after two intervals: a drained node finishes its
// running jobs. A node that is back in use keeps its set.
func (a *Auditor) completeSets(ctx context.Context, p pool, s *auditState, now time.Time) error {
	for i := range s.Retired {
		r := &s.Retired[i]
		if r.Complete || now.Sub(r.At) < 2*a.o.Interval {
			continue
		}
		if p.drained[r.Node] {
			if _, err := a.storeRejudgingSet(ctx, *r); err != nil {
				return err
			}
		}
		r.Complete = true
	}
	return nil
}

// nearest returns the test whose time is nearest to its limit, and whether the distance is within window, a fraction of
// the limit.
func nearest(tests []api.TestReport, window float64) (found api.TestReport, near bool) {
	best := math.Inf(1)
	for _, t := range tests {
		if t.CPUTime == nil || t.Timing == nil || t.Timing.Limit <= 0 {
			continue
		}
		off := math.Abs(float64(*t.CPUTime)/float64(t.Timing.Limit) - 1)
		if off < best {
			best, found = off, t
		}
	}
	return found, best <= window
}
