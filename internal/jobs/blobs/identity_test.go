package blobs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
)

func TestIdentify(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	id, err := Identify(dir, "")
	if err != nil || id == "" {
		t.Fatalf("a new folder: %q, %v", id, err)
	}
	for _, known := range []string{"", id} {
		if again, err := Identify(dir, known); again != id || err != nil {
			t.Errorf("known as %q: %q, %v, want %q", known, again, err, id)
		}
	}
	empty, absent, cut := t.TempDir(), filepath.Join(t.TempDir(), "absent"), t.TempDir()
	if err := os.WriteFile(filepath.Join(cut, identityFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, dir, known, want string }{
		{"empty mount point", empty, id, "mount the file system"},
		{"no mount point", absent, id, "mount the file system"},
		{"another folder", dir, "OTHER", "write OTHER into " + filepath.Join(dir, identityFile)},
		{"empty identity", cut, "", "is empty"},
		{"empty identity of a known folder", cut, id, "is empty"},
	} {
		if _, err := Identify(tt.dir, tt.known); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q in it", tt.name, err, tt.want)
		}
	}
	if left, _ := os.ReadDir(empty); len(left) != 0 {
		t.Errorf("written to an unmounted folder: %v", left)
	}
	if _, err := os.Stat(absent); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an absent folder: %v", err)
	}
}

// TestIdentifyAtOnce checks that fronts that start at the same time agree on the identity.
func TestIdentifyAtOnce(t *testing.T) {
	dir := t.TempDir()
	var fronts errgroup.Group
	ids := make([]string, 20)
	for i := range ids {
		fronts.Go(func() (err error) {
			ids[i], err = Identify(dir, "")
			return err
		})
	}
	if err := fronts.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if id != ids[0] {
			t.Fatalf("identities %q", ids)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}
