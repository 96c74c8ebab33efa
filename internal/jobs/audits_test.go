package jobs

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/testkit"
)

// takeAs takes a job as a node, if it may have one.
func (b *bench) takeAs(node string) (api.Work, bool) {
	b.t.Helper()
	w, _, found, err := b.Store.take(b.ctx(), api.Want{Pool: defaultPool, Width: 1, Host: "host/" + node, Node: node})
	if err != nil {
		b.t.Fatal(err)
	}
	return w, found
}

func (b *bench) audit(a Audit, want bool) {
	b.t.Helper()
	created, err := b.PutAudit(b.ctx(), a, b.get(a.Original).Job)
	if err != nil || created != want {
		b.t.Fatalf("audit %+v: created %v, %v; want %v", a, created, err, want)
	}
}

func testAudits(t *testing.T, be backend) {
	b := be.open(t, nil)
	before := b.LastPosition()
	b.put("1", nil)
	w, _ := b.takeAs("n1")
	b.finish(w.Lease, api.Accepted)

	b.audit(Audit{ID: "a1", Original: "1", Origin: "n1"}, true)
	b.audit(Audit{ID: "a1", Original: "1", Origin: "n1"}, false)
	b.audit(Audit{ID: "a2", Original: "1", Origin: "n1", Target: "n1", Stage: Confirmation}, true)
	b.put("2", func(j *api.Job) { j.Priority = api.Background })
	if w, _ = b.takeAs("n1"); w.ID != "2" {
		t.Errorf("took %q before the jobs of users", w.ID)
	}
	if w, _ = b.takeAs("n1"); w.ID != "a2" {
		t.Errorf("node n1 took %q, want the audit for it", w.ID)
	}
	if w, found := b.takeAs("n1"); found {
		t.Errorf("a node took the audit %q of a job that it has judged", w.ID)
	}
	w, _ = b.takeAs("n2")
	want := api.Report{ID: "a1", State: api.Running, Priority: api.Audit, Attempt: 1,
		Labels: map[string]string{AuditLabel: "1"}}
	got := w.Report
	got.CreatedAt, got.StartedAt = time.Time{}, time.Time{}
	if diff := cmp.Diff(want, got); diff != "" || len(w.Job.Tests) != 2 {
		t.Errorf("audit (-want +got):\n%s%+v", diff, w.Job)
	}
	b.finish(w.Lease, api.Accepted)

	for audits, want := range map[bool][]string{false: {"2", "1"}, true: {"2", "a2", "a1", "1"}} {
		page, _, err := b.List(b.ctx(), Filter{Audits: audits})
		var ids []string
		for _, r := range page {
			ids = append(ids, r.ID)
		}
		if diff := cmp.Diff(want, ids); diff != "" || err != nil {
			t.Errorf("list with audits %v: %v (-want +got):\n%s", audits, err, diff)
		}
	}
	if ended, err := b.EndedSince(b.ctx(), before, 10); len(ended) > 0 || err != nil {
		t.Errorf("jobs that ended a moment ago: %+v, %v", ended, err)
	}
	b.clock.advance(time.Minute)
	var ended []Ended
	for range 3 { // pages
		page, err := b.EndedSince(b.ctx(), before, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page {
			before, e.Position = e.Position, Position{}
			ended = append(ended, e)
		}
	}
	wanted := []Ended{{ID: "1", Pool: defaultPool}, {ID: "a1", Pool: defaultPool, Audit: true}}
	if diff := cmp.Diff(wanted, ended); diff != "" {
		t.Errorf("ended (-want +got):\n%s", diff)
	}
	testAuditResults(t, b)
}

func testAuditResults(t *testing.T, b *bench) {
	for range 2 { // the first call counts
		if err := b.CompareAudit(b.ctx(), "a1", AuditResult{Node: "n2", LogRatio: 0.0123, Usable: true}); err != nil {
			t.Fatal(err)
		}
		b.clock.advance(time.Second)
	}
	a, found, err := b.AuditOf(b.ctx(), "a1")
	open := Audit{ID: "a1", Original: "1", Pool: defaultPool, Origin: "n1"}
	if diff := cmp.Diff(open, a); diff != "" || !found || err != nil {
		t.Errorf("audit: found %v, %v (-want +got):\n%s", found, err, diff)
	}
	all, err := b.Audits(b.ctx(), defaultPool, RoutineAudit, time.Unix(0, 0))
	if len(all) != 1 || err != nil {
		t.Fatalf("audits %+v, %v", all, err)
	}
	all[0].Finished = time.Time{}
	want := []Audit{{ID: "a1", Original: "1", Pool: defaultPool, Origin: "n1", Node: "n2", LogRatio: 0.0123}}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("audits (-want +got):\n%s", diff)
	}
	for stage, want := range map[AuditStage]int{RoutineAudit: 0, Confirmation: 1} {
		if n, err := b.OpenAudits(b.ctx(), defaultPool, stage); n != want || err != nil {
			t.Errorf("stage %d: %d open audits, %v; want %d", stage, n, err, want)
		}
	}
	b.clock.advance(2 * valueAge)
	if _, err := b.Sweep(b.ctx()); err != nil {
		t.Fatal(err)
	}
	if _, found, err := b.AuditOf(b.ctx(), "a1"); found || err != nil {
		t.Errorf("an old audit: found %v, %v", found, err)
	}
}

func testLead(t *testing.T, be backend) {
	b := be.open(t, nil)
	lead := func(holder string, want bool) {
		t.Helper()
		if got, err := b.Lead(b.ctx(), "audit", holder, time.Minute); got != want || err != nil {
			t.Errorf("%s leads: %v, %v; want %v", holder, got, err, want)
		}
	}
	lead("one", true)
	lead("two", false)
	b.clock.advance(50 * time.Second)
	lead("one", true)
	b.clock.advance(50 * time.Second)
	lead("two", false)
	b.clock.advance(20 * time.Second)
	lead("two", true)
	lead("one", false)
}

// testAuditLine checks that an audit goes to the second of two idle slots if the one that waits first may not take it.
func testAuditLine(t *testing.T, be backend) {
	b := be.open(t, func(o *Options) { o.poll = 10 * time.Millisecond })
	b.put("1", nil)
	w, _ := b.takeAs("n1")
	b.finish(w.Lease, api.Accepted)
	took := make(chan string, 2)
	take := func(node string) {
		w, err := b.Take(b.ctx(), api.Want{Node: node})
		if err != nil {
			t.Error(err)
		}
		took <- node + " " + w.ID
	}
	go take("n1")
	testkit.WaitFor(t, time.Minute, "the first slot",
		func() bool { return len(b.notifier.line(slotClass{defaultPool, 1, false}).front) == 1 })
	go take("n2")
	b.audit(Audit{ID: "a1", Original: "1", Origin: "n1"}, true)
	if got := <-took; got != "n2 a1" {
		t.Errorf("node and job: %s, want n2 a1", got)
	}
	b.put("2", nil)
	if got := <-took; got != "n1 2" {
		t.Errorf("node and job: %s, want n1 2", got)
	}
}
