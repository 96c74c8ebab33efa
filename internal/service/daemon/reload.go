package daemon

import (
	"context"
	"fmt"

	"judged/internal/base/config"
	"judged/internal/service/httpapi"
)

// loadTokens reads the token file. It returns nil if none is configured.
func loadTokens(h config.HTTP) (*httpapi.Tokens, error) {
	if h.TokenFile == "" {
		return nil, nil
	}
	return httpapi.LoadTokens(h.TokenFile)
}

// reloads reads configuration and tokens again for each value on Hangup.
func (d *daemon) reloads(ctx context.Context) {
	now := d.o.Config
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.o.Hangup:
		}
		then, err := d.reload(now)
		if err != nil {
			d.o.Log.Error("cannot reload configuration and tokens; the current ones stay in force", "by",
				"SIGHUP", "error", err)
			continue
		}
		now = then
	}
}

// reload applies the settings that can change at run time, all or none, and logs
// the others.
func (d *daemon) reload(now config.Config) (config.Config, error) {
	next, err := d.o.Reload()
	if err != nil {
		return now, err
	}
	then := now.Reloaded(next)
	if err := then.Validate(); err != nil {
		return now, fmt.Errorf("combined with the settings that need a restart: %w", err)
	}
	tokens, err := loadTokens(then.HTTP)
	if err != nil {
		return now, err
	}
	if err := d.o.Level.UnmarshalText([]byte(then.Log.Level)); err != nil {
		return now, err
	}
	d.config.Store(&then)
	d.api.Store(d.api.Load().With(then, tokens))
	d.store.SetMaxWaiting(then.Queue.MaxWaiting)
	d.o.Log.Info(
		"reloaded configuration and tokens",
		"by",
		"SIGHUP",
		"changed",
		config.Differences(now, then),
		"tokens",
		tokens.Names(),
	)
	if left := config.Differences(then, next); len(left) > 0 {
		d.o.Log.Warn("these settings need a restart of judged", "settings", left)
	}
	return then, nil
}
