package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/cpuset"
	"judged/internal/base/job"
	"judged/internal/broker"
	"judged/internal/engine"
	"judged/internal/host/doctor"
	"judged/internal/host/slots"
	"judged/internal/queue"
	"judged/internal/sandbox"
	"judged/internal/service/slothealth"
	"judged/internal/store"
	"judged/internal/testkit"
)

const patience = time.Minute

// fixture is a dispatcher over the real parts, with blobs that are played.
type fixture struct {
	t     *testing.T
	d     *Dispatcher
	store *store.Store
	queue *queue.Queue
	pool  *slots.Pool
	eng   *engine.Engine
	blob  func(digest string) (string, error) // set before run

	mu       sync.Mutex // guards the rest
	outcomes []Outcome
	told     []string // verdicts of JobDone
}

func newFixture(t *testing.T, strict bool) *fixture {
	t.Helper()
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	f := &fixture{t: t}
	ctx := t.Context()
	b, err := broker.Start(ctx, broker.Options{Dir: filepath.Join(t.TempDir(), "nats")})
	f.must(err)
	f.closing(b.Close)
	f.store, err = store.Open(ctx, b, store.Options{})
	f.must(err)
	f.closing(f.store.Close)
	f.queue, err = queue.Open(ctx, b, queue.Options{})
	f.must(err)
	f.eng, err = engine.Open(engine.Options{ClaimFolder: t.TempDir(), Strict: strict, Pool: "default", Root: sandbox.RootPrivate, BoxBytes: 1 << 20, BoxInodes: 64,
		UIDFirst: 400_000, UIDCount: 100, Log: slog.New(slog.DiscardHandler)})
	f.must(err)
	f.closing(f.eng.Close)
	f.dispatcher(Options{}, f.eng.Slots()...)
	return f
}

// dispatcher makes a new one on these slots, as after a restart; o says what is
// special about it.
func (f *fixture) dispatcher(o Options, planned ...slots.Slot) {
	f.pool = slots.NewPool(planned, time.Now)
	o.Engine, o.Pool, o.Queue, o.Store = f.eng, f.pool, f.queue, f.store
	o.Health = f.monitor()
	o.BlobPath = func(digest string) (string, error) { return f.blob(digest) }
	o.Doctor, o.Observer = func() doctor.Report { return doctor.Report{} }, f
	o.MaxDeliver, o.Heartbeat, o.Log = 3, time.Second, slog.New(slog.DiscardHandler)
	f.d = New(o)
}

// monitor watches the slots of the pool without canaries.
func (f *fixture) monitor() *slothealth.Monitor {
	f.t.Helper()
	m := slothealth.New(slothealth.Options{Engine: f.eng, Pool: f.pool, Store: f.store, Canary: noCanary{}, Interval: time.Hour,
		Log: slog.New(slog.DiscardHandler)})
	f.must(m.Restore(f.t.Context()))
	return m
}

// noCanary knows no kernel.
type noCanary struct{ slothealth.Canary }

func (noCanary) Digest() string              { return "" }
func (noCanary) Kernels(cpuset.Set) []string { return nil }

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) closing(end func() error) {
	f.t.Cleanup(func() {
		if err := end(); err != nil {
			f.t.Error(err)
		}
	})
}

func (f *fixture) JobDone(r *job.Report, _ time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told = append(f.told, string(r.State)+" "+string(r.Verdict))
}

func (f *fixture) AttemptDone(o Outcome) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.outcomes = append(f.outcomes, o)
}

// seen wants these attempts and ends to have been told, in this order. The last
// of them may be on its way.
func (f *fixture) seen(outcomes []Outcome, told []string) {
	f.t.Helper()
	var got struct {
		Outcomes []Outcome
		Told     []string
	}
	testkit.WaitFor(f.t, patience, "the attempts to be told", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		got.Outcomes, got.Told = f.outcomes, f.told
		return len(f.outcomes) >= len(outcomes) && len(f.told) >= len(told)
	})
	if diff := cmp.Diff(outcomes, got.Outcomes); diff != "" {
		f.t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(told, got.Told); diff != "" {
		f.t.Errorf("ends (-want +got):\n%s", diff)
	}
}

// run dispatches until the test ends, or until the returned function is called.
func (f *fixture) run() (drain func()) {
	f.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	abort, kill := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.d.Run(ctx, abort) }()
	drain = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			f.t.Errorf("dispatch: %v", err)
		}
	})
	f.t.Cleanup(func() { kill(); drain() })
	return drain
}

