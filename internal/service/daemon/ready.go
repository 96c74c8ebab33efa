package daemon

import (
	"context"
	"errors"
	"strings"
	"time"
)

// readyTime is how long a probe waits for the database.
const readyTime = 2 * time.Second

// accepts returns why no job is accepted, or nil. An accepted job may have to wait
// until a slot is back in use.
func (d *daemon) accepts() error {
	if d.draining.Load() {
		return errors.New("judged is draining: it finishes the running jobs and exits")
	}
	if !d.judges() {
		return reasons(d.space.check(reserveBytes), d.store.Check())
	}
	return reasons(d.health.fit(), d.space.check(reserveBytes), d.store.Check())
}

// ready returns why a job that is submitted now would not be accepted or not be
// judged, or nil.
func (d *daemon) ready() error {
	switch {
	case !d.judges():
		ctx, cancel := context.WithTimeout(context.Background(), readyTime)
		defer cancel()
		return reasons(d.accepts(), d.registry.Ready(ctx))
	case d.front != nil:
		return reasons(d.accepts(), d.health.inUse(), *d.front.lost.Load())
	}
	return reasons(d.accepts(), d.health.inUse())
}

// reasons joins errors in one line.
func reasons(all ...error) error {
	var found []string
	for _, err := range all {
		if err != nil {
			found = append(found, err.Error())
		}
	}
	if len(found) == 0 {
		return nil
	}
	return errors.New(strings.Join(found, "; "))
}
