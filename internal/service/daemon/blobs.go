package daemon

import (
	"context"
	"time"

	"judged/internal/base/poll"
	"judged/internal/jobs/blobs"
)

// sweepEvery is the interval between deletions. The time of a blob's last use is accurate to the hour.
const sweepEvery = time.Hour

// sweep is the last deletion of unused blobs.
type sweep struct {
	at  time.Time
	age time.Duration // retention then
}

// due reports whether to delete unused blobs now, which it notes: once an hour, and if their retention has changed.
func (s *sweep) due(age time.Duration, now time.Time) bool {
	if s.age == age && now.Sub(s.at) < sweepEvery {
		return false
	}
	*s = sweep{now, age}
	return true
}

// sweepBlobs deletes unused blobs, so that they do not fill the disk. A reload with a shorter retention frees space
// within a minute.
func (d *daemon) sweepBlobs(ctx context.Context) {
	var last sweep
	for range poll.NowAndEvery(ctx, time.Minute) {
		if last.due(d.config.Load().Retention.MaxAge, time.Now()) {
			d.sweepBlobsOnce(ctx)
		}
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
	age := d.config.Load().Retention.MaxAge
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
