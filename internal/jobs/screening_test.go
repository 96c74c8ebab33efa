package jobs

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
)

// testForward checks a job that is judged first in a pool that does not decide, and then in the deciding pool.
func testForward(t *testing.T, be backend) {
	b := be.open(t, nil)
	b.put("1", func(j *api.Job) { j.Pool = "cloud" })
	first, err := b.Take(b.ctx(), api.Want{Pool: "cloud", Host: "one", CPUs: "1"})
	b.must(err)
	rec := b.get("1")
	if rec.Pool != "cloud" {
		t.Errorf("pool %q, want cloud", rec.Pool)
	}
	cpu := 3 * time.Second
	rep := api.Report{Verdict: api.TimeLimit, Tests: []api.TestReport{{Name: "1", Verdict: api.TimeLimit, CPUTime: &cpu}}}
	link := api.Screening{Pool: "cloud", Reason: "over", SmallestRatio: 0.9}
	stale := rec
	stale.Lease.Attempt++
	if err := b.Forward(b.ctx(), stale, rep, "metal", link); !errors.Is(err, api.ErrStale) {
		t.Errorf("forward under another lease: %v", err)
	}
	b.must(b.Forward(b.ctx(), rec, rep, "metal", link))
	for what, err := range map[string]error{
		"forward again": b.Forward(b.ctx(), rec, rep, "metal", link),
		"finish":        b.Finish(b.ctx(), first.Lease, rep),
	} {
		if !errors.Is(err, api.ErrStale) {
			t.Errorf("%s after the job was forwarded: %v, want ErrStale", what, err)
		}
	}
	b = b.again() // as after a restart
	kept := b.get(ScreeningID(first.Lease))
	if r := kept.Report; r.State != api.Done || r.Verdict != api.TimeLimit ||
		r.Priority != api.Audit || kept.Pool != "cloud" ||
		r.Labels[ScreeningLabel] != "1" || *r.Tests[0].CPUTime != cpu || r.StartedAt.IsZero() || kept.Host != "one" {
		t.Errorf("kept report: %+v", kept)
	}
	page, _, err := b.List(b.ctx(), Filter{})
	if err != nil || len(page) != 1 || page[0].State != api.Queued {
		t.Errorf("list: %+v, %v; want the queued job alone", page, err)
	}
	page, _, err = b.List(b.ctx(), Filter{Audits: true, Label: map[string]string{ScreeningLabel: "1"}})
	if err != nil || len(page) != 1 || page[0].ID != kept.ID {
		t.Errorf("reports by label: %+v, %v", page, err)
	}
	b.idle(api.Want{Pool: "cloud"})
	second, err := b.Take(b.ctx(), api.Want{Pool: "metal"})
	b.must(err)
	link.Job = kept.ID
	if diff := cmp.Diff(&link, second.Report.Screening); diff != "" || second.Report.Attempt != 1 || second.Last {
		t.Errorf("work of the deciding pool: %+v (-want +got):\n%s", second, diff)
	}
	if err := b.Finish(b.ctx(), first.Lease, rep); !errors.Is(err, api.ErrStale) {
		t.Errorf("finish by the first holder: %v, want ErrStale", err)
	}
	b.finish(second.Lease, api.Accepted)
	if got := b.get("1").Report; got.Verdict != api.Accepted || got.Attempt != 1 {
		t.Errorf("report: %+v", got)
	}
}

// testMoveJobs checks Move with jobs that wait, one that runs, one whose lease has expired, and an audit.
func testMoveJobs(t *testing.T, be backend) {
	b := be.open(t, nil)
	cloud := func(j *api.Job) { j.Pool = "cloud" }
	take := func() api.Work {
		w, err := b.Take(b.ctx(), api.Want{Pool: "cloud", Host: "one"})
		b.must(err)
		return w
	}
	b.put("lost", cloud)
	lost := take()
	b.clock.advance(time.Hour)
	b.put("runs", cloud)
	_, err := b.Extend(b.ctx(), lost.Lease) // so that the next take returns the other job
	b.must(err)
	runs := take()
	if runs.ID != "runs" {
		t.Fatalf("took %s", runs.ID)
	}
	b.clock.advance(b.opts.Lease + time.Second)
	_, err = b.Extend(b.ctx(), runs.Lease)
	b.must(err)
	b.put("waits", cloud)
	_, _, err = b.Put(b.ctx(), Submission{ID: "routed", BodyDigest: "digest", Job: sampleJob(), Pool: "cloud"})
	b.must(err)
	b.audit(Audit{ID: "a", Original: "waits", Origin: "n", Pool: "cloud"}, true)
	if n, err := b.Move(b.ctx(), "cloud", "metal"); n != 3 || err != nil {
		t.Errorf("moved %d, %v; want 3", n, err)
	}
	for id, pool := range map[string]string{"lost": "metal", "waits": "metal", "routed": "metal", "runs": "cloud",
		"a": "cloud"} {
		if got := b.get(id).Pool; got != pool {
			t.Errorf("job %s is in pool %s, want %s", id, got, pool)
		}
	}
	if err := b.Finish(b.ctx(), lost.Lease, api.Report{Verdict: api.Accepted}); !errors.Is(err, api.ErrStale) {
		t.Errorf("finish of a job that was moved: %v, want ErrStale", err)
	}
	b.finish(runs.Lease, api.Accepted)
}

func testRatios(t *testing.T, be backend) {
	b := be.open(t, nil)
	b.put("1", nil)
	since := b.clock.now()
	compare := func(id string, r AuditResult) {
		b.audit(Audit{ID: id, Original: "1", Origin: "n", Pool: "cloud", Stage: Learning}, true)
		b.must(b.CompareAudit(b.ctx(), id, r))
		b.clock.advance(time.Second)
	}
	compare("1a", AuditResult{Usable: true, LogRatio: -0.5, Class: "x"})
	compare("2a", AuditResult{Usable: true, LogRatio: -0.25, Class: "x"})
	middle := b.clock.now()
	compare("3a", AuditResult{Usable: true, LogRatio: 0.125, Class: "x"})
	compare("4a", AuditResult{Usable: true, LogRatio: 0.5, Class: "y"})
	compare("5a", AuditResult{Class: "y", LogRatio: -9})
	compare("6a", AuditResult{Usable: true, Refuted: true, LogRatio: -9, Class: "y"})
	for from, want := range map[time.Time][]Ratios{
		{}:     {{"x", 3, -0.5}, {"y", 1, 0.5}},
		since:  {{"x", 3, -0.5}, {"y", 1, 0.5}},
		middle: {{"x", 1, 0.125}, {"y", 1, 0.5}},
	} {
		got, err := b.Ratios(b.ctx(), "cloud", Learning, from)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("since %v: %v (-want +got):\n%s", from, err, diff)
		}
	}
	if got, err := b.Ratios(b.ctx(), "cloud", Check, since); len(got) > 0 || err != nil {
		t.Errorf("another stage: %v, %v", got, err)
	}
	last, err := b.LastRatios(b.ctx(), "cloud", Learning, "x", since, 2)
	if diff := cmp.Diff([]float64{0.125, -0.25}, last); diff != "" || err != nil {
		t.Errorf("last ratios: %v (-want +got):\n%s", err, diff)
	}
}
