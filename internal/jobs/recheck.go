package jobs

import (
	"context"
	"fmt"
	"strings"
	"time"

	"judged/internal/api"
)

// RecheckID returns the ID under which Recheck stores the report of an attempt.
func RecheckID(l api.Lease) string {
	return OwnID("crosscheck", fmt.Sprintf("%q %d", l.ID, l.Attempt))
}

// Head returns the report without tests of a job that is about to finish. Its errors name the operation Finish.
func (s *Store) Head(ctx context.Context, id string) (api.Report, error) {
	r, err := s.readRowTo(ctx, "finish job", id)
	if err != nil {
		return api.Report{}, err
	}
	return r.report()
}

// Recheck queues a job again instead of ending it with the report of an attempt, so that another host judges it. Until
// the given time, hosts that have judged it may not take it. The report is stored as another job, which lists omit. The
// attempt is checked as in Finish.
func (s *Store) Recheck(ctx context.Context, rec Record, rep api.Report, check api.CrossCheck, until time.Time) error {
	var avoid strings.Builder
	for _, h := range check.Hosts {
		fmt.Fprintf(&avoid, "/%s/", h.Node)
	}
	return s.requeue(ctx, rec, rep, requeued{
		id: RecheckID(rec.Lease), label: RecheckLabel, pool: rec.Pool,
		head:  api.Report{CrossCheck: &check, Screening: rec.Report.Screening},
		avoid: avoid.String(), avoidUntil: until.UnixNano(),
	})
}
