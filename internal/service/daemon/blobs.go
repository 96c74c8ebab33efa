package daemon

import (
	"context"
	"fmt"
	"time"

	"judged/internal/base/job"
	"judged/internal/jobs/jobspec"
	"judged/internal/store"
)

// sweepEvery is how often unused blobs are looked for. When one was used is
// known to an hour only.
const sweepEvery = time.Hour

// sweepBlobs deletes blobs that nobody uses any more, again and again: they
// would fill the disk, and no job is accepted when it is full.
func (d *daemon) sweepBlobs(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		d.sweepBlobsOnce(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (d *daemon) sweepBlobsOnce(ctx context.Context) {
	swept, err := d.blobs.Sweep(ctx, d.o.Config.Retention.MaxAge, func(ctx context.Context) (map[string]bool, error) {
		return unfinishedBlobs(ctx, d.store)
	})
	if swept.Blobs > 0 {
		d.o.Log.Info("unused blobs were deleted", "blobs", swept.Blobs, "size_bytes", int64(swept.Size))
	}
	if err != nil && ctx.Err() == nil {
		d.o.Log.Error("delete unused blobs", "error", err)
	}
}

// records is what is asked of the job records; *store.Store is one.
type records interface {
	Unfinished() []string
	Summary(id string) (store.Summary, bool)
	Get(ctx context.Context, id string) (store.Record, error)
}

// unfinishedBlobs is the blobs of all jobs that wait or run. One job that cannot
// be read leaves all in doubt.
func unfinishedBlobs(ctx context.Context, r records) (map[string]bool, error) {
	named := map[string]bool{}
	for _, id := range r.Unfinished() {
		rec, err := r.Get(ctx, id)
		if now, ok := r.Summary(id); !ok || now.State.Final() {
			continue // over meanwhile, and it may be forgotten
		}
		if err == nil {
			_, err = jobspec.MapFiles(rec.Job, func(_ string, f job.File) (job.File, error) {
				named[f.Blob] = true
				return f, nil
			})
		}
		if err != nil {
			return nil, fmt.Errorf("find the blobs of unfinished jobs: %w; none is deleted until all can be read, or the job is cancelled", err)
		}
	}
	return named, nil
}
