package daemon

import (
	"context"
	"fmt"
	"strings"

	"judged/internal/base/config"
)

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
		d.metrics.Load().Reloaded(err)
		if err != nil {
			d.o.Log.Error("cannot reload configuration and tokens; the current ones stay in force", "by",
				"SIGHUP", "error", err)
			continue
		}
		now = then
	}
}

// reload applies the settings that can change at run time, all or none, and logs the others. If a reload cannot add a
// protection, the daemon refuses requests: the operator believes that the protection is active.
func (d *daemon) reload(now config.Config) (config.Config, error) {
	next, err := d.o.Reload()
	if err != nil {
		return now, err
	}
	then := now.Reloaded(next)
	var read credentials
	why := "http.token_file takes effect with all other settings and files, and one of them cannot be used, see the log; "
	if err = then.Validate(); err != nil {
		err = fmt.Errorf("combined with the settings that need a restart: %w", err)
	} else if read, err = readCredentials(then); read.tokens == nil {
		why = "http.token_file is set and cannot be read; "
	}
	if err != nil {
		if now.HTTP.TokenFile == "" && then.HTTP.TokenFile != "" {
			d.refuse(why + "correct it and reload judged")
		}
		return now, err
	}
	if err := d.o.Level.UnmarshalText([]byte(then.Log.Level)); err != nil {
		return now, err
	}
	d.config.Store(&then)
	d.api.Store(d.api.Load().With(then, read.tokens))
	d.certificate.Store(read.certificate)
	d.access.use(read)
	if d.domjudge != nil {
		d.domjudge.client.Use(read.judgehost.Account)
	}
	if d.callbacks != nil {
		d.callbacks.Use(read.callbacks)
	}
	d.store.SetMaxWaiting(then.Queue.MaxWaiting)
	d.store.SetTenants(then.Tenants)
	d.store.SetRetention(then.Retention.MaxAge, then.MaxJobs())
	d.o.Log.Info("reloaded configuration and tokens", "by", "SIGHUP", "changed", config.Differences(now, then), "tokens",
		read.tokens.Names())
	if read.tokens == nil {
		d.warnOpen()
	}
	if left := config.Differences(then, next); len(left) > 0 {
		d.o.Log.Warn("these settings need a restart of judged", "settings", left)
	}
	if keys := then.Unprotected(next); len(keys) > 0 {
		d.refuse(strings.Join(keys, " and ") + " protects judged only after a restart; restart it")
	}
	return then, nil
}

// refuse refuses all requests until a reload succeeds.
func (d *daemon) refuse(why string) {
	d.api.Store(d.api.Load().Refusing(why))
	d.o.Log.Error("refusing requests", "reason", why)
}

// warnOpen warns that the daemon is not protected.
func (d *daemon) warnOpen() {
	d.o.Log.Warn("no tokens are configured: everybody on this machine may submit and cancel jobs; set http.token_file")
}
