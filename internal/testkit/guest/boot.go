package guest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"judged/internal/testkit"
)

// Boot starts the guest, runs its commands in order and returns what they did
// by name. It skips the test where the emulator or the kernel is missing (see
// testkit.Need), and fails it, with the guest's console in the log, when the
// guest broke down or a command was not started or ran into its timeout. The
// exit code of a command is the caller's to judge.
func Boot(t testing.TB, cfg Config) map[string]Result {
	t.Helper()
	results, err := boot(t, cfg)
	if err == nil {
		err = failures(cfg, results)
	}
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func failures(cfg Config, results map[string]Result) error {
	var all []error
	for _, c := range cfg.Commands {
		if r := results[c.Name]; r.Failure != "" {
			all = append(all, fmt.Errorf("run %q in the guest: %s\nstdout:\n%s\nstderr:\n%s", c.Name, r.Failure, r.Stdout, r.Stderr))
		}
	}
	return errors.Join(all...)
}

// boot returns the results that arrived also when it returns an error.
func boot(t testing.TB, cfg Config) (map[string]Result, error) {
	t.Helper()
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	testkit.Need(t, machines[cfg.Arch].needs...)
	kernel, qemu, err := assets(cfg.Arch)
	if err != nil {
		return nil, err
	}
	dir := t.TempDir()
	initrd, console, channel := filepath.Join(dir, "initrd"), filepath.Join(dir, "console"), filepath.Join(dir, "results")
	if err := writeInitrd(initrd, BuildFor(t, cfg.Arch, initPackage), cfg); err != nil {
		return nil, err
	}

	args := cfg.args(kernel, initrd, console, channel)
	results, err := runGuest(t, qemu, args, channel, cfg.Timeout)
	if errors.Is(err, errStuck) {
		// Once in some dozens an emulated machine falls silent as a whole: no
		// timer fires any more, not even that of the tests in it. A test that
		// hangs ends by its own timeout, before this one, and is not repeated.
		t.Logf("the guest is started once more: %v\nconsole:\n%s", err, tail(console))
		results, err = runGuest(t, qemu, args, channel, cfg.Timeout)
	}
	if err != nil {
		return results, fmt.Errorf("%w\nconsole:\n%s", err, tail(console))
	}
	return results, nil
}

// runGuest runs the guest once and reads what came of it.
func runGuest(t testing.TB, qemu string, args []string, channel string, timeout time.Duration) (map[string]Result, error) {
	t.Helper()
	if err := os.Remove(channel); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	begin := time.Now()
	ran := runQEMU(t.Context(), qemu, args, timeout)
	took := time.Since(begin).Round(10 * time.Millisecond)
	results, err := readResults(channel)
	if err := errors.Join(ran, err); err != nil {
		return results, fmt.Errorf("run the guest for %v: %w", took, err)
	}
	t.Logf("the guest ran for %v", took)
	return results, nil
}

// errStuck is a guest that did not power off in time.
var errStuck = errors.New("the guest did not power off in time and was killed")

// runQEMU returns when the guest has powered off, or after timeout, or when
// ctx ends; QEMU is gone then in any case.
func runQEMU(ctx context.Context, qemu string, args []string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// The parent death signal is sent when the thread that started the child
	// ends, so the thread is kept. It covers a test binary that is killed.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, qemu, args...)
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err := cmd.Run()
	switch {
	case context.Cause(ctx) == context.DeadlineExceeded:
		return errStuck
	case err != nil:
		return fmt.Errorf("run QEMU: %w\n%s", err, bytes.TrimSpace(said.Bytes()))
	}
	return nil
}

// tail is the end of the console, which is what a failure is explained by.
func tail(path string) []byte {
	text, err := os.ReadFile(path)
	if err != nil {
		return []byte(err.Error())
	}
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	return text[max(0, len(text)-16<<10):]
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
