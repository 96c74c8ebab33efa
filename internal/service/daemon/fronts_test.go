package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/client"
	"judged/internal/jobs"
	"judged/internal/jobs/blobs"
	"judged/internal/testkit"
)

// twoFronts returns the settings of two fronts with the same database and the same blobs.
func twoFronts(t *testing.T, blobs string) (a, b config.Config) {
	return frontsOf(t, testkit.StartPostgres(t, "fsync=off"), blobs)
}

func frontsOf(t *testing.T, server *testkit.PostgresServer, blobs string) (a, b config.Config) {
	url := server.Database(t)
	a, b = frontSettings(t), frontSettings(t)
	for _, c := range []*config.Config{&a, &b} {
		c.Database.URL, c.Blobs.URL = url, blobs
	}
	return a, b
}

// echo returns a job with a unique program.
func echo(n int) api.Job {
	return api.Job{Program: *text(fmt.Sprintf("#!/bin/sh\nread -r x\necho \"$x\" # %d\n", n)),
		Tests: []api.Test{{Name: "1", Input: text(fmt.Sprint(n)), Answer: text(fmt.Sprint(n))}}}
}

// TestBlobsAway checks that a front is not ready while its bucket or its folder of blobs is unavailable.
func TestBlobsAway(t *testing.T) {
	t.Parallel() // measures nothing
	server := testkit.StartS3(t)
	folder := filepath.Join(t.TempDir(), "blobs")
	hidden := folder + "-hidden"
	for name, place := range map[string]struct {
		url, says   string
		away, again func()
	}{
		"bucket": {server.URL(), blobs.ErrAway.Error(), server.Kill, func() { server.Restart(t) }},
		"folder": {"file://" + folder, "check in blob folder", func() { rename(t, folder, hidden) },
			func() { rename(t, hidden, folder) }},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := twoFronts(t, place.url)
			front := serving(t, c)
			for _, step := range []struct {
				do   func()
				away bool
			}{{func() {}, false}, {place.away, true}, {place.again, false}} {
				step.do()
				testkit.WaitFor(t, patience, "the front to notice", func() bool {
					err := front.Ready(front.ctx) // no judge has registered
					return strings.Contains(err.Error(), place.says) == step.away
				})
			}
		})
	}
}

