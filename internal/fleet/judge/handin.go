package judge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"judged/internal/api"
	"judged/internal/client"
)

// Finish implements dispatch.Queue. A report that no front receives is written to the spool, from which Run sends it,
// also after a restart. A report that no front accepts is replaced by a smaller one, and finally by IE with the reason.
func (s *Source) Finish(ctx context.Context, l api.Lease, rep api.Report) error {
	q := api.FinishRequest{Hold: hold(l), Report: rep}
	err := s.send(ctx, q)
	if errors.Is(err, api.ErrUnavailable) {
		return errors.Join(err, s.spool.store(q))
	}
	return errors.Join(err, s.settled(q.Hold))
}

// HandIn sends the spooled reports. A report whose attempt has lost its job is dropped: another attempt has judged it.
// A report that cannot be delivered does not block the others. HandIn returns api.ErrUnavailable while no front
// responds.
func (s *Source) HandIn(ctx context.Context) error {
	names, err := s.spool.names()
	if err != nil {
		s.o.Log.Error("cannot read spooled reports", "error", err)
	}
	for _, name := range names {
		q, err := s.spool.read(name, s.o.Protocols)
		switch {
		case errors.Is(err, fs.ErrNotExist): // Finish has sent it meanwhile
			continue
		case err != nil:
			s.setAside(name, err)
			continue
		}
		if err := s.handInOne(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// setAside renames a file that can never be sent, so that operators can inspect it. Its job is judged again.
func (s *Source) setAside(name string, reason error) {
	path, err := s.spool.setAside(name)
	if err != nil {
		s.o.Log.Error("cannot use or rename a spooled report", "file", name, "error", errors.Join(reason, err))
		return
	}
	s.o.Log.Error("cannot use a spooled report; its job is judged again, delete the file", "file", path, "error", reason)
}

// handInOne sends one report. It returns an error if no front responds.
func (s *Source) handInOne(ctx context.Context, q api.FinishRequest) error {
	err := s.send(ctx, q)
	if errors.Is(err, api.ErrUnavailable) && ctx.Err() == nil {
		// A small request about the same job shows whether the front or this report is the cause, and whether the
		// report is still wanted.
		_, held := s.Extend(ctx, q.Lease())
		if held == nil {
			s.o.Log.Warn("a front that responds does not accept a spooled report; retrying", "job", q.ID, "error", err)
			return nil
		}
		err = held
	}
	switch {
	case errors.Is(err, api.ErrUnavailable) || ctx.Err() != nil:
		return err
	case err == nil:
		s.o.Log.Info("sent a spooled report", "job", q.ID)
	default:
		s.o.Log.Warn("dropped a spooled report", "job", q.ID, "error", err)
	}
	if err := s.settled(q.Hold); err != nil {
		s.o.Log.Error("cannot delete a spooled report", "job", q.ID, "error", err)
	}
	return nil
}

// send sends a report in the largest form that a front accepts. All forms name the attempt, so only one is stored.
func (s *Source) send(ctx context.Context, q api.FinishRequest) error {
	if err := s.sendOutputs(ctx, &q); err != nil {
		return err
	}
	whole := q.Report
	var refused error
	for _, form := range forms {
		if form.smaller && errors.Is(refused, api.ErrRefused) && !client.TooLarge(refused) {
			continue
		}
		q.Report = form.of(whole, q.Node, refused)
		_, err := post[api.Nothing](ctx, s, "finish", &q, 0)
		if !s.isHopeless(q.Lease(), err) {
			if err == nil && refused != nil {
				s.o.Log.Error("the front rejected a report and accepted a reduced one", "job", q.ID,
					"report", form.name, "error", refused)
				if q.Report.Verdict == api.InternalError && whole.Verdict != api.InternalError {
					s.o.Replaced()
				}
			}
			return err
		}
		refused = err
	}
	return refused
}

// isHopeless reports whether resending a report that failed with err is pointless. A front that is not ready, for
// example because it has no memory for the body, has not looked at the report.
func (s *Source) isHopeless(l api.Lease, err error) bool {
	return errors.Is(err, api.ErrRefused) ||
		errors.Is(err, api.ErrUnavailable) && problemKind(err) != "not-ready" && s.isStuck(l)
}

// trouble is a report that could not be delivered.
type trouble struct {
	times    int
	answered int64 // value of Source.answered at the last time
}

// maxTrouble is how often a report may fail while fronts respond to other requests in between. After that, smaller
// forms are tried: a proxy that closes the connection, and a front that fails because of the content of the report,
// never return a refusal.
const maxTrouble = 30

// isStuck counts a failure that the report may have caused, and reports whether there have been too many.
func (s *Source) isStuck(l api.Lease) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.trouble[l]
	if now := s.answered.Load(); t.times == 0 || now > t.answered {
		t.times, t.answered = t.times+1, now
	}
	s.trouble[l] = t
	return t.times >= maxTrouble
}

// settled forgets a report that need not be sent again.
func (s *Source) settled(h api.Hold) error {
	s.mu.Lock()
	delete(s.trouble, h.Lease())
	s.mu.Unlock()
	return s.spool.remove(h)
}

// forms are the forms in which a report can be sent, the best first.
var forms = []struct {
	name    string
	smaller bool // useful only if the previous form is too large or cannot be delivered
	of      func(whole api.Report, node string, refused error) api.Report
}{
	{"whole", false, func(r api.Report, _ string, _ error) api.Report { return r }},
	{"without what programs wrote", true, func(r api.Report, _ string, _ error) api.Report { return withoutHeads(r) }},
	{"without runs, too", true, func(r api.Report, _ string, _ error) api.Report { return withoutRuns(withoutHeads(r)) }},
	{"IE", false, replaced},
}

// keptText is how many bytes of each text withoutHeads keeps.
const keptText = 1 << 10

// cutNote is the message of a shortened report, unless it has one.
const cutNote = "the report was too large for the front: what programs wrote is left out, or cut"

func clip(text string) string { return strings.ToValidUTF8(text[:min(len(text), keptText)], "") }

// withoutHeads removes the output of programs, which is most of a large report.
func withoutHeads(rep api.Report) api.Report {
	rep.Message = clip(rep.Message)
	if rep.Message == "" {
		rep.Message = cutNote
	}
	if rep.Compilation != nil {
		c := *rep.Compilation
		c.Truncated = c.Truncated || len(c.Output) > keptText
		c.Output = clip(c.Output)
		rep.Compilation = &c
	}
	rep.Tests = mapTests(rep.Tests, func(t *api.TestReport) {
		t.StdoutHead, t.StderrHead, t.Transcript = nil, nil, nil
		t.Message = clip(t.Message)
		if t.Checker != nil {
			c := *t.Checker
			c.Message, c.TeamMessage = clip(c.Message), clip(c.TeamMessage)
			c.Stderr = clip(c.Stderr)
			t.Checker = &c
		}
	})
	return rep
}

// withoutRuns removes the runs and their evidence.
func withoutRuns(rep api.Report) api.Report {
	rep.Tests = mapTests(rep.Tests, func(t *api.TestReport) { *t = t.WithoutRuns() })
	return rep
}

func mapTests(tests []api.TestReport, f func(*api.TestReport)) []api.TestReport {
	changed := make([]api.TestReport, len(tests))
	for i, t := range tests {
		f(&t)
		changed[i] = t
	}
	return changed
}

// replaced returns the report of a job that ends because no other report is accepted.
func replaced(whole api.Report, node string, refused error) api.Report {
	r := api.Report{Host: whole.Host, Problem: whole.Problem}
	r.Fail(api.JudgedFault, clip(fmt.Sprintf("the front refused the report of judge node %q: %s", node, refused)))
	return r
}
