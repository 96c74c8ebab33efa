package jobs

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
)

// testRecheck checks that a rechecked job goes to another node, and that its first node may not take it for a while.
func testRecheck(t *testing.T, be backend) {
	b := be.open(t, nil)
	b.put("1", func(j *api.Job) { j.Priority = api.Contest })
	first, err := b.Take(b.ctx(), api.Want{Host: "node/one", Node: "one", CPUs: "1"})
	b.must(err)
	rep := api.Report{Verdict: api.TimeLimit, Tests: []api.TestReport{{Name: "1", Verdict: api.TimeLimit}},
		Outputs: keptReport(api.TimeLimit).Outputs}
	check := api.CrossCheck{Hosts: []api.CrossCheckedHost{{Node: "one", Verdict: api.TimeLimit,
		Job: RecheckID(first.Lease)}}}
	until := b.clock.now().Add(time.Minute)
	b.must(b.Recheck(b.ctx(), b.get("1"), rep, check, until))
	for what, err := range map[string]error{
		"recheck again": b.Recheck(b.ctx(), b.get("1"), rep, check, until),
		"finish":        b.Finish(b.ctx(), first.Lease, rep),
	} {
		if !errors.Is(err, api.ErrStale) {
			t.Errorf("%s: %v, want ErrStale", what, err)
		}
	}
	b = b.again() // as after a restart
	kept := b.get(check.Hosts[0].Job)
	if r := kept.Report; r.State != api.Done || r.Verdict != api.TimeLimit || r.Priority != api.Audit ||
		r.Labels[RecheckLabel] != "1" || len(r.Tests) != 1 || len(r.Outputs) != 2 {
		t.Errorf("kept report: %+v", kept)
	}
	page, _, err := b.List(b.ctx(), Filter{})
	if err != nil || len(page) != 1 || page[0].State != api.Queued {
		t.Errorf("list: %+v, %v; want the queued job alone", page, err)
	}
	b.idle(api.Want{Node: "one"})
	for _, near := range []string{"on", "ne", "one2"} { // other names with the same letters
		second, err := b.Take(b.ctx(), api.Want{Host: "node/" + near, Node: near})
		b.must(err)
		if diff := cmp.Diff(&check, second.Report.CrossCheck); diff != "" || second.Report.Attempt != 1 {
			t.Errorf("work of node %s: %+v (-want +got):\n%s", near, second, diff)
		}
		b.must(b.Return(b.ctx(), second.Lease, api.Returned{Uncounted: true}))
	}
	b.clock.advance(time.Minute)
	again, err := b.Take(b.ctx(), api.Want{Host: "node/one", Node: "one"})
	b.must(err)
	head, err := b.Head(b.ctx(), "1")
	if diff := cmp.Diff(&check, head.CrossCheck); diff != "" || err != nil || head.Priority != api.Contest {
		t.Errorf("head %+v, %v (-want +got):\n%s", head, err, diff)
	}
	check.Decision = api.NoOtherHost
	b.must(b.Finish(b.ctx(), again.Lease, api.Report{Verdict: api.TimeLimit, CrossCheck: &check}))
	if got := b.get("1").Report; got.Verdict != api.TimeLimit || got.CrossCheck.Decision != api.NoOtherHost {
		t.Errorf("report: %+v", got)
	}
	if _, err := b.Head(b.ctx(), "absent"); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("head of an absent job: %v", err)
	}
}
