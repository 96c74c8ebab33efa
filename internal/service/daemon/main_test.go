package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/base/linux"
	"judged/internal/engine"
	"judged/internal/engine/languages"
	"judged/internal/sandbox"
	"judged/internal/sandbox/initproc"
	"judged/internal/testkit"
)

// serveEnv makes this binary a daemon with the configuration in its value.
const serveEnv = "JUDGED_TEST_SERVE"

func TestMain(m *testing.M) {
	if initproc.IsInit() {
		initproc.Main()
	}
	if text := os.Getenv(serveEnv); text != "" {
		os.Exit(serveMain(text))
	}
	for name, value := range testkit.Credentials() { // for daemons of parallel tests
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	// Parallel tests wait for leases and for what a front does every few seconds. A flag of the command line replaces this.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	os.Exit(testkit.Run(m))
}

// serveMain does what judged serve does after it has parsed its flags: it prints errors on one line, and returns 2 for
// an unusable configuration.
func serveMain(text string) int {
	err := serveConfig(text)
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "judged:", err)
	if errors.As(err, new(*engine.UsageError)) || errors.As(err, new(*SettingError)) {
		return 2
	}
	return 3
}

func serveConfig(text string) error {
	var c config.Config
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	if err := c.Validate(); err != nil {
		return &engine.UsageError{Err: err}
	}
	drain, stopDrain := context.WithCancel(context.Background())
	defer stopDrain()
	abort, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 2) // both may arrive before the goroutine runs
	signal.Notify(signals, syscall.SIGTERM)
	go func() {
		<-signals
		stopDrain()
		<-signals
		cancel()
	}()
	catalogue, err := languages.Load(c.Languages.File)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	// Tests of several packages judge on the same CPUs at once, so each daemon stores its claims in a private place.
	claims, err := linux.DetachedTmpfs()
	if err != nil {
		return err
	}
	defer claims.Close()
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	return Run(drain, abort, Options{
		Level: new(slog.LevelVar), Hangup: hangup, Reload: func() (config.Config, error) { return c, nil },
		Config: c, Protocols: testProtocols(), Version: "test", Revision: "none", Out: os.Stdout, Log: log,
		Engine: engine.Options{
			ClaimFolder: fmt.Sprintf("/proc/self/fd/%d", claims.Fd()),
			Languages: engine.LanguageOptions{Catalogue: catalogue, CacheBytes: c.Languages.CacheSize,
				Folder: filepath.Join(c.DataDir, "compiled")},
			CPUs:      c.Slots.CPUList,
			Width:     c.Slots.Width,
			Strict:    c.Slots.Strict,
			Pool:      c.Slots.Pool,
			Jury:      engine.JuryLimits(c.Limits.Jury),
			Root:      sandbox.Root(c.Sandbox.Root),
			BoxBytes:  c.Sandbox.WorkSize,
			BoxInodes: c.Sandbox.WorkInodes,
			UIDFirst:  c.Sandbox.UIDFirst,
			UIDCount:  c.Sandbox.UIDCount,
			Daemon:    true,
			Log:       log,
		},
	})
}

// protocolsEnv makes this binary a judged with other versions of the node protocol. Its value is "OLDEST NEWEST".
const protocolsEnv = "JUDGED_TEST_PROTOCOLS"

func testProtocols() (p api.Protocols) {
	_, _ = fmt.Sscan(os.Getenv(protocolsEnv), &p.Oldest, &p.Newest) // if unset, those of this version
	return p
}

func decodeConfig(t testing.TB, text string) config.Config {
	t.Helper()
	var c config.Config
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	return c
}
