package dispatch

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/cpuset"
	"judged/internal/base/job"
	"judged/internal/host/slots"
	"judged/internal/jobs"
	"judged/internal/testkit"
)

// flaky is a Source that is unavailable for a while.
type flaky struct {
	Source
	takes, reports, returns atomic.Int64 // that are to fail
	taking                  func()       // called after each Take
}

func (s *flaky) fail(left *atomic.Int64) error {
	if left.Add(-1) >= 0 {
		return fmt.Errorf("test: %w", jobs.ErrUnavailable)
	}
	return nil
}

func (s *flaky) Take(ctx context.Context, want jobs.Want) (jobs.Work, error) {
	if err := s.fail(&s.takes); err != nil {
		return jobs.Work{}, err
	}
	w, err := s.Source.Take(ctx, want)
	if s.taking != nil {
		s.taking()
	}
	return w, err
}

func (s *flaky) Finish(ctx context.Context, l jobs.Lease, rep job.Report) error {
	if err := s.fail(&s.reports); err != nil {
		return err
	}
	return s.Source.Finish(ctx, l, rep)
}

func (s *flaky) Return(ctx context.Context, l jobs.Lease, delay time.Duration, excused bool) error {
	if err := s.fail(&s.returns); err != nil {
		return err
	}
	return s.Source.Return(ctx, l, delay, excused)
}

// While the database is away no job is lost and none is judged twice: reports
// are kept, and the dispatcher continues when it is back.
func TestUnavailable(t *testing.T) {
	f := newFixture(t, false)
	good := sample(t, "measure/tiny.c")
	var judged atomic.Int64
	f.blob = func(digest string) (string, error) {
		if judged.Add(1) == 1 {
			return "", fmt.Errorf("no file %q", digest) // the first job is returned
		}
		return good(digest)
	}
	source := &flaky{Source: f.store}
	source.takes.Store(1)
	source.reports.Store(2)
	source.returns.Store(1)
	f.dispatcher(Options{Source: source}, f.eng.Slots()...)
	f.submit("a", "p")
	f.run()
	if r := f.finish("a"); r.Verdict != job.Accepted || r.Attempt != 1 {
		t.Errorf("verdict %s in attempt %d, want AC in the first: %s", r.Verdict, r.Attempt, r.Message)
	}
	f.seen([]Outcome{Returned, Judged}, []string{"done AC"})
	if n := judged.Load(); n != 2 {
		t.Errorf("the job's program was asked for %d times, want twice", n)
	}
}

// A slot that is taken out of use while a job is taken for it does not hold the
// job up: another slot judges it, and is the one that is shown.
func TestSlotGone(t *testing.T) {
	f := newFixture(t, false)
	f.blob = sample(t, "measure/tiny.c")
	real := f.eng.Slots()[0]
	first := slots.Slot{CPUs: cpuset.New(0), Node: real.Node}
	source := &flaky{Source: f.store}
	f.dispatcher(Options{Source: source}, first, real)
	source.taking = func() { _ = f.pool.Hold(first.CPUs, slots.Hold{Cause: slots.Operator}) }
	f.submit("x", "p")
	f.run()
	r := f.finish("x")
	if r.Verdict != job.Accepted || r.Attempt != 1 {
		t.Errorf("verdict %s in attempt %d, want AC in the first: %s", r.Verdict, r.Attempt, r.Message)
	}
	f.seen([]Outcome{Returned, Judged}, []string{"done AC"})
	shown := ""
	for e, err := range f.store.Events(t.Context(), "x", 0) {
		f.must(err)
		if e.Type == job.EventRunning {
			shown = e.CPUs
		}
	}
	if diff := cmp.Diff(r.Tests[0].Runs[0].CPUs, shown); diff != "" {
		t.Errorf("CPUs of the run and of the event (-run +event):\n%s", diff)
	}
}

// A report that cannot be stored does not keep judged from ending at once; the
// job is attempted again later.
func TestEndsWhileUnavailable(t *testing.T) {
	f := newFixture(t, false)
	f.blob = sample(t, "measure/tiny.c")
	source := &flaky{Source: f.store}
	source.reports.Store(1 << 40)
	f.dispatcher(Options{Source: source}, f.eng.Slots()...)
	f.submit("x", "p")
	drain, stop := context.WithCancel(t.Context())
	abort, kill := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); f.d.Run(drain, abort) }()
	testkit.WaitFor(t, patience, "a report to be refused", func() bool { return source.reports.Load() < 1<<40 })
	stop()
	kill()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("the dispatcher does not end")
	}
	if rec := f.get("x"); rec.Report.State != job.Queued {
		t.Errorf("the job is %s, want it queued", rec.Report.State)
	}
}
