package daemon

import (
	"context"
	"time"
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
	swept, err := d.blobs.Sweep(ctx, d.o.Config.Retention.MaxAge, d.store.Blobs)
	if swept.Blobs > 0 {
		d.o.Log.Info("unused blobs were deleted", "blobs", swept.Blobs, "size_bytes", int64(swept.Size))
	}
	if err != nil && ctx.Err() == nil {
		d.o.Log.Error("delete unused blobs", "error", err)
	}
}
