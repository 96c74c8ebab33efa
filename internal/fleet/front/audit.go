package front

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"judged/internal/api"
	"judged/internal/base/poll"
	"judged/internal/jobs"
)

// AuditStore stores jobs and audits; *jobs.Store implements it.
type AuditStore interface {
	Get(ctx context.Context, id string) (jobs.Record, error)
	PutAudit(ctx context.Context, a jobs.Audit, j api.Job) (created bool, err error)
	AuditOf(ctx context.Context, id string) (a jobs.Audit, found bool, err error)
	CompareAudit(ctx context.Context, id string, r jobs.AuditResult) error
	Audits(ctx context.Context, pool string, stage jobs.AuditStage, since time.Time) ([]jobs.Audit, error)
	OpenAudits(ctx context.Context, pool string, stage jobs.AuditStage) (int, error)
	JudgedSince(ctx context.Context, since time.Time, f func(api.Report) error) error
	StaleAudits(ctx context.Context, before time.Time) (ids []string, err error)
	Cancel(ctx context.Context, id string) (api.Report, error)
	EndedSince(ctx context.Context, after jobs.Position, limit int) ([]jobs.Ended, error)
	LastPosition() jobs.Position
	Lead(ctx context.Context, task, holder string, lease time.Duration) (bool, error)
	Value(ctx context.Context, v any, name ...string) (found bool, err error)
	SetValue(ctx context.Context, v any, name ...string) error
}

// AuditObserver counts audits, and nodes that were drained. usable is false if the reports of an audit cannot be compared.
type AuditObserver interface {
	AuditDone(pool string, usable bool)
	NodeRetired(pool, node string)
}

// AuditorOptions configure an Auditor. All members are required.
type AuditorOptions struct {
	Store    AuditStore
	Nodes    *Registry
	Observer AuditObserver
	Screen   *Screen
	Holder   string                    // name of this process among those that share the database
	Share    func(pool string) float64 // share of the jobs of a pool, 0 to 1
	Interval time.Duration             // between two runs of the detector
	Shadow   time.Duration             // how long a new pool only raises alarms
	Now      func() time.Time
	Log      *slog.Logger
}

// Auditor audits the jobs of all pools.
type Auditor struct{ o AuditorOptions }

// NewAuditor returns an Auditor.
func NewAuditor(o AuditorOptions) *Auditor { return &Auditor{o} }

const (
	// scans is how often finished jobs are scanned between two runs of the detector.
	scans = 60
	// auditPage is the number of finished jobs that are read at once.
	auditPage = 500
	// auditsFor is the maximum age of audits.
	auditsFor = 30 * 24 * time.Hour
	// Names of stored values.
	positionValue = "audit-position"
	saltValue     = "audit-salt"
	poolValue     = "audit-pool"
)

// Run audits until ctx is done. If this process stops, another one takes over within three scans.
func (a *Auditor) Run(ctx context.Context) {
	every := max(a.o.Interval/scans, 100*time.Millisecond)
	for range poll.Every(ctx, every) {
		lead, err := a.o.Store.Lead(ctx, "audit", a.o.Holder, 3*every)
		if err == nil && lead {
			err = a.Step(ctx)
		}
		if err != nil && ctx.Err() == nil {
			a.o.Log.Warn("cannot audit jobs; retrying", "error", err)
		}
	}
}

// Step scans the jobs that have ended since the last step, and runs the detector of each pool when it is due.
func (a *Auditor) Step(ctx context.Context) error {
	nodes, err := a.o.Nodes.Nodes(ctx)
	if err != nil {
		return err
	}
	pools := poolsOf(nodes)
	if err := a.scan(ctx, pools); err != nil {
		return err
	}
	if err := a.clean(ctx); err != nil {
		return err
	}
	if err := a.o.Screen.tend(ctx); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(pools)) {
		if err := a.judgePool(ctx, pools[name]); err != nil {
			return fmt.Errorf("audit pool %q: %w", name, err)
		}
	}
	return nil
}

