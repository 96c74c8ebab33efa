package guest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"judged/internal/testkit"
)

// Boot starts the guest, runs its commands in order and returns their results by name. It skips the test if the
// emulator or the kernel is missing (see testkit.Need). It fails the test, and logs the guest's console, if the
// guest crashed or a command was not started or timed out. The caller evaluates the exit codes.
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

// Need is testkit.Need for guests of an architecture. Call it before anything is built for the guest.
func Need(t testing.TB, arch string) {
	t.Helper()
	testkit.Need(t, machines[arch].needs...)
}

func failures(cfg Config, results map[string]Result) error {
	var all []error
	for _, c := range cfg.Commands {
		if r := results[c.Name]; r.Failure != "" {
			all = append(all, fmt.Errorf("run %q in the guest: %s\nstdout:\n%s\nstderr:\n%s", c.Name, r.Failure,
				r.Stdout, r.Stderr))
		}
	}
	return errors.Join(all...)
}

// boot returns the results received so far, even with an error.
func boot(t testing.TB, cfg Config) (map[string]Result, error) {
	t.Helper()
	e, err := prepare(t, cfg.withDefaults())
	if err != nil {
		return nil, err
	}
	return e.run(t)
}

// prepare builds the files of the guest. It fails or skips t if the machine lacks something.
func prepare(t testing.TB, cfg Config) (emulation, error) {
	t.Helper()
	if err := cfg.validate(); err != nil {
		return emulation{}, err
	}
	testkit.Need(t, machines[cfg.Arch].needs...)
	kernel, qemu, err := assets(cfg.Arch)
	if err != nil {
		return emulation{}, err
	}
	dir := t.TempDir()
	e := emulation{
		qemu: qemu, console: filepath.Join(dir, "console"), channel: filepath.Join(dir, "results"),
		timeout: cfg.Timeout, silence: silence,
	}
	initrd := filepath.Join(dir, "initrd")
	if err := writeInitrd(initrd, BuildFor(t, cfg.Arch, initPackage), cfg); err != nil {
		return emulation{}, err
	}
	disks, err := makeDisks(dir, cfg.Disks)
	if err != nil {
		return emulation{}, err
	}
	e.args = append(cfg.args(kernel, initrd, e.console, e.channel), diskArgs(disks)...)
	return e, nil
}

// makeDisks creates sparse files for QEMU.
func makeDisks(dir string, n int) ([]string, error) {
	var files []string
	for i := range n {
		file := filepath.Join(dir, fmt.Sprintf("disk%d", i))
		if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, DiskBytes)); err != nil {
			return nil, fmt.Errorf("make disk: %w", err)
		}
		files = append(files, file)
	}
	return files, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