// record makes a job whose program is a blob of that name, without queueing it.
func (f *fixture) record(id, program string, args ...string) {
	f.t.Helper()
	j := job.Job{Program: job.File{Blob: program}, Command: append([]string{"{program}"}, args...), Tests: []job.Test{{Name: "1"}},
		Checker: &job.Checker{Kind: "tokens"}, Priority: job.Practice, Repeats: job.Repeats{Policy: job.Single},
		Limits: job.Limits{CPUTimeMS: 60_000, WallTimeMS: 120_000, Memory: 64 << 20, Output: 1 << 20, Stack: 8 << 20, Processes: 8}}
	existing, err := f.store.Create(f.t.Context(), store.Record{ID: id, Job: j})
	f.must(err)
	if existing != nil {
		f.t.Fatalf("job %q is there", id)
	}
}

func (f *fixture) submit(id, program string, args ...string) {
	f.t.Helper()
	f.record(id, program, args...)
	f.must(f.queue.Put(f.t.Context(), id, job.Practice))
}

func (f *fixture) finish(id string) job.Report {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	r, err := f.store.Wait(ctx, id)
	f.must(err)
	if !r.State.Final() {
		f.t.Fatalf("job %q is %s", id, r.State)
	}
	return r
}

func (f *fixture) reach(id string, s job.State) {
	f.t.Helper()
	testkit.WaitFor(f.t, patience, "job "+id+" to be "+string(s), func() bool {
		now, ok := f.store.Summary(id)
		return ok && now.State == s
	})
}

// sample is the only blob there is.
func sample(t *testing.T, path string) func(string) (string, error) {
	t.Helper()
	program := testkit.CompileC(t, filepath.Join(testkit.RepoRoot(t), "testdata", "submissions", path), true)
	return func(string) (string, error) { return program, nil }
}

// Judged's own failures are tried again, so often that it is no accident.
func TestGivesUp(t *testing.T) {
	f := newFixture(t, false)
	f.blob = func(string) (string, error) { return "", errors.New("the disk is on fire") }
	f.submit("x", "p")
	f.run()
	r := f.finish("x")
	if r.Verdict != job.InternalError || r.Attempt != 3 || r.Message != `find file "program": the disk is on fire` || r.Host == nil {
		t.Errorf("report %+v, want IE in the third attempt and why", r)
	}
	f.seen([]Outcome{Returned, Returned, Exhausted}, []string{"done IE"})
}

func TestRecovers(t *testing.T) {
	f := newFixture(t, false)
	good := sample(t, "measure/tiny.c")
	var asked atomic.Int64
	f.blob = func(digest string) (string, error) {
		if asked.Add(1) == 1 {
			return "", errors.New("the disk is on fire")
		}
		return good(digest)
	}
	f.submit("x", "p")
	f.run()
	if r := f.finish("x"); r.Verdict != job.Accepted || r.Attempt != 2 {
		t.Errorf("verdict %s in attempt %d, want AC in the second", r.Verdict, r.Attempt)
	}
	f.seen([]Outcome{Returned, Judged}, []string{"done AC"})
}

// A failure that is no job's fault must not cost every waiting job its attempts
// in the blink of an eye: when the first one comes again, most others have not
// been touched.
func TestFailureDoesNotRunThroughTheQueue(t *testing.T) {
	f := newFixture(t, false)
	var mu sync.Mutex
	asked := map[string]int{}
	f.blob = func(id string) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		asked[id]++
		return "", errors.New("the disk is on fire")
	}
	ids := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	for _, id := range ids {
		f.submit(id, id)
	}
	f.run()
	testkit.WaitFor(t, patience, "the second attempt at the first job", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return asked["a"] > 1
	})
	mu.Lock()
	defer mu.Unlock()
	if len(asked) == len(ids) {
		t.Errorf("all jobs had an attempt before the first was tried again: %v", asked)
	}
}

