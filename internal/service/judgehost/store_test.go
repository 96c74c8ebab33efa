package judgehost

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

// fillWith returns a function that fills a folder with n bytes.
func fillWith(n int, calls *atomic.Int64) func(context.Context, string) error {
	return func(_ context.Context, folder string) error {
		calls.Add(1)
		return os.WriteFile(filepath.Join(folder, "f"), make([]byte, n), 0o600)
	}
}

// TestStoreFetchesOnce: callers with one key share the result of one call of fill, also after a restart.
func TestStoreFetchesOnce(t *testing.T) {
	folder, calls := t.TempDir(), new(atomic.Int64)
	for range 2 {
		s, err := openStore(folder, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				h, err := s.get(t.Context(), "key", fillWith(10, calls))
				if err != nil {
					t.Error(err)
					return
				}
				defer h.release()
				if _, err := os.Stat(filepath.Join(h.path, "f")); err != nil {
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

// TestStoreIsBounded: the least recently used folders are removed, but none that is in use.
func TestStoreIsBounded(t *testing.T) {
	const size, fit = 100_000, 3
	s, err := openStore(t.TempDir(), fit*(size+10_000))
	if err != nil {
		t.Fatal(err)
	}
	calls := new(atomic.Int64)
	used, err := s.get(t.Context(), "used", fillWith(size, calls))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		h, err := s.get(t.Context(), fmt.Sprint(i), fillWith(size, calls))
		if err != nil {
			t.Fatal(err)
		}
		h.release()
	}
	if !s.has("used") || !s.has("9") || !s.has("8") || s.has("7") || s.bytes > s.most {
		t.Errorf("%d bytes of %d: %v", s.bytes, s.most, s.entries)
	}
	list, err := os.ReadDir(s.folder)
	if err != nil || len(list) != fit {
		t.Errorf("%d folders, %v", len(list), err)
	}
	used.release()
	if err := s.clear(); err != nil || s.bytes != 0 {
		t.Errorf("%d bytes, %v", s.bytes, err)
	}
}

// TestStoreForgetsFailures: a failed fill leaves nothing, and the next caller fills again.
func TestStoreForgetsFailures(t *testing.T) {
	s, err := openStore(t.TempDir(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	failed := errors.New("failed")
	if _, err := s.get(t.Context(), "key", func(context.Context, string) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("error %v", err)
	}
	if list, err := os.ReadDir(s.folder); err != nil || len(list) > 0 {
		t.Errorf("%d folders, %v", len(list), err)
	}
	if err := os.Mkdir(filepath.Join(s.folder, unfinishedPrefix+"x"), 0o700); err != nil { // left by a killed process
		t.Fatal(err)
	}
	if s, err = openStore(s.folder, 1<<20); err != nil {
		t.Fatal(err)
	}
	if list, err := os.ReadDir(s.folder); err != nil || len(list) > 0 {
		t.Errorf("%d folders, %v", len(list), err)
	}
	if _, err := s.get(t.Context(), "key", fillWith(1, new(atomic.Int64))); err != nil {
		t.Error(err)
	}
}
