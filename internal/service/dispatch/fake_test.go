package dispatch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/engine/judge"
	"judged/internal/engine/jury"
	"judged/internal/engine/measure"
	"judged/internal/host/slots"
	"judged/internal/timing/stats"
)

const heartbeat = 5 * time.Second

// world fakes everything around a Dispatcher in a synctest bubble: time passes only while all goroutines are blocked.
// It records each call with the second of its time.
type world struct {
	*testing.T
	d     *Dispatcher
	pool  *slots.Pool
	log   bytes.Buffer
	begin time.Time

	mu     sync.Mutex // guards calls and the lists
	calls  []string
	works  []api.Work         // works that Take returns, in order
	fails  map[string][]error // method of Queue -> errors of the next calls
	onTake func()
	extend func(ctx context.Context) error // unless nil
	finish func(id string) error           // unless nil

	lost  map[string]chan error // job -> what Lost returns
	unfit error                 // returned by Admit
	judge func(ctx context.Context, decided func(api.TestReport)) (api.Report, error)
	task  judge.Task   // last judged task
	done  []api.Report // received by JobDone
}

// The slots of most tests. They are neighbours.
var (
	first  = slots.Slot{CPUs: cpuset.New(0), Node: 1}
	second = slots.Slot{CPUs: cpuset.New(1), Node: 1}
)

// bubble runs f with a Dispatcher on some slots.
func bubble(t *testing.T, planned []slots.Slot, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, begin: time.Now(), fails: map[string][]error{}, lost: map[string]chan error{}}
		w.judge = func(context.Context, func(api.TestReport)) (api.Report, error) {
			return api.Report{Verdict: api.Accepted}, nil
		}
		w.pool = slots.NewPool(planned, time.Now)
		text := slog.NewTextHandler(&w.log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}})
		w.d = New(Options{Engine: w, Health: w, Pool: w.pool, Queue: w, Want: api.Want{Pool: "pool"}, Observer: w,
			BlobPath: func(digest string) (string, error) { return "/blobs/" + digest, w.fail("blob") },
			Keep: func(_ context.Context, content string) (string, error) {
				w.note("keep %s", content)
				return "digest of " + content, w.fail("keep")
			},
			Doctor:    func() api.DoctorReport { return api.DoctorReport{Ready: true} },
			Heartbeat: heartbeat, Log: slog.New(text)})
		f(w)
	})
}

// work adds a job that Take returns.
func (w *world) work(id string, change func(*api.Work)) {
	now := time.Now()
	x := api.Work{Lease: api.Lease{ID: id, Attempt: 1},
		Report: api.Report{CreatedAt: now, StartedAt: now, Attempt: 1, Priority: api.Contest},
		Job: api.Job{Program: api.File{Blob: id}, Checker: &api.Checker{Kind: "tokens"},
			Tests: []api.Test{{Name: "1"}, {Name: "2"}, {Name: "3"}}}}
	if change != nil {
		change(&x)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.works = append(w.works, x)
	w.lost[id] = make(chan error, 1)
}

// run dispatches until drain is called; abort ends everything immediately.
func (w *world) run() (drain, abort func()) {
	ctx, stop := context.WithCancel(w.Context())
	hard, kill := context.WithCancel(w.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); w.d.Run(ctx, hard) }()
	drain = func() { stop(); <-ended }
	abort = func() { kill(); drain() }
	w.Cleanup(abort)
	synctest.Wait()
	return drain, abort
}

// pass lets time pass.
func (w *world) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, fmt.Sprintf("%g ", time.Since(w.begin).Seconds())+fmt.Sprintf(format, args...))
}

// saw checks the calls since its last call.
func (w *world) saw(want ...string) {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if diff := cmp.Diff(strings.Join(want, "\n"), strings.Join(w.calls, "\n")); diff != "" {
		w.Errorf("calls (-want +got):\n%s", diff)
	}
	w.calls = nil
}

// count returns how often a call was made.
func (w *world) count(call string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.calls {
		if strings.Contains(c, call) {
			n++
		}
	}
	return n
}

// logged checks the log lines since its last call.
func (w *world) logged(want ...string) {
	w.Helper()
	got := strings.TrimSpace(w.log.String())
	w.log.Reset()
	if diff := cmp.Diff(strings.Join(want, "\n"), got); diff != "" {
		w.Errorf("log (-want +got):\n%s", diff)
	}
}

// idle checks that no slot is leased.
func (w *world) idle() {
	w.Helper()
	for _, s := range w.pool.Snapshot() {
		if s.State != slots.Idle {
			w.Errorf("slot %s is left %s", s.CPUs, s.State)
		}
	}
}

