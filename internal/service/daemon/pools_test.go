package daemon

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/client"
	"judged/internal/testkit"
)

// pools returns the number of judging nodes and of waiting jobs of each pool.
func (i *instance) pools() map[string][2]int {
	i.t.Helper()
	list, err := client.ListPools(i.ctx, i.Client)
	if err != nil {
		i.t.Fatal(err)
	}
	all := map[string][2]int{}
	for _, p := range list {
		all[p.Name] = [2]int{p.Judging, p.Waiting}
	}
	return all
}

// in returns the job for a pool.
func in(pool string, j api.Job) api.Job {
	j.Pool = pool
	return j
}

// TestPools checks a front with a configured pool that has no node at first, and a pool that a node registers with.
func TestPools(t *testing.T) {
	c := frontSettings(t)
	c.Pools = []config.Pool{{Name: "metal"}}
	front := serving(t, c)
	front.submit("waits", in("metal", front.sum(1, false)))
	_, err := front.Submit(front.ctx, "lost", in("moon", front.sum(1, false)))
	if p := (*client.Problem)(nil); !errors.As(err, &p) || p.Status != http.StatusBadRequest ||
		len(p.Errors) != 1 || !strings.Contains(p.Errors[0].Detail,
		`"moon" is no such pool; send one of default, metal`) {
		t.Errorf("a job for an unknown pool: %v", err)
	}
	if diff := cmp.Diff(map[string][2]int{"default": {0, 0}, "metal": {0, 1}}, front.pools()); diff != "" {
		t.Errorf("pools without nodes (-want +got):\n%s", diff)
	}
	node := func(name, pool string) *instance {
		c := nodeSettings(t, c, name)
		c.Slots.Pool = pool
		return serving(t, c)
	}
	cloud := node("judge-1", "cloud")
	testkit.WaitFor(t, patience, "the registration", func() bool { return len(front.nodes()) == 1 })
	front.submit("there", in("cloud", front.sum(2, false)))
	if r := front.finish("there"); r.Verdict != api.Accepted || r.Host.Pool != "cloud" || r.Host.Node != "judge-1" {
		t.Errorf("report: %+v", r)
	}
	if r, err := front.Job(front.ctx, "waits", 0); err != nil || r.State != api.Queued {
		t.Errorf("a job of another pool: %+v, %v", r, err)
	}
	scraped := front.scrape()
	if diff := cmp.Diff(map[string]float64{"pool=cloud": 1}, values(scraped["judged_pool_judging_nodes"])); diff != "" {
		t.Errorf("judged_pool_judging_nodes (-want +got):\n%s", diff)
	}
	if got := values(scraped["judged_pool_queue_depth"])["pool=metal priority=practice"]; got != 1 {
		t.Errorf("judged_pool_queue_depth: %v", got)
	}
	metal := node("judge-2", "metal")
	if r := front.finish("waits"); r.Verdict != api.Accepted || r.Host.Pool != "metal" {
		t.Errorf("report: %+v", r)
	}
	cloud.drain()
	metal.drain()
	front.drain()
}

// TestOwnPoolAndOthers restarts a daemon with slots while jobs wait for another pool. It checks that they stay there,
// and that the jobs of the daemon's pool, which was renamed, are judged.
func TestOwnPoolAndOthers(t *testing.T) {
	c := settings(t)
	c.Pools = []config.Pool{{Name: "metal"}}
	d := serving(t, c)
	d.submit("metal", in("metal", d.sum(1, false)))
	d.submit("long", d.busy(60_000))
	d.reach("long", api.Running)
	d.submit("own", d.sum(1, false))
	d.kill()
	c.Slots.Pool = "renamed"
	d = serving(t, c)
	if _, err := d.Cancel(d.ctx, "long"); err != nil {
		t.Fatal(err)
	}
	if r := d.finish("own"); r.Verdict != api.Accepted || r.Host.Pool != "renamed" {
		t.Errorf("report: %+v", r)
	}
	if got := d.pools()["metal"]; got != [2]int{0, 1} {
		t.Errorf("pool metal after the restart: %v", got)
	}
	d.drain()
}
