package front

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"judged/internal/api"
	"judged/internal/jobs"
)

// newest is the number of checks of a class that are compared with what was learned.
const newest = 1000

// Screens reports whether another pool decides for a pool.
func (s *Screen) Screens(pool string) bool {
	_, screening := s.deciders[pool]
	return screening
}

// concerns reports whether jobs that end in a pool may need to be judged again for a screening pool.
func (s *Screen) concerns(pool string) bool {
	return s.Screens(pool) || slices.Contains(slices.Collect(maps.Values(s.deciders)), pool)
}

// sample returns the audit for a user's job that has ended. salt is a secret.
func (s *Screen) sample(ctx context.Context, salt string, rec jobs.Record) (audit jobs.Audit, wanted bool, err error) {
	decider, screened := s.deciders[rec.Job.Pool]
	rep := rec.Report
	if !screened || rep.Host == nil || !measured(rep) {
		return audit, false, nil
	}
	v, err := s.look(ctx)
	if err != nil || v.pools[rec.Job.Pool].gate.Closed {
		return audit, false, err
	}
	switch {
	case rec.Pool == decider && rep.Screening == nil:
		audit = jobs.Audit{Stage: jobs.Learning, Pool: rec.Job.Pool}
		return audit, v.lacks(rec.Job.Pool, rec.Job.Language, rep.Host.Fingerprint), nil
	case rec.Pool == rec.Job.Pool && (rep.Verdict == api.Accepted || rep.Verdict == api.Partial):
		audit = jobs.Audit{Stage: jobs.Check, Pool: decider}
		return audit, chosen(salt+"\x00check", rec.ID, s.checks[rec.Job.Pool]), nil
	}
	return audit, false, nil
}

// measured reports whether a report has a comparable time.
func measured(rep api.Report) bool {
	return slices.ContainsFunc(rep.Tests,
		func(t api.TestReport) bool { return t.CPUTime != nil && *t.CPUTime >= leastTime })
}

// lacks reports whether a judging host of a screening pool has too few pairs with a host of the deciding pool.
func (v *screenView) lacks(pool, language, deciding string) bool {
	return slices.ContainsFunc(v.fingerprints(pool), func(host string) bool {
		return v.pools[pool].learned[class{pool, language, host, deciding}].pairs < enoughForContests
	})
}

// compare returns the result of an audit from sample.
func (s *Screen) compare(a jobs.Audit, original jobs.Record, again api.Report) jobs.AuditResult {
	screening, deciding := again, original.Report
	if a.Stage == jobs.Check {
		screening, deciding = deciding, screening
	}
	var r jobs.AuditResult
	c, known := classOf(original.Job.Pool, original.Job.Language, screening, deciding)
	r.LogRatio, r.Usable = smallestLogRatio(screening, deciding)
	r.Class, r.Usable = c.String(), r.Usable && known
	r.Refuted = a.Stage == jobs.Check && overTime(deciding.Verdict)
	if again.Host != nil {
		r.Node = again.Host.Node
	}
	if !r.Usable {
		r.LogRatio = 0
	}
	return r
}

// compared evaluates a stored check, and closes the pool if necessary.
func (s *Screen) compared(ctx context.Context, a jobs.Audit, original jobs.Record, r jobs.AuditResult) error {
	if a.Stage != jobs.Check {
		return nil
	}
	name := original.Job.Pool
	s.o.Observer.ScreenChecked(name, r)
	if r.Refuted {
		return s.shut(ctx, name, fmt.Sprintf("job %q was accepted, and reaches a limit of time in pool %q, see job %q",
			a.Original, s.deciders[name], a.ID))
	}
	c, err := parseClass(r.Class)
	if err != nil || !r.Usable {
		return nil // nothing to compare
	}
	v, err := s.look(ctx)
	if err != nil {
		return err
	}
	p := v.pools[name]
	known := p.learned[c]
	if known.pairs == 0 || r.LogRatio >= known.learned {
		return nil
	}
	last, err := s.o.Store.LastRatios(ctx, s.deciders[name], jobs.Check, r.Class, p.gate.since(), newest)
	if err != nil || !drifted(known.pairs, known.learned, last) {
		return err
	}
	return s.shut(ctx, name, fmt.Sprintf("the ratios of times have become smaller than the %d that were learned (%s)",
		known.pairs, r.Class))
}

// shut closes a pool.
func (s *Screen) shut(ctx context.Context, name, reason string) error {
	s.seen.Forget()
	v, err := s.look(ctx)
	if err != nil || v.pools[name].gate.Closed {
		return err
	}
	s.o.Log.Error("closed a screening pool: the deciding pool judges its jobs; judged nodes pools shows it, and judged "+
		"nodes open has the ratios learned again", "pool", name, "decided_by", s.deciders[name], "reason", reason)
	return s.setGate(ctx, name, gate{Closed: true, At: s.o.Now().UTC(), Reason: reason})
}

// Status returns the state of a pool, or nil if it decides itself.
func (s *Screen) Status(ctx context.Context, name string) (*api.Screen, error) {
	decider, screened := s.deciders[name]
	if !screened {
		return nil, nil
	}
	v, err := s.look(ctx)
	if err != nil {
		return nil, err
	}
	p := v.pools[name]
	status := &api.Screen{DecidedBy: decider, Open: !p.gate.Closed, Reason: p.gate.Reason, ChangedAt: p.gate.At,
		Ratios: []api.ScreenRatio{}}
	for c, r := range p.learned {
		status.Ratios = append(status.Ratios, api.ScreenRatio{Language: c.language, Fingerprint: c.screening,
			DecidingFingerprint: c.deciding, Pairs: r.pairs, SmallestRatio: math.Exp(r.smallest),
			Known: r.pairs >= enough, KnownForContests: r.pairs >= enoughForContests})
	}
	slices.SortFunc(status.Ratios, func(a, b api.ScreenRatio) int {
		return cmp.Or(cmp.Compare(a.Language, b.Language), cmp.Compare(a.Fingerprint, b.Fingerprint),
			cmp.Compare(a.DecidingFingerprint, b.DecidingFingerprint))
	})
	return status, nil
}
