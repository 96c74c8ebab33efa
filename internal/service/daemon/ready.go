package daemon

import (
	"errors"
	"strings"
)

// accepts says why no job is accepted, or nil. A job that is accepted may wait
// for a slot to be put back to use.
func (d *daemon) accepts() error {
	if d.draining.Load() {
		return errors.New("judged is draining: it finishes what runs and ends")
	}
	return reasons(d.health.fit(), d.space.check(reserveBytes), d.store.Check())
}

// ready says why a job submitted now would not be accepted or not be judged, or
// nil.
func (d *daemon) ready() error {
	return reasons(d.accepts(), d.health.inUse())
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
