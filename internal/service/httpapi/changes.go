package httpapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"judged/internal/jobs"
)

// changesEvery is the minimum interval between two events of Changes, and stillEvery the maximum: slots and nodes change
// without an event in the feed.
const (
	changesEvery = time.Second
	stillEvery   = 5 * time.Second
)

// Changes streams an event without data whenever something that the caller may see may have changed. A reader that gets
// one reads what it shows again.
func (d *Desk) Changes(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(d.s.closing, cancel)()
	follower, err := d.s.jobs.Follow(ctx, jobs.FeedNow, jobs.FeedFilter{})
	if err != nil {
		return err
	}
	defer follower.Close()
	out := d.s.startEvents(w)
	for out.err == nil && ctx.Err() == nil {
		next := time.NewTimer(changesEvery)
		still, stop := context.WithTimeout(ctx, stillEvery)
		_, err := follower.Next(still)
		stop()
		if errors.Is(err, jobs.ErrNoPosition) {
			return nil // the reader reconnects
		}
		if err != nil {
			d.s.log.Error("read the events of all jobs", "error", err)
			return nil
		}
		select {
		case <-next.C:
		case <-ctx.Done():
			return nil
		}
		out.send([]byte("event: change\ndata:\n\n"))
	}
	return nil
}
