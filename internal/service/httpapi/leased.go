package httpapi

import (
	"context"
	"sync"

	"judged/internal/api"
	"judged/internal/base/units"
)

// leasedJob is a job that a node holds, and the pool in which it was taken.
type leasedJob struct {
	job  api.Job
	pool string
	kept units.Bytes // size of the outputs that the node has sent
}

// leases caches the jobs that nodes have taken here, to validate their reports. A job never changes, nor does its pool
// during an attempt.
type leases struct {
	mu    sync.Mutex // guards the fields below
	all   map[api.Lease]leasedJob
	tests int // of all jobs: they are most of its size
}

// maxLeases and maxLeasedTests limit the cache; a fleet has fewer slots. A test takes about 300 bytes.
const (
	maxLeases      = 2048
	maxLeasedTests = 100_000
)

func (c *leases) note(l api.Lease, j leasedJob) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(l)
	for old := range c.all {
		if len(c.all) < maxLeases && c.tests+len(j.job.Tests) <= maxLeasedTests {
			break
		}
		c.remove(old)
	}
	c.all[l] = j
	c.tests += len(j.job.Tests)
}

// remove deletes a lease. The caller must hold mu.
func (c *leases) remove(l api.Lease) {
	c.tests -= len(c.all[l].job.Tests)
	delete(c.all, l)
}

func (c *leases) find(l api.Lease) (j leasedJob, found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	j, found = c.all[l]
	return j, found
}

// spend adds to the size of the outputs of a lease and returns the sum.
func (c *leases) spend(l api.Lease, n units.Bytes) units.Bytes {
	c.mu.Lock()
	defer c.mu.Unlock()
	j, found := c.all[l]
	if !found {
		return n // of a job that has ended meanwhile, or was dropped from the cache
	}
	j.kept += n
	c.all[l] = j
	return j.kept
}

func (c *leases) forget(l api.Lease) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(l)
}

// leasedJob returns a leased job, which another front may have given to its node.
func (s *Server) leasedJob(ctx context.Context, l api.Lease) (leasedJob, error) {
	if j, found := s.leases.find(l); found {
		return j, nil
	}
	rec, err := s.jobs.Get(ctx, l.ID)
	if err != nil {
		return leasedJob{}, err
	}
	j := leasedJob{job: rec.Job, pool: rec.Pool}
	if !rec.Report.State.Final() { // otherwise it is a repeated report
		s.leases.note(l, j)
	}
	return j, nil
}

// invalidReport returns the problem for a report that cannot be true. The node ends the job as IE with this reason.
func invalidReport(h api.Hold, reason error) error {
	p := problem("invalid-report", "look at the judge node: it runs another version of judged, or has been tampered with",
		"invalid report of node %q: %s", h.Node, reason)
	p.Instance = location(h.ID)
	return p
}

// vouch replaces what a node reports about itself with what the lease and the registry record.
func (s *Server) vouch(ctx context.Context, q *api.FinishRequest, j leasedJob) error {
	host := api.HostReport{Name: q.Node}
	if q.Report.Host != nil {
		host = *q.Report.Host
	}
	var err error
	if host.Fingerprint, err = s.nodes.FingerprintOf(ctx, q.Node, host.Fingerprint); err != nil {
		return err
	}
	if host.Admitted, err = s.nodes.Admitted(ctx, q.Node, host.Fingerprint); err != nil {
		return err
	}
	host.Node, host.Pool = q.Node, j.pool
	rep := &q.Report
	rep.Host, rep.Problem = &host, nil
	if j.job.Problem != "" {
		rep.Problem = &api.ProblemVersion{ID: j.job.Problem, Version: j.job.ProblemVersion}
	}
	_, rep.Language = j.job.LanguageReport()
	rep.Screening, rep.CrossCheck, rep.Rejudging = nil, nil, nil // these are decided here
	return nil
}
