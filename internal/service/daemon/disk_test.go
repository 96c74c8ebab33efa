package daemon

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"judged/internal/api"
	"judged/internal/testkit"
)

// TestDiskFull fills the disk under a daemon and frees it again. It checks that the daemon reports this everywhere,
// judges the jobs that it accepted before, and needs no restart.
func TestDiskFull(t *testing.T) {
	t.Parallel() // measures nothing
	for _, tt := range []struct {
		name string
		room int // bytes left free
	}{
		{"with room for reports", 48 << 20},
		{"with a little room", 1 << 20},
		{"without any", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			diskFull(t, tt.room)
		})
	}
}

func diskFull(t *testing.T, room int) {
	c := settings(t)
	disk := smallDisk(t, 128<<20)
	c.DataDir = filepath.Join(disk, "data")
	d := serving(t, c)
	d.wantState(1, http.StatusOK, "")
	d.submit("runs", d.busy(4000))
	accepted := []string{"runs"}
	for n := range 20 {
		id := fmt.Sprintf("waits-%d", n)
		d.submit(id, d.sum(n, false))
		accepted = append(accepted, id)
	}
	d.reach("runs", api.Running)

	fill(t, disk, "filler", room)
	d.wantState(0, http.StatusServiceUnavailable, "free disk space there")
	refused(t, "PUT /v1/jobs on a full disk", put(d, "/v1/jobs/late", d.encode(d.busy(1))))
	refused(t, "PUT /v1/blobs on a full disk", put(d, "/v1/blobs/"+strings.Repeat("0", 64), make([]byte, 1<<20)))
	if got := values(d.scrape()["judged_store_errors_total"])["operation=blob"]; got != 1 {
		t.Errorf("%g failed uploads are counted, want 1", got)
	}
	if free := d.gauge("judged_data_free_bytes"); free < 0 || free > float64(reserveBytes) {
		t.Errorf("%g bytes free, want at most %d", free, reserveBytes)
	}
	if room > int(floorBytes) {
		for _, id := range accepted {
			d.accepted(id)
		}
	} else {
		testkit.WaitFor(t, patience, "the next job to be left waiting", func() bool {
			return values(d.scrape()["judged_store_errors_total"])["operation=take"] > 0
		})
		testkit.WaitFor(t, patience, "the log to say what to do", func() bool {
			return strings.Contains(d.said(), "cannot take jobs; retrying") &&
				strings.Contains(d.said(), "free disk space there")
		})
	}

	if err := os.Remove(filepath.Join(disk, "filler")); err != nil {
		t.Fatal(err)
	}
	testkit.WaitFor(t, patience, "the daemon to be ready again", func() bool { return d.Ready(d.ctx) == nil })
	d.wantState(1, http.StatusOK, "")
	d.submit("late", d.sum(1, false))
	for _, id := range append(accepted, "late") {
		d.accepted(id)
	}
	d.drain()
}

// accepted waits for a job, and checks that it is accepted in the first counted attempt.
func (i *instance) accepted(id string) {
	i.t.Helper()
	if r := i.finish(id); r.Verdict != api.Accepted || r.Attempt != 1 {
		i.t.Errorf("job %s: %s in attempt %d: %s", id, r.Verdict, r.Attempt, r.Message)
	}
}

// wantState checks what the daemon reports about itself: readiness as a metric and over HTTP with its reason, and
// liveness.
func (i *instance) wantState(ready float64, status int, reason string) {
	i.t.Helper()
	a := i.ask("GET", "/readyz", nil)
	if a.status != status || !strings.Contains(string(a.body), reason) ||
		(a.header.Get("Retry-After") == "") != (status == http.StatusOK) {
		i.t.Errorf("readyz: %d %s (%v), want %d with %q", a.status, a.body, a.header, status, reason)
	}
	if got := i.gauge("judged_ready"); got != ready {
		i.t.Errorf("judged_ready is %g, want %g", got, ready)
	}
	if a := i.ask("GET", "/healthz", nil); a.status != http.StatusOK {
		i.t.Errorf("healthz: %d %s, want 200", a.status, a.body)
	}
}

// gauge returns the value of a metric without labels.
func (i *instance) gauge(name string) float64 {
	i.t.Helper()
	all := i.scrape()[name].GetMetric()
	if len(all) != 1 {
		i.t.Fatalf("%d series of %s, want one", len(all), name)
	}
	return all[0].GetGauge().GetValue()
}

// put sends a body, and returns the daemon's error.
func put(d *instance, path string, body []byte) error {
	a := d.ask("PUT", path, body, "Content-Type", jsonType)
	if a.status < 400 {
		return nil
	}
	return problemOf(a)
}

// smallDisk mounts a new file system.
func smallDisk(t *testing.T, size int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0755", size)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}

// silence mounts a file system on dir that responds to nothing, as NFS does without its server. It returns what removes
// it.
func silence(t *testing.T, dir string) (end func()) {
	t.Helper()
	server, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("silent", dir, "fuse", 0,
		fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", server.Fd())); err != nil {
		t.Fatal(err, server.Close())
	}
	end = sync.OnceFunc(func() {
		// Without its server, all that waits for the file system fails.
		if err := errors.Join(server.Close(), syscall.Unmount(dir, syscall.MNT_DETACH)); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(end)
	return end
}

// fill fills the disk except for room bytes, with a file of the given name.
func fill(t *testing.T, disk, name string, room int) {
	t.Helper()
	f, err := os.Create(filepath.Join(disk, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var s syscall.Statfs_t
	if err := syscall.Statfs(disk, &s); err != nil {
		t.Fatal(err)
	}
	// Others write too: without any space, the last page may be lost.
	if _, err := f.Write(make([]byte, max(int(s.Bavail)*int(s.Bsize)-room, 0))); err != nil && room > 0 {
		t.Fatal(err)
	}
}
