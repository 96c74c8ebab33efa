package daemon

import (
	"context"
	"fmt"

	"judged/internal/base/config"
	"judged/internal/service/httpapi"
)

// loadTokens reads the file of tokens; nil is no tokens.
func loadTokens(h config.HTTP) (*httpapi.Tokens, error) {
	if h.TokenFile == "" {
		return nil, nil
	}
	return httpapi.LoadTokens(h.TokenFile)
}

// reloads reads configuration and tokens again whenever it is asked to.
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
			d.o.Log.Error("configuration and tokens stay as they were", "by", "SIGHUP", "error", err)
			continue
		}
		now = then
	}
}

// reload puts what can change while judged serves into effect, all of it or
// nothing, and says in the log what cannot.
func (d *daemon) reload(now config.Config) (config.Config, error) {
	next, err := d.o.Reload()
	if err != nil {
		return now, err
	}
	then := now.Reloaded(next)
	if err := then.Validate(); err != nil {
		return now, fmt.Errorf("with the settings that cannot change: %w", err)
	}
	tokens, err := loadTokens(then.HTTP)
	if err != nil {
		return now, err
	}
	if err := d.o.Level.UnmarshalText([]byte(then.Log.Level)); err != nil {
		return now, err
	}
	d.api.Store(d.api.Load().With(then, tokens))
	d.store.SetMaxWaiting(then.Queue.MaxWaiting)
	d.o.Log.Info("configuration and tokens were read again", "by", "SIGHUP", "changed", config.Differences(now, then), "tokens", tokens.Names())
	if left := config.Differences(then, next); len(left) > 0 {
		d.o.Log.Warn("these settings cannot change while judged serves; restart it to use them", "settings", left)
	}
	return then, nil
}
