package jobs

import (
	"context"
	"time"

	"judged/internal/api"
)

// Source is where jobs come from and where their reports go; *Store is one.
// Every method may fail with ErrUnavailable, which passes, and with ErrRefused, which
// does not. Those that name a lease fail with ErrFinal, ErrStale or ErrNotFound once it
// is lost.
type Source interface {
	// Take leases the most urgent job for a slot. It waits until there is one or
	// ctx is done; a job that was leased while ctx ended comes without an error.
	Take(ctx context.Context, w Want) (Work, error)
	// Extend holds a job for longer.
	Extend(ctx context.Context, l Lease) (until time.Time, err error)
	// Lost waits until the lease is lost, and says why.
	Lost(ctx context.Context, l Lease) error
	// Emit reports the n-th test of an attempt, from 1, without waiting.
	Emit(l Lease, n int, t api.TestReport) error
	// Finish stores the report and ends the job.
	Finish(ctx context.Context, l Lease, rep api.Report) error
	// Return puts the job back.
	Return(ctx context.Context, l Lease, r Returned) error
}

// Returned is how a job is put back.
type Returned struct {
	Delay time.Duration // until it may be taken again
	// Excused means that the job was not at fault, because no host could start it or judged is shutting
	// down: the attempt does not count.
	Excused bool
	// Reason is the message of the report until the job is judged: what is missing. "" leaves the one that it has.
	Reason string
}

// maxReason bounds Returned.Reason, in bytes.
const maxReason = 1 << 10
