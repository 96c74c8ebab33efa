package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"judged/internal/base/job"
	"judged/internal/jobs"
	"judged/internal/jobs/client"
)

// Options describe a judge node.
type Options struct {
	Front client.Client
	Node  string // name; with tokens that of the token
	Spool string // folder of the reports that no front has received yet
	Log   *slog.Logger
}

// Source takes jobs from a front and hands in their reports. Its methods return
// jobs.ErrUnavailable while no front answers.
type Source struct {
	o     Options
	spool spool
	emits chan EmitRequest
}

// maxEmits is how many tests may wait to be sent. The report has all of them.
const maxEmits = 1024

// NewSource prepares the spool. Run sends what Emit is given.
func NewSource(o Options) (*Source, error) {
	s, err := openSpool(o.Spool)
	if err != nil {
		return nil, err
	}
	return &Source{o: o, spool: s, emits: make(chan EmitRequest, maxEmits)}, nil
}

// Run sends tests and spooled reports until ctx is done.
func (s *Source) Run(ctx context.Context) {
	tick := time.NewTicker(RegisterEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_ = s.HandIn(ctx) // again at the next tick
		case e := <-s.emits:
			if _, err := post[Nothing](ctx, s, "emit", e, 0); err != nil && ctx.Err() == nil {
				s.o.Log.Debug("cannot send a test; the report will have it", "job", e.ID, "error", err)
			}
		}
	}
}

// Register sends the state of the node.
func (s *Source) Register(ctx context.Context, r Registration) (Commands, error) {
	r.Node, r.Protocol = s.o.Node, Protocol
	return post[Commands](ctx, s, "register", r, 0)
}

// Take implements jobs.Source.
func (s *Source) Take(ctx context.Context, w jobs.Want) (jobs.Work, error) {
	q := TakeRequest{Caller: s.caller(), Pool: w.Pool, Width: w.Width, CPUs: w.CPUs, WaitMS: MaxWait.Milliseconds()}
	for {
		answer, err := post[TakeAnswer](ctx, s, "take", q, MaxWait)
		switch {
		case err != nil:
			return jobs.Work{}, err
		case answer.Work != nil:
			return answer.Work.work(), nil
		case ctx.Err() != nil:
			return jobs.Work{}, fmt.Errorf("take a job: %w", ctx.Err())
		}
	}
}

// Extend implements jobs.Source.
func (s *Source) Extend(ctx context.Context, l jobs.Lease) (time.Time, error) {
	answer, err := post[ExtendAnswer](ctx, s, "extend", ExtendRequest{Hold: s.hold(l)}, 0)
	return answer.Until, err
}

// Lost implements jobs.Source.
func (s *Source) Lost(ctx context.Context, l jobs.Lease) error {
	q := ExtendRequest{Hold: s.hold(l), WaitMS: MaxWait.Milliseconds()}
	for {
		if _, err := post[ExtendAnswer](ctx, s, "extend", q, MaxWait); err != nil {
			return err
		}
	}
}

// Emit implements jobs.Source.
func (s *Source) Emit(l jobs.Lease, n int, t job.TestReport) error {
	select {
	case s.emits <- EmitRequest{Hold: s.hold(l), N: n, Test: t}:
		return nil
	default:
		return fmt.Errorf("emit test %d of job %q: %d tests wait to be sent", n, l.ID, maxEmits)
	}
}

// Finish implements jobs.Source. A report that no front receives is written to
// the spool, from where Run hands it in, also after a restart.
func (s *Source) Finish(ctx context.Context, l jobs.Lease, rep job.Report) error {
	q := FinishRequest{Hold: s.hold(l), Report: rep}
	_, err := post[Nothing](ctx, s, "finish", q, 0)
	if errors.Is(err, jobs.ErrUnavailable) {
		return errors.Join(err, s.spool.keep(q))
	}
	return errors.Join(err, s.spool.drop(q.Hold))
}

// Return implements jobs.Source.
func (s *Source) Return(ctx context.Context, l jobs.Lease, delay time.Duration, excused bool) error {
	_, err := post[Nothing](ctx, s, "return",
		ReturnRequest{Hold: s.hold(l), DelayMS: delay.Milliseconds(), Excused: excused}, 0)
	return err
}

// HandIn sends the spooled reports. A report whose attempt has lost its job is
// dropped: another attempt has judged it. The error is jobs.ErrUnavailable while
// no front answers.
func (s *Source) HandIn(ctx context.Context) error {
	reports, err := s.spool.reports()
	if err != nil {
		s.o.Log.Error("cannot read spooled reports", "error", err)
	}
	for _, q := range reports {
		_, err := post[Nothing](ctx, s, "finish", q, 0)
		switch {
		case errors.Is(err, jobs.ErrUnavailable) || ctx.Err() != nil:
			return err
		case err == nil:
			s.o.Log.Info("handed in a spooled report", "job", q.ID)
		default:
			s.o.Log.Warn("dropped a spooled report", "job", q.ID, "error", err)
		}
		if err := s.spool.drop(q.Hold); err != nil {
			s.o.Log.Error("cannot delete a spooled report", "job", q.ID, "error", err)
		}
	}
	return nil
}

func (s *Source) caller() Caller { return Caller{Node: s.o.Node} }

func (s *Source) hold(l jobs.Lease) Hold { return Hold{s.caller(), l.ID, l.Attempt} }

// post sends a request and translates the errors of the front.
func post[T any](ctx context.Context, s *Source, verb string, body any, wait time.Duration) (T, error) {
	answer, err := client.Post[T](ctx, s.o.Front, "/v1/work/"+verb, body, wait)
	if err != nil {
		err = fmt.Errorf("%s: %w", verb, translate(ctx, err))
	}
	return answer, err
}

// translate maps problem details to the errors of package jobs. Every other error
// is one of the front or of the way to it, such as a token that was revoked: the
// node keeps what it has and tries again.
func translate(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	if p, ok := errors.AsType[*client.Problem](err); ok {
		switch strings.TrimPrefix(p.Type, "urn:judged:") {
		case "stale":
			return fmt.Errorf("%w: %w", jobs.ErrStale, err)
		case "final":
			return fmt.Errorf("%w: %w", jobs.ErrFinal, err)
		case "not-found":
			return fmt.Errorf("%w: %w", jobs.ErrNotFound, err)
		}
	}
	return fmt.Errorf("%w: %w", jobs.ErrUnavailable, err)
}
