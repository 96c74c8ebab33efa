package daemon

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"judged/internal/base/poll"
	"judged/internal/host/hostfs"
	"judged/internal/host/tune"
)

// tuned watches the settings that judged tune has applied, in this process or by the command.
type tuned struct {
	options tune.Options
	log     *slog.Logger
	drifted func(setting string)
	last    atomic.Pointer[map[string]bool] // setting -> in effect
}

// openTuned applies tune's plan if tune.apply is set, before the engine examines the host. It restores the host after
// the engine has closed. doctor checks values that the kernel refused.
func (d *daemon) openTuned(ctx context.Context) error {
	c := d.o.Config
	d.tuned = &tuned{
		log:     d.o.Log,
		drifted: func(string) {},
		options: tune.Options{FS: hostfs.New("/"), Journal: c.Tune.Journal,
			CPUs: c.Slots.CPUList, Width: c.Slots.Width, Quiet: true},
	}
	if !c.Tune.Apply {
		d.tuned.look(ctx)
		return nil
	}
	r, err := tune.Apply(ctx, d.tuned.options)
	if errors.As(err, new(*tune.UsageError)) { // nothing has changed
		return &SettingError{"tune.apply", err}
	}
	d.closing(func() error { return d.tuned.putBack() })
	if err != nil {
		return err
	}
	d.tuned.warn(r, tune.Failed, "the kernel refused a setting")
	d.tuned.look(ctx)
	return nil
}

// putBack restores the host, even after an abort.
func (t *tuned) putBack() error {
	r, err := tune.Restore(context.Background(), t.options)
	t.warn(r, tune.Left, "not restoring a setting that was changed by others")
	t.warn(r, tune.Failed, "cannot restore a setting; run judged tune restore")
	return err
}

// warn logs the values that are in the given state.
func (t *tuned) warn(r tune.Report, state tune.State, what string) {
	for _, s := range r.Settings {
		for _, v := range s.Values {
			if v.State == state {
				t.log.Warn(what, "setting", s.ID, "path", v.Path, "reason", v.Reason)
			}
		}
	}
}

// compare checks which settings are still in effect.
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
			t.log.Warn("a setting of judged tune was changed by others; run judged tune status", "setting", setting)
		}
	}
	return nil
}

// inForce returns the result of the last comparison.
func (t *tuned) inForce() map[string]bool {
	if last := t.last.Load(); last != nil {
		return *last
	}
	return nil
}

// look compares the settings. It logs errors, because they do not affect judging.
func (t *tuned) look(ctx context.Context) {
	if err := t.compare(ctx); err != nil && ctx.Err() == nil {
		t.log.Warn("cannot compare the settings of judged tune", "error", err)
	}
}

// watch compares once a minute.
func (t *tuned) watch(ctx context.Context) {
	for range poll.Every(ctx, examineEvery) {
		t.look(ctx)
	}
}
