package daemon

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/fleet/front"
	"judged/internal/jobs"
	"judged/internal/testkit"
)

// TestSweepBlobs checks that of many old blobs only those of a waiting job stay, along with a recently used one.
func TestSweepBlobs(t *testing.T) {
	var log bytes.Buffer
	c := config.Default()
	c.DataDir = filepath.Join(t.TempDir(), "data")
	d := &daemon{
		o: Options{Config: c, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelInfo}))},
	}
	d.config.Store(&c)
	if err := inOrder(d.openFolder, d.openData)(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.close(); err != nil {
			t.Error(err)
		}
	}()
	d.store.screen = front.NewScreen(front.ScreenOptions{Store: d.store.Store}) // no pool is screened
	put := func(content string) api.File {
		digest, _, _, err := d.blobs.Put(t.Context(), "", strings.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		return api.File{Blob: digest}
	}
	ref := func(f api.File) *api.File { return &f }
	create := func(id string, j api.Job) {
		if _, _, err := d.store.Put(t.Context(), jobs.Submission{ID: id, Job: j}); err != nil {
			t.Fatal(err)
		}
	}
	create("waits", api.Job{Program: put("program"), Files: map[string]api.File{"f": put("file")},
		Tests: []api.Test{{Name: "1", Input: ref(put("input")), Answer: ref(put("answer"))}, {Name: "2"}}})
	create("cancelled", api.Job{Program: put("its program")})
	if _, err := d.store.Cancel(t.Context(), "cancelled"); err != nil {
		t.Fatal(err)
	}
	put("uploaded in vain")
	asked := put("asked for")
	ageBlobs(t, c)
	if _, err := d.blobs.Stat(asked.Blob); err != nil {
		t.Fatal(err)
	}

	d.sweepBlobsOnce(t.Context())
	if diff := cmp.Diff([]string{"answer", "asked for", "file", "input", "program"}, contents(t, c)); diff != "" {
		t.Errorf("blobs (-want +got):\n%s", diff)
	}
	if !strings.Contains(log.String(), "level=INFO msg=\"deleted unused blobs\" blobs=2 size_bytes=27\n") {
		t.Errorf("the log does not tell what was deleted:\n%s", log.String())
	}
	log.Reset()
	d.sweepBlobsOnce(t.Context())
	if log.Len() > 0 {
		t.Errorf("a sweep that deletes nothing says:\n%s", log.String())
	}
	if err := os.RemoveAll(filepath.Join(c.DataDir, "blobs")); err != nil {
		t.Fatal(err)
	}
	d.sweepBlobsOnce(t.Context())
	if !strings.Contains(log.String(), "level=ERROR msg=\"cannot delete unused blobs\"") {
		t.Errorf("the log does not tell of a failure:\n%s", log.String())
	}
}

// TestSweepDue checks that blobs are deleted once an hour, and soon after a reload that changes their retention.
func TestSweepDue(t *testing.T) {
	start := time.Now()
	var last sweep
	for _, tt := range []struct {
		minute int
		age    time.Duration
		want   bool
	}{{0, 720 * time.Hour, true}, {1, 720 * time.Hour, false}, {2, 24 * time.Hour, true}, {3, 24 * time.Hour, false},
		{60, 24 * time.Hour, false}, {62, 24 * time.Hour, true}, {63, 24 * time.Hour, false}} {
		if got := last.due(tt.age, start.Add(time.Duration(tt.minute)*time.Minute)); got != tt.want {
			t.Errorf("minute %d, retention %s: due %t, want %t", tt.minute, tt.age, got, tt.want)
		}
	}
}

// TestSweepBlobsAtStart checks that a daemon that starts deletes an unused blob.
func TestSweepBlobsAtStart(t *testing.T) {
	c := settings(t)
	d := serving(t, c)
	d.program("sum/AC-sum.c")
	d.drain()
	ageBlobs(t, c)
	d = serving(t, c)
	testkit.WaitFor(t, patience, "the blob to be deleted", func() bool { return len(contents(t, c)) == 0 })
	d.drain()
}

// ageBlobs makes all blobs look unused for longer than their retention.
func ageBlobs(t *testing.T, c config.Config) {
	t.Helper()
	at := time.Now().Add(-c.Retention.MaxAge - 24*time.Hour)
	for _, path := range blobFiles(t, c) {
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
}

func blobFiles(t *testing.T, c config.Config) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(c.DataDir, "blobs", "??", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// contents returns the contents of all blobs, in order.
func contents(t *testing.T, c config.Config) []string {
	t.Helper()
	all := []string{}
	for _, path := range blobFiles(t, c) {
		text, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted just now
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(text))
	}
	slices.Sort(all)
	return all
}
