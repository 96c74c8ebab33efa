package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"judged/internal/court"
	"judged/internal/daemon"
)

func (a *app) serveCommand() *cobra.Command {
	var listen, dataDir, cpuList, tokenFile string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the daemon",
		Long: `Run the daemon. The first line on stdout is its URL.

SIGTERM drains: what runs is finished, what waits stays in the queue. A second
one hands back what runs, too.`,
		Example: `  judged serve --listen 127.0.0.1:8080 --data-dir /var/lib/judged
  judged serve -c judged.toml`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.loadConfig()
			if err != nil {
				return err
			}
			for flag, target := range map[string]struct {
				value string
				to    *string
			}{"listen": {listen, &c.HTTP.Listen}, "data-dir": {dataDir, &c.DataDir}, "token-file": {tokenFile, &c.HTTP.TokenFile}} {
				if cmd.Flags().Changed(flag) {
					*target.to = target.value
				}
			}
			if err := overlaySlots(&c, cmd, cpuList, 0); err != nil {
				return err
			}
			if err := c.Validate(); err != nil {
				return &usageError{err}
			}
			options, err := courtOptions(c, a)
			if err != nil {
				return err
			}
			options.Daemon = true
			abort, stop := afterFirst(cmd.Context())
			defer stop()
			err = daemon.Run(cmd.Context(), abort, daemon.Options{
				Config: c, Court: options, Version: version, Revision: revision(), Out: a.out, Log: options.Log,
			})
			return asUsage(err)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "", "`ADDRESS` to listen on; port 0 picks one (default 127.0.0.1:8080)")
	cmd.Flags().StringVar(&dataDir, "data-dir", "", "`DIR` for jobs and blobs (default /var/lib/judged)")
	cmd.Flags().StringVar(&cpuList, "cpu-list", "", "which CPUs may be used, `LIST` or hex mask (default: config, else the isolated set, else the last CPU)")
	cmd.Flags().StringVar(&tokenFile, "token-file", "", "`FILE` with a line NAME SCOPES SHA256 for each token")
	return cmd
}

// afterFirst is a context that ends with the second signal: the first one ends
// the given context.
func afterFirst(first context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	context.AfterFunc(first, func() {
		second, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		defer stop()
		<-second.Done()
		cancel()
	})
	return ctx, cancel
}

// asUsage gives CPUs that cannot be had the exit code of wrong usage.
func asUsage(err error) error {
	var u *court.UsageError
	if errors.As(err, &u) {
		return &usageError{err}
	}
	return err
}
