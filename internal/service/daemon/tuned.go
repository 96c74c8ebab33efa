package daemon

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"judged/internal/engine"
	"judged/internal/host/hostfs"
	"judged/internal/host/tune"
)

// tuned watches what judged tune has applied, whoever did it.
type tuned struct {
	options tune.Options
	log     *slog.Logger
	drifted func(setting string)
	last    atomic.Pointer[map[string]bool] // setting -> in force
}

// openTuned sets the host up, where that is wanted, before the engine looks at it, and puts it back
// after the engine has gone. Values that the kernel refused are doctor's to judge.
func (d *daemon) openTuned(ctx context.Context) error {
	c := d.o.Config
	d.tuned = &tuned{log: d.o.Log, drifted: func(string) {}, options: tune.Options{FS: hostfs.New("/"), Journal: c.Tune.Journal,
		CPUs: c.Slots.CPUList, Width: c.Slots.Width, Quiet: true}}
	if !c.Tune.Apply {
		d.tuned.look(ctx)
		return nil
	}
	d.closing(func() error { return d.tuned.putBack() })
	r, err := tune.Apply(ctx, d.tuned.options)
	if u, ok := errors.AsType[*tune.UsageError](err); ok {
		return &engine.UsageError{Err: u}
	}
	if err != nil {
		return err
	}
	d.tuned.tell(r, tune.Failed, "a setting was refused")
	d.tuned.look(ctx)
	return nil
}

// putBack is done also when the daemon was told to end at once.
func (t *tuned) putBack() error {
	r, err := tune.Restore(context.Background(), t.options)
	t.tell(r, tune.Left, "a setting was changed by somebody since; it is left")
	t.tell(r, tune.Failed, "a setting could not be put back; see judged tune restore")
	return err
}

// tell logs the values that are in a state.
func (t *tuned) tell(r tune.Report, state tune.State, what string) {
	for _, s := range r.Settings {
		for _, v := range s.Values {
			if v.State == state {
				t.log.Warn(what, "setting", s.ID, "path", v.Path, "reason", v.Reason)
			}
		}
	}
}

// compare looks whether everything is in force still.
func (t *tuned) compare(ctx context.Context) error {
	r, err := tune.Status(ctx, t.options)
	if err != nil {
		return err
	}
	now := r.InForce()
	before := t.last.Swap(&now)
	for setting, inForce := range now {
		if before != nil && (*before)[setting] && !inForce {
			t.drifted(setting)
			t.log.Warn("a setting of judged tune was changed; see judged tune status", "setting", setting)
		}
	}
	return nil
}

// inForce is what the last comparison found.
func (t *tuned) inForce() map[string]bool {
	if last := t.last.Load(); last != nil {
		return *last
	}
	return nil
}

// look compares, and says so if it cannot: whoever only watches goes on without.
func (t *tuned) look(ctx context.Context) {
	if err := t.compare(ctx); err != nil && ctx.Err() == nil {
		t.log.Warn("cannot compare what judged tune has applied", "error", err)
	}
}

// watch compares again and again.
func (t *tuned) watch(ctx context.Context) {
	tick := time.NewTicker(examineEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		t.look(ctx)
	}
}
