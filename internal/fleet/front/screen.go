package front

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/base/poll"
	"judged/internal/jobs"
)

// ScreenStore stores jobs and ratios; *jobs.Store implements it.
type ScreenStore interface {
	Get(ctx context.Context, id string) (jobs.Record, error)
	Finish(ctx context.Context, l api.Lease, rep api.Report) error
	Forward(ctx context.Context, rec jobs.Record, rep api.Report, pool string, link api.Screening) error
	Move(ctx context.Context, from, to string) (int, error)
	Ratios(ctx context.Context, pool string, stage jobs.AuditStage, since time.Time) ([]jobs.Ratios, error)
	LastRatios(ctx context.Context, pool string, stage jobs.AuditStage, class string, since time.Time, limit int) (
		[]float64, error)
	Value(ctx context.Context, v any, name ...string) (found bool, err error)
	SetValue(ctx context.Context, v any, name ...string) error
}

// ScreenObserver counts jobs that a screening pool has decided or forwarded, and its checks.
type ScreenObserver interface {
	Screened(pool string, decided bool)
	ScreenChecked(pool string, r jobs.AuditResult)
}

// ScreenOptions configure a Screen. All members are required.
type ScreenOptions struct {
	Store    ScreenStore
	Nodes    *Registry
	Pools    []config.Pool
	Observer ScreenObserver
	Now      func() time.Time
	Log      *slog.Logger
}

// Screen manages the screening pools. It is safe for concurrent use.
type Screen struct {
	o        ScreenOptions
	deciders map[string]string // screening pool -> deciding pool
	checks   map[string]float64

	seen poll.Value[*screenView]
}

// gateValue is the name of the value with the gate of a pool.
const gateValue = "screen"

// NewScreen returns a Screen.
func NewScreen(o ScreenOptions) *Screen {
	s := &Screen{o: o, deciders: map[string]string{}, checks: map[string]float64{}}
	for _, p := range o.Pools {
		if p.DecidedBy != "" {
			s.deciders[p.Name], s.checks[p.Name] = p.DecidedBy, float64(p.CheckPercent)/100
		}
	}
	return s
}

// Route returns the pool that judges a new job first.
func (s *Screen) Route(ctx context.Context, j api.Job) (string, error) {
	decider, screened := s.deciders[j.Pool]
	if !screened {
		return j.Pool, nil
	}
	v, err := s.look(ctx)
	if err != nil {
		return "", err
	}
	for _, host := range v.fingerprints(j.Pool) {
		if v.smallest(j.Pool, decider, j.Language, host, needed(j.Priority)) > 0 {
			return j.Pool, nil
		}
	}
	return decider, nil
}

// Finish ends a job with a report, or forwards it to the deciding pool. It returns the errors of dispatch.Queue.
func (s *Screen) Finish(ctx context.Context, l api.Lease, rep api.Report) error {
	if len(s.deciders) == 0 {
		return s.o.Store.Finish(ctx, l, rep)
	}
	rec, err := s.o.Store.Get(ctx, l.ID)
	if err != nil {
		return err
	}
	decider, screened := s.deciders[rec.Pool]
	switch {
	case !screened || rec.Report.Priority == api.Audit:
		rep.Screening = rec.Report.Screening
		return s.o.Store.Finish(ctx, l, rep)
	case rec.Lease != l: // the store returns the reason
		return s.o.Store.Finish(ctx, l, rep)
	}
	v, err := s.look(ctx)
	if err != nil {
		return err
	}
	link := api.Screening{Pool: rec.Pool}
	if rep.Host != nil {
		link.SmallestRatio = v.smallest(rec.Pool, decider, rec.Job.Language, rep.Host.Fingerprint,
			needed(rec.Report.Priority))
	}
	limits, _ := rec.Job.Scaling.Limits(rec.Job.Limits)
	link.Reason = screenRule{limits, link.SmallestRatio}.Doubt(rep)
	if link.Decided = link.Reason == ""; link.Decided {
		rep.Screening = &link
		err = s.o.Store.Finish(ctx, l, rep)
	} else {
		err = s.o.Store.Forward(ctx, rec, rep, decider, link)
	}
	if err == nil {
		s.o.Observer.Screened(rec.Pool, link.Decided)
	}
	return err
}

// tend forwards jobs that wait for a screening pool that is closed or has no judging node.
func (s *Screen) tend(ctx context.Context) error {
	if len(s.deciders) == 0 {
		return nil
	}
	v, err := s.look(ctx)
	if err != nil {
		return err
	}
	for name, decider := range s.deciders {
		if v.judges(name) && !v.pools[name].gate.Closed {
			continue
		}
		n, err := s.o.Store.Move(ctx, name, decider)
		if err != nil {
			return err
		}
		if n > 0 {
			s.o.Log.Warn("forwarded jobs that waited for a screening pool that judges nothing", "pool", name,
				"decided_by", decider, "jobs", n)
		}
	}
	return nil
}

// Open opens a closed pool, which learns its ratios again.
func (s *Screen) Open(ctx context.Context, pool string) error {
	if _, found := s.deciders[pool]; !found {
		return fmt.Errorf("screening pool %q: %w", pool, api.ErrUnknownPool)
	}
	return s.setGate(ctx, pool, gate{At: s.o.Now().UTC()})
}

func (s *Screen) setGate(ctx context.Context, pool string, g gate) error {
	defer s.seen.Forget()
	return s.o.Store.SetValue(ctx, g, jobs.OperatorValues, gateValue, pool)
}
