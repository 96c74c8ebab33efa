package daemon

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/client"
	"judged/internal/testkit"
)

// refused checks for the response of a daemon that does not take jobs.
func refused(t *testing.T, what string, err error) {
	t.Helper()
	var p *client.Problem
	if !errors.As(err, &p) || p.Status != http.StatusServiceUnavailable || p.RetryAfter <= 0 || p.Detail == "" {
		t.Errorf("%s: %v (%+v), want 503 with a reason and Retry-After", what, err, p)
	}
}

// draining waits until the daemon has handled the signal.
func (i *instance) draining() error {
	i.t.Helper()
	var err error
	testkit.WaitFor(i.t, patience, "readyz to say that the daemon drains", func() bool {
		err = i.Ready(i.ctx)
		return err != nil && strings.Contains(err.Error(), "draining")
	})
	return err
}

func TestDrainFinishesWhatRuns(t *testing.T) {
	t.Parallel() // measures nothing
	w := watchTraces(t)
	c := settings(t)
	d := serving(t, c)
	w.add(d.process)
	d.submit("runs", d.busy(10_000))
	d.reach("runs", api.Running)
	waiting := d.sum(1, false)
	want := map[string]string{"runs": "done AC 1"}
	for n := range 10 {
		id := fmt.Sprintf("waits-%d", n)
		d.submit(id, waiting)
		want[id] = "queued  0"
	}
	d.signal(syscall.SIGTERM)
	refused(t, "GET /readyz", d.draining())
	refused(t, "POST /v1/jobs", post(d, "/v1/jobs", "application/json", []byte(`{}`)))
	if code := d.exit(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	w.none()
	if diff := cmp.Diff(want, states(inspect(t, c))); diff != "" {
		t.Errorf("after the drain (-want +got):\n%s", diff)
	}

	d = serving(t, c)
	w.add(d.process)
	for id := range want {
		want[id] = "done AC 1"
		d.finish(id)
	}
	d.drain()
	if diff := cmp.Diff(want, states(inspect(t, c))); diff != "" {
		t.Errorf("after the restart (-want +got):\n%s", diff)
	}
	w.none()
}

func TestSecondSignalHandsBackWhatRuns(t *testing.T) {
	t.Parallel() // measures nothing
	w := watchTraces(t)
	c := settings(t)
	d := serving(t, c)
	w.add(d.process)
	d.submit("runs", d.busy(5000))
	d.reach("runs", api.Running)
	d.submit("waits", d.sum(1, false))
	d.signal(syscall.SIGTERM)
	d.draining()
	d.signal(syscall.SIGTERM)
	if code := d.exit(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	w.none()
	want := map[string]string{"runs": "queued  0", "waits": "queued  0"}
	if diff := cmp.Diff(want, states(inspect(t, c))); diff != "" {
		t.Errorf("after the second signal (-want +got):\n%s", diff)
	}

	d = serving(t, c)
	w.add(d.process)
	d.finish("waits")
	want = map[string]string{"runs": "done AC 1", "waits": "done AC 1"}
	d.finish("runs")
	if diff := cmp.Diff([]string{"queued", "running", "test", "done"}, d.feed("runs", 0).types()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	d.drain()
	if diff := cmp.Diff(want, states(inspect(t, c))); diff != "" {
		t.Errorf("after the restart (-want +got):\n%s", diff)
	}
	w.none()
}

// TestSignalWhileStarting checks that a daemon that is stopped while it starts exits without work to finish.
func TestSignalWhileStarting(t *testing.T) {
	c := settings(t)
	// The folder is created before the host is examined, which takes longest.
	p := launch(t, c)
	testkit.WaitFor(t, patience, "the daemon to make its data folder", func() bool {
		return exists(c.DataDir) || ended(p)
	})
	p.signal(syscall.SIGTERM)
	if code := p.exit(); code != 0 {
		t.Errorf("exit code %d, want 0; it said:\n%s", code, p.said())
	}
}

// states returns a short form of reports: state, verdict and attempt.
func states(all map[string]api.Report) map[string]string {
	short := map[string]string{}
	for id, r := range all {
		short[id] = fmt.Sprintf("%s %s %d", r.State, r.Verdict, r.Attempt)
	}
	return short
}
