package daemon

import (
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/client"
	"judged/internal/testkit"
)

func cancelQueued(t *testing.T, d *instance) {
	d.submit("cq-busy", d.busy(5000))
	d.reach("cq-busy", api.Running)
	d.submit("cq", d.sum(1, false))
	r, err := d.Cancel(d.ctx, "cq")
	if err != nil {
		t.Fatal(err)
	}
	if r.State != api.CancelledState || r.Verdict != api.Cancelled || r.Attempt != 0 {
		t.Errorf("report %+v, want it cancelled before any attempt", r)
	}
	if again, err := d.Cancel(d.ctx, "cq"); err != nil || again.State != api.CancelledState {
		t.Errorf("second cancel: %+v, %v", again, err)
	}
	if r := d.finish("cq-busy"); r.Verdict != api.Accepted {
		t.Errorf("the job before it got %s", r.Verdict)
	}
	d.idle()
	if diff := cmp.Diff([]string{"queued", "cancelled"}, d.feed("cq", 0).types()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if r := d.finish("cq"); r.Verdict != api.Cancelled || !r.StartedAt.IsZero() {
		t.Errorf("it ran although it was cancelled: %+v", r)
	}
}

// cancelRunning cancels programs that would take a minute; patience ends the test before that.
func cancelRunning(t *testing.T, d *instance) {
	for name, path := range map[string]string{"sleeps": "sum/ILE-pause.c", "spins": "sum/TLE-spin.c",
		"stopped": "sum/ILE-stopped.c"} {
		t.Run(name, func(t *testing.T) {
			d := d.in(t)
			id := "cr-" + name
			d.submit(id, api.Job{Program: d.program(path), Tests: []api.Test{{Name: "1"}, {Name: "2"}},
				Limits: api.Limits{CPUTimeMS: 60_000, WallTimeMS: 180_000}})
			d.reach(id, api.Running)
			r, err := d.Cancel(d.ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			if r.State != api.CancelledState || r.Verdict != api.Cancelled || r.Attempt != 1 {
				t.Errorf("report %+v, want it cancelled in its first attempt", r)
			}
			d.idle()
			if diff := cmp.Diff([]string{"queued", "running", "cancelled"}, d.feed(id, 0).types()); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			d.submit(id+"-next", d.sum(2, false))
			if r := d.finish(id + "-next"); r.Verdict != api.Accepted {
				t.Errorf("the next job got %s: %s", r.Verdict, r.Message)
			}
			if r := d.finish(id); r.State != api.CancelledState {
				t.Errorf("the job is %s in the end", r.State)
			}
		})
	}
}

// cancelBetween cancels a job with one finished test and one that would take a minute. It checks that the report has
// the finished test while the job runs, and after it is cancelled.
func cancelBetween(t *testing.T, d *instance) {
	script := `#!/bin/sh
read -r seconds
sleep "$seconds"`
	d.submit(
		"cb",
		api.Job{Program: *text(script), Limits: api.Limits{CPUTimeMS: 60_000, WallTimeMS: 180_000}, Stop: api.StopNever,
			Tests: []api.Test{{Name: "1", Input: text("0\n")}, {Name: "2", Input: text("60\n")}, {Name: "3"}}},
	)
	var running api.Report
	testkit.WaitFor(t, patience, "a test of the running job", func() bool {
		r, err := d.Job(d.ctx, "cb", 0)
		running = r
		return err == nil && len(r.Tests) > 0
	})
	if running.State != api.Running || len(running.Tests) != 1 || running.Tests[0].Name != "1" ||
		running.Tests[0].Verdict != api.Accepted ||
		len(running.Tests[0].Runs) == 0 {
		t.Errorf("while it runs %+v", running)
	}
	if r, err := d.Cancel(d.ctx, "cb"); err != nil || !cmp.Equal(r.Tests, running.Tests) {
		t.Errorf("when it is cancelled: %+v, %v", r, err)
	}
	d.idle()
	if r := d.finish("cb"); r.State != api.CancelledState || !cmp.Equal(r.Tests, running.Tests) {
		t.Errorf("in the end %+v", r)
	}
}

func cancelDone(t *testing.T, d *instance) {
	d.submit("cd", d.sum(3, false))
	before := d.finish("cd")
	_, err := d.Cancel(d.ctx, "cd")
	if p := (*client.Problem)(nil); !errors.As(err, &p) || p.Status != http.StatusConflict {
		t.Errorf("cancel: %v, want 409", err)
	}
	if diff := cmp.Diff(before, d.finish("cd")); diff != "" {
		t.Errorf("the report changed (-before +after):\n%s", diff)
	}
	if _, err := d.Cancel(d.ctx, "never-was"); !client.NotFound(err) {
		t.Errorf("cancel a job that is not there: %v, want 404", err)
	}
}
