package intake

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/base/units"
	"judged/internal/jobs"
	"judged/internal/testkit"
)

// childEnv makes the test binary a process that fills rejudgings until it is killed. Its value is a number for its
// name, and the URL or file of the database.
const childEnv = "JUDGED_REJUDGE_TEST_CHILD"

func TestMain(m *testing.M) {
	if value := os.Getenv(childEnv); value != "" {
		os.Exit(child(value))
	}
	os.Exit(testkit.Run(m))
}

// everyBlob reports that every file exists.
type everyBlob struct{}

func (everyBlob) Stat(string) (units.Bytes, error) { return 1, nil }

func options(database string) jobs.Options {
	o := jobs.Options{MaxWaiting: 10, MaxDeliver: 1000, Lease: 300 * time.Millisecond} // for a killed process
	if strings.HasPrefix(database, "postgres://") {
		o.URL = database
	} else {
		o.File = database
	}
	return o
}

func open(t *testing.T, database string) *jobs.Store {
	t.Helper()
	s, err := jobs.Open(t.Context(), options(database))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func filler(s RejudgingStore, holder string) *Rejudger {
	return NewRejudger(RejudgerOptions{Store: s, Blobs: everyBlob{}, Config: config.Default, Holder: holder,
		Log: slog.New(slog.DiscardHandler)})
}

// ring judges the jobs of a store.
type ring struct {
	*jobs.Store
	t *testing.T
}

// judge judges all jobs that have not ended, and returns their IDs.
func (r ring) judge(verdict api.Verdict) (ids []string) {
	r.t.Helper()
	for {
		left := false
		for _, err := range r.Unfinished(r.t.Context()) {
			if left = true; err != nil {
				r.t.Fatal(err)
			}
			break
		}
		if !left {
			return ids
		}
		w, err := r.Take(r.t.Context(), api.Want{})
		if err == nil {
			err = r.Finish(r.t.Context(), w.Lease, api.Report{Verdict: verdict})
		}
		if err != nil {
			r.t.Fatal(err)
		}
		ids = append(ids, w.ID)
	}
}

// judged returns n judged jobs of two problems.
func (r ring) judged(n int) (ids []string) {
	r.t.Helper()
	for i := range n {
		ids = append(ids, fmt.Sprintf("j%03d", i))
		r.put(ids[i], fmt.Sprintf("p%d", i%2))
		r.judge(api.WrongAnswer)
	}
	return ids
}

func (r ring) put(id, problem string) {
	r.t.Helper()
	j := api.Job{Command: []string{"true"}, CPUs: 1, Tests: []api.Test{{Name: "1"}}, Limits: api.Limits{CPUTimeMS: 1000},
		Priority: api.Contest, Problem: problem}
	if _, _, err := r.Put(r.t.Context(), jobs.Submission{ID: id, Job: j}); err != nil {
		r.t.Fatalf("put %s: %v", id, err)
	}
}

func (r ring) set(q api.RejudgingRequest) {
	r.t.Helper()
	q.SameProblem = true
	if created, err := r.PutRejudging(r.t.Context(), q, "digest"); err != nil || !created {
		r.t.Fatalf("put rejudging: %t, %v", created, err)
	}
}

func (r ring) view(id string) api.Rejudging {
	r.t.Helper()
	v, err := r.Rejudging(r.t.Context(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return v
}

// steps fills until there is nothing to do now, and returns the number of steps.
func (r ring) steps(f *Rejudger) (n int) {
	r.t.Helper()
	for busy := true; busy; n++ {
		var err error
		if busy, err = f.Step(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
	}
	return n
}

// databases runs a test on both databases.
func databases(t *testing.T, test func(t *testing.T, database string)) {
	t.Run("sqlite", func(t *testing.T) { test(t, filepath.Join(t.TempDir(), "judged.db")) })
	t.Run("postgres", func(t *testing.T) { test(t, testkit.StartPostgres(t, "fsync=off").Database(t)) })
}

// TestRoom checks that a set with more jobs than the queue holds leaves room for contestants, and that all its jobs are
// judged again once.
func TestRoom(t *testing.T) {
	databases(t, func(t *testing.T, database string) {
		r := ring{open(t, database), t}
		ids := r.judged(23)
		r.set(api.RejudgingRequest{ID: "set", Filter: &api.RejudgingFilter{}})
		fillers := []*Rejudger{filler(r, "one"), filler(open(t, database), "one")} // as after a restart
		again := map[string]int{}
		for round := 0; r.view("set").State == api.RejudgingFilling; round++ {
			r.steps(fillers[round%2])
			depths, err := r.Depth(t.Context())
			if n := depths.Total(); err != nil || n > 5 {
				t.Fatalf("%d of 10 places are taken, %v", n, err)
			}
			for i := range 5 {
				r.put(fmt.Sprintf("contest%d-%d", round, i), "")
			}
			r.steps(fillers[(round+1)%2]) // finds no room
			for _, id := range r.judge(api.Accepted) {
				again[id]++
			}
		}
		r.judge(api.Accepted)
		if v := r.view("set"); v.State != api.RejudgingReady || v.Jobs != len(ids) || v.Judged != len(ids) ||
			v.SkippedN > 0 {
			t.Errorf("set %+v", v)
		}
		for _, id := range ids {
			if n := again[jobs.RejudgeID("set", id)]; n != 1 {
				t.Errorf("job %s was judged again %d times", id, n)
			}
		}
	})
}

// TestRoomOfTenants checks that a tenant whose places are taken does not keep the jobs of others in a set from being
// judged again, and that its own jobs follow.
func TestRoomOfTenants(t *testing.T) {
	r := ring{open(t, filepath.Join(t.TempDir(), "judged.db")), t}
	r.SetTenants([]config.Tenant{{Name: "full", Weight: 1, MaxWaiting: 4}, {Name: "other", Weight: 1}})
	r.SetMaxWaiting(1000)
	put := func(tenant, id string) {
		t.Helper()
		j := api.Job{Command: []string{"true"}, CPUs: 1, Tests: []api.Test{{Name: "1"}},
			Limits: api.Limits{CPUTimeMS: 1000}, Priority: api.Contest}
		if _, _, err := r.Put(jobs.WithTenant(t.Context(), tenant), jobs.Submission{ID: id, Job: j}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range page + 5 { // more than a page of those that come first
		put("full", fmt.Sprintf("a%03d", i))
		r.judge(api.WrongAnswer)
	}
	for i := range 3 {
		put("other", fmt.Sprintf("b%d", i))
		r.judge(api.WrongAnswer)
	}
	put("full", "waits1")
	put("full", "waits2")
	r.set(api.RejudgingRequest{ID: "set", Filter: &api.RejudgingFilter{}})
	f := filler(r, "one")
	for range 4 {
		r.steps(f)
	}
	for i := range 3 {
		if _, err := r.Get(t.Context(), jobs.RejudgeID("set", fmt.Sprintf("b%d", i))); err != nil {
			t.Errorf("job b%d of another tenant is not queued: %v", i, err)
		}
	}
	if rec, err := r.Get(t.Context(), jobs.RejudgeID("set", "a000")); err == nil {
		t.Errorf("%s is queued although half of the places are taken", rec.ID)
	}
	for rounds := 0; r.view("set").State == api.RejudgingFilling && rounds < 500; rounds++ {
		r.judge(api.Accepted)
		r.steps(f)
	}
	r.judge(api.Accepted)
	if v := r.view("set"); v.State != api.RejudgingReady || v.Jobs != page+8 || v.Judged != v.Jobs || v.SkippedN > 0 {
		t.Errorf("set %+v", v)
	}
}

// TestSteps checks that many jobs are searched in steps of a page, that a set can be cancelled between two steps, and
// that it fails if it selects too many jobs.
func TestSteps(t *testing.T) {
	r := ring{open(t, filepath.Join(t.TempDir(), "judged.db")), t}
	ids := r.judged(2*page + 1)
	f := filler(r, "one")
	r.set(api.RejudgingRequest{ID: "cancelled", Filter: &api.RejudgingFilter{Problem: "p1"}})
	if busy, err := f.Step(t.Context()); !busy || err != nil {
		t.Fatal(busy, err)
	}
	if v := r.view("cancelled"); v.State != api.RejudgingFilling || v.Jobs != page/2 || v.Queued != 0 {
		t.Errorf("after a step: %+v", v)
	}
	if err := r.CancelRejudging(t.Context(), "cancelled"); err != nil {
		t.Fatal(err)
	}
	if n := r.steps(f); n != 1 {
		t.Errorf("%d steps after the cancellation", n)
	}
	if got := r.view("cancelled"); got.Queued != 0 || got.State != api.RejudgingCancelled {
		t.Errorf("cancelled: %+v", got)
	}

	f.o.Most = page
	r.set(api.RejudgingRequest{ID: "many", Filter: &api.RejudgingFilter{}})
	r.set(api.RejudgingRequest{ID: "named", Jobs: slices.Concat(ids[:page], ids[:page], []string{"absent"})})
	r.steps(f)
	if v := r.view("many"); v.Queued > 0 || v.State != api.RejudgingFailed ||
		!strings.Contains(v.Error, "more than 100 jobs") {
		t.Errorf("too many: %+v", v)
	}
	for r.view("named").State == api.RejudgingFilling {
		r.judge(api.Accepted)
		r.steps(f)
	}
	if v := r.view("named"); v.Jobs != page || v.Queued != page || v.SkippedN != 1 {
		t.Errorf("jobs that are named twice: %+v", v)
	}
}

// faulty fails to read some jobs.
type faulty struct {
	*jobs.Store
	broken map[string]error
}

func (f faulty) GetShort(ctx context.Context, id string) (jobs.Record, error) {
	if err := f.broken[id]; err != nil {
		return jobs.Record{}, err
	}
	return f.Store.GetShort(ctx, id)
}

func (f faulty) List(ctx context.Context, q jobs.Filter) ([]api.Report, string, error) {
	if err := f.broken["list "+string(q.Verdict)]; err != nil {
		return nil, "", err
	}
	return f.Store.List(ctx, q)
}

// TestErrors checks that jobs that cannot be read, one permanently and one temporarily, do not affect other jobs of the
// set or other sets.
func TestErrors(t *testing.T) {
	r := ring{open(t, filepath.Join(t.TempDir(), "judged.db")), t}
	r.judged(4)
	store := faulty{r.Store, map[string]error{"j000": errors.New("unknown encoding 9")}}
	f := filler(store, "one")
	r.set(api.RejudgingRequest{ID: "a", Jobs: []string{"j000", "j001", "j002"}})
	if busy, err := f.Step(t.Context()); !busy || err != nil {
		t.Fatal(busy, err)
	}
	r.set(api.RejudgingRequest{ID: "b", Jobs: []string{"j003"}})
	store.broken["j001"] = fmt.Errorf("read job: %w", api.ErrUnavailable)
	for range 3 {
		if _, err := f.Step(t.Context()); !errors.Is(err, api.ErrUnavailable) {
			t.Errorf("got %v, want that the database is unavailable", err)
		}
	}
	if v := r.view("b"); v.State != api.RejudgingJudging {
		t.Errorf("a set after one that cannot be filled now: %+v", v)
	}
	if v := r.view("a"); v.State != api.RejudgingFilling || v.Jobs != 2 || v.SkippedN != 1 ||
		v.Skipped[0].Reason != "unknown encoding 9" {
		t.Errorf("a set with a job that cannot be read: %+v", v)
	}
	store.broken["list WA"] = errors.New("unknown encoding 9")
	r.set(api.RejudgingRequest{ID: "c", Filter: &api.RejudgingFilter{Verdict: api.WrongAnswer}})
	if _, err := f.Step(t.Context()); !errors.Is(err, api.ErrUnavailable) {
		t.Error(err)
	}
	if v := r.view("c"); v.State != api.RejudgingFailed || !strings.Contains(v.Error, "unknown encoding 9") {
		t.Errorf("a set whose jobs cannot be listed: %+v", v)
	}
	delete(store.broken, "j001")
	r.steps(f)
	if v := r.view("a"); v.State != api.RejudgingJudging || v.Queued != 2 {
		t.Errorf("after the database is back: %+v", v)
	}
}

// child fills rejudgings and judges. It prints each job before it tries to queue it.
func child(value string) int {
	number, database, _ := strings.Cut(value, " ")
	s, err := jobs.Open(context.Background(), options(database))
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	go func() {
		for {
			w, err := s.Take(context.Background(), api.Want{Host: "child" + number})
			if err == nil {
				err = s.Finish(context.Background(), w.Lease, api.Report{Verdict: api.Accepted})
			}
			// On a busy machine the lease may expire, and another process judge the job.
			if err != nil && !errors.Is(err, api.ErrStale) && !errors.Is(err, api.ErrFinal) {
				fmt.Println("error", err)
			}
		}
	}()
	f := filler(talking{s}, "child")
	for {
		if busy, err := f.Step(context.Background()); err != nil {
			fmt.Println("error", err)
		} else if !busy {
			fmt.Println("idle")
			time.Sleep(time.Millisecond)
		}
	}
}

// talking prints each change before it makes it.
type talking struct{ *jobs.Store }

func (s talking) SelectRejudged(ctx context.Context, u jobs.UnfinishedRejudging, found []jobs.SelectedJob,
	next jobs.RejudgingProgress) error {
	fmt.Println("select")
	return s.Store.SelectRejudged(ctx, u, found, next)
}

func (s talking) QueueRejudged(ctx context.Context, id string, old jobs.SelectedJob, n jobs.Submission) error {
	fmt.Println("queue")
	return s.Store.QueueRejudged(ctx, id, old, n)
}

func (s talking) EndFilling(ctx context.Context, u jobs.UnfinishedRejudging, failure string) error {
	fmt.Println("end")
	return s.Store.EndFilling(ctx, u, failure)
}

func (s talking) CompleteRejudging(ctx context.Context, id string) error {
	fmt.Println("complete")
	return s.Store.CompleteRejudging(ctx, id)
}

// TestKilled kills processes in the middle of a change, two at a time. It checks that other processes fill the sets,
// and that each job is judged again once.
func TestKilled(t *testing.T) {
	testkit.Need(t, testkit.Time)
	databases(t, func(t *testing.T, database string) {
		r := ring{open(t, database), t}
		ids := r.judged(60)
		const sets = 3
		for i := range sets {
			r.set(api.RejudgingRequest{ID: fmt.Sprint("set", i), Filter: &api.RejudgingFilter{}})
		}
		kills, applied := 0, false
		for left := true; left; kills += 2 {
			if kills > 500 {
				t.Fatal("the sets are never filled")
			}
			var pair sync.WaitGroup
			for i := range 2 {
				pair.Go(func() { killOne(t, fmt.Sprint(kills+i, " ", database)) })
			}
			pair.Wait()
			all, err := r.UnfinishedRejudgings(t.Context(), 10)
			if err != nil {
				t.Fatal(err)
			}
			if left = len(all) > 0; !left && !applied {
				r.judge(api.Accepted)
				applied, left = true, true
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Millisecond)
				if err := r.ApplyRejudging(ctx, "set0"); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
				cancel()
			}
		}
		if t.Logf("%d processes were killed", kills); kills < 10 {
			t.Errorf("%d kills are too few", kills)
		}
		for i := range sets {
			id := fmt.Sprint("set", i)
			if v := r.view(id); v.Jobs != len(ids) || v.Queued != len(ids) || v.Judged != len(ids) || v.SkippedN > 0 {
				t.Errorf("set %+v", v)
			}
		}
		all, _, err := r.List(t.Context(), jobs.Filter{Priority: api.Rejudge, State: api.Done, Limit: 500})
		if err != nil || len(all) != sets*len(ids) {
			t.Errorf("%d jobs judge others again, %v; want %d", len(all), err, sets*len(ids))
		}
		if got := r.view("set0").State; got != api.RejudgingApplied && got != api.RejudgingReady {
			t.Errorf("a set whose application was interrupted is %s", got)
		}
	})
}

// killOne starts a process and kills it in the middle of one of its first changes, or when it has nothing left to do.
func killOne(t *testing.T, value string) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+value)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = cmd.Wait() }()
	kill := sync.OnceFunc(func() { _ = cmd.Process.Kill() })
	left, idle := 1+rand.IntN(10), 0 // changes until the kill
	for lines := bufio.NewScanner(out); lines.Scan(); {
		switch line := lines.Text(); {
		case strings.HasPrefix(line, "error"):
			if !strings.Contains(line, "the queue is full") {
				t.Error(line)
			}
			kill()
		case line == "idle":
			if idle++; idle > 100 {
				kill()
			}
		default:
			if left--; left == 0 {
				time.AfterFunc(rand.N(2*time.Millisecond), kill)
			}
		}
	}
}
