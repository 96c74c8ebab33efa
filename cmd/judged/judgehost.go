package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"judged/internal/base/linux"
	"judged/internal/engine"
	"judged/internal/host/slots"
	"judged/internal/sandbox"
	"judged/internal/service/judgehost"
)

type judgehostOptions struct{ url, credentials, name, cacheDir, cpuList string }

func (a *app) judgehostCommand() *cobra.Command {
	var o judgehostOptions
	cmd := &cobra.Command{
		Use:   "judgehost [flags]",
		Short: "Judge for a DOMjudge server",
		Long: `Judge for an unmodified DOMjudge server. It needs root.

Each slot of this host is a judgehost of the server: NAME-0, NAME-1, and so on.
Enable and disable them in the web interface of the server, like other
judgehosts. deploy/DOMJUDGE.md describes the setup and what is supported.

FILE contains the line of DOMjudge's restapi.secret: an ID, the URL, the user
and the password. With --url the first two may be missing.

At SIGTERM, judged finishes the running tests and returns the other ones to the
server. A second SIGTERM stops it immediately.

Exit codes: 0 ended by a signal, 2 wrong usage, refused credentials or unusable
files, 3 judged itself could not do its work.`,
		Example: `  judged judgehost --url https://domjudge.example/api/v4 \
      --credentials restapi.secret
  judged judgehost --credentials restapi.secret --name room1 --cpu-list 2-5`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			abort, stop := afterSecond()
			defer stop()
			return asUsage(a.judgehost(cmd, abort, o))
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&o.url, "url", "", "`URL` of the server's interface; it ends with /api/v4")
	cmd.Flags().StringVar(&o.credentials, "credentials", "", "`FILE` with the account of the judgehosts")
	cmd.Flags().StringVar(&o.name, "name", "", "`NAME` of the judgehosts, followed by -0, -1, ... (default the host name)")
	cmd.Flags().StringVar(&o.cacheDir, "cache-dir", "",
		"`DIR` for test cases and programs (default judged/judgehost in the cache folder of the user)")
	a.configFlag(cmd)
	cpuListFlag(cmd, &o.cpuList)
	return cmd
}

// judgehost judges until the context of the command ends.
func (a *app) judgehost(cmd *cobra.Command, abort context.Context, o judgehostOptions) (err error) {
	c, err := a.loadConfig()
	if err != nil {
		return err
	}
	if err := overlaySlots(&c, cmd, o.cpuList); err != nil {
		return err
	}
	options, err := engineOptions(c, a, cmd.Name())
	if err != nil {
		return err
	}
	if o.credentials == "" {
		return usagef("no --credentials; give a file with the line ID URL USER PASSWORD")
	}
	server, err := judgehost.ReadServer(o.url, o.credentials)
	if err != nil {
		return usagef("read --credentials: %w", err)
	}
	if o.name, err = judgehost.HostsName(o.name); err != nil {
		return usagef("read --name: %w", err)
	}
	server.Log = options.Log
	client, err := judgehost.NewClient(server)
	if err != nil {
		return usagef("read --url: %w", err)
	}
	folder, lock, err := openCacheDir(o.cacheDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	settings, err := judgehost.Await(cmd.Context(), client)
	switch {
	case cmd.Context().Err() != nil:
		return nil
	case judgehost.IsRefused(err):
		return &usageError{err}
	case err != nil:
		return err
	}
	// The scripts of DOMjudge say in a shell script what runs, so that judged cannot know which files that needs.
	options.Root, options.Jury = sandbox.RootHost, settings.JuryLimits()
	eng, err := engine.Open(options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	if err := eng.Fit(eng.CPUs()); err != nil {
		return err
	}
	service, err := judgehost.New(cmd.Context(), judgehost.Options{Client: client, Config: settings,
		Engine: judgehost.OwnSlots{Engine: eng}, Pool: slots.NewPool(eng.Slots(), time.Now), Name: o.name, Folder: folder,
		Work: judgehost.WorkOf(c.Sandbox), Log: options.Log})
	if err != nil {
		return err
	}
	service.Run(cmd.Context(), abort)
	return nil
}

// openCacheDir locks the folder of the cache until the file is closed.
func openCacheDir(dir string) (string, *os.File, error) {
	if dir == "" {
		base := cacheFolder()
		if base == "" {
			return "", nil, usagef("find the cache folder: neither XDG_CACHE_HOME nor HOME is set; give --cache-dir")
		}
		dir = filepath.Join(base, "judgehost")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", nil, usagef("make --cache-dir: %w; give another one", err)
	}
	lock, err := linux.LockFile(filepath.Join(dir, "lock"))
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return "", nil, usagef("lock --cache-dir %q: another judged judgehost uses it; end it, or give another folder", dir)
	}
	if err != nil {
		return "", nil, usagef("lock --cache-dir: %w; give another one", err)
	}
	return dir, lock, nil
}
