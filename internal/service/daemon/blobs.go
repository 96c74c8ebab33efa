package daemon

import (
	"context"
	"time"

	"judged/internal/base/poll"
	"judged/internal/jobs/blobs"
)

// sweepEvery is the interval between deletions. The time of a blob's last use is accurate to the hour.
const sweepEvery = time.Hour

// sweepBlobs deletes unused blobs once an hour, so that they do not fill the disk.
func (d *daemon) sweepBlobs(ctx context.Context) {
	for range poll.NowAndEvery(ctx, sweepEvery) {
		d.sweepBlobsOnce(ctx)
	}
}

func (d *daemon) sweepBlobsOnce(ctx context.Context) {
	swept, err := d.deleteBlobs(ctx)
	if swept.Blobs > 0 {
		d.o.Log.Info("deleted unused blobs", "blobs", swept.Blobs, "size_bytes", int64(swept.Size))
	}
	if err != nil && ctx.Err() == nil {
		d.o.Log.Error("cannot delete unused blobs", "error", err)
	}
}

// deleteBlobs deletes blobs that have been unused for long, and on a judge node also those that exceed the size of its
// cache.
func (d *daemon) deleteBlobs(ctx context.Context) (blobs.Swept, error) {
	age := d.o.Config.Retention.MaxAge
	if d.copies == nil {
		return d.blobs.Sweep(ctx, age, d.store.Blobs)
	}
	swept, err := d.copies.Sweep(ctx, age, d.store.Blobs)
	if err != nil {
		return swept, err
	}
	trimmed, err := d.copies.Trim(ctx, d.o.Config.Fleet.CacheSize)
	return blobs.Swept{Blobs: swept.Blobs + trimmed.Blobs, Size: swept.Size + trimmed.Size}, err
}
