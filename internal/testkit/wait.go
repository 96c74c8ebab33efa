package testkit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// WaitFor polls cond until it is true, and fails the test if it is not true within deadline (wall time). what
// completes "timed out waiting for …". It calls cond in the calling goroutine, at least once, every 1 ms at
// first and every 20 ms later.
func WaitFor(t testing.TB, deadline time.Duration, what string, cond func() bool) {
	t.Helper()
	end := time.Now().Add(deadline)
	for pause := time.Millisecond; !cond(); pause = min(2*pause, 20*time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timed out after %v waiting for %s", deadline, what)
		}
		time.Sleep(pause)
	}
}

// HoldHostCPUs waits until no other test of this checkout, of any package, starts daemons that claim CPUs of the host,
// as a program outside tests does. The test then holds them until it ends.
func HoldHostCPUs(t testing.TB) {
	t.Helper()
	root, err := os.Open(RepoRoot(t))
	if err == nil {
		t.Cleanup(func() { root.Close() })
		for err = syscall.EINTR; err == syscall.EINTR; {
			err = syscall.Flock(int(root.Fd()), syscall.LOCK_EX)
		}
	}
	if err != nil {
		t.Fatalf("hold the CPUs of the host: %v", err)
	}
}

// RepoRoot returns the folder with go.mod, above the package under test.
func RepoRoot(t testing.TB) string {
	t.Helper()
	start, err := os.Getwd()
	if err != nil {
		t.Fatalf("find the working folder: %v", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		switch _, err := os.Stat(filepath.Join(dir, "go.mod")); {
		case err == nil:
			return dir
		case !errors.Is(err, fs.ErrNotExist):
			t.Fatalf("look for go.mod: %v", err)
		case dir == filepath.Dir(dir):
			t.Fatalf("found no go.mod in %s or above; run the test inside the repository", start)
		}
	}
}
