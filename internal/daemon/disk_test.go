package daemon

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"judged/internal/client"
	"judged/internal/job"
	"judged/internal/testkit"
)

// TestDiskFull fills the disk below a daemon: it says so, and what it accepted
// before is judged when there is room again.
func TestDiskFull(t *testing.T) {
	t.Run("while jobs wait", func(t *testing.T) { diskFull(t, 60_000) })
	t.Run("while jobs are judged", func(t *testing.T) { diskFull(t, 1) })
}

// diskFull begins with a job that computes for some time; the others wait for
// it.
func diskFull(t *testing.T, ms int) {
	c := settings(t)
	disk := smallDisk(t, 16<<20)
	w := watchTraces(t)
	c.DataDir = filepath.Join(disk, "data")
	d := serving(t, c)
	w.add(d.process)
	d.submit("first", d.busy(ms))

	spec := d.sum(1, false)
	fill(t, disk, "filler", 256<<10)
	accepted, err := fillWithJobs(d, spec)
	t.Logf("%d jobs were accepted before: %v", len(accepted), err)
	var p *client.Problem
	if !errors.As(err, &p) || p.Status != http.StatusServiceUnavailable || p.RetryAfter <= 0 || p.NextStep == "" {
		t.Errorf("a job on a full disk: %v, want 503 with Retry-After and the next step", err)
	}
	fill(t, disk, "rest", 0)
	a := d.ask("PUT", "/v1/blobs/"+strings.Repeat("0", 64), make([]byte, 1<<20))
	if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" || !strings.Contains(string(a.body), "data directory") {
		t.Errorf("a blob on a full disk: %d %s, want 503 that says what to do", a.status, a.body)
	}
	ready := d.Ready(d.ctx)
	refused(t, "GET /readyz", ready)
	tells := func(text string) bool {
		return strings.Contains(text, "free disk space") && strings.Contains(text, "restart judged")
	}
	if text := fmt.Sprint(ready); !tells(text) {
		t.Errorf("readyz does not tell to free disk space and restart judged: %s", text)
	}
	// Whoever first needs the disk after it is full says so: not always before we look.
	testkit.WaitFor(t, patience, "the log to tell to free disk space and restart judged", func() bool { return tells(d.said()) })
	for _, name := range []string{"filler", "rest"} {
		if err := os.Remove(filepath.Join(disk, name)); err != nil {
			t.Fatal(err)
		}
	}
	d.end()

	d = serving(t, c)
	w.add(d.process)
	if _, err := d.Cancel(d.ctx, "first"); err != nil && ms > 1 {
		t.Error(err)
	}
	for _, id := range accepted {
		if r := d.finish(id); r.Verdict != job.Accepted || r.Attempt > c.Queue.MaxDeliver {
			t.Errorf("job %s was accepted and got %s in attempt %d: %s", id, r.Verdict, r.Attempt, r.Message)
		}
	}
	d.drain()
	w.none()
}

// end ends the daemon, whatever still runs in it.
func (i *instance) end() {
	i.t.Helper()
	i.signal(syscall.SIGTERM)
	testkit.WaitFor(i.t, patience, "the daemon to drain or to end", func() bool {
		err := i.Ready(i.ctx)
		return ended(i.process) || err != nil && strings.Contains(err.Error(), "draining")
	})
	if !ended(i.process) {
		// It may end in this moment.
		_ = i.cmd.Process.Signal(syscall.SIGTERM)
	}
	if code := i.exit(); code != 0 {
		i.t.Errorf("exit code %d, want 0", code)
	}
}

// smallDisk mounts a file system of its own.
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

// fill leaves room for so many bytes; a file of that name is in the way of the
// others.
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
	// Others write too: with no room at all the last page may be gone.
	if _, err := f.Write(make([]byte, max(int(s.Bavail)*int(s.Bsize)-room, 0))); err != nil && room > 0 {
		t.Fatal(err)
	}
}

// fillWithJobs submits until a job is refused, and returns those that were
// accepted and the refusal.
func fillWithJobs(d *instance, spec job.Job) (accepted []string, err error) {
	d.t.Helper()
	for n := range 20_000 {
		id := fmt.Sprintf("disk-%d", n)
		a := d.ask("PUT", "/v1/jobs/"+id, d.encode(spec), "Content-Type", jsonType)
		switch {
		case a.status == http.StatusAccepted:
			accepted = append(accepted, id)
		case a.status >= 400:
			return accepted, problemOf(a)
		}
	}
	return accepted, nil
}
