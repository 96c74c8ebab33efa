package front

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"
	"time"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/jobs"
)

const (
	// near is the maximum distance of a test's time from its limit, as a fraction of the limit, for a cross-check: the
	// widest guard band of the rule for times near the limit, see stats.Guard. Audits find hosts that differ by more.
	near = 0.10
	// crossCheckPatience is how long a job waits for another host.
	crossCheckPatience = 2 * time.Minute
	// mostHosts is the maximum number of hosts that judge a job.
	mostHosts = 3
)

// VerifierStore stores jobs; *jobs.Store implements it.
type VerifierStore interface {
	Head(ctx context.Context, id string) (api.Report, error)
	Get(ctx context.Context, id string) (jobs.Record, error)
	Recheck(ctx context.Context, rec jobs.Record, rep api.Report, check api.CrossCheck, until time.Time) error
}

// VerifierOptions configure a Verifier. All members are required.
type VerifierOptions struct {
	Store VerifierStore
	Nodes func(context.Context) ([]api.Node, error)
	// Screened reports whether another pool decides the jobs of a pool.
	Screened func(pool string) bool
	// Decided is called for each job that several hosts have judged.
	Decided func(pool, decision string)
	// Finish ends a job with its report.
	Finish func(context.Context, api.Lease, api.Report) error
	Now    func() time.Time
	Log    *slog.Logger
}

// Verifier has jobs judged on additional hosts.
type Verifier struct{ o VerifierOptions }

// NewVerifier returns a Verifier.
func NewVerifier(o VerifierOptions) *Verifier { return &Verifier{o} }

// Finish ends a job with a report, or queues it for another host. It returns the errors of dispatch.Queue.
func (c *Verifier) Finish(ctx context.Context, l api.Lease, rep api.Report) error {
	// Only a later attempt can be one of an additional host, so most jobs need no query.
	if rep.Host == nil || rep.Host.Node == "" || l.Attempt == 1 && !isNear(rep) {
		return c.o.Finish(ctx, l, rep)
	}
	head, err := c.o.Store.Head(ctx, l.ID)
	if err != nil {
		return err
	}
	if !checked(head.Priority) || head.CrossCheck == nil && !isNear(rep) {
		return c.o.Finish(ctx, l, rep)
	}
	rec, err := c.o.Store.Get(ctx, l.ID)
	if err != nil {
		return err
	}
	if rec.Lease != l || c.o.Screened(rec.Pool) { // for another lease, the store returns the reason
		return c.o.Finish(ctx, l, rep)
	}
	check := api.CrossCheck{}
	if head.CrossCheck != nil {
		check = *head.CrossCheck
	}
	check.Hosts = append(slices.Clone(check.Hosts), api.CrossCheckedHost{Node: rep.Host.Node, Verdict: rep.Verdict,
		Score: rep.Score, CPUTime: rep.CPUTime})
	decision, winner := decide(check.Hosts)
	if decision == "" {
		other, err := c.hasOther(ctx, rec, check.Hosts)
		if err != nil {
			return err
		}
		switch {
		case other:
			check.Hosts[len(check.Hosts)-1].Job = jobs.RecheckID(l)
			return c.o.Store.Recheck(ctx, rec, rep, check, c.o.Now().Add(crossCheckPatience))
		case len(check.Hosts) == 1:
			return c.o.Finish(ctx, l, rep)
		}
		decision, winner = api.NoOtherHost, 0
	}
	check.Decision = decision
	return c.finish(ctx, rec, rep, check, winner)
}

// finish ends a job with the report of the host that decides.
func (c *Verifier) finish(ctx context.Context, rec jobs.Record, rep api.Report, check api.CrossCheck, winner int) error {
	if kept := check.Hosts[winner].Job; kept != "" {
		first, err := c.o.Store.Get(ctx, kept)
		if err != nil && !errors.Is(err, api.ErrNotFound) { // it may have been deleted because of its age
			return err
		}
		if err == nil {
			rep = first.Report
		}
	}
	if check.Decision == api.MajorityOfHosts || check.Decision == api.NoMajority {
		c.o.Log.Warn("hosts differ about a job whose time is near the limit", "job", rec.ID, "hosts",
			check.Hosts, "decision", check.Decision)
	}
	rep.CrossCheck = &check
	err := c.o.Finish(ctx, rec.Lease, rep)
	if err == nil {
		c.o.Decided(rec.Pool, check.Decision)
	}
	return err
}

// checked reports whether jobs of a priority are cross-checked: those whose verdicts may decide prizes. A rejudging
// replaces reports of a contest.
func checked(p api.Priority) bool { return p == api.Contest || p == api.Rejudge }

// isNear reports whether a test has a time near its limit. It returns false if judged failed, because then there is
// nothing to compare.
func isNear(rep api.Report) bool {
	return rep.Verdict.Decided() && slices.ContainsFunc(rep.Tests, func(t api.TestReport) bool {
		return t.CPUTime != nil && t.Timing != nil && t.Timing.Limit > 0 && math.Abs(t.Timing.MarginRatio) <= near
	})
}

// decide returns the result of comparing the hosts, and the index of the host whose report counts. The decision is
// empty while another host has to judge. Hosts that produced no verdict, or that judged a second time because no other
// host was available, do not count.
func decide(hosts []api.CrossCheckedHost) (decision string, winner int) {
	last := len(hosts) - 1
	again := slices.ContainsFunc(hosts[:last], func(h api.CrossCheckedHost) bool { return h.Node == hosts[last].Node })
	if last > 0 && (again || !hosts[last].Verdict.Decided()) {
		return api.NoOtherHost, 0
	}
	for i := range last {
		if sameResult(hosts[i], hosts[last]) {
			if last == 1 {
				return api.HostsAgree, i
			}
			return api.MajorityOfHosts, i
		}
	}
	if len(hosts) == mostHosts {
		return api.NoMajority, 0
	}
	return "", 0
}

func sameResult(a, b api.CrossCheckedHost) bool {
	return a.Verdict == b.Verdict && (a.Score == nil) == (b.Score == nil) && (a.Score == nil || *a.Score == *b.Score)
}

// hasOther reports whether there is a node that can judge the job and has not done so.
func (c *Verifier) hasOther(ctx context.Context, rec jobs.Record, hosts []api.CrossCheckedHost) (bool, error) {
	nodes, err := c.o.Nodes(ctx)
	return slices.ContainsFunc(nodes, func(n api.Node) bool {
		return n.Pool == rec.Pool && n.Judging() && canJudge(n, rec.Job) &&
			!slices.ContainsFunc(hosts, func(h api.CrossCheckedHost) bool { return h.Node == n.Name })
	}), err
}

// canJudge reports whether a node has a slot and the language for a job.
func canJudge(n api.Node, j api.Job) bool {
	wide := slices.ContainsFunc(n.Slots, func(s api.NodeSlot) bool {
		cpus, err := cpuset.Parse(s.CPUs)
		return err == nil && len(cpus) >= j.CPUs
	})
	return wide && (j.Language == "" || slices.ContainsFunc(n.Languages, func(l api.LanguageStatus) bool {
		return l.ID == j.Language && l.Available
	}))
}
