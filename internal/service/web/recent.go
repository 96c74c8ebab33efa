package web

import (
	"context"
	"sync"
	"time"

	"judged/internal/api"
	"judged/internal/base/poll"
	"judged/internal/jobs"
	"judged/internal/service/httpapi"
)

// recentJobs limits how many of the latest jobs are read for an hour.
const recentJobs = 100

// recentAge is how long an hour is shown before it is read again.
const recentAge = 10 * time.Second

// hour summarizes the latest judged jobs of the last hour.
type hour struct {
	Jobs      int           // judged
	Span      time.Duration // in which they were created: an hour, or less if there were more jobs
	Runs      int
	Disturbed int // runs that noise has lengthened
	Tests     int // with a time limit
	Repeated  int // tests that ran more than once
}

// PerMinute returns the number of judged jobs a minute.
func (h hour) PerMinute() float64 {
	if h.Span <= 0 {
		return 0
	}
	return float64(h.Jobs) / h.Span.Minutes()
}

// recent caches the hour of each tenant.
type recent struct {
	mu  sync.Mutex // guards all
	all map[string]*poll.Value[hour]
}

func (c *recent) get(ctx context.Context, desk *httpapi.Desk) (hour, error) {
	c.mu.Lock()
	tenant := jobs.TenantOf(ctx)
	value := c.all[tenant]
	if value == nil {
		if c.all == nil {
			c.all = map[string]*poll.Value[hour]{}
		}
		value = &poll.Value[hour]{}
		c.all[tenant] = value
	}
	c.mu.Unlock()
	return value.Get(ctx, desk.Now, recentAge, func(ctx context.Context) (hour, error) {
		return readHour(ctx, desk.Jobs(), desk.Now())
	})
}

func readHour(ctx context.Context, store httpapi.Jobs, now time.Time) (hour, error) {
	const most = time.Hour
	list, _, err := store.List(ctx, jobs.Filter{State: api.Done, From: now.Add(-most), Limit: recentJobs})
	if err != nil {
		return hour{}, err
	}
	h := hour{Span: most}
	if len(list) == recentJobs {
		h.Span = now.Sub(list[len(list)-1].CreatedAt)
	}
	for _, r := range list {
		record, err := store.Get(ctx, r.ID)
		if err != nil {
			continue // it has been deleted meanwhile
		}
		h.Jobs++
		h.add(record.Report)
	}
	return h, nil
}

func (h *hour) add(r api.Report) {
	for _, t := range r.Tests {
		runs := t.AllRuns()
		if len(runs) > 0 {
			h.Tests++
		}
		if len(runs) > max(1, len(t.Passes)) {
			h.Repeated++
		}
		h.Runs += len(runs)
		for _, run := range runs {
			if len(run.Disturbed) > 0 {
				h.Disturbed++
			}
		}
	}
}
