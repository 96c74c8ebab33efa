package daemon

import (
	"time"

	"judged/internal/api"
	"judged/internal/host/tune"
	"judged/internal/jobs"
	"judged/internal/service/dispatch"
	"judged/internal/service/metrics"
)

// observer records the reports of package dispatch as metrics.
type observer struct{ m *metrics.Metrics }

func (o observer) JobDone(r *api.Report, queueWait time.Duration) { o.m.JobDone(r, queueWait) }

func (o observer) AttemptDone(outcome dispatch.Outcome) { o.m.AttemptDone(metrics.Attempt(outcome)) }

func (o observer) CanaryDone(cpus, kernel string, cpuTime time.Duration, deviation *float64) {
	o.m.CanaryDone(cpus, kernel, cpuTime.Seconds(), deviation)
}

func (d *daemon) newMetrics() *metrics.Metrics {
	o := metrics.Options{
		Version: d.o.Version, Revision: d.o.Revision, Ready: d.ready, FreeBytes: d.freeBytes,
		StoreOperations: append(jobs.Operations(), blobOperation),
	}
	o.Expiry = func() (at time.Time) {
		if c := d.certificate.Load(); c != nil && c.Leaf != nil {
			at = c.Leaf.NotAfter
		}
		return at
	}
	if d.hasJobs() {
		o.QueueDepth, o.DisabledReceivers = d.store.Depth, d.store.DisabledReceivers
	}
	if d.judges() {
		o.Pool, o.CanaryInterval = d.o.Config.Slots.Pool, d.o.Config.Canary.Interval
		o.Host, o.Virtual = d.eng.Host(d.eng.CPUs(), d.health.report()), d.eng.Virtual()
		o.Slots = d.pool.Snapshot
		o.Doctor = func() []api.DoctorCheck { return d.health.report().Checks }
		o.Tuned, o.Settings = d.tuned.inForce, tune.IDs()
		o.Turbo = func() string { return string(d.eng.Turbo(d.eng.CPUs()).Value) }
	}
	if d.registry != nil {
		all := nodes{d.registry, d.store}
		o.Nodes, o.Pools = all.Nodes, all.Pools
	}
	return metrics.New(o)
}

// freeBytes returns the free space of the fuller file system, of the data folder or of the blobs, or -1 if it is
// unknown. A daemon that lacks either accepts no files.
func (d *daemon) freeBytes() int64 {
	data, files := d.space.bytes(), d.blobSpace.bytes()
	if data < 0 || files < 0 {
		return max(data, files)
	}
	return min(data, files)
}

// storeFailed counts a failed storage operation. During startup there are no metrics yet, and judged exits with the
// error.
func (d *daemon) storeFailed(operation string) {
	if m := d.metrics.Load(); m != nil {
		m.StoreFailed(operation)
	}
}

func (d *daemon) jobCancelled(r *api.Report) {
	if m := d.metrics.Load(); m != nil {
		m.JobDone(r, -1)
	}
}
