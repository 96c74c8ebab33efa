package linux

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReplaceFile(t *testing.T) {
	failed := errors.New("the disk is full")
	for name, tt := range map[string]struct {
		folder bool // a folder has the name
		write  error
		want   string
		fails  bool
	}{
		"new content":    {want: "new"},
		"failed write":   {write: failed, want: "old", fails: true},
		"name is in use": {folder: true, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "file")
			var err error
			if tt.folder {
				err = os.MkdirAll(filepath.Join(path, "full"), 0o755)
			} else {
				err = os.WriteFile(path, []byte("old"), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			err = ReplaceFile(path, "temporary-", func(f *os.File) error {
				_, err := f.WriteString("new")
				return errors.Join(err, tt.write)
			})
			if (err != nil) != tt.fails || tt.write != nil && !errors.Is(err, tt.write) {
				t.Errorf("error %v, should fail is %t", err, tt.fails)
			}
			if got, err := os.ReadFile(path); string(got) != tt.want || (err != nil) != tt.folder {
				t.Errorf("content %q, error %v, want %q", got, err, tt.want)
			}
			if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
				t.Errorf("%d entries in the folder, error %v, want 1", len(list), err)
			}
		})
	}
}

func TestRemoveUnfinished(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "new-5"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"new-1", "new-0123456789", "new-", "new-1.json", "new-a1", "new", "x-new-1"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	err := ReplaceFile(filepath.Join(dir, "file"), "new-", func(f *os.File) error {
		return os.Link(f.Name(), f.Name()+"9") // as a crash leaves it
	})
	if err == nil {
		err = RemoveUnfinished(dir, "new-")
	}
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadDir(dir)
	var got []string
	for _, e := range list {
		got = append(got, e.Name())
	}
	want := []string{"file", "new", "new-", "new-1.json", "new-5", "new-a1", "x-new-1"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("files, error %v (-want +got):\n%s", err, diff)
	}
	if err := RemoveUnfinished(filepath.Join(dir, "missing"), "new-"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
}
