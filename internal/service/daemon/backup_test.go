package daemon

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/fleet/front"
	"judged/internal/jobs"
)

// TestBackupUnmounted checks that a backup without the shared folder of the blobs is an error: each file of a waiting job
// would be missing, and the command would advise to cancel the jobs. A restore would write the files to the mount point,
// where nothing reads them once the folder is mounted.
func TestBackupUnmounted(t *testing.T) {
	dir := t.TempDir()
	mounted := filepath.Join(dir, "mounted")
	c := config.Default()
	c.DataDir, c.Blobs.URL = filepath.Join(dir, "data"), "file://"+mounted
	d := &daemon{o: Options{Config: c, Log: slog.New(slog.NewTextHandler(&bytes.Buffer{}, nil))}}
	if err := inOrder(d.openFolder, d.openData)(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.store.screen = front.NewScreen(front.ScreenOptions{Store: d.store.Store}) // no pool is screened
	digest, _, _, err := d.blobs.Put(t.Context(), "", strings.NewReader("program"))
	if err != nil {
		t.Fatal(err)
	}
	j := api.Job{Program: api.File{Blob: digest}, Tests: []api.Test{{Name: "1"}}}
	if _, _, err := d.store.Put(t.Context(), jobs.Submission{ID: "waits", Job: j}); err != nil {
		t.Fatal(err)
	}
	if err := d.close(); err != nil {
		t.Fatal(err)
	}
	other, saved := c, filepath.Join(dir, "a.tar")
	other.DataDir = filepath.Join(dir, "other")
	if a, err := Backup(t.Context(), c, saved); err != nil || a.Blobs != 1 || len(a.Missing) > 0 {
		t.Errorf("mounted: %+v, %v", a, err)
	}
	if err := os.Rename(mounted, filepath.Join(dir, "unmounted")); err != nil {
		t.Fatal(err)
	}
	for _, point := range []string{"absent", "empty"} {
		file := filepath.Join(dir, point+".tar")
		a, err := Backup(t.Context(), c, file)
		if err == nil || !strings.Contains(err.Error(), "mount the file system that has the blobs") {
			t.Errorf("%s mount point: %+v, %v", point, a, err)
		}
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%s mount point: there is a backup", point)
		}
		a, err = Restore(t.Context(), other, saved)
		if err == nil || !strings.Contains(err.Error(), "mount the file system that has the blobs") {
			t.Errorf("restore, %s mount point: %+v, %v", point, a, err)
		}
		if _, err := os.Stat(filepath.Join(other.DataDir, "judged.db")); err == nil {
			t.Errorf("restore, %s mount point: there is a database", point)
		}
		if err := os.MkdirAll(mounted, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(mounted); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "unmounted"), mounted); err != nil {
		t.Fatal(err)
	}
	if a, err := Restore(t.Context(), other, saved); err != nil || a.Jobs != 1 || a.Blobs != 1 {
		t.Errorf("restore, mounted: %+v, %v", a, err)
	}
}
