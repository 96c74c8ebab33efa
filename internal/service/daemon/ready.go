package daemon

import (
	"context"
	"errors"
	"strings"
	"time"
)

// checkTimeout bounds the question whether the broker can store, which takes
// 0.05 ms where it is embedded.
const checkTimeout = 2 * time.Second

// accepts says why no job is accepted, or nil. A job that is accepted may wait
// for a slot to be put back to use.
func (d *daemon) accepts() error {
	if d.draining.Load() {
		return errors.New("judged is draining: it finishes what runs and ends")
	}
	return reasons(d.health.fit(), d.space.check(reserveBytes), d.stores())
}

// ready says why a job submitted now would not be accepted or not be judged, or
// nil.
func (d *daemon) ready() error {
	return reasons(d.accepts(), d.health.inUse())
}

// writable says why no report can be stored, or nil.
func (d *daemon) writable() error {
	return reasons(d.space.check(floorBytes), d.stores())
}

// stores says why the broker does not store, or nil.
func (d *daemon) stores() error {
	ctx, cancel := context.WithTimeout(context.Background(), checkTimeout)
	defer cancel()
	return d.broker.Check(ctx)
}

// reasons are several errors in one line.
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
