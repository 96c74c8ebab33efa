package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/base/cpuset"
	"judged/internal/base/units"
	"judged/internal/host/slots"
	"judged/internal/jobs"
	"judged/internal/jobs/blobs"
)

// fakeJobs is an in-memory store. It has no rejudgings.
type fakeJobs struct {
	Jobs
	mu       sync.Mutex
	records  map[string]jobs.Record
	most     int   // maximum number of queued jobs
	fail     error // returned by Put
	putting  func()
	events   map[string][]api.Event
	changed  chan struct{} // closed and replaced with every change
	problems map[string]api.Problem
	waiters  sync.Map // IDs that a caller has started to wait for
}

func newFakeJobs() *fakeJobs {
	return &fakeJobs{
		records:  map[string]jobs.Record{},
		problems: map[string]api.Problem{},
		most:     3,
		events:   map[string][]api.Event{},
		changed:  make(chan struct{}),
	}
}

func (f *fakeJobs) Put(ctx context.Context, n jobs.Submission) (jobs.Record, bool, error) {
	if f.putting != nil {
		f.putting()
	}
	if err := ctx.Err(); err != nil {
		return jobs.Record{}, false, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return jobs.Record{}, false, f.fail
	}
	if old, ok := f.records[n.ID]; ok {
		if old.BodyDigest != n.BodyDigest {
			return jobs.Record{}, false, jobs.ErrConflict
		}
		return old, false, nil
	}
	if f.queued() >= f.most {
		return jobs.Record{}, false, jobs.ErrFull
	}
	r := jobs.Record{ID: n.ID, BodyDigest: n.BodyDigest, Job: n.Job, Report: api.Report{
		ID: n.ID, State: api.Queued, Priority: n.Job.Priority, Labels: n.Job.Labels, CreatedAt: noon}}
	f.records[n.ID] = r
	return r, true, nil
}

func (f *fakeJobs) Pack(_ context.Context, n jobs.Submission) (jobs.Packed, error) {
	return jobs.Packed{ID: n.ID, BodyDigest: n.BodyDigest}, nil
}

func (f *fakeJobs) PutAll(ctx context.Context, list []jobs.Packed) ([]jobs.Stored, error) {
	var all []jobs.Stored
	for _, p := range list {
		_, created, err := f.Put(ctx, jobs.Submission{ID: p.ID, BodyDigest: p.BodyDigest})
		if err != nil && !errors.Is(err, jobs.ErrConflict) && !errors.Is(err, jobs.ErrFull) {
			return nil, err
		}
		all = append(all, jobs.Stored{Created: created, Err: err})
	}
	return all, nil
}

func (f *fakeJobs) PutWhole(ctx context.Context, list []jobs.Packed) ([]jobs.Stored, error) {
	return f.PutAll(ctx, list)
}

// queued returns the number of queued jobs.
func (f *fakeJobs) queued() (n int) {
	for _, r := range f.records {
		if r.Report.State == api.Queued {
			n++
		}
	}
	return n
}

func (f *fakeJobs) Room(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.queued() >= f.most {
		return jobs.ErrFull
	}
	return nil
}

func (f *fakeJobs) Depth(context.Context) (jobs.Depths, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return jobs.Depths{"default": {api.Practice: f.queued()}}, nil
}

func (f *fakeJobs) Get(_ context.Context, id string) (jobs.Record, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, ok := f.records[id]
	if !ok {
		return r, api.ErrNotFound
	}
	return r, nil
}

func (f *fakeJobs) Cancel(ctx context.Context, id string) (api.Report, error) {
	r, err := f.Get(ctx, id)
	if err != nil {
		return api.Report{}, err
	}
	if r.Report.State.Final() {
		return r.Report, api.ErrFinal
	}
	f.tell(id, api.CancelledState, api.Event{Type: api.EventCancelled})
	r, err = f.Get(ctx, id)
	return r.Report, err
}

func (f *fakeJobs) PutProblem(_ context.Context, p api.Problem, by jobs.Editor) (api.Problem, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	old, found := f.problems[p.ID]
	p.Owner = by.Name
	f.problems[p.ID] = p
	return p, !found || old.Version != p.Version, nil
}

func (f *fakeJobs) Problem(_ context.Context, id string) (api.Problem, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, found := f.problems[id]
	if !found {
		return p, jobs.ErrNoProblem
	}
	return p, nil
}

func (f *fakeJobs) Problems(context.Context, string, int) ([]api.ProblemSummary, string, error) {
	return []api.ProblemSummary{}, "", nil
}

func (f *fakeJobs) DeleteProblem(ctx context.Context, id string, _ jobs.Editor) error {
	_, err := f.Problem(ctx, id)
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.problems, id)
	return err
}

// tell changes the report and appends an event.
func (f *fakeJobs) tell(id string, state api.State, e api.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.records[id]
	r.Report.State = state
	f.records[id] = r
	e.Job, e.Seq = id, uint64(len(f.events[id])+1)
	f.events[id] = append(f.events[id], e)
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *fakeJobs) Wait(ctx context.Context, id string) (api.Report, error) {
	for {
		f.mu.Lock()
		record, ok := f.records[id]
		report, changed := record.Report, f.changed
		f.mu.Unlock()
		if !ok {
			return report, api.ErrNotFound
		}
		if report.State.Final() {
			return report, nil
		}
		f.waiters.Store(id, true)
		select {
		case <-changed:
		case <-ctx.Done():
			return report, nil
		}
	}
}

func (f *fakeJobs) Expect(id string) (func(context.Context, api.Report) (api.Report, error), func()) {
	return func(ctx context.Context, _ api.Report) (api.Report, error) { return f.Wait(ctx, id) }, func() {}
}

