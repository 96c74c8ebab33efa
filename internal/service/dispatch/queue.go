package dispatch

import (
	"context"
	"time"

	"judged/internal/api"
)

// Queue is where jobs come from and where their reports go: the store, or a front. Every method may fail with
// api.ErrUnavailable, which passes, and with api.ErrRefused, which does not. Those that name a lease fail with
// api.ErrFinal, api.ErrStale or api.ErrNotFound once it is lost.
type Queue interface {
	// Take leases the most urgent job for a slot. It waits until there is one or
	// ctx is done; a job that was leased while ctx ended comes without an error.
	Take(ctx context.Context, w api.Want) (api.Work, error)
	// Extend holds a job for longer.
	Extend(ctx context.Context, l api.Lease) (until time.Time, err error)
	// Lost waits until the lease is lost, and says why.
	Lost(ctx context.Context, l api.Lease) error
	// Emit reports the n-th test of an attempt, from 1, without waiting.
	Emit(l api.Lease, n int, t api.TestReport) error
	// Finish stores the report and ends the job.
	Finish(ctx context.Context, l api.Lease, rep api.Report) error
	// Return puts the job back.
	Return(ctx context.Context, l api.Lease, r api.Returned) error
}
