package daemon

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"judged/internal/api"
	"judged/internal/testkit"
)

// TestDiskReadOnly makes the kernel remount the disk under a daemon read-only, as it does after an error in a file
// system. It checks that the daemon refuses jobs with the reason until the disk is mounted again. That needs a new
// daemon: on Linux 6.18 ext4 refuses every write until it is unmounted, and it cannot be unmounted while files are
// open.
func TestDiskReadOnly(t *testing.T) {
	t.Parallel() // measures nothing
	c := settings(t)
	disk := newExt4(t, 256<<20)
	disk.mount(t)
	c.DataDir = filepath.Join(disk.dir, "data")
	d := serving(t, c)
	d.wantState(1, http.StatusOK, "")
	d.submit("runs", d.busy(5000))
	d.submit("waits", d.sum(1, false))
	late := d.encode(d.sum(2, false))
	d.reach("runs", api.Running)

	disk.failWrites(t)
	testkit.WaitFor(t, patience, "the daemon to notice", func() bool { return d.Ready(d.ctx) != nil })
	d.wantState(0, http.StatusServiceUnavailable, c.DataDir)
	refused(t, "PUT /v1/jobs on a read-only disk", put(d, "/v1/jobs/late", late))
	refused(t, "PUT /v1/blobs on a read-only disk", put(d, blobPath("x"), []byte("x")))
	testkit.WaitFor(t, patience, "the log to say what to do", func() bool {
		return strings.Contains(d.said(), "cannot store a report; retrying")
	})
	d.kill()

	disk.unmount(t)
	disk.mount(t)
	d = serving(t, c)
	d.submit("late", d.sum(2, false))
	for _, id := range []string{"runs", "waits", "late"} {
		if r := d.finish(id); r.Verdict != api.Accepted {
			t.Errorf("job %s: %s: %s", id, r.Verdict, r.Message)
		}
	}
	d.drain()
}

// TestBlobsReadOnly makes the blob folder read-only under a daemon, like an operator who remounts it, and then writable
// again. It checks that the daemon refuses blobs with the reason meanwhile, and needs no restart.
func TestBlobsReadOnly(t *testing.T) {
	c := settings(t)
	d := serving(t, c)
	folder := filepath.Join(c.DataDir, "blobs")
	mount(t, folder, folder, syscall.MS_BIND)
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", folder, err)
		}
	})
	if err := put(d, blobPath("before"), []byte("before")); err != nil {
		t.Fatal(err)
	}

	mount(t, "", folder, syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY)
	err := put(d, blobPath("x"), []byte("x"))
	refused(t, "PUT /v1/blobs", err)
	if err == nil || !strings.Contains(err.Error(), "make the data directory writable") {
		t.Errorf("PUT /v1/blobs: %v, want the next step", err)
	}
	if a := d.ask("GET", blobPath("before"), nil); a.status != http.StatusOK || string(a.body) != "before" {
		t.Errorf("a blob of before: %d %q", a.status, a.body)
	}

	mount(t, "", folder, syscall.MS_BIND|syscall.MS_REMOUNT)
	if err := put(d, blobPath("x"), []byte("x")); err != nil {
		t.Errorf("PUT /v1/blobs in a writable folder: %v", err)
	}
	d.submit("job", d.sum(1, false))
	d.accepted("job")
	d.drain()
}

func blobPath(content string) string {
	digest := sha256.Sum256([]byte(content))
	return "/v1/blobs/" + hex.EncodeToString(digest[:])
}

func mount(t *testing.T, source, target string, flags uintptr) {
	t.Helper()
	if err := syscall.Mount(source, target, "", flags, ""); err != nil {
		t.Fatalf("mount %s: %v", target, err)
	}
}

// ext4 is a file system on a loop device.
type ext4 struct{ image, dir string }

func newExt4(t *testing.T, size int64) ext4 {
	t.Helper()
	testkit.Need(t, testkit.Root, testkit.Ext4)
	d := ext4{filepath.Join(t.TempDir(), "image"), t.TempDir()}
	if err := os.WriteFile(d.image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(d.image, size); err != nil {
		t.Fatal(err)
	}
	command(t, "mkfs.ext4", "-q", "-F", d.image)
	t.Cleanup(func() { _ = syscall.Unmount(d.dir, syscall.MNT_DETACH) }) // a passing test has already unmounted it
	return d
}

func (d ext4) mount(t *testing.T) {
	t.Helper()
	command(t, "mount", "-t", "ext4", "-o", "loop,errors=remount-ro", d.image, d.dir)
}

func (d ext4) unmount(t *testing.T) {
	t.Helper()
	testkit.WaitFor(t, patience, "the file system to be unmounted", func() bool {
		return syscall.Unmount(d.dir, 0) == nil
	})
}

// failWrites reports an error to the file system, which becomes read-only.
func (d ext4) failWrites(t *testing.T) {
	t.Helper()
	var s syscall.Stat_t
	if err := syscall.Stat(d.dir, &s); err != nil {
		t.Fatal(err)
	}
	device, err := os.Readlink(fmt.Sprintf("/sys/dev/block/%d:%d", s.Dev>>8&0xfff, s.Dev&0xff))
	if err != nil {
		t.Fatal(err)
	}
	trigger := filepath.Join("/sys/fs/ext4", filepath.Base(device), "trigger_fs_error")
	if err := os.WriteFile(trigger, []byte("test"), 0); err != nil {
		t.Fatal(err)
	}
}

func command(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(args, " "), err, out)
	}
}
