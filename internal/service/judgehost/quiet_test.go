package judgehost

import (
	"context"
	"strings"

	"judged/internal/api"
	"judged/internal/engine/judge"
	"judged/internal/host/slots"
)

// quietLater is an engine on a host that is noisy at first.
type quietLater struct {
	*fakeEngine
	after int // number of jobs after which there is no noise
}

func (q *quietLater) Judge(ctx context.Context, l *slots.Lease, t judge.Task, decided func(api.TestReport)) (api.Report,
	error) {
	r, err := q.fakeEngine.Judge(ctx, l, t, decided)
	if err != nil && strings.Contains(err.Error(), "noise") && len(q.jobs) > q.after {
		quiet, _ := fakeReport(t.Tests[0].Name, "AC")
		decided(quiet)
		return api.Report{}, nil
	}
	return r, err
}
