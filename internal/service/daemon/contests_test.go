package daemon

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/client"
	"judged/internal/fleet/judge"
)

// TestContestSlots checks a pool of two slots on a judge node, one of which is for contests.
func TestContestSlots(t *testing.T) {
	c := frontSettings(t)
	c.Pools = []config.Pool{{Name: "default", ContestPercent: 50, AuditPercent: -1, CheckPercent: 1}}
	front := serving(t, c)
	source, err := judge.NewSource(judge.Options{Front: front.Client, Node: "judge-1", Spool: t.TempDir(),
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := source.Register(t.Context(), api.Registration{Pool: "default", Fingerprint: "f", Ready: true,
		Time: time.Now(), Slots: []api.NodeSlot{{CPUs: "1", State: "idle"}, {CPUs: "2", State: "idle"}}}); err != nil {
		t.Fatal(err)
	}
	take := func(pool, cpus string, wait time.Duration) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		defer cancel()
		work, err := source.Take(ctx, api.Want{Pool: pool, Width: 1, CPUs: cpus})
		return work.ID, err
	}
	submit := func(id string, p api.Priority) {
		j := front.sum(1, false)
		j.Priority = p
		front.submit(id, j)
	}
	submit("practice", api.Practice)
	for _, pool := range []string{"default", ""} { // no pool means the default one
		// Longer than a front takes to wake its takers.
		if id, err := take(pool, "1", 2*time.Second); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the slot for contests takes %q, %v", id, err)
		}
	}
	submit("contest", api.Contest)
	for _, tt := range []struct{ cpus, want string }{{"1", "contest"}, {"2", "practice"}} {
		if id, err := take("default", tt.cpus, patience); id != tt.want || err != nil {
			t.Errorf("slot %s takes %q, %v; want %q", tt.cpus, id, err, tt.want)
		}
	}
	if list, err := client.ListPools(front.ctx, front.Client); err != nil || len(list) != 1 || list[0].ContestSlots != 1 {
		t.Errorf("pools %+v, %v", list, err)
	}
	front.drain()
}

// TestOwnContestSlots checks a daemon all of whose slots are for contests.
func TestOwnContestSlots(t *testing.T) {
	c := settings(t)
	c.Pools = []config.Pool{{Name: "default", ContestPercent: 100, AuditPercent: -1, CheckPercent: 1}}
	d := serving(t, c)
	// Its slots ask for jobs before it has registered as a node.
	waiting := d.sum(1, false)
	waiting.Priority = api.Contest
	d.submit("first", waiting)
	d.finish("first")
	practice := d.sum(2, false)
	practice.Priority = api.Practice
	d.submit("practice", practice)
	waiting = d.sum(3, false)
	waiting.Priority = api.Contest
	d.submit("contest", waiting)
	if r := d.finish("contest"); r.Verdict != api.Accepted {
		t.Errorf("job of a contest: %+v", r)
	}
	if r, err := d.Job(d.ctx, "practice", 0); err != nil || r.State != api.Queued {
		t.Errorf("a job that is of no contest: %+v, %v", r, err)
	}
	d.drain()
}