// fail returns the next error of a method.
func (w *world) fail(method string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.fails[method]) == 0 {
		return nil
	}
	err := w.fails[method][0]
	w.fails[method] = w.fails[method][1:]
	return err
}

// waiting returns the number of jobs that have not been taken.
func (w *world) waiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.works)
}

// reports returns the reports that JobDone has received.
func (w *world) reports() []api.Report {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.done)
}

// failNext makes the next calls of a method fail.
func (w *world) failNext(method string, errs ...error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fails[method] = append(w.fails[method], errs...)
}

var errAway = fmt.Errorf("connection refused: %w", api.ErrUnavailable)

// Methods of Queue.

func (w *world) Take(ctx context.Context, want api.Want) (api.Work, error) {
	if err := w.fail("take"); err != nil {
		return api.Work{}, err
	}
	for {
		w.mu.Lock()
		if len(w.works) > 0 {
			x := w.works[0]
			w.works = w.works[1:]
			w.mu.Unlock()
			w.note("take %s for %s of %s", x.ID, want.CPUs, want.Pool)
			if w.onTake != nil {
				w.onTake()
			}
			return x, nil
		}
		w.mu.Unlock()
		select {
		case <-ctx.Done():
			return api.Work{}, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (w *world) Extend(ctx context.Context, l api.Lease) (time.Time, error) {
	w.note("extend %s", l.ID)
	if w.extend != nil {
		return time.Time{}, w.extend(ctx)
	}
	return time.Time{}, w.fail("extend")
}

func (w *world) Lost(ctx context.Context, l api.Lease) error {
	if err := w.fail("lost"); err != nil {
		w.note("lost %s: %v", l.ID, err)
		return err
	}
	select {
	case err := <-w.lost[l.ID]:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *world) Emit(l api.Lease, n int, t api.TestReport) error {
	w.note("emit %s %d %s", l.ID, n, t.Verdict)
	return w.fail("emit")
}

func (w *world) Finish(ctx context.Context, l api.Lease, rep api.Report) error {
	w.note("finish %s %s on %s %v", l.ID, rep.Verdict, rep.Host.Name, rep.Host.Doctor.Ready)
	if p := rep.Problem; p != nil {
		w.note("with problem %s %s", p.ID, p.Version)
	}
	for _, o := range rep.Outputs {
		w.note("with output %s %s %q", o.Test, o.Stream, o.Blob)
	}
	if w.finish != nil {
		return errors.Join(ctx.Err(), w.finish(l.ID))
	}
	return errors.Join(ctx.Err(), w.fail("finish"))
}

func (w *world) Return(ctx context.Context, l api.Lease, back api.Returned) error {
	w.note("return %s for %v, excused %v", l.ID, back.Delay, back.Uncounted)
	if back.Reason != "" {
		w.note("because it %s", back.Reason)
	}
	return errors.Join(ctx.Err(), w.fail("return"))
}

// Methods of Engine.

func (w *world) Judge(ctx context.Context, s slots.Slot, t judge.Task, decided func(api.TestReport)) (api.Report,
	error) {
	w.note("judge %s on %s", t.Files[0].Path, s.CPUs)
	w.mu.Lock()
	w.task = t
	w.mu.Unlock()
	return w.judge(ctx, decided)
}

func (w *world) Worker(slots.Slot) *measure.Worker { return nil }

func (w *world) Jury(slots.Slot) (*jury.Runner, error) { return nil, nil }

func (w *world) Tidy(s slots.Slot) { w.note("tidy %s", s.CPUs) }

func (w *world) Host(cpus cpuset.Set, r api.DoctorReport) api.HostReport {
	return api.HostReport{Name: "host " + cpus.String(), Doctor: &api.DoctorHost{Ready: r.Ready}}
}

// Methods of Health.

func (w *world) Admit(s slots.Slot) (func(), error) {
	if w.unfit != nil {
		return nil, w.unfit
	}
	return func() { w.note("leave %s", s.CPUs) }, nil
}

func (w *world) Observe(r *api.Report) { w.note("observe %s", r.Verdict) }

func (w *world) Borrow(ctx context.Context, lease *slots.Lease, p stats.Placement) (*slots.Lease, error) {
	return lease.Borrow(ctx, slots.Wish{OtherCore: p.OtherCore}, time.Second)
}

func (w *world) Deviation(_ context.Context, s slots.Slot) float64 { return 0.5 + float64(s.CPUs[0]) }

// Methods of Observer.

func (w *world) JobDone(r *api.Report, wait time.Duration) {
	w.mu.Lock()
	w.done = append(w.done, *r)
	w.mu.Unlock()
	w.note("done %s %s %s %s, waited %v", r.ID, r.State, r.Verdict, r.Priority, wait)
}

func (w *world) AttemptDone(o Outcome) { w.note("attempt %s", o) }
