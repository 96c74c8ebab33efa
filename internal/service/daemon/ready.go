package daemon

import (
	"errors"
	"strings"
)

// accepts returns why no job is accepted, or nil. An accepted job may have to wait
// until a slot is back in use.
func (d *daemon) accepts() error {
	if d.draining.Load() {
		return errors.New("judged is draining: it finishes the running jobs and exits")
	}
	return reasons(d.health.fit(), d.space.check(reserveBytes), d.store.Check())
}

// ready returns why a job that is submitted now would not be accepted or not be
// judged, or nil.
func (d *daemon) ready() error {
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
