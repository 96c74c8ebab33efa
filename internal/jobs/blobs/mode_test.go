package blobs

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestBlobsArePrivate checks that other users can neither read blobs nor list their folders, regardless of the umask,
// and that the group of a shared folder can read them. The same holds for a blob of an earlier version once it is used.
func TestBlobsArePrivate(t *testing.T) {
	for _, umask := range []int{0, 0o022, 0o077} {
		before := syscall.Umask(umask)
		t.Cleanup(func() { syscall.Umask(before) })
		dir := t.TempDir()
		s, err := OpenShared(dir, 0)
		if err != nil {
			t.Fatal(err)
		}
		sum, _, _, err := s.Put(t.Context(), "", strings.NewReader("a"))
		if err != nil {
			t.Fatal(err)
		}
		old, _, _, err := s.Put(t.Context(), "", strings.NewReader("b"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(s.path(old), 0o444); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Stat(old); err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]fs.FileMode{s.path(sum): 0o640, s.path(old): 0o640,
			filepath.Dir(s.path(sum)): fs.ModeDir | 0o750, filepath.Join(dir, uploads): fs.ModeDir | 0o700} {
			if info, err := os.Stat(path); err != nil || info.Mode() != want {
				t.Errorf("umask %03o: %s has %v, %v, want %v", umask, path, info.Mode(), err, want)
			}
		}
	}
}
