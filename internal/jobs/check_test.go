package jobs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/testkit"
)

// TestCheckFullServer checks that Check fails while the disk of a PostgreSQL server is full, even if nothing else
// writes, and that it succeeds without a restart once there is space again.
func TestCheckFullServer(t *testing.T) {
	testkit.Need(t, testkit.Root)
	disk, err := os.MkdirTemp("", "judged-full-") // the user of the server has no access to t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(disk) })
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=160m,mode=0755"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Errorf("unmount %s: %v", disk, err)
		}
	})
	t.Setenv("TMPDIR", disk)
	s, err := Open(t.Context(), Options{URL: testkit.StartPostgres(t, "fsync=off").Database(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	check := func() error { // not the cached result
		s.check.state.Forget()
		return s.Check()
	}
	if err := check(); err != nil {
		t.Fatal(err)
	}
	filler := filepath.Join(disk, "filler")
	fill(t, filler)
	s.check.grown.Store(0) // as if growEvery had passed
	for range 3 {
		if err := check(); !errors.Is(err, api.ErrUnavailable) || !strings.Contains(fmt.Sprint(err), "free disk space") {
			t.Errorf("check on a full disk: %v", err)
		}
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	testkit.WaitFor(t, time.Minute, "the database to be written", func() bool { return check() == nil })
	fill(t, filler)
	// Another operation finds the disk full first.
	large := strings.Repeat("x", 1<<20)
	for n := 0; !s.check.full.Load(); n++ {
		if n == 1000 {
			t.Fatal("1000 MiB fit on a full disk")
		}
		_ = s.SetValue(t.Context(), fmt.Sprint(n, large), "large", fmt.Sprint(n)) // fails once the disk is full
	}
	if err := check(); !errors.Is(err, api.ErrUnavailable) {
		t.Errorf("check after a write has failed: %v", err)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	testkit.WaitFor(t, time.Minute, "the database to be written again", func() bool { return check() == nil })
}

// fill uses all free space.
func fill(t *testing.T, file string) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 1<<20); len(block) > 0; {
		if _, err := f.Write(block); err != nil {
			block = block[:len(block)/2]
		}
	}
}
