package blobs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/units"
	"judged/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Run(m)) }

const (
	helloSum = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" // sha256sum of "hello"
	emptySum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

func TestPut(t *testing.T) {
	broken := errors.New("connection reset")
	type result struct {
		Sum     string
		N       units.Bytes
		Created bool
	}
	tests := []struct {
		name   string
		before string
		digest string
		r      io.Reader
		want   result
		err    error
		text   string
	}{
		{name: "computed", r: strings.NewReader("hello"), want: result{helloSum, 5, true}},
		{name: "promised", digest: helloSum, r: strings.NewReader("hello"), want: result{helloSum, 5, true}},
		{name: "empty", r: strings.NewReader(""), want: result{emptySum, 0, true}},
		{name: "there already", before: "hello", r: strings.NewReader("hello"), want: result{helloSum, 5, false}},
		{name: "largest", r: strings.NewReader("12345678"),
			want: result{"ef797c8118f02dfb649607dd5d3f8c7623048c9c063d532cc95c5ed7a898a64f", 8, true}},
		{name: "too big", r: strings.NewReader("123456789"), err: ErrTooBig},
		{name: "other digest", digest: emptySum, r: strings.NewReader("hello"), text: "content has digest " + helloSum},
		{name: "other content of a known digest", before: "hello", digest: helloSum, r: strings.NewReader("hullo"),
			text: "not " + helloSum},
		{name: "no digest", digest: "../../etc/passwd", r: strings.NewReader("x"), text: "not a SHA-256"},
		{name: "upper case", digest: strings.ToUpper(helloSum), r: strings.NewReader("hello"), text: "not a SHA-256"},
		{name: "sender fails", r: io.MultiReader(strings.NewReader("he"), iotest.ErrReader(broken)), err: broken},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir, 8)
			if tt.before != "" {
				put(t, s, tt.before)
			}
			sum, n, created, err := s.Put(t.Context(), tt.digest, tt.r)
			if diff := cmp.Diff(tt.want, result{sum, n, created}); diff != "" {
				t.Errorf("Put (-want +got):\n%s", diff)
			}
			if tt.err != nil && !errors.Is(err, tt.err) || tt.text != "" &&
				(err == nil || !strings.Contains(err.Error(), tt.text)) ||
				(err != nil) != (tt.err != nil || tt.text != "") {
				t.Errorf("error %v, want %v %q", err, tt.err, tt.text)
			}
			if left, _ := os.ReadDir(filepath.Join(dir, uploads)); len(left) != 0 {
				t.Errorf("upload left behind: %v", left)
			}
		})
	}
}

func TestPutKeepsContent(t *testing.T) {
	s := open(t, t.TempDir(), 0)
	sum := put(t, s, "hello")
	path, err := s.Path(sum)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != "hello" {
		t.Errorf("content %q, error %v", got, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != blobMode {
		t.Errorf("mode %v, error %v", info.Mode(), err)
	}
}

func TestDigestErrorNamesBoth(t *testing.T) {
	s := open(t, t.TempDir(), 0)
	_, _, _, err := s.Put(t.Context(), emptySum, strings.NewReader("hello"))
	var got *DigestError
	if !errors.As(err, &got) {
		t.Fatalf("error %v", err)
	}
	if diff := cmp.Diff(&DigestError{Want: emptySum, Got: helloSum}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPutEndsWithContext(t *testing.T) {
	s := open(t, t.TempDir(), 0)
	ctx, cancel := context.WithCancel(t.Context())
	r := readerFunc(func(p []byte) (int, error) { cancel(); return len(p), nil })
	if _, _, _, err := s.Put(ctx, "", r); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestMissing(t *testing.T) {
	s := open(t, t.TempDir(), 0)
	for _, digest := range []string{helloSum, "", "..", helloSum + "0"} {
		if _, err := s.Path(digest); !errors.Is(err, ErrNotFound) {
			t.Errorf("Path(%q): error %v", digest, err)
		}
	}
}

func TestOpenClearsUploads(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 0)
	sum := put(t, s, "hello")
	stale := filepath.Join(dir, uploads, "up-1")
	if err := os.WriteFile(stale, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, 0)
	if _, err := os.Stat(stale); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("stale upload: %v", err)
	}
	if _, err := s.Stat(sum); err != nil {
		t.Errorf("blob after open: %v", err)
	}
}

func TestPutSameAtOnce(t *testing.T) {
	s := open(t, t.TempDir(), 0)
	content := bytes.Repeat([]byte("x"), 1<<16)
	var created atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			_, _, fresh, err := s.Put(t.Context(), "", bytes.NewReader(content))
			if err != nil {
				t.Error(err)
			}
			if fresh {
				created.Add(1)
			}
		})
	}
	wg.Wait()
	if created.Load() == 0 {
		t.Error("nobody created the blob")
	}
}

func open(t *testing.T, dir string, max units.Bytes) *Store {
	t.Helper()
	s, err := Open(dir, max)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(t *testing.T, s *Store, content string) string {
	t.Helper()
	sum, _, _, err := s.Put(t.Context(), "", strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return sum
}
