package daemon

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"judged/internal/api"
	"judged/internal/client"
	"judged/internal/jobs"
	"judged/internal/testkit"
)

// TestCrossCheck checks that two of three judges, one of which is slower, decide jobs of a contest near the limit,
// whichever judges first, and that other jobs end with the first report. The front and the protocol are real; the
// judges are simulated.
func TestCrossCheck(t *testing.T) {
	c := frontSettings(t)
	c.Audit.Percent = 0
	front := serving(t, c)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer func() { stop(); running.Wait() }()
	var percent [3]atomic.Int64
	for i, p := range []int64{98, 103, 98} {
		percent[i].Store(p)
		host := simulatedHost{fmt.Sprint("judge-", i), "default", &percent[i]}
		running.Go(func() { host.run(ctx, t, front.Client) })
	}
	testkit.WaitFor(t, patience, "the judges", func() bool { return len(front.nodes()) == 3 })
	submit := func(id, takes string, priority api.Priority) api.Report {
		j := front.sum(1, false)
		j.Tests[0].Name, j.Limits.CPUTimeMS, j.Priority = takes, 1000, priority
		front.submit(id, j)
		return front.finish(id)
	}
	decisions, first := map[string]int{}, map[string]int{}
	for n := range 12 {
		id := fmt.Sprint("near-", n)
		r := submit(id, "1s", api.Contest)
		if r.Verdict != api.Accepted || r.Host.Node == "judge-1" || r.CrossCheck == nil || r.Attempt != 1 {
			t.Fatalf("job near the limit: %+v, hosts %+v", r, r.CrossCheck)
		}
		decisions[r.CrossCheck.Decision]++
		first[r.CrossCheck.Hosts[0].Node]++
		kept, err := front.List(front.ctx, client.Filter{Labels: map[string]string{jobs.RecheckLabel: id}})
		if err != nil || len(kept.Jobs) != len(r.CrossCheck.Hosts)-1 {
			t.Errorf("kept reports of %s: %+v, %v", id, kept.Jobs, err)
		}
	}
	t.Logf("decisions %v, first judges %v", decisions, first)
	if n := decisions[api.HostsAgree] + decisions[api.MajorityOfHosts]; n != 12 {
		t.Errorf("decisions %v", decisions)
	}
	counted := values(front.scrape()["judged_cross_checks_total"])
	if got := counted["decision=majority pool=default"]; got != float64(decisions[api.MajorityOfHosts]) {
		t.Errorf("judged_cross_checks_total: %v, want %v", counted, decisions)
	}
	for id, r := range map[string]api.Report{
		"far":      submit("far", "500ms", api.Contest),
		"practice": submit("practice", "1s", api.Practice),
	} {
		if r.CrossCheck != nil {
			t.Errorf("job %s: %+v", id, r.CrossCheck)
		}
	}
}