// clean cancels audits that no node has judged in time, such as those for a node that is down, and closes audits that
// were cancelled or deleted.
func (a *Auditor) clean(ctx context.Context) error {
	ids, err := a.o.Store.StaleAudits(ctx, a.o.Now().Add(-confirmFor))
	if err != nil {
		return err
	}
	for _, id := range ids {
		_, err := a.o.Store.Cancel(ctx, id)
		if err == nil || errors.Is(err, api.ErrFinal) || errors.Is(err, api.ErrNotFound) {
			err = a.o.Store.CompareAudit(ctx, id, jobs.AuditResult{})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pool is the current state of a pool's nodes.
type pool struct {
	name    string
	up      []string // up and not drained
	drained map[string]bool
}

func poolsOf(nodes []api.Node) map[string]pool {
	all := map[string]pool{}
	for _, n := range nodes {
		p, known := all[n.Pool]
		if !known {
			p = pool{name: n.Pool, drained: map[string]bool{}}
		}
		p.drained[n.Name] = n.Drained
		if n.Judging() {
			p.up = append(p.up, n.Name)
		}
		all[n.Pool] = p
	}
	return all
}

// scan samples the jobs that have ended and compares the audits among them.
func (a *Auditor) scan(ctx context.Context, pools map[string]pool) error {
	var at jobs.Position
	found, err := a.o.Store.Value(ctx, &at, positionValue)
	if err != nil {
		return err
	}
	if !found {
		return a.o.Store.SetValue(ctx, a.o.Store.LastPosition(), positionValue)
	}
	salt, err := a.salt(ctx)
	if err != nil {
		return err
	}
	for {
		ended, err := a.o.Store.EndedSince(ctx, at, auditPage)
		if err != nil {
			return err
		}
		for _, e := range ended {
			if e.Audit {
				err = a.compare(ctx, e)
			} else {
				err = a.sample(ctx, e, salt, pools)
			}
			if err != nil {
				return fmt.Errorf("audit job %q: %w", e.ID, err)
			}
			at = e.Position
		}
		if len(ended) == 0 {
			return nil
		}
		if err := a.o.Store.SetValue(ctx, at, positionValue); err != nil {
			return err
		}
	}
}

// salt returns a secret that is stored in the database.
func (a *Auditor) salt(ctx context.Context) (salt string, err error) {
	found, err := a.o.Store.Value(ctx, &salt, saltValue)
	if err != nil || found {
		return salt, err
	}
	salt = rand.Text()
	return salt, a.o.Store.SetValue(ctx, salt, saltValue)
}

// sample queues an audit of a job if one is wanted.
func (a *Auditor) sample(ctx context.Context, e jobs.Ended, salt string, pools map[string]pool) error {
	routine := len(pools[e.Pool].up) > 1 && chosen(salt, e.ID, a.o.Share(e.Pool))
	if !routine && !a.o.Screen.concerns(e.Pool) {
		return nil
	}
	rec, err := a.o.Store.Get(ctx, e.ID)
	if err != nil {
		return err
	}
	if routine && comparable(rec.Report) {
		if err := a.put(ctx, rec, jobs.Audit{Stage: jobs.RoutineAudit, Pool: e.Pool}); err != nil {
			return err
		}
	}
	audit, wanted, err := a.o.Screen.sample(ctx, salt, rec)
	if err != nil || !wanted {
		return err
	}
	return a.put(ctx, rec, audit, "screen")
}

// put queues an audit. Its ID is derived from the job, so repeating the step after a crash does not queue it twice.
func (a *Auditor) put(ctx context.Context, rec jobs.Record, audit jobs.Audit, derivedFrom ...string) error {
	audit.ID = jobs.OwnID("audit", fmt.Sprintf("%q", append(derivedFrom, rec.ID, audit.Target)))
	audit.Original, audit.Origin, audit.Tenant = rec.ID, rec.Report.Host.Node, rec.Report.Tenant
	j := rec.Job
	j.Keep, j.Collect = api.Keep{}, nil // nobody reads the outputs of an audit
	_, err := a.o.Store.PutAudit(ctx, audit, j)
	return err
}

// compare stores the ratio of a judged audit.
func (a *Auditor) compare(ctx context.Context, e jobs.Ended) error {
	audit, found, err := a.o.Store.AuditOf(ctx, e.ID)
	if err != nil || !found {
		return err
	}
	again, err := a.o.Store.Get(ctx, e.ID)
	if err != nil {
		return err
	}
	original, err := a.o.Store.Get(ctx, audit.Original)
	if errors.Is(err, api.ErrNotFound) {
		return a.o.Store.CompareAudit(ctx, e.ID, jobs.AuditResult{})
	}
	if err != nil {
		return err
	}
	r := a.result(audit, original, again.Report)
	a.o.Observer.AuditDone(e.Pool, r.Usable)
	if original.Report.Verdict != again.Report.Verdict {
		a.o.Log.Warn("an audit has another verdict than the job", "job", audit.Original, "verdict",
			original.Report.Verdict,
			"audit", e.ID, "audit_verdict", again.Report.Verdict, "node", r.Node, "original_node", audit.Origin)
	}
	if err := a.o.Store.CompareAudit(ctx, e.ID, r); err != nil {
		return err
	}
	return a.o.Screen.compared(ctx, audit, original, r)
}

// result compares the two reports of an audit.
func (a *Auditor) result(audit jobs.Audit, original jobs.Record, again api.Report) (r jobs.AuditResult) {
	if audit.Stage == jobs.Learning || audit.Stage == jobs.Check {
		return a.o.Screen.compare(audit, original, again)
	}
	if again.Host != nil {
		r.Node = again.Host.Node
	}
	r.LogRatio, r.Usable = logRatio(original.Report, again)
	r.Usable = r.Usable && r.Node != ""
	return r
}
