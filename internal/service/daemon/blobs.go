package daemon

import (
	"context"
	"time"
)

// sweepEvery is the interval of deletion. The time of a blob's last use is known to
// the hour.
const sweepEvery = time.Hour

// sweepBlobs deletes unused blobs once an hour, so that they do not fill the disk.
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
	if d.front != nil && err == nil {
		swept, err = d.blobs.Trim(ctx, d.o.Config.Fleet.CacheSize)
	}
	if swept.Blobs > 0 {
		d.o.Log.Info("deleted unused blobs", "blobs", swept.Blobs, "size_bytes", int64(swept.Size))
	}
	if err != nil && ctx.Err() == nil {
		d.o.Log.Error("cannot delete unused blobs", "error", err)
	}
}
