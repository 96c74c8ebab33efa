package daemon

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"judged/internal/api"
	"judged/internal/client"
	"judged/internal/jobs"
	"judged/internal/testkit"
	"judged/internal/testkit/simjudge"
)

// jobsOfAudit is enough to find a slow judge. TestAudit waits three times until a front looks at the jobs that have
// ended, each time for the time limit of a statement.
const jobsOfAudit = 300

// TestAudit checks that audits find, confirm and drain the one of four judges that is 5 % slow. The front and the
// protocol are real; the judges are simulated, because this machine does not have enough CPUs for them.
func TestAudit(t *testing.T) {
	t.Parallel() // its judges are simulated
	c := frontSettings(t)
	c.Audit.Percent, c.Audit.Interval, c.Audit.Shadow = 100, time.Second, 0
	front := serving(t, c)
	ctx, stop := context.WithCancel(t.Context())
	var judges errgroup.Group
	names := []string{"judge-1", "judge-2", "judge-3", "judge-4"}
	for n, name := range names {
		slow := 0.0
		if name == "judge-3" {
			slow = 0.05
		}
		judge := &simjudge.Judge{Name: name, Front: front.Client, Report: simjudge.Times(slow, uint64(n))}
		if err := judge.Join(ctx); err != nil {
			t.Fatal(err)
		}
		judges.Go(func() error { return judge.Run(ctx) })
	}
	defer func() {
		stop()
		if err := judges.Wait(); err != nil {
			t.Error(err)
		}
	}()
	testkit.WaitFor(t, patience, "the judges", func() bool { return len(front.nodes()) == len(names) })
	n := 0
	testkit.WaitFor(t, 3*patience, "the slow judge to be drained", func() bool {
		for range min(5, jobsOfAudit-n) {
			n++
			front.submit(fmt.Sprint("job-", n), front.sum(1, false))
		}
		return front.nodes()["judge-3"][1]
	})
	for name, state := range front.nodes() {
		if state[1] != (name == "judge-3") {
			t.Errorf("%s: drained %v", name, state[1])
		}
	}
	list, err := client.ListNodes(front.ctx, front.Client)
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range list {
		if d := node.Deviation; d == nil || node.Name == "judge-3" && math.Abs(d.Ratio-0.05) > 0.01 {
			t.Errorf("deviation of %s: %+v", node.Name, d)
		}
	}
	testkit.WaitFor(t, patience, "the rejudging set", func() bool {
		set, err := client.GetRejudgingSet(front.ctx, front.Client, "judge-3")
		return err == nil && math.Abs(set.Deviation-0.05) < 0.01 && set.Jobs != nil
	})
	if _, err := client.GetRejudgingSet(front.ctx, front.Client, "judge-1"); !client.NotFound(err) {
		t.Errorf("rejudging set of another judge: %v, want 404", err)
	}
	const audited = "job-30" // the first ones may have ended before the front began to audit
	if r := front.finish(audited); r.Host == nil || r.Host.Node == "" || r.Priority != api.Practice {
		t.Errorf("report of a job: %+v", r)
	}
	page, err := front.List(front.ctx, client.Filter{Labels: map[string]string{jobs.AuditLabel: audited}})
	if err != nil || len(page.Jobs) == 0 || page.Jobs[0].Priority != api.Audit {
		t.Errorf("audits of a job: %+v, %v", page, err)
	}
	all, err := front.List(front.ctx, client.Filter{Limit: 500})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all.Jobs {
		if r.Priority == api.Audit {
			t.Fatalf("the list has the audit %s", r.ID)
		}
	}
	scraped := front.scrape()
	if got := values(scraped["judged_nodes_retired_total"]); got["pool=default"] != 1 {
		t.Errorf("judged_nodes_retired_total: %v", got)
	}
	if got := values(scraped["judged_host_deviation_ratio"]); got["node=judge-3 pool=default"] < 0.03 {
		t.Errorf("judged_host_deviation_ratio: %v", got)
	}
}
