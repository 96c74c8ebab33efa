package daemon

import (
	"context"
	"net/http"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"judged/internal/api"
	"judged/internal/client"
	"judged/internal/testkit"
	"judged/internal/testkit/simjudge"
)

// TestSimulatedJudge checks that simulated judges do what the figures in PROMISES.md require: they have hardware and
// languages, send each test, notice a cancellation while they judge, and return unfinished jobs.
func TestSimulatedJudge(t *testing.T) {
	front := serving(t, frontSettings(t))
	front.ctx = t.Context()
	judging, stop := context.WithCancel(t.Context())
	var judges errgroup.Group
	start := func(j *simjudge.Judge) {
		t.Helper()
		j.Front, j.TestTime = client.Client{Base: front.Base, HTTP: http.DefaultClient}, time.Hour
		if err := j.Join(judging); err != nil {
			t.Fatal(err)
		}
		judges.Go(func() error { return j.Run(judging) })
	}
	start(&simjudge.Judge{Name: "usual"})
	start(&simjudge.Judge{Name: "other", Hardware: map[string]string{"kernel": "another"}})
	list, err := client.ListNodes(front.ctx, front.Client)
	if err != nil || len(list) != 2 {
		t.Fatalf("%d nodes, %v", len(list), err)
	}
	for _, n := range list {
		if n.Judging() != (n.Name == "usual") || len(n.Languages) < 20 {
			t.Errorf("node %s judges %t, has %d languages, differs by %v", n.Name, n.Judging(), len(n.Languages),
				n.Differs)
		}
	}
	submit := func(id string) {
		t.Helper()
		j := api.Job{Command: []string{"true"}, Tests: []api.Test{{Name: "1"}, {Name: "2"}}}
		if _, err := front.Client.Submit(front.ctx, id, j); err != nil {
			t.Fatal(err)
		}
		front.reach(id, api.Running)
	}
	submit("cancelled")
	if _, err := front.Client.Cancel(front.ctx, "cancelled"); err != nil {
		t.Fatal(err)
	}
	submit("given-back") // it runs: the judge has noticed
	stop()
	if err := judges.Wait(); err != nil {
		t.Error(err)
	}
	front.reach("given-back", api.Queued)

	again, end := context.WithCancel(t.Context())
	quick := &simjudge.Judge{Name: "usual", Front: front.Client, TestTime: time.Millisecond}
	if err := quick.Join(again); err != nil {
		t.Fatal(err)
	}
	judges.Go(func() error { return quick.Run(again) })
	testkit.WaitFor(t, patience, "the report", func() bool {
		rep, err := front.Client.Job(front.ctx, "given-back", 0)
		return err == nil && rep.State == api.Done && rep.Verdict == api.Accepted && len(rep.Tests) == 2
	})
	end()
	if err := judges.Wait(); err != nil {
		t.Error(err)
	}
}
