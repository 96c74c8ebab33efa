package blobs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/units"
)

var errRecords = errors.New("no records")

// TestTrim checks that the least recently used blobs are deleted first, and that those of the last two hours stay.
func TestTrim(t *testing.T) {
	const old = 3 * time.Hour
	tests := []struct {
		name  string
		most  units.Bytes
		want  []string
		swept Swept
	}{
		{"no bound", 0, []string{"five5", "four", "one", "three"}, Swept{}},
		{"fits", 17, []string{"five5", "four", "one", "three"}, Swept{}},
		{"the oldest", 16, []string{"five5", "four", "one"}, Swept{1, 5}},
		{"two of them", 10, []string{"five5", "four"}, Swept{2, 8}},
		{"what is in use stays", 1, []string{"five5"}, Swept{3, 12}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, now := clocked(t)
			for content, since := range map[string]time.Duration{"three": 9 * old, "one": 2 * old, "four": old,
				"five5": time.Hour} {
				write(t, s, file(content), content)
				used(t, s, file(content), now.Add(-since))
			}
			swept, err := s.Trim(t.Context(), tt.most)
			if err != nil || swept != tt.swept {
				t.Errorf("swept %v, %v; want %v", swept, err, tt.swept)
			}
			left := []string{}
			if err := s.each(t.Context(), func(info fs.FileInfo) {
				content, err := os.ReadFile(s.path(info.Name()))
				if err != nil {
					t.Error(err)
				}
				left = append(left, string(content))
			}); err != nil {
				t.Fatal(err)
			}
			slices.Sort(left)
			if diff := cmp.Diff(tt.want, left); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSweep(t *testing.T) {
	const age = 30 * time.Minute
	const spared = age + 2*time.Hour // one hour for the marks and one for submissions
	nothing := []string{}
	tests := []struct {
		name   string
		blobs  map[string]time.Duration // content -> time since its last use
		others []string                 // relative paths of other files that are old, like their folders
		age    time.Duration
		named  []string // contents; nil is a failure
		want   []string // remaining contents
		swept  Swept
		text   string // part of the error
	}{
		{name: "unused", blobs: map[string]time.Duration{"one": spared + 1, "three": 99 * age, "just": spared,
			"new": 0}, age: age, named: nothing, want: []string{"just", "new"}, swept: Swept{2, 8}},
		{name: "named", blobs: map[string]time.Duration{"one": 99 * age, "three": 99 * age}, age: age,
			named: []string{"three"}, want: []string{"three"}, swept: Swept{1, 3}},
		{name: "names unknown", blobs: map[string]time.Duration{"one": 99 * age}, age: age, want: []string{"one"},
			text: "no records"},
		{name: "names unknown, nothing old", blobs: map[string]time.Duration{"one": age}, age: age,
			want: []string{"one"}},
		{name: "for ever", blobs: map[string]time.Duration{"one": 99 * age}, named: nothing, want: []string{"one"}},
		{name: "no blobs", others: []string{"tmp/up-1", "README", "no/notes"}, age: age, named: nothing,
			want: []string{"README", "no/notes"}},
		{name: "one cannot be deleted", blobs: map[string]time.Duration{"one": 99 * age, "three": 99 * age},
			others: []string{file("hello") + "/in it"}, age: age, named: nothing,
			want: []string{"tmp/" + removing + digest("hello") + "/in it"}, swept: Swept{2,
				8}, text: "directory not empty"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, now := clocked(t)
			for content, since := range tt.blobs {
				write(t, s, file(content), content)
				used(t, s, file(content), now.Add(-since))
			}
			for _, path := range tt.others {
				write(t, s, path, "")
				used(t, s, path, now.Add(-99*age))
				used(t, s, filepath.Dir(path), now.Add(-99*age))
			}
			swept, err := s.Sweep(t.Context(), tt.age, func(context.Context) (map[string]bool, error) {
				if tt.named == nil {
					return nil, errRecords
				}
				return digests(tt.named), nil
			})
			if (err != nil) != (tt.text != "") || err != nil && !strings.Contains(err.Error(), tt.text) {
				t.Errorf("error %v, want %q", err, tt.text)
			}
			if diff := cmp.Diff(tt.swept, swept); diff != "" {
				t.Errorf("swept (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, listing(t, s)); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
		})
	}
}

// uses are the ways to use an existing blob.
var uses = map[string]func(*Store, string) error{
	"stat": func(s *Store, content string) error { _, err := s.Stat(digest(content)); return err },
	"path": func(s *Store, content string) error { _, err := s.Path(digest(content)); return err },
	"put": func(s *Store, content string) error {
		_, _, _, err := s.Put(context.Background(), "", strings.NewReader(content))
		return err
	},
}

func TestUseIsMarked(t *testing.T) {
	for name, use := range uses {
		for since, want := range map[time.Duration]time.Duration{time.Hour + 1: 0, time.Hour: time.Hour, 0: 0,
			-time.Hour: -time.Hour} {
			t.Run(name+" after "+since.String(), func(t *testing.T) {
				s, now := clocked(t)
				write(t, s, file("hello"), "hello")
				used(t, s, file("hello"), now.Add(-since))
				if err := use(s, "hello"); err != nil {
					t.Fatal(err)
				}
				info, err := os.Stat(s.path(digest("hello")))
				if err != nil {
					t.Fatal(err)
				}
				if got := now.Sub(info.ModTime()); got != want {
					t.Errorf("marked %s ago, want %s", got, want)
				}
			})
		}
	}
}

// TestUseDuringSweep checks that a blob stays if it is used after the sweep has found it to be old.
func TestUseDuringSweep(t *testing.T) {
	for name, use := range uses {
		t.Run(name, func(t *testing.T) {
			s, now := clocked(t)
			for _, content := range []string{"hello", "other"} {
				write(t, s, file(content), content)
				used(t, s, file(content), now.Add(-9*time.Hour))
			}
			swept, err := s.Sweep(t.Context(), time.Hour, func(context.Context) (map[string]bool, error) {
				return nil, use(s, "hello")
			})
			if err != nil || swept != (Swept{1, 5}) {
				t.Errorf("swept %+v, error %v", swept, err)
			}
			if diff := cmp.Diff([]string{"hello"}, listing(t, s)); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSweepLetsTimePass checks that the time between check and removal does not count for the age of blobs, so that
// blobs of a job that arrived during the sweep are kept.
func TestSweepLetsTimePass(t *testing.T) {
	s, now := clocked(t)
	for content, since := range map[string]time.Duration{"old": 9 * time.Hour, "old, now used": 9 * time.Hour,
		"new": time.Minute} {
		write(t, s, file(content), content)
		used(t, s, file(content), now.Add(-since))
	}
	_, err := s.Sweep(t.Context(), time.Hour, func(context.Context) (map[string]bool, error) {
		_, err := s.Stat(digest("old, now used"))
		s.now = func() time.Time { return now.Add(9 * time.Hour) }
		return nil, err
	})
	if err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"new", "old, now used"}, listing(t, s)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

// TestSweepDuringUse deletes and uses a blob concurrently, many times, and checks that a blob that Stat has found
// exists.
func TestSweepDuringUse(t *testing.T) {
	tests := map[string]func(*Store, *os.File) error{
		"stat": func(s *Store, _ *os.File) error { _, err := s.Stat(digest("hello")); return err },
		// Put does this when it cannot mark the existing blob.
		"name": func(s *Store, upload *os.File) error { return s.name(upload.Name(), s.path(digest("hello"))) },
	}
	for name, use := range tests {
		t.Run(name, func(t *testing.T) {
			s, now := clocked(t)
			for range 2000 {
				write(t, s, file("hello"), "")
				used(t, s, file("hello"), now.Add(-9*time.Hour))
				upload, err := os.Create(filepath.Join(s.dir, uploads, "up-1"))
				if err != nil {
					t.Fatal(err)
				}
				upload.Close() // only its name is tested
				var wg sync.WaitGroup
				var used error
				_, err = s.Sweep(t.Context(), time.Hour, func(context.Context) (map[string]bool, error) {
					wg.Go(func() { used = use(s, upload) })
					return nil, nil
				})
				wg.Wait()
				if err != nil || used != nil && !errors.Is(used, ErrNotFound) {
					t.Fatalf("sweep: %v; use: %v", err, used)
				}
				if _, err := os.Stat(s.path(digest("hello"))); err != nil && used == nil {
					t.Fatal("a blob is gone that Stat found")
				}
			}
		})
	}
}

func TestSweepEndsWithContext(t *testing.T) {
	s, now := clocked(t)
	write(t, s, file("hello"), "hello")
	used(t, s, file("hello"), now.Add(-9*time.Hour))
	ctx, cancel := context.WithCancel(t.Context())
	_, err := s.Sweep(ctx, time.Hour, func(context.Context) (map[string]bool, error) { cancel(); return nil, nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff([]string{"hello"}, listing(t, s)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

// clocked returns a store whose clock is stopped, at a time that files can have.
func clocked(t *testing.T) (*Store, time.Time) {
	t.Helper()
	s := open(t, t.TempDir(), 0)
	now := time.Now().Truncate(time.Second)
	s.now = func() time.Time { return now }
	return s, now
}

func digest(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

func digests(contents []string) map[string]bool {
	set := map[string]bool{}
	for _, c := range contents {
		set[digest(c)] = true
	}
	return set
}

// file returns the path of a blob in its folder.
func file(content string) string { return digest(content)[:2] + "/" + digest(content) }

// write creates a file in the folder; Put would wait for the disk.
func write(t *testing.T, s *Store, path, content string) {
	t.Helper()
	path = filepath.Join(s.dir, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o444); err != nil {
		t.Fatal(err)
	}
}

func used(t *testing.T, s *Store, path string, at time.Time) {
	t.Helper()
	if err := os.Chtimes(filepath.Join(s.dir, path), at, at); err != nil {
		t.Fatal(err)
	}
}

// listing returns everything in the folder: the contents of blobs and the paths of other files.
func listing(t *testing.T, s *Store) (all []string) {
	t.Helper()
	root := os.DirFS(s.dir)
	err := fs.WalkDir(root, ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if ValidDigest(e.Name()) {
			content, err := fs.ReadFile(root, path)
			all = append(all, string(content))
			return err
		}
		all = append(all, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

// TestSharedFolder checks a folder that two processes share: one sweeps while the other uses blobs, uploads, or dies.
func TestSharedFolder(t *testing.T) {
	open := func(s *Store) *Store {
		other, err := OpenShared(s.dir, 0)
		if err != nil {
			t.Fatal(err)
		}
		other.now = s.now
		return other
	}
	nothing := func(context.Context) (map[string]bool, error) { return nil, nil }
	t.Run("an upload of the other", func(t *testing.T) {
		s, now := clocked(t)
		upload := filepath.Join(s.dir, uploads, "up-1")
		for name, since := range map[string]time.Duration{"up-1": time.Minute, "up-2": 2 * time.Hour} {
			path := filepath.Join(s.dir, uploads, name)
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, now.Add(-since), now.Add(-since)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := open(s).Sweep(t.Context(), time.Hour, nothing); err != nil {
			t.Fatal(err)
		}
		left, _ := filepath.Glob(filepath.Join(s.dir, uploads, "*"))
		if diff := cmp.Diff([]string{upload}, left); diff != "" {
			t.Errorf("uploads (-want +got):\n%s", diff)
		}
	})
	t.Run("killed while it deletes", func(t *testing.T) {
		s, now := clocked(t)
		for content, since := range map[string]time.Duration{"old": 9 * time.Hour, "marked": time.Minute} {
			write(t, s, file(content), content)
			used(t, s, file(content), now.Add(-since))
			aside := filepath.Join(s.dir, uploads, removing+digest(content))
			if err := os.Rename(s.path(digest(content)), aside); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := open(s).Sweep(t.Context(), time.Hour, nothing); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"marked"}, listing(t, s)); diff != "" {
			t.Errorf("left (-want +got):\n%s", diff)
		}
	})
	t.Run("used by the other", func(t *testing.T) {
		s, now := clocked(t)
		other := open(s)
		for range 2000 {
			write(t, s, file("hello"), "hello")
			used(t, s, file("hello"), now.Add(-9*time.Hour))
			var wg sync.WaitGroup
			var failed error
			_, err := s.Sweep(t.Context(), time.Hour, func(context.Context) (map[string]bool, error) {
				wg.Go(func() { _, failed = other.Stat(digest("hello")) })
				return nil, nil
			})
			wg.Wait()
			if err != nil || failed != nil && !errors.Is(failed, ErrNotFound) {
				t.Fatalf("sweep: %v; use: %v", err, failed)
			}
			if _, err := os.Stat(s.path(digest("hello"))); err != nil && failed == nil {
				t.Fatal("a blob is gone that the other process has found")
			}
		}
	})
}
