package daemon

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
)

// events reads a job's stream while it waits, runs and ends, and then from every event on.
func events(t *testing.T, d *instance) {
	d.submit("ev-busy", d.busy(60_000))
	j := d.sum(20, false)
	for n := 2; n <= 4; n++ {
		test := j.Tests[0]
		test.Name = strconv.Itoa(n)
		j.Tests = append(j.Tests, test)
	}
	d.submit("ev", j)
	var live feed
	d.stream("ev", 0, func(e api.Event) {
		if len(live) == 0 {
			if r, err := d.Job(d.ctx, "ev", 0); err != nil || r.State == api.Done {
				t.Errorf("the first event came when the job was over: %v", err)
			}
			if _, err := d.Cancel(d.ctx, "ev-busy"); err != nil {
				t.Error(err)
			}
		}
		live = append(live, e)
	})
	want := []string{"queued", "running", "test", "test", "test", "test", "done"}
	if diff := cmp.Diff(want, live.types()); diff != "" {
		t.Fatalf("events (-want +got):\n%s", diff)
	}
	for i, e := range live {
		if e.Job != "ev" || e.At.IsZero() || i > 0 && e.Seq <= live[i-1].Seq {
			t.Errorf("event %d: %+v behind %d", i, e, live[max(i-1, 0)].Seq)
		}
		if e.Type == api.EventTest &&
			(e.Test == nil || e.Test.Name != strconv.Itoa(i-1) || e.Test.Verdict != api.Accepted || e.Test.Runs != nil) {
			t.Errorf("event %d: test %+v", i, e.Test)
		}
		// A reader that lost the connection after event i gets the events after it.
		rest := d.feed("ev", e.Seq)
		if diff := cmp.Diff(live[i+1:].types(), rest.types()); diff != "" {
			t.Errorf("resumed behind event %d (-want +got):\n%s", i, diff)
		}
	}
	if cpus := live[1].CPUs; cpus == "" {
		t.Error("running without CPUs")
	}
	if diff := cmp.Diff(d.finish("ev"), *live[len(live)-1].Report); diff != "" {
		t.Errorf("report of the done event (-GET +event):\n%s", diff)
	}
	if a := d.ask("GET", "/v1/jobs/ev/events", nil, "Last-Event-ID",
		strconv.FormatUint(live[len(live)-1].Seq, 10)); a.status != 204 {
		t.Errorf("behind the last event: %d %s, want 204", a.status, a.body)
	}
	if a := d.ask("GET", "/v1/jobs/ev/events", nil, "Last-Event-ID", "x"); a.status != 400 {
		t.Errorf("no number: %d %s, want 400", a.status, a.body)
	}
	if a := d.ask("GET", "/v1/jobs/never-was/events", nil); a.status != 404 {
		t.Errorf("no job: %d %s, want 404", a.status, a.body)
	}
}

// longPoll waits for longer than its context allows unless the report ends the wait.
func longPoll(t *testing.T, d *instance) {
	d.submit("lp-busy", d.busy(60_000))
	d.submit("lp", d.busy(1000))
	if r, err := d.Job(d.ctx, "lp", 10*time.Millisecond); err != nil || r.State.Final() {
		t.Errorf("a short wait: %+v, %v; want it unfinished", r.State, err)
	}
	if _, err := d.Cancel(d.ctx, "lp-busy"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(d.ctx, 50*time.Second)
	defer cancel()
	r, err := d.Job(ctx, "lp", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if r.State != api.Done || len(r.Tests) != 1 {
		t.Errorf("state %s with %d tests, want it done", r.State, len(r.Tests))
	}
	if a := d.ask("GET", "/v1/jobs/lp?wait=yes", nil); a.status != 400 {
		t.Errorf("no duration: %d %s, want 400", a.status, a.body)
	}
}

// priorities keeps the slot busy, so that the most urgent job is the last one submitted.
func priorities(t *testing.T, d *instance) {
	d.submit("pr-busy", d.busy(60_000))
	d.reach("pr-busy", api.Running)
	for _, j := range []struct {
		id string
		p  api.Priority
	}{{"pr-background", api.Background}, {"pr-rejudge", api.Rejudge}, {"pr-practice-1", api.Practice},
		{"pr-practice-2", api.Practice}, {"pr-contest", api.Contest}} {
		spec := d.sum(30, false)
		spec.Priority = j.p
		d.submit(j.id, spec)
	}
	if r, err := d.Job(d.ctx, "pr-busy", 0); err != nil || r.State != api.Running {
		t.Fatalf("the slot was not busy for long enough: %s, %v", r.State, err)
	}
	depth, err := d.Waiting(d.ctx)
	if err != nil {
		t.Fatal(err)
	}
	want := map[api.Priority]int{api.Contest: 1, api.Practice: 2, api.Rejudge: 1, api.Background: 1}
	if diff := cmp.Diff(want, depth); diff != "" {
		t.Errorf("waiting (-want +got):\n%s", diff)
	}
	if _, err := d.Cancel(d.ctx, "pr-busy"); err != nil {
		t.Fatal(err)
	}
	var last time.Time
	for _, id := range []string{"pr-busy", "pr-contest", "pr-practice-1", "pr-practice-2", "pr-rejudge",
		"pr-background"} {
		r := d.finish(id)
		if !r.StartedAt.After(last) {
			t.Errorf("%s started at %s, not after the one before it (%s)", id, r.StartedAt, last)
		}
		last = r.StartedAt
	}
}
