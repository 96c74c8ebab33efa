package daemon

import (
	"context"
	"strings"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/fleet/front"
	"judged/internal/jobs"
	"judged/internal/jobs/intake"
	"judged/internal/service/metrics"
)

// auditor returns the auditor that compares the nodes of a daemon with jobs.
func (d *daemon) auditor() *front.Auditor {
	c := d.o.Config.Audit
	share := func(pool string) float64 { return float64(d.o.Config.Pool(pool).AuditPercent) / 100 }
	return front.NewAuditor(front.AuditorOptions{
		Store: d.store, Nodes: d.registry, Observer: audits{d.metrics.Load()}, Screen: d.store.screen,
		Holder: d.leader(), Share: share, Interval: c.Interval, Shadow: c.Shadow, Now: d.store.Now, Log: d.o.Log,
	})
}

// holder returns the name of this daemon among those that share the database.
func (d *daemon) holder() string {
	return d.node + " " + d.listener.Addr().String() + " " + d.o.Config.DataDir
}

// leader is like holder, but two daemons with the same name differ. The only daemon of a database leads again as soon as
// it has started.
func (d *daemon) leader() string { return strings.TrimSpace(d.holder() + " " + d.process) }

// rejudger returns the filler of rejudgings. All daemons with jobs run one; only one of them does the work at a time.
func (d *daemon) rejudger() *intake.Rejudger {
	return intake.NewRejudger(intake.RejudgerOptions{Store: d.store, Blobs: d.blobs,
		Config: func() config.Config { return *d.config.Load() }, Holder: d.leader(), Log: d.o.Log,
		Factors: d.o.Engine.Languages.Catalogue.Factors()})
}

// audits records audits as metrics.
type audits struct{ m *metrics.Metrics }

func (a audits) AuditDone(pool string, usable bool) { a.m.AuditDone(pool, usable) }
func (a audits) NodeRetired(pool, _ string)         { a.m.NodeRetired(pool) }

// screened records the decisions of screening pools as metrics. The daemon creates the metrics after the store.
type screened struct{ d *daemon }

func (s screened) Screened(pool string, decided bool) { s.d.metrics.Load().Screened(pool, decided) }

func (s screened) ScreenChecked(pool string, r jobs.AuditResult) {
	s.d.metrics.Load().ScreenChecked(pool, r.Refuted, r.Usable)
}

// nodes is the registry, with the state of screening pools.
type nodes struct {
	*front.Registry
	store *storage
}

// Pools implements httpapi.Nodes.
func (n nodes) Pools(ctx context.Context, waiting jobs.Depths) ([]api.Pool, error) {
	pools, err := n.Registry.Pools(ctx, waiting)
	for i := range pools {
		if err == nil {
			pools[i].Screen, err = n.store.screen.Status(ctx, pools[i].Name)
		}
	}
	return pools, err
}

// OpenScreen implements httpapi.Nodes.
func (n nodes) OpenScreen(ctx context.Context, pool string) error {
	return n.store.screen.Open(ctx, pool)
}
