package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/job"
	"judged/internal/broker"
	"judged/internal/store"
	"judged/internal/testkit"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		os.Exit(child(dir))
	}
	os.Exit(testkit.Run(m))
}

var created = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func openEmbedded(t testing.TB, so store.Options) *parts {
	return open(t, broker.Options{Dir: t.TempDir()}, so)
}

func (p *parts) create(t testing.TB, id string) {
	t.Helper()
	old, err := p.store.Create(context.Background(), store.Record{ID: id, BodyDigest: "d-" + id, Job: sampleJob()})
	if err != nil || old != nil {
		t.Fatalf("create %q: existing %v, error %v", id, old, err)
	}
}

func (p *parts) begin(t testing.TB, id string, delivery int) store.Record {
	t.Helper()
	r, err := p.store.Begin(context.Background(), id, delivery, "2")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// reopen is a new process's look at the same stream.
func (p *parts) reopen(t testing.TB) {
	t.Helper()
	if err := p.store.Close(); err != nil {
		t.Fatal(err)
	}
	var err error
	if p.store, err = store.Open(t.Context(), p.broker, store.Options{Now: func() time.Time { return created }}); err != nil {
		t.Fatal(err)
	}
}

func (p *parts) finish(t testing.TB, id string) {
	t.Helper()
	if err := p.store.Finish(context.Background(), p.begin(t, id, 1), sampleReport(1, 1)); err != nil {
		t.Fatal(err)
	}
}

// TestTransitions walks every pair of a state and a step.
func TestTransitions(t *testing.T) {
	p := openEmbedded(t, store.Options{})
	states := map[string]func(t *testing.T, id string) store.Record{
		"queued":         func(t *testing.T, id string) store.Record { return get(t, p, id) },
		"running 2":      func(t *testing.T, id string) store.Record { return p.begin(t, id, 2) },
		"running, stale": func(t *testing.T, id string) store.Record { r := p.begin(t, id, 1); p.begin(t, id, 2); return r },
		"done": func(t *testing.T, id string) store.Record {
			r := p.begin(t, id, 1)
			if err := p.store.Finish(t.Context(), r, sampleReport(1, 1)); err != nil {
				t.Fatal(err)
			}
			return r
		},
		"cancelled": func(t *testing.T, id string) store.Record {
			r := p.begin(t, id, 1)
			if _, err := p.store.Cancel(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			return r
		},
	}
	begin := func(delivery int) func(store.Record) error {
		return func(r store.Record) error {
			_, err := p.store.Begin(context.Background(), r.ID, delivery, "2")
			return err
		}
	}
	finish := func(r store.Record) error { return p.store.Finish(context.Background(), r, sampleReport(1, 1)) }
	cancel := func(r store.Record) error { _, err := p.store.Cancel(context.Background(), r.ID); return err }
	emit := func(r store.Record) error { return p.store.Emit(context.Background(), r, job.TestReport{Name: "1"}) }
	tests := []struct {
		state, step string
		do          func(store.Record) error
		err         error
		want        job.State
		attempt     int
	}{
		{"queued", "begin", begin(1), nil, job.Running, 1},
		{"queued", "cancel", cancel, nil, job.CancelledState, 0},
		{"queued", "emit", emit, store.ErrStale, job.Queued, 0},
		{"running 2", "begin older", begin(1), store.ErrStale, job.Running, 1},
		{"running 2", "begin same", begin(2), store.ErrStale, job.Running, 1},
		{"running 2", "begin newer", begin(3), nil, job.Running, 2},
		{"running 2", "finish", finish, nil, job.Done, 1},
		{"running 2", "cancel", cancel, nil, job.CancelledState, 1},
		{"running 2", "emit", emit, nil, job.Running, 1},
		{"running, stale", "finish", finish, store.ErrStale, job.Running, 2},
		{"running, stale", "emit", emit, store.ErrStale, job.Running, 2},
		{"done", "begin", begin(2), store.ErrFinal, job.Done, 1},
		{"done", "finish", finish, store.ErrFinal, job.Done, 1},
		{"done", "cancel", cancel, store.ErrFinal, job.Done, 1},
		{"done", "emit", emit, store.ErrStale, job.Done, 1},
		{"cancelled", "begin", begin(2), store.ErrFinal, job.CancelledState, 1},
		{"cancelled", "finish", finish, store.ErrFinal, job.CancelledState, 1},
		{"cancelled", "cancel", cancel, store.ErrFinal, job.CancelledState, 1},
	}
	for i, tt := range tests {
		t.Run(tt.state+"/"+tt.step, func(t *testing.T) {
			id := fmt.Sprintf("job.%d", i)
			p.create(t, id)
			r := states[tt.state](t, id)
			if err := tt.do(r); !errors.Is(err, tt.err) {
				t.Errorf("error %v, want %v", err, tt.err)
			}
			rep := get(t, p, id).Report
			if rep.State != tt.want || rep.Attempt != tt.attempt {
				t.Errorf("state %s in attempt %d, want %s in %d", rep.State, rep.Attempt, tt.want, tt.attempt)
			}
			if sum, ok := p.store.Summary(id); !ok || sum.State != tt.want || sum.Revision != get(t, p, id).Revision {
				t.Errorf("index has %+v", sum)
			}
		})
	}
}

func TestCreate(t *testing.T) {
	p := openEmbedded(t, store.Options{Now: func() time.Time { return created }})
	p.create(t, "a")
	old, err := p.store.Create(t.Context(), store.Record{ID: "a", BodyDigest: "other"})
	if err != nil || old == nil {
		t.Fatalf("existing %v, error %v", old, err)
	}
	want := job.Report{ID: "a", State: job.Queued, Priority: job.Practice, Labels: map[string]string{"team": "a"}, CreatedAt: created}
	if diff := cmp.Diff(want, old.Report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(sampleJob(), old.Job); diff != "" || old.BodyDigest != "d-a" {
		t.Errorf("digest %q, job (-want +got):\n%s", old.BodyDigest, diff)
	}
	for _, id := range []string{"", ".", "..", "a b", "a/b", "a*", "a>", "ä", "-a", strings.Repeat("a", 65)} {
		if _, err := p.store.Create(t.Context(), store.Record{ID: id}); !errors.Is(err, store.ErrBadID) {
			t.Errorf("create %q: error %v", id, err)
		}
		if _, err := p.store.Get(t.Context(), id); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("get %q: error %v", id, err)
		}
	}
	for _, id := range []string{"0", "A.b_c-d", "a.b", "a_b", strings.Repeat("a", 64)} {
		p.create(t, id)
		if got := get(t, p, id).ID; got != id {
			t.Errorf("id %q came back as %q", id, got)
		}
	}
}

func TestFinishKeepsWholeReport(t *testing.T) {
	p := openEmbedded(t, store.Options{Now: func() time.Time { return created }})
	p.create(t, "a")
	rep := sampleReport(100, 20)
	if err := p.store.Finish(t.Context(), p.begin(t, "a", 1), rep); err != nil {
		t.Fatal(err)
	}
	want := rep
	want.ID, want.State, want.JudgementType, want.Attempt = "a", job.Done, "AC", 1
	want.Priority, want.Labels = job.Practice, map[string]string{"team": "a"}
	want.CreatedAt, want.StartedAt, want.FinishedAt = created, created, created
	p.reopen(t)
	if diff := cmp.Diff(want, get(t, p, "a").Report); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What the store holds in memory is what a store reads that has only the
// stream, after every step of a job that is older than it.
func TestHeldRecordsAreTheStored(t *testing.T) {
	p := openEmbedded(t, store.Options{})
	for _, id := range []string{"done", "cancelled"} {
		p.create(t, id)
	}
	p.reopen(t)
	same := func(id, step string) {
		t.Helper()
		fresh, err := store.Open(t.Context(), p.broker, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer fresh.Close()
		stored, err := fresh.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(stored, get(t, p, id), cmp.AllowUnexported(store.Record{})); diff != "" {
			t.Errorf("%s, %s (-stored +held):\n%s", id, step, diff)
		}
	}
	for _, id := range []string{"done", "cancelled"} {
		same(id, "created")
		r := p.begin(t, id, 1)
		same(id, "begun")
		if id == "done" {
			if err := p.store.Finish(t.Context(), r, sampleReport(3, 2)); err != nil {
				t.Fatal(err)
			}
		} else if _, err := p.store.Cancel(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		same(id, "ended")
	}
}

func TestTooLarge(t *testing.T) {
	p := openEmbedded(t, store.Options{})
	r := store.Record{ID: "a", Job: job.Job{Labels: map[string]string{"x": strings.Repeat("x", 1<<16)}}}
	if _, err := p.store.Create(t.Context(), r); err == nil || !strings.Contains(err.Error(), "send fewer labels") {
		t.Errorf("large labels: error %v", err)
	}
	// Content that does not compress.
	noise, x := make([]byte, 40<<20), uint32(1)
	for i := range noise {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		noise[i] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-"[x%64]
	}
	r = store.Record{ID: "b", Job: job.Job{Command: []string{string(noise)}}}
	if _, err := p.store.Create(t.Context(), r); err == nil || !strings.Contains(err.Error(), "ask for fewer repeats") {
		t.Errorf("large job: error %v", err)
	}
}

// TestOneBegin has a delivery begun by many at once: one of them has it.
func TestOneBegin(t *testing.T) {
	p := openEmbedded(t, store.Options{})
	for i := range 100 {
		id := fmt.Sprint("race-", i)
		p.create(t, id)
		var won atomic.Int32
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				switch _, err := p.store.Begin(context.Background(), id, 1, "2"); {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, store.ErrStale):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if r := get(t, p, id); won.Load() != 1 || r.Report.Attempt != 1 {
			t.Fatalf("%d began it, it is in attempt %d", won.Load(), r.Report.Attempt)
		}
	}
}

// TestOneVerdict lets attempts and a cancellation race; one of them wins.
func TestOneVerdict(t *testing.T) {
	p := openEmbedded(t, store.Options{})
	for i := range 20 {
		id := fmt.Sprint("race-", i)
		p.create(t, id)
		r := p.begin(t, id, 1)
		var won atomic.Int32
		var wg sync.WaitGroup
		try := func(do func() error) {
			wg.Go(func() {
				switch err := do(); {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, store.ErrFinal) && !errors.Is(err, store.ErrStale):
					t.Error(err)
				}
			})
		}
		for range 4 {
			try(func() error { return p.store.Finish(context.Background(), r, sampleReport(1, 1)) })
		}
		try(func() error { _, err := p.store.Cancel(context.Background(), id); return err })
		wg.Wait()
		if won.Load() != 1 {
			t.Errorf("%s: %d winners", id, won.Load())
		}
	}
}

func TestWait(t *testing.T) {
	p := openEmbedded(t, store.Options{})
	p.create(t, "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if rep, err := p.store.Wait(ctx, "a"); err != nil || rep.State != job.Queued {
		t.Errorf("wait with a context that is done: state %s, error %v", rep.State, err)
	}
	if _, err := p.store.Wait(t.Context(), "b"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("wait for nothing: error %v", err)
	}
	got := make(chan job.Report)
	for range 3 {
		go func() { rep, _ := p.store.Wait(context.Background(), "a"); got <- rep }()
	}
	p.finish(t, "a")
	for range 3 {
		if rep := <-got; rep.State != job.Done || len(rep.Tests) != 1 {
			t.Errorf("waited for %+v", rep)
		}
	}
}

func TestList(t *testing.T) {
	now := created
	p := openEmbedded(t, store.Options{Now: func() time.Time { return now }})
	for i := range 7 {
		if i != 3 { // 2 and 3 have the same time
			now = now.Add(time.Second)
		}
		r := store.Record{ID: fmt.Sprint("j", i), Job: job.Job{Labels: map[string]string{"odd": fmt.Sprint(i % 2), "i": fmt.Sprint(i)}}}
		if _, err := p.store.Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	p.finish(t, "j4")
	p.finish(t, "j6")
	tests := []struct {
		name   string
		filter store.Filter
		want   []string // pages
	}{
		{"all", store.Filter{}, []string{"j6 j5 j4 j3 j2 j1 j0"}},
		{"pages", store.Filter{Limit: 3}, []string{"j6 j5 j4", "j3 j2 j1", "j0"}},
		{"full last page", store.Filter{Limit: 7}, []string{"j6 j5 j4 j3 j2 j1 j0"}},
		{"state", store.Filter{State: job.Done}, []string{"j6 j4"}},
		{"label", store.Filter{Label: map[string]string{"odd": "1"}, Limit: 2}, []string{"j5 j3", "j1"}},
		{"labels", store.Filter{Label: map[string]string{"odd": "1", "i": "3"}}, []string{"j3"}},
		{"both", store.Filter{State: job.Queued, Label: map[string]string{"odd": "0"}}, []string{"j2 j0"}},
		{"none", store.Filter{State: job.Running}, []string{""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, pages(t, p, tt.filter)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if _, _, err := p.store.List(t.Context(), store.Filter{After: "rubbish"}); !errors.Is(err, store.ErrBadCursor) {
		t.Errorf("error %v", err)
	}
}

func pages(t *testing.T, p *parts, f store.Filter) (all []string) {
	for {
		reports, next, err := p.store.List(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, r := range reports {
			ids = append(ids, r.ID)
			if len(r.Tests) > 0 {
				t.Errorf("%s has tests", r.ID)
			}
		}
		all = append(all, strings.Join(ids, " "))
		if f.After = next; next == "" {
			return all
		}
	}
}

// TestRunningInMemory looks at a job whose Begin is not in the stream in all ways
// that there are.
func TestRunningInMemory(t *testing.T) {
	p := openEmbedded(t, store.Options{Now: func() time.Time { return created }})
	p.create(t, "a")
	begun := p.begin(t, "a", 1)
	if diff := cmp.Diff(begun, get(t, p, "a"), cmp.AllowUnexported(store.Record{})); diff != "" {
		t.Errorf("record (-begun +got):\n%s", diff)
	}
	listed, _, err := p.store.List(t.Context(), store.Filter{State: job.Running})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]job.Report{begun.Report}, listed); diff != "" {
		t.Errorf("list (-begun +got):\n%s", diff)
	}
	fresh, err := store.Open(t.Context(), p.broker, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer fresh.Close()
	if stored, err := fresh.Get(t.Context(), "a"); err != nil || stored.Report.State != job.Queued || stored.Report.Attempt != 0 {
		t.Errorf("stored %+v, %v; want it queued", stored.Report, err)
	}
}

func TestReopen(t *testing.T) {
	dir := t.TempDir()
	p := open(t, broker.Options{Dir: dir}, store.Options{})
	for _, id := range []string{"queued", "running", "done"} {
		p.create(t, id)
	}
	p.begin(t, "running", 2)
	p.finish(t, "done")
	p.close()

	p = open(t, broker.Options{Dir: dir}, store.Options{})
	if diff := cmp.Diff([]string{"queued", "running"}, p.store.Unfinished()); diff != "" {
		t.Errorf("unfinished (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"done running queued"}, pages(t, p, store.Filter{})); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	// The first attempt died with its process and was in its memory. From now on
	// they are on the disk; delivery numbers begin anew with every process.
	stale := p.begin(t, "running", 2)
	p.close()

	p = open(t, broker.Options{Dir: dir}, store.Options{})
	r := p.begin(t, "running", 1)
	if stale.Report.Attempt != 1 || r.Report.Attempt != 2 {
		t.Errorf("attempts %d and %d, want 1 and 2", stale.Report.Attempt, r.Report.Attempt)
	}
	if err := p.store.Finish(t.Context(), stale, sampleReport(1, 1)); !errors.Is(err, store.ErrStale) {
		t.Errorf("late finish: error %v", err)
	}
	if err := p.store.Finish(t.Context(), r, sampleReport(1, 1)); err != nil {
		t.Error(err)
	}
}

func TestRetention(t *testing.T) {
	tests := []struct {
		name string
		opts store.Options
		wait time.Duration // after the first three jobs have finished
		want string
	}{
		{"count", store.Options{MaxJobs: 3}, 0, "j5 j4 j3 j0"},
		{"age", store.Options{Retention: time.Hour}, 2 * time.Hour, "j5 j4 j0"},
		{"none", store.Options{}, 0, "j5 j4 j3 j2 j1 j0"},
		{"no room", store.Options{MaxJobs: 3, Writable: func() error { return errors.New("full") }}, 0, "j5 j4 j3 j2 j1 j0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var now atomic.Int64
			now.Store(created.UnixNano())
			tt.opts.Now = func() time.Time { return time.Unix(0, now.Add(1)).UTC() }
			dir := t.TempDir()
			p := open(t, broker.Options{Dir: dir}, store.Options{Now: tt.opts.Now})
			for i := range 6 {
				p.create(t, fmt.Sprint("j", i))
			}
			for i := range 5 { // j0 stays queued and holds the low end of the stream
				if i == 3 {
					now.Add(int64(tt.wait))
				}
				p.finish(t, fmt.Sprint("j", i+1))
			}
			p.close()
			p = open(t, broker.Options{Dir: dir}, tt.opts)
			testkit.WaitFor(t, 10*time.Second, "old jobs to go", func() bool {
				return slices.Equal(pages(t, p, store.Filter{}), []string{tt.want})
			})
			p.close() // waits for the sweep
			p = open(t, broker.Options{Dir: dir}, store.Options{})
			if diff := cmp.Diff([]string{tt.want}, pages(t, p, store.Filter{})); diff != "" {
				t.Errorf("after another start (-want +got):\n%s", diff)
			}
			if !strings.Contains(tt.want, "j1") {
				p.create(t, "j1") // its id is free again
			}
		})
	}
}

// TestRetentionWhileWorking keeps creating while the sweeper deletes.
func TestRetentionWhileWorking(t *testing.T) {
	p := openEmbedded(t, store.Options{MaxJobs: 5})
	for i := range 100 {
		p.create(t, fmt.Sprint("j", i))
		p.finish(t, fmt.Sprint("j", i))
	}
	testkit.WaitFor(t, 10*time.Second, "old jobs to go", func() bool {
		return slices.Equal(pages(t, p, store.Filter{}), []string{"j99 j98 j97 j96 j95"})
	})
	for i := 95; i < 100; i++ {
		get(t, p, fmt.Sprint("j", i))
	}
}

func get(t testing.TB, p *parts, id string) store.Record {
	t.Helper()
	r, err := p.store.Get(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
