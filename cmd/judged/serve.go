package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"judged/internal/base/config"
	"judged/internal/engine"
	"judged/internal/service/daemon"
)

func (a *app) serveCommand() *cobra.Command {
	var cpuList string
	var tuneHost bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the daemon",
		Long: `Run the daemon. The first line on stdout is its URL.

At SIGTERM, running jobs are finished and waiting jobs stay in the queue. A
second SIGTERM also returns running jobs to the queue. At SIGHUP, tokens and
configuration are read again; settings that cannot change at run time are logged
and keep their values.`,
		Example: `  judged serve --listen 127.0.0.1:8080 --data-dir /var/lib/judged
  judged serve -c judged.toml`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			// From here on SIGHUP never ends judged. A SIGHUP before it serves is handled later.
			hangup := make(chan os.Signal, 1)
			signal.Notify(hangup, syscall.SIGHUP)
			load := func() (config.Config, error) { return a.serveConfig(cmd, cpuList, tuneHost) }
			c, err := load()
			if err != nil {
				return err
			}
			data, err := filepath.Abs(c.DataDir)
			if err != nil {
				return err
			}
			options, err := engineOptions(c, a, "serve with data folder "+data)
			if err != nil {
				return err
			}
			if ignored := config.Ignored(environ()); len(ignored) > 0 {
				options.Log.Warn("ignoring environment variables that are no settings; configs/judged.toml has the names",
					"variables", ignored)
			}
			if unused := c.Unused(); len(unused) > 0 {
				options.Log.Warn("ignoring settings that have no effect in this role; set them where they have one",
					"role", c.Fleet.Role, "settings", unused)
			}
			options.Daemon, options.MeasureStarts = true, true
			options.Languages.Folder = filepath.Join(data, "compiled")
			abort, stop := afterSecond()
			defer stop()
			err = daemon.Run(cmd.Context(), abort, daemon.Options{
				Config: c, Engine: options, Version: version, Revision: revision(), Out: a.out, Log: options.Log,
				Level: &a.level, Hangup: hangup, Reload: load,
			})
			return asUsage(err)
		},
	}
	a.configFlag(cmd)
	cmd.Flags().String("listen", "", "`ADDRESS` to listen on; port 0 picks one (default 127.0.0.1:8080)")
	dataDirFlag(cmd)
	cpuListFlag(cmd, &cpuList)
	cmd.Flags().BoolVar(&tuneHost, "tune", false,
		"run judged tune apply at the start and judged tune restore at the end")
	cmd.Flags().String("role", "", "`ROLE` in a fleet: all, front or judge (default all)")
	cmd.Flags().String("front", "", "`URL` of the front that a judge takes jobs from")
	cmd.Flags().String("node-token-file", "", "`FILE` with the token of a judge")
	cmd.Flags().String("token-file", "", "`FILE` with a line NAME SCOPES SHA256 for each token")
	return cmd
}

// serveConfig returns the configuration with the flags applied.
func (a *app) serveConfig(cmd *cobra.Command, cpuList string, tuneHost bool) (config.Config, error) {
	c, err := config.Load(a.config, environ())
	if err != nil {
		return c, &usageError{err}
	}
	for name, to := range map[string]*string{"listen": &c.HTTP.Listen, "data-dir": &c.DataDir,
		"token-file": &c.HTTP.TokenFile, "role": &c.Fleet.Role, "front": &c.Fleet.Front,
		"node-token-file": &c.Fleet.TokenFile} {
		if flag := cmd.Flags().Lookup(name); flag.Changed {
			*to = flag.Value.String()
		}
	}
	if err := overlaySlots(&c, cmd, cpuList); err != nil {
		return c, err
	}
	c.Tune.Apply = c.Tune.Apply || tuneHost
	if err := c.Validate(); err != nil {
		return c, &usageError{err}
	}
	return c, frontDatabase(c)
}

// frontDatabase returns an error for a front without the database that all fronts share.
func frontDatabase(c config.Config) error {
	if c.Fleet.Role == config.RoleFront && c.Database.URL == "" {
		return usagef("database.url: a front has none; set it or JUDGED_DATABASE_URL to the PostgreSQL server that " +
			"all fronts share, or use the role all for one host with its own database, which may have judges, too")
	}
	return nil
}

// afterSecond returns a context that the second termination signal cancels; the first one cancels the command's context.
// It counts signals itself, so that a second one right after the first is not lost.
func afterSecond() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		defer signal.Stop(signals)
		for range 2 {
			select {
			case <-signals:
			case <-ctx.Done():
				return
			}
		}
		cancel()
	}()
	return ctx, cancel
}

// asUsage turns errors about settings that this host does not support, such as absent CPUs, into usage errors.
func asUsage(err error) error {
	if errors.As(err, new(*engine.UsageError)) || errors.As(err, new(*daemon.SettingError)) {
		return &usageError{err}
	}
	return err
}
