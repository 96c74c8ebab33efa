package dispatch

import (
	"context"
	"time"

	"judged/internal/api"
)

// Queue provides jobs and accepts their reports; it is the store or a front. Every method may fail with
// api.ErrUnavailable, which is temporary, and with api.ErrRefused, which is permanent. Methods with a lease fail with
// api.ErrFinal, api.ErrStale or api.ErrNotFound once it is lost.
type Queue interface {
	// Take leases the most urgent job for a slot. It waits until there is one or ctx is done; a job that was leased
	// while ctx ended is returned without an error.
	Take(ctx context.Context, w api.Want) (api.Work, error)
	// Extend extends the lease.
	Extend(ctx context.Context, l api.Lease) (until time.Time, err error)
	// Lost waits until the lease is lost, and returns the reason.
	Lost(ctx context.Context, l api.Lease) error
	// Emit reports the n-th test of an attempt, counted from 1, without waiting.
	Emit(l api.Lease, n int, t api.TestReport) error
	// Finish stores the report and ends the job.
	Finish(ctx context.Context, l api.Lease, rep api.Report) error
	// Return returns the job to the queue.
	Return(ctx context.Context, l api.Lease, r api.Returned) error
}
