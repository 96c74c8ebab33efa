package daemon

import (
	"time"

	"judged/internal/jobs/audit"
	"judged/internal/service/metrics"
)

// auditor compares the nodes of a daemon with jobs.
func (d *daemon) auditor() *audit.Auditor {
	c := d.o.Config.Audit
	share := func(pool string) float64 { return float64(d.o.Config.Pool(pool).AuditPercent) / 100 }
	return audit.New(audit.Options{
		Store: d.store, Nodes: d.registry, Observer: audits{d.metrics.Load()},
		Holder: d.node + " " + d.listener.Addr().String() + " " + d.o.Config.DataDir,
		Share:  share, Interval: c.Interval, Shadow: c.Shadow, Now: time.Now, Log: d.o.Log,
	})
}

// audits records audits as metrics.
type audits struct{ m *metrics.Metrics }

func (a audits) AuditDone(pool string, usable bool) { a.m.AuditDone(pool, usable) }
func (a audits) NodeRetired(pool, _ string)         { a.m.NodeRetired(pool) }
