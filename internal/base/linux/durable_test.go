package linux

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
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