// Jobs that were recorded and not queued are queued by the sweep, others are
// left alone.
func TestSweep(t *testing.T) {
	f := newFixture(t, false)
	f.blob = sample(t, "measure/tiny.c")
	f.record("recorded", "p")
	f.submit("queued", "p")
	f.record("cancelled", "p")
	_, err := f.d.Cancel(t.Context(), "cancelled")
	f.must(err)
	f.must(f.d.Sweep(t.Context()))
	f.must(f.d.Sweep(t.Context()))
	f.run()
	for _, id := range []string{"recorded", "queued"} {
		if r := f.finish(id); r.Verdict != job.Accepted || r.Attempt != 1 {
			t.Errorf("%s: verdict %s in attempt %d, want AC in the first", id, r.Verdict, r.Attempt)
		}
	}
	f.seen([]Outcome{Judged, Judged}, []string{"cancelled CX", "done AC", "done AC"})
}

// Cancel reaches a run from the moment that its record says that it runs.
func TestCancelAtOnce(t *testing.T) {
	f := newFixture(t, false)
	f.blob = sample(t, "sum/TLE-spin.c")
	f.run()
	for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
		f.submit(id, "p")
		f.reach(id, job.Running)
		r, err := f.d.Cancel(t.Context(), id)
		f.must(err)
		if r.Verdict != job.Cancelled || r.State != job.CancelledState {
			t.Errorf("%s: %s %s", id, r.State, r.Verdict)
		}
		testkit.WaitFor(t, patience/2, "the slot to be idle", func() bool { return f.pool.Snapshot()[0].State == slots.Idle })
		if _, err := f.d.Cancel(t.Context(), id); !errors.Is(err, store.ErrFinal) {
			t.Errorf("%s: second cancel: %v, want ErrFinal", id, err)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.told) != 6 {
		t.Errorf("%d ends were told, want each once: %q", len(f.told), f.told)
	}
}

// A report that comes after its job was cancelled, or was begun anew, is
// dropped, and nobody is told of it.
func TestLateReport(t *testing.T) {
	f := newFixture(t, false)
	good := sample(t, "measure/tiny.c")
	f.blob = func(digest string) (string, error) {
		// The record changes behind the dispatcher's back, as on a cluster.
		if _, err := f.store.Begin(t.Context(), "x", 2, "7"); err != nil {
			t.Error(err)
		}
		return good(digest)
	}
	f.submit("x", "p")
	f.run()
	f.seen([]Outcome{Stale}, nil)
	if r, err := f.store.Get(t.Context(), "x"); err != nil || r.Report.State != job.Running || r.CPUs != "7" {
		t.Errorf("record %+v, %v; want it with the newer attempt", r, err)
	}
}

// A job that took judged down too often is not run again, and none is run before
// its record says so.
func TestNotLetGo(t *testing.T) {
	f := newFixture(t, false)
	f.blob = sample(t, "measure/tiny.c")
	f.record("x", "p")
	rec, err := f.store.Get(t.Context(), "x")
	f.must(err)
	lease, err := f.pool.Lease(t.Context())
	f.must(err)
	defer lease.Release()
	if _, err := f.d.run(t.Context(), lease, rec, func() (store.Record, error) { return rec, store.ErrStale }); !errors.Is(err, store.ErrStale) {
		t.Errorf("another attempt has the record: %v", err)
	}
	rec.Report.Attempt = f.d.o.MaxDeliver
	_, err = f.d.run(t.Context(), lease, rec, func() (store.Record, error) { return rec, nil })
	if err == nil || !strings.Contains(err.Error(), "judged ended 3 times in the middle of this job") {
		t.Errorf("begun three times without an end: %v", err)
	}
}

// A slot that is not fit is taken out of use, and its job stays as it was.
func TestUnfitSlot(t *testing.T) {
	f := newFixture(t, true)
	slot := f.eng.Slots()[0]
	if f.eng.Fit(slot.CPUs) == nil {
		f.must(errors.New("this host is fit for a strict engine; run this test where nothing is isolated"))
	}
	f.blob = sample(t, "measure/tiny.c")
	f.submit("x", "p")
	drain := f.run()
	f.seen([]Outcome{Returned}, nil)
	testkit.WaitFor(t, patience, "the slot to be drained", func() bool { return f.pool.Snapshot()[0].State == slots.Drained })
	drain()
	if r, err := f.store.Get(t.Context(), "x"); err != nil || r.Report.State != job.Queued || r.Report.Attempt != 0 {
		t.Errorf("record %+v, %v; want it queued", r.Report, err)
	}
	depth, err := f.queue.Depth(t.Context())
	f.must(err)
	if depth[job.Practice] != 1 {
		t.Errorf("queue %v, want the job to wait", depth)
	}
}
