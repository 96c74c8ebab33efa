package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"judged/internal/base/config"
	"judged/internal/base/linux"
	"judged/internal/base/text"
	"judged/internal/engine"
	"judged/internal/sandbox"
	"judged/internal/service/judgehost"
)

type judgehostOptions struct{ url, credentials, name, cacheDir, cpuList string }

func (a *app) judgehostCommand() *cobra.Command {
	var o judgehostOptions
	cmd := &cobra.Command{
		Use:   "judgehost [flags]",
		Short: "Judge for a DOMjudge server",
		Long: `Judge for a DOMjudge server, which need not be changed. It needs root.

Each slot of this host is a judgehost of the server: NAME-0, NAME-1, and so on.
Enable and disable them in its web interface, as others. deploy/DOMJUDGE.md says
how to set it up, and what is supported.

FILE has the line of DOMjudge's restapi.secret: an ID, the URL, the user and the
password. With --url the first two may be missing.

SIGTERM ends it after the tests that run, and gives the others back to the
server. A second one ends it at once.

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
	cmd.Flags().StringVar(&o.name, "name", "", "`NAME` of the judgehosts, before -0 (default the host name)")
	cmd.Flags().StringVar(&o.cacheDir, "cache-dir", "",
		"`DIR` for test cases and programs (default judged/judgehost in the cache folder of the user)")
	a.configFlag(cmd)
	cpuListFlag(cmd, &o.cpuList)
	return cmd
}

// judgehostCacheBytes is how much is cached: the test data of a contest.
const judgehostCacheBytes = 16 << 30

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
	server, err := readCredentials(o)
	if err != nil {
		return err
	}
	if o.name, err = judgehostName(o.name); err != nil {
		return err
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
	service, err := judgehost.New(cmd.Context(), judgehost.Options{Client: client, Config: settings, Engine: eng,
		Name: o.name, Folder: folder, Cache: judgehostCacheBytes, Work: workOf(c), Log: options.Log})
	if err != nil {
		return err
	}
	service.Run(cmd.Context(), abort)
	return nil
}

// workOf is what fits into a working directory, next to the folders that every one has.
func workOf(c config.Config) judgehost.Work {
	const own = 16
	return judgehost.Work{Bytes: c.Sandbox.WorkSize, Files: c.Sandbox.WorkInodes - own}
}

// readCredentials reads a file like DOMjudge's restapi.secret. Errors do not quote it.
func readCredentials(o judgehostOptions) (s judgehost.Server, err error) {
	if o.credentials == "" {
		return s, usagef("no --credentials; name a file with the line ID URL USER PASSWORD")
	}
	f, err := os.Open(o.credentials)
	if err != nil {
		return s, usagef("read --credentials: %w; name a file that exists", err)
	}
	defer f.Close()
	var found [][]string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); line != "" && !strings.HasPrefix(line, "#") {
			found = append(found, strings.Fields(line))
		}
	}
	if err := lines.Err(); err != nil {
		return s, usagef("read --credentials: %w", err)
	}
	switch {
	case len(found) != 1:
		return s, usagef("read --credentials %q: %d lines; want one, ID URL USER PASSWORD", o.credentials, len(found))
	case len(found[0]) == 4 && o.url == "":
		s.URL = found[0][1]
	case len(found[0]) == 4 && strings.TrimRight(o.url, "/") != strings.TrimRight(found[0][1], "/"):
		return s, usagef("read --credentials %q: its URL is not that of --url; leave one of them out", o.credentials)
	case len(found[0]) == 2 && o.url == "":
		return s, usagef("no --url; give the address of the server, which ends with /api/v4")
	case len(found[0]) != 4 && len(found[0]) != 2:
		return s, usagef("read --credentials %q: the line has %d words; want ID URL USER PASSWORD, or USER PASSWORD",
			o.credentials, len(found[0]))
	default:
		s.URL = o.url
	}
	last := found[0][len(found[0])-2:]
	s.User, s.Password = last[0], last[1]
	return s, nil
}

var hostName = text.Pattern(`^[A-Za-z0-9_.-]{1,50}$`)

// judgehostName is the name of the judgehosts: the first part of the host name unless there is one.
func judgehostName(name string) (string, error) {
	if name == "" {
		host, err := os.Hostname()
		if err != nil {
			return "", fmt.Errorf("read host name: %w; give --name", err)
		}
		name, _, _ = strings.Cut(host, ".")
	}
	if !hostName().MatchString(name) {
		return "", usagef("read --name %q: want up to 50 letters, digits, dots, hyphens and underscores", name)
	}
	return name, nil
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
