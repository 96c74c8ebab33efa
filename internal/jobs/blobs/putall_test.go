package blobs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/units"
)

// contentsOf returns n contents by their digests.
func contentsOf(n int) map[string][]byte {
	all := map[string][]byte{}
	for i := range n {
		content := fmt.Sprint("content ", i)
		all[digest(content)] = []byte(content)
	}
	return all
}

// TestPutAll checks that contents are stored like those of Put, with two synced writes in a folder of one process.
func TestPutAll(t *testing.T) {
	shared, err := OpenShared(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		store *Store
		n     int
		syncs int
	}{
		{"none", open(t, t.TempDir(), 0), 0, 0},
		{"one", open(t, t.TempDir(), 0), 1, 0},
		{"many", open(t, t.TempDir(), 0), 500, 2},
		{"shared", shared, 50, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			syncs := 0
			if whole := tt.store.syncAll; whole != nil {
				tt.store.syncAll = func(f *os.File) error { syncs++; return whole(f) }
			}
			contents := contentsOf(tt.n)
			if err := tt.store.PutAll(t.Context(), contents); err != nil || syncs != tt.syncs {
				t.Fatalf("%v, %d synced writes, want %d", err, syncs, tt.syncs)
			}
			stored := map[string][]byte{}
			for digest := range contents {
				path, err := tt.store.Path(digest)
				if err != nil {
					t.Fatal(err)
				}
				info, err := os.Stat(path)
				if err != nil || info.Mode() != blobMode {
					t.Fatalf("mode %v, %v", info.Mode(), err)
				}
				if stored[digest], err = os.ReadFile(path); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(contents, stored); diff != "" {
				t.Errorf("contents (-want +stored):\n%s", diff)
			}
			wantNoUploads(t, tt.store)
		})
	}
}

// TestPutAllFails checks that after a failed sync no blob is visible whose content may not be on disk, and that no
// upload is left.
func TestPutAllFails(t *testing.T) {
	for _, failing := range []int{1, 2} {
		s, broken, syncs := open(t, t.TempDir(), 0), errors.New("disk error"), 0
		s.syncAll = func(*os.File) error {
			if syncs++; syncs == failing {
				return broken
			}
			return nil
		}
		contents := contentsOf(3)
		if err := s.PutAll(t.Context(), contents); !errors.Is(err, broken) {
			t.Errorf("sync %d fails: got %v, want %v", failing, err, broken)
		}
		for digest := range contents {
			if _, err := s.Stat(digest); (err == nil) != (failing == 2) {
				t.Errorf("sync %d fails: stat %v", failing, err)
			}
		}
		wantNoUploads(t, s)
	}
}

func wantNoUploads(t *testing.T, s *Store) {
	t.Helper()
	if left, err := os.ReadDir(filepath.Join(s.dir, uploads)); len(left) != 0 || err != nil {
		t.Errorf("uploads are left: %v, %v", left, err)
	}
}

// TestPutAllIntoBucket checks that contents reach the other front.
func TestPutAllIntoBucket(t *testing.T) {
	f := twoFronts(t)
	contents := contentsOf(20)
	if err := f.a.PutAll(t.Context(), contents); err != nil {
		t.Fatal(err)
	}
	for digest, content := range contents {
		if n, err := f.b.Stat(digest); n != units.Bytes(len(content)) || err != nil {
			t.Errorf("size %d of %q, %v", n, content, err)
		}
	}
}
