package engine

import (
	"context"

	"judged/internal/base/job"
	"judged/internal/engine/judge"
	"judged/internal/host/slots"
)

// Judge judges a task on a slot that the caller has leased.
func (e *Engine) Judge(ctx context.Context, s slots.Slot, t judge.Task, decided func(job.TestReport)) (job.Report, error) {
	if t.NeedsJury() {
		var err error
		if t.Jury, err = e.Jury(s); err != nil {
			return job.Report{}, err
		}
	}
	return judge.Run(ctx, e.Worker(s), t, decided)
}

// Tidy cleans up after the last run on a slot and prepares the next one, in the background.
func (e *Engine) Tidy(s slots.Slot) { e.Worker(s).Tidy() }
