package blobs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// damages are changes that can happen to the file of a blob "hello".
var damages = []struct {
	name    string
	content string
}{
	{"cut", "hell"},
	{"emptied", ""},
	{"longer", "hello\n"},
	{"one bit", "hellO"},
	{"zeros", "\x00\x00\x00\x00\x00"},
}

// TestPutRepairs checks that an upload replaces a damaged blob.
func TestPutRepairs(t *testing.T) {
	for _, tt := range damages {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t, t.TempDir(), 0)
			put(t, s, "hello")
			damage(t, s.path(helloSum), tt.content)
			_, _, created, err := s.Put(t.Context(), helloSum, strings.NewReader("hello"))
			if err != nil || !created {
				t.Errorf("put: created %t, %v", created, err)
			}
			if got, err := os.ReadFile(s.path(helloSum)); string(got) != "hello" {
				t.Errorf("content %q, %v", got, err)
			}
			if err := s.Verify(t.Context(), helloSum); err != nil {
				t.Errorf("verify after the repair: %v", err)
			}
		})
	}
}

// TestVerifyDeletes checks that Verify deletes a damaged blob, and nothing else.
func TestVerifyDeletes(t *testing.T) {
	for _, tt := range damages {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t, t.TempDir(), 0)
			put(t, s, "hello")
			other := put(t, s, "other")
			if err := s.Verify(t.Context(), helloSum); err != nil {
				t.Fatalf("whole: %v", err)
			}
			damage(t, s.path(helloSum), tt.content)
			err := s.Verify(t.Context(), helloSum)
			if !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "upload it again") {
				t.Errorf("damaged: %v", err)
			}
			if _, err := s.Stat(helloSum); !errors.Is(err, ErrNotFound) {
				t.Errorf("afterwards: %v", err)
			}
			if _, err := s.Stat(other); err != nil {
				t.Errorf("the other blob: %v", err)
			}
			if left, _ := os.ReadDir(filepath.Join(s.dir, uploads)); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
	s := open(t, t.TempDir(), 0)
	if err := s.Verify(t.Context(), helloSum); !errors.Is(err, ErrNotFound) {
		t.Errorf("absent: %v", err)
	}
}

// TestDiscardKeepsAnUpload checks that a blob stays if it was uploaded again while Verify read the damaged one.
func TestDiscardKeepsAnUpload(t *testing.T) {
	s := open(t, t.TempDir(), 0)
	put(t, s, "hello")
	damage(t, s.path(helloSum), "hell")
	read, err := os.Open(s.path(helloSum))
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	put(t, s, "hello")
	if err := s.discard(helloSum, read); err != nil {
		t.Fatal(err)
	}
	if err := s.Verify(t.Context(), helloSum); err != nil {
		t.Errorf("the upload: %v", err)
	}
}

func damage(t *testing.T, path, content string) {
	t.Helper()
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0); err != nil {
		t.Fatal(err)
	}
}

// TestBucketRepairs checks that a front that fetches a damaged object deletes it, and that the next upload through
// either front stores it again, although the other front has a good copy.
func TestBucketRepairs(t *testing.T) {
	for _, tt := range damages {
		t.Run(tt.name, func(t *testing.T) {
			f := twoFronts(t)
			f.put(f.a, "hello")
			f.server.Damage(t, "/"+helloSum+"/", tt.content)
			if _, err := f.b.Path(helloSum); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "upload it") {
				t.Fatalf("fetch: %v", err)
			}
			if got := f.objects(); len(got) != 0 {
				t.Errorf("still in the bucket: %v", got)
			}
			if !f.put(f.a, "hello") {
				t.Error("the upload is not stored")
			}
			if got := f.read(f.b, "hello"); got != "hello" {
				t.Errorf("read %q", got)
			}
		})
	}
}

// TestBucketFrozen checks that a server that accepts connections but does not respond delays no request for longer than
// its patience.
func TestBucketFrozen(t *testing.T) {
	f := patientFronts(t, time.Second/2)
	f.server.Freeze(t)
	large := strings.Repeat("x", 1<<20)
	requests := map[string]func() error{
		"put":       func() error { _, _, _, err := f.a.Put(t.Context(), "", strings.NewReader("new")); return err },
		"put large": func() error { return f.a.bucket.store(t.Context(), digest(large), fileOf(t, large)) },
		"stat":      func() error { _, err := f.a.Stat(digest("new")); return err },
		"path":      func() error { _, err := f.a.Path(digest("new")); return err },
		"check":     func() error { return f.a.Check(t.Context()) },
		"delete":    func() error { return f.a.bucket.remove(t.Context(), "x") },
		"sweep": func() error {
			_, err := f.a.bucket.sweep(t.Context(), time.Hour, unnamed)
			return err
		},
	}
	for name, request := range requests {
		ended := make(chan error, 1)
		go func() { ended <- request() }()
		select {
		case err := <-ended:
			if !errors.Is(err, ErrAway) {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s hangs", name)
		}
	}
}

func fileOf(t *testing.T, content string) *os.File {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.WriteString(content); err != nil {
		t.Fatal(err)
	}
	return f
}
