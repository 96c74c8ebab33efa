package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/testkit"
)

func testLife(t *testing.T, b backend) {
	s := b.open(t, nil)
	put := s.put("a", nil)
	if got := s.get("a"); !cmp.Equal(got, put) || put.Report.CreatedAt.IsZero() || !cmp.Equal(put.Job, sampleJob()) {
		t.Errorf("stored:\n%s", cmp.Diff(put, got))
	}
	w := s.take()
	want := api.Work{
		Lease: api.Lease{ID: "a", Attempt: 1}, Job: sampleJob(), Until: w.Until,
		Report: api.Report{ID: "a", State: api.Running, Priority: api.Practice, Labels: sampleJob().Labels,
			CreatedAt: put.Report.CreatedAt, StartedAt: w.Report.StartedAt, Attempt: 1},
	}
	if diff := cmp.Diff(want, w); diff != "" {
		t.Errorf("work (-want +got):\n%s", diff)
	}
	s.idle(api.Want{})
	if rec := s.get("a"); rec.Host != "host" || rec.CPUs != "1" || rec.Report.State != api.Running {
		t.Errorf("running: %+v", rec)
	}
	s.finish(w.Lease, api.WrongAnswer)
	got, report := s.get("a").Report, sampleReport(api.WrongAnswer)
	report.ID, report.State, report.JudgementType, report.Priority, report.Labels, report.Attempt = "a", api.Done, "WA",
		api.Practice, sampleJob().Labels, 1
	report.CreatedAt, report.StartedAt, report.FinishedAt = put.Report.CreatedAt, w.Report.StartedAt, got.FinishedAt
	if diff := cmp.Diff(report, got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if !(got.CreatedAt.Before(got.StartedAt) && got.StartedAt.Before(got.FinishedAt)) {
		t.Errorf("created %v, started %v, finished %v", got.CreatedAt, got.StartedAt, got.FinishedAt)
	}
	waited, err := s.Wait(s.ctx(), "a")
	if diff := cmp.Diff(got, waited); diff != "" || err != nil {
		t.Errorf("wait: %v\n%s", err, diff)
	}
}

// testStartedBeforePut takes a job with a time that was read before the job was put, as a Take does that waits for the
// transaction of a Put.
func testStartedBeforePut(t *testing.T, b backend) {
	s := b.open(t, nil)
	put := s.put("a", nil).Report
	s.setClock(s.now().Add(-time.Minute), s.opts.elapsed())
	if w := s.take(); !w.Report.StartedAt.Equal(put.CreatedAt) {
		t.Errorf("a job created at %v was started at %v", put.CreatedAt, w.Report.StartedAt)
	}
}

func testIdempotent(t *testing.T, b backend) {
	s := b.open(t, func(o *Options) { o.MaxWaiting = 1 })
	first := s.put("a", nil)
	again, created, err := s.Put(s.ctx(), Submission{ID: "a", BodyDigest: "digest", Job: sampleJob()})
	if created || err != nil || !cmp.Equal(again, first) {
		t.Errorf("put again: created %v, %v\n%s", created, err, cmp.Diff(first, again))
	}
	old, created, err := s.Put(s.ctx(), Submission{ID: "a", BodyDigest: "other", Job: sampleJob()})
	s.want(err, ErrConflict)
	if created || old.ID != "a" {
		t.Errorf("another body: created %v, record %+v", created, old)
	}
	var labels int
	s.must(s.read.QueryRow(`SELECT COUNT(*) FROM labels`).Scan(&labels))
	if want := len(sampleJob().Labels); labels != want {
		t.Errorf("%d labels are stored, want %d", labels, want)
	}
	s.take()
	s.idle(api.Want{})
}

func testRefused(t *testing.T, b backend) {
	s := b.open(t, nil)
	for _, id := range []string{"", "-a", "a/b", "a b", "ä", string(make([]byte, 65))} {
		_, _, err := s.Put(s.ctx(), Submission{ID: id, Job: sampleJob()})
		s.want(err, ErrBadID)
	}
	if _, _, err := s.Put(s.ctx(), Submission{ID: "a", Job: api.Job{Priority: "urgent"}}); err == nil {
		t.Error("an unknown priority is stored")
	}
	for _, id := range []string{"none", "a\x00b", "\xff"} {
		_, err := s.Get(s.ctx(), id)
		s.want(err, api.ErrNotFound)
		_, err = s.Wait(s.ctx(), id)
		s.want(err, api.ErrNotFound)
		_, err = s.Cancel(s.ctx(), id)
		s.want(err, api.ErrNotFound)
		for _, err := range s.Events(s.ctx(), id, 0) {
			s.want(err, api.ErrNotFound)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Take(ctx, api.Want{})
	s.want(err, context.Canceled)
	if errors.Is(err, api.ErrUnavailable) {
		t.Errorf("a caller who hung up is taken for an absent database: %v", err)
	}
}

func testLeases(t *testing.T, b backend) {
	s := b.open(t, func(o *Options) { o.Lease, o.MaxDeliver = time.Minute, 2 })
	s.put("a", nil)
	w := s.take()
	s.clock.advance(50 * time.Second)
	if _, err := s.Extend(s.ctx(), w.Lease); err != nil {
		t.Fatal(err)
	}
	s.clock.advance(50 * time.Second)
	s.idle(api.Want{})
	for attempt := 2; attempt <= 3; attempt++ {
		s.clock.advance(61 * time.Second)
		w = s.take()
		if w.Attempt != attempt || w.Report.Attempt != attempt || w.Last != (attempt >= 2) ||
			w.Exhausted != (attempt > 2) {
			t.Errorf("attempt %d: %+v", attempt, w)
		}
	}
	// No other attempt has taken the job, so one with an expired lease can still finish it.
	s.clock.advance(time.Hour)
	s.finish(w.Lease, api.InternalError)
}

func testFences(t *testing.T, b backend) {
	stale := map[string]func(*bench, api.Lease) error{
		"extend": func(s *bench, l api.Lease) error { _, err := s.Extend(s.ctx(), l); return err },
		"return": func(s *bench, l api.Lease) error { return s.Return(s.ctx(), l, api.Returned{Uncounted: true}) },
		"finish": func(s *bench, l api.Lease) error { return s.Finish(s.ctx(), l, sampleReport(api.Accepted)) },
		"lost":   func(s *bench, l api.Lease) error { return s.Lost(s.ctx(), l) },
	}
	after := []struct {
		name string
		do   func(*bench, api.Lease)
		want error
	}{
		{"taken again", func(s *bench, _ api.Lease) { s.clock.advance(time.Hour); s.take() }, api.ErrStale},
		{"returned", func(s *bench, l api.Lease) { s.must(s.Return(s.ctx(), l, api.Returned{})) }, api.ErrStale},
		{"cancelled", func(s *bench, l api.Lease) { _, err := s.Cancel(s.ctx(), l.ID); s.must(err) }, api.ErrFinal},
		{"finished by the next attempt", func(s *bench, _ api.Lease) {
			s.clock.advance(time.Hour)
			s.finish(s.take().Lease, api.WrongAnswer)
		}, api.ErrFinal},
	}
	for _, a := range after {
		t.Run(a.name, func(t *testing.T) {
			s := b.open(t, nil)
			s.put("a", nil)
			l := s.take().Lease
			a.do(s, l)
			before := s.get("a")
			for name, call := range stale {
				if err := call(s, l); !errors.Is(err, a.want) {
					t.Errorf("%s: got %v, want %v", name, err, a.want)
				}
			}
			if after := s.get("a"); !cmp.Equal(before, after) {
				t.Errorf("a stale attempt changed the job:\n%s", cmp.Diff(before, after))
			}
		})
	}
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// testFinishAgain checks that an attempt can repeat a Finish that was stored but whose response was lost.
func testFinishAgain(t *testing.T, b backend) {
	s := b.open(t, nil)
	s.put("a", nil)
	l := s.take().Lease
	s.finish(l, api.WrongAnswer)
	s.finish(l, api.Accepted)
	if got := s.get("a").Report.Verdict; got != api.WrongAnswer {
		t.Errorf("the verdict became %s", got)
	}
}

func testReturn(t *testing.T, b backend) {
	s := b.open(t, func(o *Options) { o.MaxDeliver = 1 })
	s.put("a", nil)
	for attempt := 1; attempt <= 5; attempt++ {
		w := s.take()
		if w.Attempt != attempt || w.Report.Attempt != 1 || w.Exhausted {
			t.Errorf("after %d excused attempts: %+v", attempt-1, w)
		}
		s.must(s.Return(s.ctx(), w.Lease, api.Returned{Uncounted: true}))
	}
	w := s.take()
	s.must(s.Return(s.ctx(), w.Lease, api.Returned{Delay: time.Minute}))
	if rep := s.get("a").Report; rep.State != api.Queued || !rep.StartedAt.IsZero() || rep.Attempt != 1 {
		t.Errorf("returned: %+v", rep)
	}
	s.idle(api.Want{})
	s.clock.advance(2 * time.Minute)
	w = s.take()
	if !w.Exhausted || w.Report.Attempt != 2 {
		t.Errorf("after an attempt that counted: %+v", w)
	}
	for _, tt := range []struct{ reason, want string }{
		{"no such blob", "no such blob"},
		{"", "no such blob"},
		{"also \xff", "also "},
		{strings.Repeat("x", 2*maxReason), strings.Repeat("x", maxReason)},
	} {
		s.must(s.Return(s.ctx(), w.Lease, api.Returned{Uncounted: true, Reason: tt.reason}))
		if rep := s.get("a").Report; rep.State != api.Queued || rep.Message != tt.want {
			t.Errorf("returned because of %.20q: %s with message %.20q", tt.reason, rep.State, rep.Message)
		}
		w = s.take()
	}
	s.must(s.Finish(s.ctx(), w.Lease, api.Report{Verdict: api.Accepted}))
	if rep := s.get("a").Report; rep.Message != "" {
		t.Errorf("judged: message %q", rep.Message)
	}
}

func testCancel(t *testing.T, b backend) {
	s := b.open(t, nil)
	s.put("waiting", nil)
	s.put("running", nil)
	rep, err := s.Cancel(s.ctx(), "waiting")
	if err != nil || rep.State != api.CancelledState || rep.Verdict != api.Cancelled || rep.FinishedAt.IsZero() {
		t.Errorf("cancelled: %+v, %v", rep, err)
	}
	if got := s.get("waiting").Report; !cmp.Equal(got, rep) {
		t.Errorf("stored:\n%s", cmp.Diff(rep, got))
	}
	w := s.take()
	if w.ID != "running" {
		t.Fatalf("took %s, which was cancelled", w.ID)
	}
	tests := sampleReport(api.Accepted).Tests
	s.must(s.Emit(w.Lease, 1, tests[0]))
	testkit.WaitFor(t, time.Minute, "the running job to show a test",
		func() bool { return len(s.get("running").Report.Tests) > 0 })
	if diff := cmp.Diff(tests[:1], s.get("running").Report.Tests); diff != "" {
		t.Errorf("tests of a running job (-want +got):\n%s", diff)
	}
	rep, err = s.Cancel(s.ctx(), "running")
	s.must(err)
	for _, got := range []api.Report{rep, s.get("running").Report} {
		if diff := cmp.Diff(tests[:1], got.Tests); diff != "" {
			t.Errorf("tests of a cancelled job (-want +got):\n%s", diff)
		}
	}
	again, err := s.Cancel(s.ctx(), "running")
	s.want(err, api.ErrFinal)
	if again.State != api.CancelledState {
		t.Errorf("cancelled again: %+v", again)
	}
	s.put("done", nil)
	s.finish(s.take().Lease, api.WrongAnswer)
	finished, err := s.Cancel(s.ctx(), "done")
	s.want(err, api.ErrFinal)
	if finished.Verdict != api.WrongAnswer || s.get("done").Report.Verdict != api.WrongAnswer {
		t.Errorf("cancelled when it was done: %+v", finished)
	}
	s.idle(api.Want{})
}

func testLost(t *testing.T, b backend) {
	s := b.open(t, func(o *Options) { o.poll = 10 * time.Millisecond })
	other := s.again()
	s.put("a", nil)
	l := s.take().Lease
	ctx, cancel := context.WithCancel(s.ctx())
	held := make(chan error, 1)
	go func() { held <- s.Lost(ctx, l) }()
	cancel()
	s.want(<-held, context.Canceled)
	go func() { held <- s.Lost(s.ctx(), l) }()
	_, err := other.Cancel(s.ctx(), "a")
	s.must(err)
	s.want(<-held, api.ErrFinal)
}

func testReclaim(t *testing.T, b backend) {
	s := b.open(t, nil)
	s.put("mine", nil)
	s.put("theirs", func(j *api.Job) { j.Pool = "other" })
	mine := s.take()
	theirs, err := s.Take(s.ctx(), api.Want{Pool: "other", Host: "another host"})
	s.must(err)
	if n, err := s.Held(s.ctx(), "host"); n != 1 || err != nil {
		t.Errorf("the host holds %d, %v", n, err)
	}
	if n, err := s.Reclaim(s.ctx(), "host"); n != 1 || err != nil {
		t.Errorf("reclaimed %d, %v", n, err)
	}
	if w := s.take(); w.ID != "mine" || w.Attempt != mine.Attempt+1 {
		t.Errorf("took %+v", w)
	}
	s.must(s.Return(s.ctx(), theirs.Lease, api.Returned{Uncounted: true}))
	if n, err := s.Held(s.ctx(), "another host"); n != 0 || err != nil {
		t.Errorf("the host holds %d after it returned its job, %v", n, err)
	}
	for _, id := range []string{"delayed", "done"} {
		s.put(id, func(j *api.Job) { j.Pool = "second" })
	}
	delayed, err := s.Take(s.ctx(), api.Want{Pool: "second"})
	s.must(err)
	done, err := s.Take(s.ctx(), api.Want{Pool: "second"})
	s.must(err)
	s.must(s.Return(s.ctx(), delayed.Lease, api.Returned{Delay: time.Hour}))
	s.finish(done.Lease, api.Accepted)
	if n, err := s.Adopt(s.ctx(), "default", []string{"second", "other"}); n != 0 || err != nil {
		t.Errorf("adopted %d of a pool that is in use, %v", n, err)
	}
	if n, err := s.Adopt(s.ctx(), "default", []string{"third"}); n != 2 || err != nil {
		t.Errorf("adopted %d, %v", n, err)
	}
	if w := s.take(); w.ID != "theirs" {
		t.Errorf("took %+v", w)
	}
}

func testKinds(t *testing.T, b backend) {
	s := b.open(t, nil)
	s.put("plain", nil)
	s.put("wide", func(j *api.Job) { j.CPUs = 4 })
	s.put("metal", func(j *api.Job) { j.Pool = "metal" })
	s.put("narrow", nil)
	for _, w := range []struct {
		slot api.Want
		want []string
	}{
		{api.Want{Width: 1}, []string{"plain", "narrow"}},
		{api.Want{Pool: "default", Width: 4}, []string{"wide"}},
		{api.Want{Pool: "metal"}, []string{"metal"}},
	} {
		for _, want := range w.want {
			got, err := s.Take(s.ctx(), w.slot)
			if err != nil || got.ID != want {
				t.Errorf("%+v took %q, %v; want %q", w.slot, got.ID, err, want)
			}
		}
		s.idle(w.slot)
	}
	// A wide slot takes narrower jobs in order, and is woken for them.
	taken := make(chan string)
	go func() {
		for range 2 {
			w, err := s.Take(s.ctx(), api.Want{Width: 4})
			if err != nil {
				t.Error(err)
			}
			taken <- w.ID
		}
	}()
	for _, id := range []string{"first", "second"} {
		s.put(id, nil)
		if got := <-taken; got != id {
			t.Errorf("a wide slot took %q, want %q", got, id)
		}
	}
}

// testContestsOnly checks that a slot for contests takes no other jobs, and does not prevent other slots from taking
// them.
func testContestsOnly(t *testing.T, b backend) {
	s := b.open(t, func(o *Options) { o.poll = time.Hour }) // woken by a notification, never by a poll
	class := func(p api.Priority) func(*api.Job) { return func(j *api.Job) { j.Priority = p } }
	reserved := api.Want{Contests: true}
	s.put("practice", class(api.Practice))
	s.idle(reserved)
	s.put("contest", class(api.Contest))
	if w, err := s.Take(s.ctx(), reserved); err != nil || w.ID != "contest" {
		t.Errorf("a reserved slot took %q, %v", w.ID, err)
	}
	if w, err := s.Take(s.ctx(), api.Want{}); err != nil || w.ID != "practice" {
		t.Errorf("another slot took %q, %v", w.ID, err)
	}
	taken := make(chan string)
	for _, want := range []api.Want{reserved, {}} {
		go func() {
			w, err := s.Take(s.ctx(), want)
			if err != nil {
				t.Error(err)
			}
			taken <- fmt.Sprint(w.ID, want.Contests)
		}()
	}
	for _, p := range []api.Priority{api.Background, api.Contest} {
		s.put("waited-for-"+string(p), class(p))
		if got, want := <-taken, fmt.Sprint("waited-for-"+string(p), p == api.Contest); got != want {
			t.Errorf("took %q, want %q", got, want)
		}
	}
}

func testValues(t *testing.T, b backend) {
	s := b.open(t, nil)
	type value struct{ A int }
	names := [][]string{{"guard", "host"}, {"guard host"}, {"guard", ""}, {"guard"}, {"\x00\xff", "ü"}, {`a" "b`},
		{"a", "b"}}
	for i, name := range names {
		var v value
		if found, err := s.Value(s.ctx(), &v, name...); found || err != nil {
			t.Errorf("value %q is there before it was set: %v", name, err)
		}
		s.must(s.SetValue(s.ctx(), value{-1}, name...))
		s.must(s.SetValue(s.ctx(), value{i}, name...))
	}
	s = s.again()
	for i, name := range names {
		var v value
		if found, err := s.Value(s.ctx(), &v, name...); !found || err != nil || v.A != i {
			t.Errorf("value %q: %v, %v, %v", name, v, found, err)
		}
	}
	got := map[string]string{}
	s.must(s.Values(s.ctx(), func(name string, value []byte) error {
		got[name] = string(value)
		return nil
	}, "guard"))
	if diff := cmp.Diff(map[string]string{"host": `{"A":0}`, "": `{"A":2}`}, got); diff != "" {
		t.Errorf("values below guard (-want +got):\n%s", diff)
	}
	s.must(s.Check())
	s.must(s.SetValue(s.ctx(), true, OperatorValues, "node-drained", "n"))
	s.clock.advance(valueAge + time.Hour)
	if _, err := s.Sweep(s.ctx()); err != nil {
		t.Fatal(err)
	}
	if found, err := s.Value(s.ctx(), &value{}, names[0]...); found || err != nil {
		t.Errorf("an old value is kept: %v", err)
	}
	drained := false
	if _, err := s.Value(s.ctx(), &drained, OperatorValues, "node-drained", "n"); !drained || err != nil {
		t.Errorf("what an operator has set is gone: %v", err)
	}
}

// putProblem stores a problem with one test. Its blobs have the numbers n and n+1.
func (s *bench) putProblem(id string, n int) error {
	_, _, err := s.PutProblem(s.ctx(), api.Problem{ID: id, Version: fmt.Sprint(n), Archive: file(n).Blob,
		Tests: []api.Test{{Name: "1", Input: file(n + 1)}}}, Editor{})
	return err
}

// testProblems checks that a problem belongs to the token that stored it first.
func testProblems(t *testing.T, b backend) {
	s := b.open(t, nil)
	alice, bob, admin := Editor{Name: "alice"}, Editor{Name: "bob"}, Editor{Name: "ops", Any: true}
	put := func(by Editor, id, version string) string {
		p, created, err := s.PutProblem(s.ctx(), api.Problem{ID: id, Version: version}, by)
		if err != nil {
			if !errors.Is(err, ErrNotOwner) {
				t.Error(err)
			}
			return "refused"
		}
		return fmt.Sprint(p.Owner, " ", created)
	}
	for _, tt := range []struct {
		by                Editor
		id, version, want string
	}{
		{alice, "sum", "1", "alice true"}, {alice, "sum", "1", "alice false"}, {bob, "sum", "2", "refused"},
		{Editor{}, "sum", "2", "refused"}, {admin, "sum", "2", "alice true"}, {alice, "sum", "3", "alice true"},
		{bob, "a-b", "1", "bob true"}, {bob, "a.b", "1", "bob true"}, {bob, "a", "1", "bob true"},
		{admin, "z", "1", "ops true"},
	} {
		if got := put(tt.by, tt.id, tt.version); got != tt.want {
			t.Errorf("%s stores %s %s: %s, want %s", tt.by.Name, tt.id, tt.version, got, tt.want)
		}
	}
	var pages [][]string
	for after, more := "", true; more; more = after != "" {
		page, next, err := s.Problems(s.ctx(), after, 2)
		s.must(err)
		var lines []string
		for _, p := range page {
			lines = append(lines, p.ID+" "+p.Version+" "+p.Owner)
		}
		pages, after = append(pages, lines), next
	}
	want := [][]string{{"a 1 bob", "a-b 1 bob"}, {"a.b 1 bob", "sum 3 alice"}, {"z 1 ops"}}
	if diff := cmp.Diff(want, pages); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
	if _, _, err := s.Problems(s.ctx(), "no cursor", 2); !errors.Is(err, ErrBadCursor) {
		t.Errorf("a bad cursor: %v", err)
	}
	for _, tt := range []struct {
		by   Editor
		want error
	}{{bob, ErrNotOwner}, {alice, nil}, {alice, ErrNoProblem}} {
		if err := s.DeleteProblem(s.ctx(), "sum", tt.by); !errors.Is(err, tt.want) {
			t.Errorf("%s deletes: %v, want %v", tt.by.Name, err, tt.want)
		}
	}
	if got := put(bob, "sum", "1"); got != "bob true" {
		t.Errorf("stored by another one after it was deleted: %s", got)
	}
}

// testProblemRace checks that exactly one of many concurrent writers of a problem becomes its owner.
func testProblemRace(t *testing.T, b backend) {
	s := b.open(t, nil)
	const writers = 8
	owners := make(chan string, writers)
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			p, _, err := s.PutProblem(s.ctx(), api.Problem{ID: "sum", Version: "1"}, Editor{Name: fmt.Sprint("token", i)})
			if err == nil {
				owners <- p.Owner
			} else if !errors.Is(err, ErrNotOwner) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	close(owners)
	p, err := s.Problem(s.ctx(), "sum")
	s.must(err)
	if owner := <-owners; owner != p.Owner || len(owners) > 0 {
		t.Errorf("stored for %q and %d others, owner %q", owner, len(owners), p.Owner)
	}
}

func testBlobs(t *testing.T, b backend) {
	s := b.open(t, nil)
	for i := range 5 {
		s.put(fmt.Sprint("job", i), func(j *api.Job) { j.Program = *file(100 + i) })
	}
	s.must(s.Finish(s.ctx(), s.take().Lease, keptReport(api.Accepted)))
	_, err := s.Cancel(s.ctx(), "job1")
	s.must(err)
	s.take()
	want := map[string]bool{"output of AC": true}
	for _, n := range []int{2, 3, 4, 5, 102, 103, 104} {
		want[file(n).Blob] = true
	}
	got, err := s.Blobs(s.ctx())
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("blobs: %v (-want +got)\n%s", err, diff)
	}
	ids := map[string]api.State{}
	for rec, err := range s.Unfinished(s.ctx()) {
		s.must(err)
		ids[rec.ID] = rec.Report.State
	}
	if diff := cmp.Diff(map[string]api.State{"job2": api.Running, "job3": api.Queued, "job4": api.Queued},
		ids); diff != "" {
		t.Errorf("unfinished (-want +got):\n%s", diff)
	}
	s.must(errors.Join(s.putProblem("sum", 200), s.putProblem("sum", 201)))
	want[file(201).Blob], want[file(202).Blob] = true, true
	s.clock.advance(valueAge + time.Hour)
	_, err = s.Sweep(s.ctx())
	s.must(err)
	got, err = s.Blobs(s.ctx())
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("blobs with those of an old problem: %v (-want +got)\n%s", err, diff)
	}
	for range s.Unfinished(s.ctx()) {
		break // leaves no connection open: Close and Sweep still work
	}
}

func testRetention(t *testing.T, b backend) {
	s := b.open(t, func(o *Options) { o.Retention, o.MaxJobs = time.Hour, 3 })
	old := s.put("old", nil)
	if old.ID == "" {
		t.Fatal("no record")
	}
	s.must(s.Emit(s.take().Lease, 1, api.TestReport{Name: "1"}))
	_, err := s.Cancel(s.ctx(), "old")
	s.must(err)
	s.put("waiting", func(j *api.Job) { j.Priority = api.Background })
	s.clock.advance(2 * time.Hour)
	if n, err := s.Sweep(s.ctx()); n != 1 || err != nil {
		t.Errorf("deleted %d, %v; one job is too old", n, err)
	}
	for i := range 5 {
		s.put(fmt.Sprint("new", i), nil)
		s.finish(s.take().Lease, api.Accepted)
	}
	if n, err := s.Sweep(s.ctx()); n != 2 || err != nil {
		t.Errorf("deleted %d, %v; two jobs are too many", n, err)
	}
	if n, err := s.Sweep(s.ctx()); n != 0 || err != nil {
		t.Errorf("deleted %d more, %v", n, err)
	}
	for id, want := range map[string]error{"old": api.ErrNotFound, "new0": api.ErrNotFound, "new1": api.ErrNotFound,
		"new2": nil,
		"new4": nil, "waiting": nil} {
		if _, err := s.Get(s.ctx(), id); !errors.Is(err, want) {
			t.Errorf("job %s: %v, want %v", id, err, want)
		}
	}
	var labels, events int
	s.must(s.read.QueryRow(`SELECT COUNT(*) FROM labels`).Scan(&labels))
	if labels != 2*4 {
		t.Errorf("%d labels are left of 4 jobs with 2 each", labels)
	}
	testkit.WaitFor(t, time.Minute, "events to be dropped", func() bool {
		s.must(s.read.QueryRow(`SELECT COUNT(*) FROM events`).Scan(&events))
		return events == 0
	})

	// As a reload does.
	s.SetRetention(time.Hour, 2)
	if n, err := s.Sweep(s.ctx()); n != 1 || err != nil {
		t.Errorf("deleted %d, %v; one job is too many now", n, err)
	}
	s.put("third", nil)
	s.finish(s.take().Lease, api.Accepted)
	s.SetRetention(time.Hour, 3)

	// Three are too old; one of them also exceeds MaxJobs.
	s.clock.advance(2 * time.Hour)
	s.put("newest", nil)
	s.finish(s.take().Lease, api.Accepted)
	if n, err := s.Sweep(s.ctx()); n != 3 || err != nil {
		t.Errorf("deleted %d, %v; three jobs are too old", n, err)
	}
}

// testManyOld checks that one sweep deletes all jobs that are too old, including the remains of a crash, and that a
// page has its maximum length.
func testManyOld(t *testing.T, b backend) {
	const many = sweepBatch + 100
	s := b.open(t, nil)
	seed(t, s.Store, 0, many)
	if page, next, err := s.List(s.ctx(), Filter{Limit: many}); len(page) != maxPage || next == "" || err != nil {
		t.Errorf("a page of %d, next %q, %v", len(page), next, err)
	}
	_, err := s.write.Exec(`INSERT INTO events (job, number, body) VALUES (1, 1, '')`)
	s.must(err)
	s.SetRetention(time.Hour, 0)
	if n, err := s.Sweep(s.ctx()); n != many || err != nil {
		t.Errorf("deleted %d, %v; want %d", n, err, many)
	}
	for _, table := range archivedTables(len(migrations)) {
		var n int
		s.must(s.read.QueryRow(`SELECT COUNT(*) FROM ` + table).Scan(&n))
		if table == "feed" {
			n-- // the last position
		}
		if n != 0 {
			t.Errorf("%d rows are left in table %s", n, table)
		}
	}
}

// testTakeRepeated checks that a take whose response was lost can be repeated with its key without using an attempt.
func testTakeRepeated(t *testing.T, b backend) {
	s := b.open(t, nil)
	for _, id := range []string{"1", "2", "3", "4"} {
		s.put(id, nil)
	}
	take := func(w api.Want) string {
		t.Helper()
		work, err := s.Take(s.ctx(), w)
		s.must(err)
		return fmt.Sprint(work.ID, " attempt ", work.Attempt)
	}
	steps := []struct {
		what string
		want api.Want
		gets string
	}{
		{"the first call", api.Want{Host: "a", Key: "k"}, "1 attempt 1"},
		{"repeated", api.Want{Host: "a", Key: "k", Repeated: true}, "1 attempt 1"},
		{"repeated again", api.Want{Host: "a", Key: "k", Repeated: true}, "1 attempt 1"},
		{"another host", api.Want{Host: "b", Key: "k", Repeated: true}, "2 attempt 1"},
		{"the next call", api.Want{Host: "a", Key: "l"}, "3 attempt 1"},
	}
	for _, step := range steps {
		if got := take(step.want); got != step.gets {
			t.Errorf("%s got job %s, want %s", step.what, got, step.gets)
		}
	}
	// The repeated call has extended the lease, so the job is not the next to be taken.
	s.clock.advance(25 * time.Second)
	take(api.Want{Host: "a", Key: "k", Repeated: true})
	s.clock.advance(25 * time.Second)
	if got := take(api.Want{Host: "c"}); got != "2 attempt 2" {
		t.Errorf("after the end of the other leases got job %s", got)
	}
	s.clock.advance(time.Hour)
	if got := take(api.Want{Host: "c"}); got != "1 attempt 2" {
		t.Errorf("after the end of all leases got job %s", got)
	}
	if got := take(api.Want{Host: "a", Key: "k", Repeated: true}); got == "1 attempt 2" || got == "1 attempt 1" {
		t.Errorf("a key has got job %s, which another host has", got)
	}
}
