package dispatch

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/engine"
	"judged/internal/host/slots"
	"judged/internal/jobs"
	"judged/internal/sandbox"
	"judged/internal/testkit"
)

const patience = time.Minute

// fixture is a dispatcher with real parts and fake blobs.
type fixture struct {
	t     *testing.T
	d     *Dispatcher
	store *jobs.Store
	file  string // of the database
	pool  *slots.Pool
	eng   *engine.Engine
	blob  func(digest string) (string, error) // set before run

	mu       sync.Mutex // guards the fields below
	outcomes []Outcome
	reports  []string // state and verdict of each
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	f := &fixture{t: t}
	f.file = filepath.Join(t.TempDir(), "judged.db")
	f.store = f.openStore(time.Now)
	var err error
	f.eng, err = engine.Open(engine.Options{ClaimFolder: t.TempDir(), Pool: "default", Root: sandbox.RootPrivate,
		BoxBytes: 1 << 20, BoxInodes: 64, UIDFirst: 400_000, UIDCount: 100, Log: slog.New(slog.DiscardHandler)})
	f.must(err)
	f.closing(f.eng.Close)
	f.dispatcher(Options{}, f.eng.Slots()...)
	return f
}

// openStore opens the database like another process.
func (f *fixture) openStore(now func() time.Time) *jobs.Store {
	f.t.Helper()
	s, err := jobs.Open(f.t.Context(), jobs.Options{File: f.file, Now: now})
	f.must(err)
	f.closing(s.Close)
	return s
}

// dispatcher creates a dispatcher for these slots, as after a restart; o has the options that differ.
func (f *fixture) dispatcher(o Options, planned ...slots.Slot) {
	f.pool = slots.NewPool(planned, time.Now)
	o.Engine, o.Pool, o.Want = f.eng, f.pool, api.Want{Host: "test"}
	if o.Queue == nil {
		o.Queue = f.store
	}
	o.Health = f.monitor()
	o.BlobPath = func(digest string) (string, error) { return f.blob(digest) }
	o.Doctor, o.Observer = func() api.DoctorReport { return api.DoctorReport{} }, f
	o.Heartbeat, o.Log = time.Second, slog.New(slog.DiscardHandler)
	f.d = New(o)
}

// monitor watches the slots of the pool without canaries.
func (f *fixture) monitor() *Monitor {
	f.t.Helper()
	m := NewMonitor(MonitorOptions{Engine: f.eng, Pool: f.pool, Store: f.store, Canary: noCanary{}, Interval: time.Hour,
		Log: slog.New(slog.DiscardHandler)})
	f.must(m.Restore(f.t.Context()))
	return m
}

// noCanary has no kernels.
type noCanary struct{ Canary }

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

func (f *fixture) JobDone(r *api.Report, _ time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reports = append(f.reports, string(r.State)+" "+string(r.Verdict))
}

func (f *fixture) AttemptDone(o Outcome) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.outcomes = append(f.outcomes, o)
}

// seen waits until exactly these outcomes and reports have occurred, in this order.
func (f *fixture) seen(outcomes []Outcome, reports []string) {
	f.t.Helper()
	var got struct {
		Outcomes []Outcome
		Reports  []string
	}
	testkit.WaitFor(f.t, patience, "the attempts", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		got.Outcomes, got.Reports = f.outcomes, f.reports
		return len(f.outcomes) >= len(outcomes) && len(f.reports) >= len(reports)
	})
	if diff := cmp.Diff(outcomes, got.Outcomes); diff != "" {
		f.t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(reports, got.Reports); diff != "" {
		f.t.Errorf("ends (-want +got):\n%s", diff)
	}
}

// run dispatches until the test ends, or until the returned function is called.
func (f *fixture) run() (drain func()) {
	f.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	abort, kill := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); f.d.Run(ctx, abort) }()
	drain = sync.OnceFunc(func() {
		cancel()
		<-ended
	})
	f.t.Cleanup(func() { kill(); drain() })
	return drain
}

// submit stores a job whose program is the named blob.
func (f *fixture) submit(id, program string, args ...string) {
	f.t.Helper()
	j := api.Job{Program: api.File{Blob: program}, Command: append([]string{"{program}"}, args...),
		Tests:   []api.Test{{Name: "1"}},
		Checker: &api.Checker{Kind: "tokens"}, Priority: api.Practice, Repeats: api.Repeats{Policy: api.Single},
		Limits: api.Limits{CPUTimeMS: 60_000, WallTimeMS: 120_000, Memory: 64 << 20, Output: 1 << 20, Stack: 8 << 20,
			Processes: 8}}
	_, created, err := f.store.Put(f.t.Context(), jobs.Submission{ID: id, Job: j})
	f.must(err)
	if !created {
		f.t.Fatalf("job %q is there", id)
	}
}

func (f *fixture) finish(id string) api.Report {
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

func (f *fixture) get(id string) jobs.Record {
	f.t.Helper()
	rec, err := f.store.Get(f.t.Context(), id)
	f.must(err)
	return rec
}

func (f *fixture) reach(id string, s api.State) {
	f.t.Helper()
	testkit.WaitFor(f.t, patience, "job "+id+" to be "+string(s), func() bool { return f.get(id).Report.State == s })
}

// sample returns a function that finds a sample program for any blob.
func sample(t *testing.T, path string) func(string) (string, error) {
	t.Helper()
	program := testkit.CompileC(t, filepath.Join(testkit.RepoRoot(t), "testdata", "submissions", path), true)
	return func(string) (string, error) { return program, nil }
}

// TestCancelAtOnce checks that Cancel ends a run as soon as its job is shown as running.
func TestCancelAtOnce(t *testing.T) {
	f := newFixture(t)
	f.blob = sample(t, "sum/TLE-spin.c")
	f.run()
	var want []Outcome
	for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
		f.submit(id, "p")
		f.reach(id, api.Running)
		_, err := f.store.Cancel(t.Context(), id)
		f.must(err)
		testkit.WaitFor(t, patience/2, "the slot to be idle",
			func() bool { return f.pool.Snapshot()[0].State == slots.Idle })
		want = append(want, Cancelled)
	}
	f.seen(want, nil)
}

// TestLateReport checks that a report is dropped if it comes after another attempt has taken the job.
func TestLateReport(t *testing.T) {
	f := newFixture(t)
	good := sample(t, "measure/tiny.c")
	other := f.openStore(func() time.Time { return time.Now().Add(time.Hour) })
	f.blob = func(digest string) (string, error) {
		if _, err := other.Take(t.Context(), api.Want{Host: "other"}); err != nil {
			t.Error(err)
		}
		return good(digest)
	}
	f.submit("x", "p")
	f.run()
	f.seen([]Outcome{Stale}, nil)
	if rec := f.get("x"); rec.Report.State != api.Running || rec.Host != "other" {
		t.Errorf("record %+v; want it with the other attempt", rec)
	}
}
