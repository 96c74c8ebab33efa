package daemon

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/client"
	"judged/internal/testkit"
)

// TestScreeningTwoFronts checks two fronts of one screening pool, each with one of the judges: they learn one ratio
// from the jobs of both, both decide by it, and closing or opening the screen at one front does so at the other.
func TestScreeningTwoFronts(t *testing.T) {
	t.Parallel() // its judges are simulated
	ca, cb := twoFronts(t, "file://"+t.TempDir())
	for _, c := range []*config.Config{&ca, &cb} {
		c.Audit.Percent, c.Audit.Interval = 0, time.Second
		c.Pools = []config.Pool{{Name: "cloud", DecidedBy: "metal", CheckPercent: 100}, {Name: "metal"}}
	}
	fronts := []*instance{serving(t, ca), serving(t, cb)}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer func() { stop(); running.Wait() }()
	var percent [2]atomic.Int64
	for i, pool := range []string{"metal", "cloud"} {
		percent[i].Store(100 + 20*int64(i))
		host := simulatedHost{"judge-" + pool, pool, &percent[i]}
		running.Go(func() { host.run(ctx, t, fronts[i].Client) })
	}
	both := func(what string, f func(*instance) bool) {
		t.Helper()
		for i, front := range fronts {
			testkit.WaitFor(t, patience, fmt.Sprintf("%s at front %d", what, i), func() bool { return f(front) })
		}
	}
	both("the judges", func(front *instance) bool { return len(front.nodes()) == 2 })
	number := 0
	decides := func(front *instance, takes, pool string) (r api.Report) {
		t.Helper()
		testkit.WaitFor(t, patience, pool+" to decide", func() bool {
			r = front.finish(front.submitScreened(&number, takes))
			return r.Host.Pool == pool
		})
		return r
	}
	testkit.WaitFor(t, patience, "the ratio to be learned", func() bool {
		s := fronts[0].screenOf()
		if len(s.Ratios) == 0 || s.Ratios[0].Pairs < 299 {
			for n := range 30 {
				fronts[n%2].submitScreened(&number, "200ms")
			}
		}
		return len(s.Ratios) == 1 && s.Ratios[0].Known
	})
	both("the ratio",
		func(front *instance) bool { s := front.screenOf(); return len(s.Ratios) == 1 && s.Ratios[0].Known })
	for _, front := range fronts {
		decides(front, "200ms", "cloud")
		if r := front.finish(front.submitScreened(&number,
			"1100ms")); r.Verdict != api.TimeLimit || r.Host.Pool != "metal" {
			t.Errorf("a job over the limit: %+v", r)
		}
	}
	percent[1].Store(60)
	wrong := decides(fronts[1], "1100ms", "cloud") // 660 ms / 1.2 is within 1 s
	both("a check to close the screen", func(front *instance) bool {
		s := front.screenOf()
		return !s.Open && strings.Contains(s.Reason, wrong.ID)
	})
	for _, front := range fronts {
		decides(front, "200ms", "metal")
	}
	if _, err := client.OpenScreen(fronts[0].ctx, fronts[0].Client, "cloud"); err != nil {
		t.Fatal(err)
	}
	both("the open screen", func(front *instance) bool { return front.screenOf().Open })
}
