package front

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"judged/internal/api"
	"judged/internal/jobs"
)

// judgePool runs the detector when it is due, and completes a confirmation.
func (a *Auditor) judgePool(ctx context.Context, p pool) error {
	now := a.o.Now().UTC()
	s := auditState{Pool: p.name, Since: now, Restored: map[string]time.Time{}}
	if _, err := a.o.Store.Value(ctx, &s, poolValue, p.name); err != nil {
		return err
	}
	if s.Confirming != nil {
		done, err := a.confirm(ctx, p, &s, now)
		if err != nil || !done {
			return err
		}
	} else if now.Sub(s.Result.At) < a.o.Interval {
		return nil
	}
	if err := a.completeSets(ctx, p, &s, now); err != nil {
		return err
	}
	for node, drained := range p.drained {
		if drained {
			s.Restored[node] = now
		}
	}
	audits, err := a.o.Store.Audits(ctx, p.name, jobs.RoutineAudit, now.Add(-auditsFor))
	if err != nil {
		return err
	}
	pairs := s.pairs(audits, func(node string) bool { return p.drained[node] })
	if len(pairs) == 0 {
		s.Since = now
	}
	alarm := s.Alarm
	if suspect := s.detect(now, pairs, a.o.Shadow); suspect != "" {
		if err := a.suspect(ctx, p, &s, suspect, audits); err != nil {
			return err
		}
	}
	if s.Alarm != "" && s.Alarm != alarm {
		a.o.Log.Error("a node deviates from its pool", "pool", p.name, "alarm", s.Alarm)
	}
	return a.publish(ctx, &s)
}

// suspect starts the confirmation: a suspect and other nodes judge the same jobs, alternately.
func (a *Auditor) suspect(ctx context.Context, p pool, s *auditState, node string, audits []jobs.Audit) error {
	c := &suspicion{Node: node, Started: s.Result.At, Others: references(node, p.up, s.Result.Deviating)}
	if len(c.Others) < 2 {
		s.Alarm = fmt.Sprintf("node %s deviates, but fewer than two other nodes are up to compare it with", node)
		return nil
	}
	n := 0
	for _, audit := range slices.Backward(audits) {
		rec, err := a.o.Store.Get(ctx, audit.Original)
		if errors.Is(err, api.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		for _, target := range append([]string{node}, c.Others...) {
			audit := jobs.Audit{Stage: jobs.Confirmation, Pool: p.name, Target: target}
			if err := a.put(ctx, rec, audit, node, c.Started.String()); err != nil {
				return err
			}
		}
		if n++; n == confirmPairs {
			break
		}
	}
	a.o.Log.Warn("a node deviates; comparing it with others", "pool", p.name, "node", node, "others", c.Others, "jobs", n)
	s.Confirming = c
	return nil
}

// confirm drains the suspect if it deviates in the direct comparison too.
func (a *Auditor) confirm(ctx context.Context, p pool, s *auditState, now time.Time) (done bool, err error) {
	c := s.Confirming
	audits, err := a.o.Store.Audits(ctx, p.name, jobs.Confirmation, c.Started)
	if err != nil {
		return false, err
	}
	open, err := a.o.Store.OpenAudits(ctx, p.name, jobs.Confirmation)
	if err != nil {
		return false, err
	}
	drain, done := s.confirmed(now, audits, open)
	switch {
	case drain:
		if err := a.o.Nodes.SetDrained(ctx, c.Node, true); err != nil {
			return false, err
		}
		p.drained[c.Node] = true
		a.o.Observer.NodeRetired(p.name, c.Node)
		set, err := a.storeRejudgingSet(ctx, s.Retired[len(s.Retired)-1])
		if err != nil {
			return false, err
		}
		a.o.Log.Error("drained a node whose times deviate; repair it, then judged nodes undrain; judged nodes rejudge "+
			"lists the verdicts that it may have changed", "pool", p.name, "node", c.Node, "deviation_ratio",
			set.Deviation, "since", set.Since, "jobs_to_judge_again", len(set.Jobs))
	case done:
		a.o.Log.Warn("a node that deviates in its audits does not in direct comparison", "pool", p.name, "node", c.Node)
	}
	return done, nil
}

// publish stores the state, and the deviation of each node in the registry.
func (a *Auditor) publish(ctx context.Context, s *auditState) error {
	for _, h := range s.Result.Fit.Hosts {
		d := api.Deviation{At: s.Result.At, Ratio: ratio(h.Effect), Low: ratio(h.Effect - normal95*h.StandardError),
			High: ratio(h.Effect + normal95*h.StandardError), Threshold: ratio(s.Result.Threshold), Pairs: h.Pairs,
			Deviates: slices.Contains(s.Result.Deviating, h.Name)}
		if c, found := s.Changes[h.Name]; found {
			d.ChangedAt = c.At
		}
		if err := a.o.Nodes.SetDeviation(ctx, h.Name, d); err != nil {
			return err
		}
	}
	return a.o.Store.SetValue(ctx, s, poolValue, s.Pool)
}
