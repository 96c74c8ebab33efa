package diskcache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// fillWith returns a function that fills a folder with n bytes.
func fillWith(n int, calls *atomic.Int64) func(context.Context, string) error {
	return func(_ context.Context, folder string) error {
		calls.Add(1)
		return os.WriteFile(filepath.Join(folder, "f"), make([]byte, n), 0o600)
	}
}

// TestFillsOnce: callers with one key share the result of one call of fill, also after a restart.
func TestFillsOnce(t *testing.T) {
	folder, calls := t.TempDir(), new(atomic.Int64)
	for range 2 {
		c, err := Open(folder, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				h, err := c.Get(t.Context(), "key", fillWith(10, calls))
				if err != nil {
					t.Error(err)
					return
				}
				defer h.Release()
				if _, err := os.Stat(filepath.Join(h.Path, "f")); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
	}
	if n := calls.Load(); n != 1 {
		t.Errorf("made %d times", n)
	}
}

// TestIsBounded: the least recently used folders are removed, but none that is in use.
func TestIsBounded(t *testing.T) {
	const size, fit = 100_000, 3
	c, err := Open(t.TempDir(), fit*(size+10_000))
	if err != nil {
		t.Fatal(err)
	}
	calls := new(atomic.Int64)
	used, err := c.Get(t.Context(), "used", fillWith(size, calls))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		h, err := c.Get(t.Context(), fmt.Sprint(i), fillWith(size, calls))
		if err != nil {
			t.Fatal(err)
		}
		h.Release()
	}
	if !c.Has("used") || !c.Has("9") || !c.Has("8") || c.Has("7") || c.bytes > c.most {
		t.Errorf("%d bytes of %d: %v", c.bytes, c.most, c.entries)
	}
	list, err := os.ReadDir(c.folder)
	if err != nil || len(list) != fit {
		t.Errorf("%d folders, %v", len(list), err)
	}
	used.Release()
	if err := c.Clear(); err != nil || c.bytes != 0 {
		t.Errorf("%d bytes, %v", c.bytes, err)
	}
}

// TestForgetsFailures: a failed fill leaves nothing, and the next caller fills again.
func TestForgetsFailures(t *testing.T) {
	c, err := Open(t.TempDir(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	failed := errors.New("failed")
	_, err = c.Get(t.Context(), "key", func(context.Context, string) error { return failed })
	if !errors.Is(err, failed) {
		t.Errorf("error %v", err)
	}
	if list, err := os.ReadDir(c.folder); err != nil || len(list) > 0 {
		t.Errorf("%d folders, %v", len(list), err)
	}
	if err := os.Mkdir(filepath.Join(c.folder, Unfinished+"x"), 0o700); err != nil { // left by a killed process
		t.Fatal(err)
	}
	if c, err = Open(c.folder, 1<<20); err != nil {
		t.Fatal(err)
	}
	if list, err := os.ReadDir(c.folder); err != nil || len(list) > 0 {
		t.Errorf("%d folders, %v", len(list), err)
	}
	if _, err := c.Get(t.Context(), "key", fillWith(1, new(atomic.Int64))); err != nil {
		t.Error(err)
	}
}

// TestPut: a folder replaces an earlier one that nobody uses, and others are not of the cache.
func TestPut(t *testing.T) {
	folder := t.TempDir()
	other := filepath.Join(folder, "other")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	c, err := Open(folder, 1<<20, "other")
	if err != nil {
		t.Fatal(err)
	}
	put := func(text, want string) {
		t.Helper()
		err := c.Put("a", func(folder string) error {
			return os.WriteFile(filepath.Join(folder, "f"), []byte(text), 0o600)
		})
		if got, _ := os.ReadFile(filepath.Join(folder, "a", "f")); err != nil || string(got) != want {
			t.Errorf("content %q after %q, error %v, want %q", got, text, err, want)
		}
	}
	put("one", "one")
	put("two", "two")
	held, ok := c.Acquire("a")
	if !ok {
		t.Fatal("no folder")
	}
	put("three", "two")
	held.Release()
	put("four", "four")
	if list, err := os.ReadDir(folder); err != nil || len(list) != 2 {
		t.Errorf("%d folders, error %v, want 2", len(list), err)
	}
	if err := c.Clear(); err != nil || c.bytes != 0 {
		t.Errorf("%d bytes, error %v", c.bytes, err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
}

// TestRemovesWhole: a folder of which only a part could be removed is not in the cache, also after a restart. It is
// deeper than the process can open files.
func TestRemovesWhole(t *testing.T) {
	c, err := Open(t.TempDir(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	err = c.Put("a", func(folder string) error {
		return os.MkdirAll(filepath.Join(folder, strings.Repeat("d/", 200)), 0o700)
	})
	if err != nil {
		t.Fatal(err)
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 100, Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	err = c.Clear()
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(err, syscall.EMFILE) || c.Has("a") {
		t.Errorf("error %v, in the cache %t", err, c.Has("a"))
	}
	again, err := Open(c.folder, 1<<20)
	if err != nil || again.Has("a") {
		t.Errorf("after a restart: error %v, in the cache %t", err, again.Has("a"))
	}
	if list, err := os.ReadDir(c.folder); err != nil || len(list) > 0 {
		t.Errorf("%d folders are left, error %v", len(list), err)
	}
}
