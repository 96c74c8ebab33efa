package jobs

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"judged/internal/api"
	"judged/internal/jobs/blobs"
	"judged/internal/testkit"
)

// smallDisk mounts a file system of a few MiB.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	testkit.Need(t, testkit.Root)
	dir := t.TempDir()
	if err := unix.Mount("judged-test", dir, "tmpfs", 0, "mode=700,size="+size); err != nil {
		t.Fatalf("mount a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestFullDisk checks that on a full disk every change fails with ErrUnavailable and changes nothing, that stored data
// can be read, and that the same store works once there is space again.
func TestFullDisk(t *testing.T) {
	dir := smallDisk(t, "4m")
	var mu sync.Mutex // guards failed
	var failed []string
	s := backend{fresh: func(testing.TB) Options { return Options{File: filepath.Join(dir, "judged.db")} }}.open(t,
		func(o *Options) {
			o.OnUnavailable = func(operation string) {
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, operation)
				if !slices.Contains(Operations(), operation) {
					t.Errorf("operation %q is not among Operations", operation)
				}
			}
		})
	s.put("held", func(j *api.Job) { j.Priority = api.Contest })
	held := s.take()
	promised := map[string]bool{"held": true}
	var full error
	for i := 0; full == nil; i++ {
		id := fmt.Sprint("job", i)
		_, _, err := s.Put(s.ctx(), Submission{ID: id, Job: bulkyJob()})
		if err == nil {
			promised[id] = true
		}
		full = err
	}
	if !errors.Is(full, api.ErrUnavailable) || !strings.Contains(full.Error(), "free disk space") {
		t.Fatalf("put on a full disk: %v", full)
	}
	if err := os.WriteFile(filepath.Join(dir, "rest"), make([]byte, 4<<20), 0o600); err == nil {
		t.Fatal("the disk is not full")
	}
	before := s.get("held")
	// Larger than the disk, even compressed: a smaller one may fit into the log.
	noise := make([]byte, 8<<20)
	_, _ = rand.Read(noise)
	report, large := sampleReport(api.Accepted), sampleJob()
	report.Tests[0].Message = hex.EncodeToString(noise)
	large.Command = []string{report.Tests[0].Message}
	for name, change := range map[string]func() error{
		"take":   func() error { _, err := s.Take(s.ctx(), api.Want{}); return err },
		"finish": func() error { return s.Finish(s.ctx(), held.Lease, report) },
		"put":    func() error { _, _, err := s.Put(s.ctx(), Submission{ID: "more", Job: large}); return err },
	} {
		// The write-ahead log may have space for changes as small as a take.
		testkit.WaitFor(t, time.Minute, name+" to be refused", func() bool {
			err := change()
			if err == nil && name == "take" {
				return false
			}
			if !errors.Is(err, api.ErrUnavailable) {
				t.Fatalf("%s on a full disk: %v", name, err)
			}
			return true
		})
	}
	if diff := cmp.Diff(before, s.get("held")); diff != "" {
		t.Errorf("a refused change changed the job:\n%s", diff)
	}
	mu.Lock()
	if !slices.Contains(failed, "take") || !slices.Contains(failed, "finish") || !slices.Contains(failed, "put") {
		t.Errorf("reported failures: %q", failed)
	}
	mu.Unlock()
	if _, err := s.Get(s.ctx(), "more"); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("a refused job is there: %v", err)
	}

	if err := os.Remove(filepath.Join(dir, "rest")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("judged-test", dir, "tmpfs", unix.MS_REMOUNT, "size=64m"); err != nil {
		t.Fatal(err)
	}
	s.finish(held.Lease, api.Accepted)
	s.put("more", nil)
	promised["more"] = true
	for id := range promised {
		s.get(id)
	}
	var check string
	s.must(s.read.QueryRow(`PRAGMA integrity_check`).Scan(&check))
	if check != "ok" {
		t.Errorf("integrity: %s", check)
	}
}

func bulkyJob() api.Job {
	j := sampleJob()
	for i := range 1000 {
		j.Tests = append(j.Tests, api.Test{Name: fmt.Sprint(i), Input: file(i * 7919), Answer: file(i * 104729)})
	}
	return j
}

// failWrites makes this process's writes to files fail until works is called.
func failWrites(t *testing.T) (works func()) {
	t.Helper()
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(unix.SIGXFSZ)
	set := func(limit unix.Rlimit) {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
			t.Fatal(err)
		}
	}
	works = sync.OnceFunc(func() {
		set(before)
		signal.Reset(unix.SIGXFSZ)
	})
	t.Cleanup(works)
	set(unix.Rlimit{Cur: 0, Max: before.Max})
	return works
}

// TestReadOnlyFileSystem checks that a database on a read-only file system is not opened, and that the error says so.
func TestReadOnlyFileSystem(t *testing.T) {
	dir := smallDisk(t, "16m")
	o := Options{File: filepath.Join(dir, "judged.db")}
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("judged-test", dir, "tmpfs", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	if s, err := Open(t.Context(), o); !errors.Is(err, api.ErrUnavailable) || !strings.Contains(err.Error(), "writable") {
		t.Errorf("opened %v: %v", s, err)
	}
	if err := unix.Mount("judged-test", dir, "tmpfs", unix.MS_REMOUNT, ""); err != nil {
		t.Fatal(err)
	}
	s, err = Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestOddPath checks a path with characters that are special in a URL.
func TestOddPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b?c=d#e%20f")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	o := Options{File: filepath.Join(dir, "judged.db")}
	reopen(t, o, &clock{}).put("a", nil)
	if _, err := os.Stat(o.File); err != nil {
		t.Error(err)
	}
}

// TestDatabaseIsPrivate checks that only judged can access the database in an existing folder, its logs and a backup,
// regardless of the umask. The same holds for a database of an earlier version.
func TestDatabaseIsPrivate(t *testing.T) {
	before := unix.Umask(0)
	defer unix.Umask(before)
	for name, made := range map[string]bool{"new": false, "of an earlier version": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, "judged.db")
			if made {
				if err := os.WriteFile(file, nil, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			s := backend{fresh: func(testing.TB) Options { return Options{File: file} }}.open(t, nil)
			s.put("a", nil)
			if _, err := Backup(t.Context(), Options{File: file}, blobs.Attach(t.TempDir()),
				filepath.Join(dir, "backup")); err != nil {
				t.Fatal(err)
			}
			entries, err := os.ReadDir(dir)
			if err != nil || len(entries) < 4 { // with -wal, -shm and the backup
				t.Fatalf("%v, %v", entries, err)
			}
			for _, e := range entries {
				if info, err := e.Info(); err != nil || info.Mode() != 0o600 {
					t.Errorf("%s has %v, %v", e.Name(), info.Mode(), err)
				}
			}
		})
	}
}