// TestBlobsUnmounted restarts a front while the file system of its blobs is not mounted, and checks that it does not
// start.
func TestBlobsUnmounted(t *testing.T) {
	t.Parallel() // measures nothing
	folder := filepath.Join(t.TempDir(), "blobs")
	c, other := twoFronts(t, "file://"+folder)
	front := serving(t, c)
	digest := sendText(t, front, "input")
	front.drain()
	rename(t, folder, folder+"-hidden")
	for _, name := range []string{"no folder", "an empty mount point"} {
		for _, settings := range []config.Config{c, other} {
			p := launch(t, settings)
			if code := p.exit(); code != 2 || !strings.Contains(p.said(), "mount the file system that has the blobs") {
				t.Errorf("%s: exit %d: %s, want 2 and what to do", name, code, p.said())
			}
		}
		if name == "no folder" {
			if err := os.Mkdir(folder, 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Remove(folder); err != nil { // fails if anything was written to it
		t.Fatal(err)
	}
	rename(t, folder+"-hidden", folder)
	front = serving(t, other)
	if there, err := front.HasBlob(front.ctx, digest); err != nil || !there {
		t.Errorf("the blob: %t, %v", there, err)
	}
}

// TestFrontsDiffer checks that of two fronts with different settings at least one reports the other front and the
// setting: each stores its settings before it reads those of others. Without the database it has no report.
func TestFrontsDiffer(t *testing.T) {
	t.Parallel() // measures nothing
	server := testkit.StartPostgres(t, "fsync=off")
	a, b := frontsOf(t, server, "file://"+t.TempDir())
	b.Queue.MaxWaiting = a.Queue.MaxWaiting + 1
	fronts := []*instance{serving(t, a), serving(t, b)}
	var found int
	testkit.WaitFor(t, patience, "a front to compare", func() bool {
		found = slices.IndexFunc(fronts, func(f *instance) bool { return f.gauge("judged_fronts_differ") == 1 })
		return found >= 0
	})
	other := []string{b.HTTP.Listen, a.HTTP.Listen}[found]
	testkit.WaitFor(t, patience, "the log to name the front and the setting", func() bool {
		said := fronts[found].said()
		return strings.Contains(said, "settings=[queue.max_waiting]") && strings.Contains(said, other)
	})
	r, err := fronts[found].Doctor(fronts[found].ctx)
	if err != nil || r.Ready || len(r.Checks) != 1 {
		t.Fatalf("doctor of a front: ready %t, %d checks, %v", r.Ready, len(r.Checks), err)
	}
	if c := r.Checks[0]; c.ID != "front-settings" || c.Status != api.DoctorFail ||
		!strings.Contains(c.Reason, other) || !strings.HasSuffix(c.Reason, ": queue.max_waiting") {
		t.Errorf("doctor of a front: %+v", c)
	}
	testkit.WaitFor(t, patience, "reports without a change of the database", func() bool {
		before := storedPeers(t, a.Database.URL)
		fronts[found].ask("GET", "/v1/doctor", nil)
		fronts[found].ask("GET", "/doctor", nil)
		return len(before) == 2 && cmp.Diff(before, storedPeers(t, a.Database.URL)) == "" // else once a minute, by itself
	})
	if page := fronts[found].ask("GET", "/doctor", nil); page.status != http.StatusOK ||
		!strings.Contains(string(page.body), "front-settings") || !strings.Contains(string(page.body), other) {
		t.Errorf("the page of doctor: %d %s", page.status, page.body)
	}
	server.Kill(t)
	refused(t, "GET /v1/doctor", problemOf(fronts[found].ask("GET", "/v1/doctor", nil)))
	if page := fronts[found].ask("GET", "/doctor", nil); page.status != http.StatusServiceUnavailable ||
		strings.Contains(string(page.body), "front-settings") {
		t.Errorf("the page of doctor without the database: %d %s", page.status, page.body)
	}
	server.Restart(t)
	testkit.WaitFor(t, patience, "doctor with the database again", func() bool { // an idle connection may be a dead one
		r, err := fronts[found].Doctor(fronts[found].ctx)
		return err == nil && !r.Ready
	})
}

// storedPeers returns what the daemons of a database have stored about themselves.
func storedPeers(t *testing.T, url string) map[string]string {
	t.Helper()
	store, err := jobs.Open(t.Context(), jobs.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	stored := map[string]string{}
	if err := store.Values(t.Context(), func(name string, value []byte) error {
		stored[name] = string(value)
		return nil
	}, peerValues); err != nil {
		t.Fatal(err)
	}
	return stored
}

// sendText uploads a blob.
func sendText(t *testing.T, front *instance, content string) (digest string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "content")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	digest, err := front.PutBlobFile(front.ctx, file)
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

// TestBlobDiskFull checks that a front is not ready while the disk of its shared folder is full.
func TestBlobDiskFull(t *testing.T) {
	t.Parallel() // measures nothing
	disk := smallDisk(t, 128<<20)
	c := frontSettings(t)
	c.Blobs.URL = "file://" + filepath.Join(disk, "blobs")
	front := serving(t, c)
	full := func() bool {
		err := front.Ready(front.ctx) // no judge has registered
		return strings.Contains(err.Error(), "free disk space there")
	}
	if full() {
		t.Error("an empty disk is full")
	}
	fill(t, disk, "filler", 1<<20)
	testkit.WaitFor(t, patience, "the front to notice the full disk", full)
	if err := os.Remove(filepath.Join(disk, "filler")); err != nil {
		t.Fatal(err)
	}
	testkit.WaitFor(t, patience, "the front to notice the free space", func() bool { return !full() })
}

// TestSilentBlobs checks that a front with a shared folder that does not respond says so, and still has metrics.
func TestSilentBlobs(t *testing.T) {
	t.Parallel() // measures nothing
	testkit.Need(t, testkit.Root, testkit.Fuse)
	dir := t.TempDir()
	c := frontSettings(t)
	c.Blobs.URL = "file://" + dir
	front := serving(t, c)
	silent := func() bool {
		ctx, cancel := context.WithTimeout(front.ctx, patience)
		defer cancel()
		err := front.Ready(ctx) // no judge has registered
		return strings.Contains(err.Error(), strconv.Quote(dir)+": no answer within")
	}
	if silent() {
		t.Error("a folder that responds is silent")
	}
	end := silence(t, dir)
	testkit.WaitFor(t, patience, "the front to notice the silence", silent)
	if page := front.ask("GET", "/metrics", nil); page.status != http.StatusOK {
		t.Errorf("metrics: status %d", page.status)
	}
	job := front.ask("PUT", "/v1/jobs/a", front.encode(echo(0)), "Content-Type", "application/json")
	if job.status != http.StatusServiceUnavailable {
		t.Errorf("a job: status %d %s", job.status, job.body)
	}
	end()
	testkit.WaitFor(t, patience, "the front to notice the answers", func() bool { return !silent() })
}

// TestFreeBytes checks that the free space of the data is that of the fullest of its file systems, so that the alert
// about it also fires for a shared folder of blobs.
func TestFreeBytes(t *testing.T) {
	testkit.Need(t, testkit.Root)
	small := smallDisk(t, 1<<20)
	for _, tt := range []struct{ name, data, blobs string }{
		{"shared folder", t.TempDir(), "file://" + small},
		{"data folder", small, "file://" + t.TempDir()},
		{"only a data folder", small, ""},
		{"shared folder not mounted", small, "file://" + filepath.Join(t.TempDir(), "absent")},
	} {
		c := config.Default()
		c.DataDir, c.Blobs.URL = tt.data, tt.blobs
		d := &daemon{space: &space{dir: c.DataDir}, blobSpace: &space{dir: blobFolder(c)}}
		if free := d.freeBytes(); free < 0 || free > 1<<20 {
			t.Errorf("%s: %d bytes free, want at most 1 MiB", tt.name, free)
		}
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// TestTwoFronts submits at one front and reads at the other, with a judge behind each, and kills one front in the
// middle of requests. It checks that each job exists once and has one report.
func TestTwoFronts(t *testing.T) {
	t.Parallel() // measures nothing
	places := map[string]func(t *testing.T) string{
		"folder": func(t *testing.T) string { return "file://" + t.TempDir() },
		"bucket": func(t *testing.T) string { return testkit.StartS3(t).URL() },
	}
	for name, place := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			surviveFront(t, place(t))
		})
	}
}

func surviveFront(t *testing.T, blobs string) {
	ca, cb := twoFronts(t, blobs)
	a, b := serving(t, ca), serving(t, cb)
	first, second := serving(t, nodeSettings(t, ca, "judge-1")), serving(t, nodeSettings(t, cb, "judge-2"))
	testkit.WaitFor(t, patience, "both judges", func() bool { return len(a.nodes()) == 2 })

	// Only the judge behind b works, so it needs what was uploaded through a.
	if _, err := client.SetNodeDrained(a.ctx, a.Client, "judge-1", true); err != nil {
		t.Fatal(err)
	}
	for n := range 6 { // more than the drained judge may have requested before
		id := fmt.Sprint("across-", n)
		a.submit(id, echo(n))
		if r := b.finish(id); r.Verdict != api.Accepted || r.Attempt != 1 {
			t.Errorf("job %s through two fronts: %+v", id, r)
		}
	}
	if _, err := client.SetNodeDrained(b.ctx, b.Client, "judge-1", false); err != nil {
		t.Fatal(err)
	}

	// A job that is cancelled at one front ends on the judge behind the other: the fronts notify each other.
	for n := range 2 { // one for each judge
		a.submit(fmt.Sprint("long-", n), a.busy(60_000))
	}
	a.reach("long-0", api.Running)
	a.reach("long-1", api.Running)
	for n := range 2 {
		if r, err := b.Cancel(b.ctx, fmt.Sprint("long-", n)); err != nil || r.State != api.CancelledState {
			t.Errorf("cancel: %+v, %v", r, err)
		}
	}
	cancelled := time.Now()
	first.idle()
	second.idle()
	t.Logf("the slots are free %v after the cancel", time.Since(cancelled))

	half, rest := io.Pipe()
	broken := make(chan error, 1)
	go func() { broken <- sendJob(a.ctx, a.Base, "half", half) }()
	if _, err := io.WriteString(rest, `{"program": {"text": "#!/bin/sh\n`); err != nil {
		t.Fatal(err)
	}
	const number = 60
	var submitting errgroup.Group
	accepted := make(chan int, number)
	submitting.Go(func() error {
		defer close(accepted)
		for n := range number {
			if err := submitSomewhere(a, b, fmt.Sprint("job-", n), echo(n)); err != nil {
				return err
			}
			accepted <- n
		}
		return nil
	})
	for n := range accepted {
		if n == number/3 {
			a.kill()
		}
	}
	if err := submitting.Wait(); err != nil {
		t.Fatal(err)
	}
	rest.CloseWithError(io.ErrClosedPipe) // net/http waits for its reader
	if err := <-broken; err == nil {
		t.Error("a request to a front that was killed has an answer")
	}
	b.submit("half", echo(0))
	a = serving(t, ca)
	for _, id := range append(ids("job-", number), "half") {
		if r := a.finish(id); r.State != api.Done || r.Verdict != api.Accepted || len(r.Tests) != 1 {
			t.Errorf("job %s: %s %s: %s", id, r.State, r.Verdict, r.Message)
		}
	}
	for _, d := range []*instance{first, second, a, b} {
		d.drain()
	}
	all := inspect(t, ca)
	if want := number + 6 + 2 + 1; len(all) != want {
		t.Errorf("%d jobs in the database, want %d", len(all), want)
	}
}

func ids(prefix string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprint(prefix, i))
	}
	return all
}

// submitSomewhere submits like a client behind a load balancer: it repeats a request without a response at the other
// front, under the same ID.
func submitSomewhere(a, b *instance, id string, j api.Job) error {
	_, err := a.Submit(a.ctx, id, j)
	if _, lost := errors.AsType[*client.Unreachable](err); lost {
		_, err = b.Submit(b.ctx, id, j)
	}
	return err
}

// sendJob sends the body of a job unchanged.
func sendJob(ctx context.Context, base, id string, body io.Reader) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, base+"/v1/jobs/"+id, body)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.Copy(&strings.Builder{}, answer.Body)
	return err
}