// waiting reports whether a caller has waited for a job that had not ended.
func (f *fakeJobs) waiting(id string) bool {
	_, ok := f.waiters.LoadAndDelete(id)
	return ok
}

func (f *fakeJobs) Events(ctx context.Context, id string, after uint64) iter.Seq2[api.Event, error] {
	return func(yield func(api.Event, error) bool) {
		for {
			f.mu.Lock()
			events, changed, final := f.events[id], f.changed, f.records[id].Report.State.Final()
			f.mu.Unlock()
			for _, e := range events {
				if e.Seq > after {
					after = e.Seq
					if !yield(e, nil) {
						return
					}
				}
			}
			if final {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}
}

func (f *fakeJobs) Delete(ctx context.Context, id string) error {
	r, err := f.Get(ctx, id)
	if err == nil && !r.Report.State.Final() {
		err = jobs.ErrInUse
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		delete(f.records, id)
	}
	return err
}

func (f *fakeJobs) Follow(context.Context, jobs.FeedPosition, jobs.FeedFilter) (*jobs.Follower, error) {
	return nil, jobs.ErrNoPosition
}

func (f *fakeJobs) List(_ context.Context, filter jobs.Filter) ([]api.Report, string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []api.Report
	for _, r := range f.records {
		if filter.State == "" || filter.State == r.Report.State {
			list = append(list, r.Report)
		}
	}
	return list, "", nil
}

func digestText(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// fixture is a Server with fakes, and its parts.
type fixture struct {
	*Server
	jobs   *fakeJobs
	blobs  *blobs.Store
	pool   *slots.Pool
	unfit  error
	logged *bytes.Buffer
}

// poolSlots provides slots without a monitor.
type poolSlots struct{ *slots.Pool }

func (p poolSlots) Drain(cpus cpuset.Set, reason string) error {
	return p.Hold(cpus, slots.Hold{Cause: api.HoldOperator, Reason: reason})
}

func (p poolSlots) Undrain(cpus cpuset.Set) error { return p.Lift(cpus) }

func newFixture(t testing.TB, change ...func(*Options)) *fixture {
	t.Helper()
	return newFixtureIn(t.TempDir(), change...)
}

func openBlobs(dir string, most units.Bytes) *blobs.Store {
	s, err := blobs.Open(dir, most)
	if err != nil {
		panic(err) // the folder is temporary
	}
	return s
}

func newFixtureIn(dir string, change ...func(*Options)) *fixture {
	c := config.Default()
	c.HTTP.MaxBody, c.HTTP.MaxBlob, c.Queue.MaxWaiting = 8<<10, 4<<10, 3
	f := &fixture{
		jobs: newFakeJobs(), blobs: openBlobs(dir, 4<<10), logged: &bytes.Buffer{},
		pool: slots.NewPool([]slots.Slot{{CPUs: cpuset.New(2, 3), Node: 1}}, func() time.Time { return noon }),
	}
	o := Options{
		Config: c, Jobs: f.jobs, Blobs: f.blobs, Slots: poolSlots{f.pool}, Languages: oneLanguage{},
		Doctor:  func(context.Context) (api.DoctorReport, error) { return api.DoctorReport{Schema: 1, Ready: true}, nil },
		Accepts: func() error { return f.unfit }, Ready: func() error { return f.unfit },
		Metrics: http.HandlerFunc(
			func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "judged_up 1\n") }),
		Log: slog.New(slog.NewTextHandler(f.logged, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Now: func() time.Time { return noon },
	}
	for _, c := range change {
		c(&o)
	}
	f.Server = New(o)
	return f
}

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// ask sends a request. Headers have the form "Name: value".
func (f *fixture) ask(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // a stream may not end
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, method, target, strings.NewReader(body))
	r.Host = "127.0.0.1:8080"
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	return w
}

// submit sends a job as JSON.
func (f *fixture) submit(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	return f.ask(method, target, body, append(headers, "Content-Type: application/json")...)
}

// answer decodes the body of a response.
func answer[T any](t *testing.T, w *httptest.ResponseRecorder) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Fatalf("body %q: %v", w.Body, err)
	}
	return v
}

// wantProblem checks that w is a complete problem of this kind.
func wantProblem(t *testing.T, w *httptest.ResponseRecorder, kind string) Problem {
	t.Helper()
	p := answer[Problem](t, w)
	if p.Type != "urn:judged:"+kind || w.Code != kinds[kind].status || p.Status != w.Code {
		t.Fatalf("status %d, %+v; want the problem %s", w.Code, p, kind)
	}
	if p.NextStep == "" || p.Detail == "" || w.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("incomplete: %+v %v", p, w.Header())
	}
	return p
}

// oneLanguage has C and lacks Kotlin.
type oneLanguage struct{}

func (oneLanguage) CompileOptions(_ context.Context, _, _ string) (options []string, known bool, err error) {
	return []string{"-O0", "-g"}, true, nil
}

func (oneLanguage) CheckLanguage(_ context.Context, _, id string) error {
	if id == "c" || id == api.BuildLanguage {
		return nil
	}
	return &api.LanguageUnavailableError{Language: id, Reason: "kotlinc is not installed; install it below /usr"}
}

func (oneLanguage) ListLanguages(context.Context) ([]api.LanguageStatus, error) {
	return []api.LanguageStatus{{ID: api.BuildLanguage, Available: true},
		{ID: "c", Name: "C", Extensions: []string{".c"}, Available: true, Version: "gcc 14"},
		{ID: "kotlin", Name: "Kotlin", Extensions: []string{".kt"}, Reason: "kotlinc is not installed"}}, nil
}
