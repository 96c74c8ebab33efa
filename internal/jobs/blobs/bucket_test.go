package blobs

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/units"
	"judged/internal/testkit"
)

// fronts are two fronts that share a bucket on a real server, with the clock of the test.
type fronts struct {
	t      *testing.T
	server *testkit.S3Server
	now    time.Time
	a, b   *Bucket
}

func twoFronts(t *testing.T) *fronts {
	t.Helper()
	return patientFronts(t, bucketPatience)
}

func patientFronts(t *testing.T, patience time.Duration) *fronts {
	t.Helper()
	f := &fronts{t: t, server: testkit.StartS3(t), now: time.Now()}
	open := func() *Bucket {
		o := BucketOptions{URL: f.server.URL(), Folder: t.TempDir(), Max: 1 << 20, Life: t.Context(),
			now: func() time.Time { return f.now }, patience: patience}
		b, err := OpenBucket(o)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	f.a, f.b = open(), open()
	return f
}

func (f *fronts) put(at *Bucket, content string) (created bool) {
	f.t.Helper()
	sum, n, created, err := at.Put(f.t.Context(), "", strings.NewReader(content))
	if err != nil || sum != digest(content) || n != units.Bytes(len(content)) {
		f.t.Fatalf("put %q: %s, %d, %v", content, sum, n, err)
	}
	return created
}

// read returns the content of a blob, or "no such blob".
func (f *fronts) read(at *Bucket, content string) string {
	f.t.Helper()
	path, err := at.Path(digest(content))
	if errors.Is(err, ErrNotFound) {
		return ErrNotFound.Error()
	}
	if err != nil {
		f.t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		f.t.Fatal(err)
	}
	return string(got)
}

// objects lists the digests and marks in the bucket.
func (f *fronts) objects() map[string]int {
	f.t.Helper()
	all := map[string]int{}
	if err := f.a.bucket.objects(f.t.Context(), f.a.bucket.prefix, func(o object) { all[o.digest]++ }); err != nil {
		f.t.Fatal(err)
	}
	return all
}

// TestBucket checks that one front finds a blob that the other stored.
func TestBucket(t *testing.T) {
	f := twoFronts(t)
	for _, content := range []string{"", "hello", strings.Repeat("long ", 1<<17)} {
		if !f.put(f.a, content) {
			t.Errorf("%.10q: not created", content)
		}
		if n, err := f.b.Stat(digest(content)); err != nil || n != units.Bytes(len(content)) {
			t.Errorf("%.10q at the other front: %d bytes, %v", content, n, err)
		}
		if got := f.read(f.b, content); got != content {
			t.Errorf("%.10q at the other front: read %.20q", content, got)
		}
		if f.put(f.b, content) {
			t.Errorf("%.10q: created a second time", content)
		}
	}
	if _, err := f.b.Stat(digest("absent")); !errors.Is(err, ErrNotFound) {
		t.Errorf("stat of an absent blob: %v", err)
	}
	if got := f.read(f.b, "absent"); got != ErrNotFound.Error() {
		t.Errorf("read of an absent blob: %q", got)
	}
	_, _, _, err := f.a.Put(t.Context(), digest("other"), strings.NewReader("content"))
	if want := (*DigestError)(nil); !errors.As(err, &want) {
		t.Errorf("content with another digest: %v", err)
	}
}

// TestBucketAway checks that a front does not have a blob that it could not store in the bucket.
func TestBucketAway(t *testing.T) {
	f := twoFronts(t)
	f.put(f.a, "before")
	if err := f.a.Check(t.Context()); err != nil {
		t.Errorf("check: %v", err)
	}
	f.server.Kill()
	if err := f.a.Check(t.Context()); !errors.Is(err, ErrAway) {
		t.Errorf("check without a server: %v", err)
	}
	if _, _, _, err := f.a.Put(t.Context(), "", strings.NewReader("lost")); !errors.Is(err, ErrAway) {
		t.Errorf("put without a server: %v", err)
	}
	if _, err := f.a.Stat(digest("lost")); !errors.Is(err, ErrAway) {
		t.Errorf("stat without a server: %v", err)
	}
	if got := f.read(f.a, "before"); got != "before" {
		t.Errorf("a copy without a server: %q", got)
	}
	f.server.Restart(t)
	if err := f.a.Check(t.Context()); err != nil {
		t.Errorf("check after a restart: %v", err)
	}
	if _, err := f.a.Stat(digest("lost")); !errors.Is(err, ErrNotFound) {
		t.Errorf("stat of what was not stored: %v", err)
	}
	if !f.put(f.a, "lost") || f.read(f.b, "lost") != "lost" {
		t.Error("the repeated upload is not there for the other front")
	}
}

// TestBucketSweep checks that a sweep of one front keeps blobs that a job of either front names, that the other front
// uses, and that are being uploaded through the other front.
func TestBucketSweep(t *testing.T) {
	const age = 100 * time.Hour
	f := twoFronts(t)
	for _, content := range []string{"unused", "named", "used by a", "used during the sweep"} {
		f.put(f.a, content)
	}
	f.now = f.now.Add(age + 30*time.Hour)
	f.put(f.a, "new")
	if _, err := f.a.Stat(digest("used by a")); err != nil {
		t.Fatal(err)
	}
	swept, err := f.b.Sweep(t.Context(), age, func(context.Context) (map[string]bool, error) {
		f.put(f.a, "uploaded during the sweep")
		_, err := f.a.Stat(digest("used during the sweep"))
		return map[string]bool{digest("named"): true}, err
	})
	if want := (Swept{Blobs: 2, Size: 27}); err != nil || swept != want {
		t.Errorf("swept %+v, %v; want %+v, old objects of what was marked among them", swept, err, want)
	}
	want := map[string]int{digest("named"): 1, digest("used by a"): 1, digest("used during the sweep"): 1,
		digest("new"): 1, digest("uploaded during the sweep"): 1}
	if diff := cmp.Diff(want, f.objects()); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	// The copy of a is old, so a asks the bucket.
	if got := f.read(f.a, "unused"); got != ErrNotFound.Error() {
		t.Errorf("a has a copy of what b has deleted: %q", got)
	}
	for content := range map[string]bool{"named": true, "used by a": true, "new": true} {
		if got := f.read(f.b, content); got != content {
			t.Errorf("%q: read %q", content, got)
		}
	}
	// Two days later, the superseded marks are deleted.
	f.now = f.now.Add(60 * time.Hour)
	if _, err := f.a.Stat(digest("new")); err != nil {
		t.Fatal(err)
	}
	if got := f.objects()[digest("new")]; got != 2 {
		t.Errorf("%d objects after a new mark, want 2", got)
	}
	if _, err := f.b.Sweep(t.Context(), age, unnamed); err != nil {
		t.Error(err)
	}
	if got := f.objects()[digest("new")]; got != 1 {
		t.Errorf("%d objects after a sweep, want 1", got)
	}
}
