package jobs

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"judged/internal/api"
)

// rejudging stores a set of jobs with their old verdicts and queues each of them again.
func (b *bench) rejudging(id string, old map[string]api.Verdict) api.RejudgingRequest {
	b.t.Helper()
	q := api.RejudgingRequest{ID: id, Reason: "wrong answer file"}
	created, err := b.PutRejudging(b.ctx(), q, "digest")
	if err != nil || !created {
		b.t.Fatalf("put rejudging %s: %t, %v", id, created, err)
	}
	found := []SelectedJob{{ID: "gone", Skipped: "no such job"}}
	for original, verdict := range old {
		found = append(found, SelectedJob{ID: original, Verdict: verdict})
	}
	b.must(b.SelectRejudged(b.ctx(), b.unfinished(id), found, RejudgingProgress{Selected: true}))
	for _, f := range found[1:] {
		b.must(b.QueueRejudged(b.ctx(), id, f, again(id, f.ID)))
	}
	b.must(b.EndFilling(b.ctx(), b.unfinished(id), ""))
	return q
}

// again returns the job that judges original again.
func again(id, original string) Submission {
	j := sampleJob()
	j.Priority, j.Labels = api.Rejudge, map[string]string{RejudgeLabel: original, RejudgingLabel: id}
	return Submission{Job: j}
}

// unfinished returns an unfinished rejudging.
func (b *bench) unfinished(id string) UnfinishedRejudging {
	b.t.Helper()
	all, err := b.UnfinishedRejudgings(b.ctx(), 100)
	b.must(err)
	for _, u := range all {
		if u.ID == id {
			return u
		}
	}
	b.t.Fatalf("rejudging %s has no work left: %+v", id, all)
	return UnfinishedRejudging{}
}

// testUnknownRejudging checks that a rejudging with an unknown state is not treated as finished.
func testUnknownRejudging(t *testing.T, be backend) {
	b := be.open(t, nil)
	b.put("a", nil)
	b.judgeAll(map[string]api.Verdict{"a": api.WrongAnswer})
	b.rejudging("set", map[string]api.Verdict{"a": api.WrongAnswer})
	b.judgeAll(map[string]api.Verdict{RejudgeID("set", "a"): api.Accepted})
	_, err := b.write.Exec(`UPDATE rejudgings SET state = 9, progress = 'x'`)
	b.must(err)
	_, read := b.Rejudging(b.ctx(), "set")
	_, unfinished := b.UnfinishedRejudgings(b.ctx(), 10)
	for name, err := range map[string]error{"read": read, "apply": b.ApplyRejudging(b.ctx(), "set"),
		"unfinished": unfinished} {
		if err == nil || !strings.HasSuffix(err.Error(), `decode rejudging "set": unknown state 9`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// testFilling selects and queues the jobs of a rejudging in steps that other processes repeat, and cancels another
// rejudging.
func testFilling(t *testing.T, be backend) {
	b := be.open(t, func(o *Options) { o.MaxWaiting = 4 })
	for _, id := range []string{"a", "b", "c"} {
		b.put(id, nil)
		b.judgeAll(map[string]api.Verdict{id: api.WrongAnswer})
	}
	request := api.RejudgingRequest{ID: "set", Filter: &api.RejudgingFilter{Problem: "sum"},
		Limits: api.Limits{CPUTimeMS: 7}}
	for _, want := range []bool{true, false} {
		if created, err := b.PutRejudging(b.ctx(), request, "digest"); created != want || err != nil {
			t.Errorf("created %t, %v; want %t", created, err, want)
		}
	}
	b.want(func() error { _, err := b.PutRejudging(b.ctx(), request, "other"); return err }(), ErrConflict)
	other := b.again()
	u := other.unfinished("set")
	if diff := cmp.Diff(request, u.Request); diff != "" || u.State != api.RejudgingFilling || u.Broken != nil {
		t.Errorf("%s, %v, request (-want +got):\n%s", u.State, u.Broken, diff)
	}
	next := RejudgingProgress{After: "cursor"}
	found := []SelectedJob{{ID: "a", Verdict: api.WrongAnswer}, {ID: "b", Verdict: api.Accepted}}
	b.must(b.SelectRejudged(b.ctx(), u, found, next))
	b.want(other.SelectRejudged(b.ctx(), u, found, next), api.ErrFinal)
	u = b.unfinished("set")
	if u.Progress.Jobs != 2 || u.Progress.After != "cursor" {
		t.Errorf("progress %+v", u.Progress)
	}
	b.must(b.SelectRejudged(b.ctx(), u, []SelectedJob{{ID: "a"}, {ID: "c"}}, RejudgingProgress{Selected: true}))
	u = b.unfinished("set")
	if u.Progress.Jobs != 3 || !u.Progress.Selected {
		t.Errorf("progress %+v", u.Progress)
	}
	b.want(b.ApplyRejudging(b.ctx(), "set"), api.ErrFinal)

	room := func(want int) {
		t.Helper()
		if got, err := b.RejudgingRoom(b.ctx()); got != want || err != nil {
			t.Errorf("room for %d, %v; want %d", got, err, want)
		}
	}
	room(2)
	for _, s := range []*bench{b, other} {
		b.must(s.QueueRejudged(b.ctx(), "set", SelectedJob{ID: "b", Verdict: api.WrongAnswer}, again("set", "b")))
	}
	room(1)
	b.must(b.SkipRejudged(b.ctx(), "set", api.SkippedJob{Job: "a", Reason: "its file is gone"}))
	b.must(b.SkipRejudged(b.ctx(), "set", api.SkippedJob{Job: "b", Reason: "too late"}))
	b.put(RejudgeID("set", "c"), nil) // put by another client
	b.must(b.QueueRejudged(b.ctx(), "set", SelectedJob{ID: "c"}, again("set", "c")))
	room(0)
	if left, err := b.UnqueuedJobs(b.ctx(), "set", "", 10); len(left) > 0 || err != nil {
		t.Errorf("not queued: %v, %v", left, err)
	}
	want := api.Rejudging{ID: "set", State: api.RejudgingFilling, Jobs: 1, Queued: 1,
		Verdicts: []api.RejudgedCount{{Old: api.WrongAnswer, Jobs: 1}}, SkippedN: 2,
		Skipped: []api.SkippedJob{{Job: "a", Reason: "its file is gone"}, {Job: "c",
			Reason: `another job has the ID "` + RejudgeID("set", "c") + `"`}}}
	b.view("set", want)
	b.must(b.EndFilling(b.ctx(), u, ""))
	b.want(b.EndFilling(b.ctx(), u, ""), api.ErrFinal)
	b.want(b.QueueRejudged(b.ctx(), "set", SelectedJob{ID: "a"}, again("set", "a")), api.ErrFinal)
	want.State = api.RejudgingJudging
	b.view("set", want)
	testCancelledFilling(t, b)
}

// testCancelledFilling cancels a rejudging while it is filled, and makes another one fail.
func testCancelledFilling(t *testing.T, b *bench) {
	for _, id := range []string{"cancelled", "failed"} {
		created, err := b.PutRejudging(b.ctx(), api.RejudgingRequest{ID: id, Jobs: []string{"a"}}, id)
		if !created || err != nil {
			t.Fatal(created, err)
		}
	}
	u := b.unfinished("cancelled")
	b.must(b.SelectRejudged(b.ctx(), u, []SelectedJob{{ID: "a"}, {ID: "b"}}, RejudgingProgress{Selected: true}))
	b.must(b.QueueRejudged(b.ctx(), "cancelled", SelectedJob{ID: "a"}, again("cancelled", "a")))
	b.must(b.CancelRejudging(b.ctx(), "cancelled"))
	b.want(b.QueueRejudged(b.ctx(), "cancelled", SelectedJob{ID: "b"}, again("cancelled", "b")), api.ErrFinal)
	b.want(b.EndFilling(b.ctx(), u, ""), api.ErrFinal)
	if got := b.get(RejudgeID("cancelled", "a")).Report.State; got != api.CancelledState {
		t.Errorf("job of a set that was cancelled while it was filled is %s", got)
	}
	b.must(b.EndFilling(b.ctx(), b.unfinished("failed"), "too many"))
	b.view("failed", api.Rejudging{ID: "failed", State: api.RejudgingFailed, Error: "too many",
		Verdicts: []api.RejudgedCount{}, Skipped: []api.SkippedJob{}})
	b.want(b.ApplyRejudging(b.ctx(), "failed"), api.ErrFinal)
	b.want(b.CancelRejudging(b.ctx(), "failed"), api.ErrFinal)
	if all, err := b.UnfinishedRejudgings(b.ctx(), 10); len(all) > 0 || err != nil {
		t.Errorf("work is left: %+v, %v", all, err)
	}
}

// view compares a rejudging, except for its times.
func (b *bench) view(id string, want api.Rejudging) {
	b.t.Helper()
	got, err := b.Rejudging(b.ctx(), id)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(api.Rejudging{}, "CreatedAt",
		"EndedAt")); diff != "" || err != nil {
		b.t.Errorf("rejudging %s: %v (-want +got):\n%s", id, err, diff)
	}
}

// judgeAll judges all queued jobs, with the verdicts of their labels.
func (b *bench) judgeAll(verdicts map[string]api.Verdict) {
	b.t.Helper()
	for range verdicts {
		w := b.take()
		original := w.Job.Labels[RejudgeLabel]
		if original == "" {
			original = w.ID
		}
		b.must(b.Finish(b.ctx(), w.Lease, keptReport(verdicts[original])))
	}
}

func testRejudging(t *testing.T, be backend) {
	b := be.open(t, nil)
	old := map[string]api.Verdict{"a": api.WrongAnswer, "b": api.WrongAnswer, "c": api.Accepted, "d": api.WrongAnswer,
		"e": api.TimeLimit}
	for id := range old {
		b.put(id, nil)
	}
	b.judgeAll(old)
	q := b.rejudging("set", old)
	view := func(name string, want api.Rejudging) {
		t.Helper()
		got, err := b.Rejudging(b.ctx(), "set")
		want.ID, want.Reason, want.Queued = "set", q.Reason, want.Jobs
		want.Skipped, want.SkippedN = []api.SkippedJob{{Job: "gone", Reason: "no such job"}}, 1
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(api.Rejudging{}, "CreatedAt",
			"EndedAt")); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
		if ended := !got.EndedAt.IsZero(); got.CreatedAt.IsZero() || ended != (got.State == api.RejudgingApplied) {
			t.Errorf("%s: created %v, ended %v", name, got.CreatedAt, got.EndedAt)
		}
	}
	view("queued", api.Rejudging{State: api.RejudgingJudging, Jobs: 5, Verdicts: []api.RejudgedCount{
		{Old: api.Accepted, Jobs: 1}, {Old: api.TimeLimit, Jobs: 1}, {Old: api.WrongAnswer, Jobs: 3}}})
	b.want(b.ApplyRejudging(b.ctx(), "set"), api.ErrFinal)
	b.want(b.ApplyRejudging(b.ctx(), "other"), ErrNoRejudging)
	b.judgeAll(map[string]api.Verdict{"a": api.Accepted, "b": api.Accepted, "c": api.Accepted, "d": api.InternalError,
		"e": api.Accepted})
	counts := []api.RejudgedCount{{Old: api.Accepted, New: api.Accepted, Jobs: 1}, {Old: api.TimeLimit,
		New: api.Accepted, Jobs: 1},
		{Old: api.WrongAnswer, New: api.Accepted, Jobs: 2}, {Old: api.WrongAnswer, New: api.InternalError, Jobs: 1}}
	view("judged", api.Rejudging{State: api.RejudgingReady, Jobs: 5, Judged: 5, Changed: 4, Verdicts: counts})
	if got := b.get("a").Report; got.Verdict != api.WrongAnswer || got.Rejudging != nil {
		t.Errorf("report before the set is applied: %+v", got)
	}
	before := b.get("a").Report
	again := b.get(RejudgeID("set", "a")).Report
	for range 2 { // the second call changes nothing
		b.must(b.ApplyRejudging(b.ctx(), "set"))
	}
	view("applied", api.Rejudging{State: api.RejudgingApplied, Jobs: 5, Judged: 5, Changed: 4, Verdicts: counts})
	b = b.again()

	want := again
	want.ID, want.Labels, want.Priority, want.CreatedAt = "a", before.Labels, before.Priority, before.CreatedAt
	want.Rejudging = &api.AppliedRejudging{ID: "set", Job: again.ID, PreviousVerdict: api.WrongAnswer}
	after := b.get("a").Report
	if diff := cmp.Diff(want, after, cmpopts.IgnoreFields(api.AppliedRejudging{}, "AppliedAt")); diff != "" ||
		after.Rejudging.AppliedAt.IsZero() {
		t.Errorf("report after the set is applied (-want +got):\n%s", diff)
	}
	kept := before
	kept.ID, kept.Labels, kept.Priority, kept.CreatedAt = again.ID, again.Labels, again.Priority, again.CreatedAt
	if diff := cmp.Diff(kept, b.get(again.ID).Report); diff != "" {
		t.Errorf("the report of before (-want +got):\n%s", diff)
	}
	if got := b.get("d").Report; got.Verdict != api.WrongAnswer || got.Rejudging != nil {
		t.Errorf("report of a job that could not be judged again: %+v", got)
	}
	page, _, err := b.List(b.ctx(), Filter{Verdict: api.Accepted, Label: map[string]string{"team": "7"}})
	if err != nil || len(page) != 4 {
		t.Errorf("accepted jobs of the team: %d, %v; want 4", len(page), err)
	}
	testRejudgedPages(t, b)
	b.want(b.CancelRejudging(b.ctx(), "set"), api.ErrFinal)
}

func testRejudgedPages(t *testing.T, b *bench) {
	list := func(changed bool) (all []string) {
		for after := ""; ; {
			page, next, err := b.RejudgedPage(b.ctx(), "set", changed, after, 2)
			b.must(err)
			for _, r := range page {
				if r.Job == "gone" {
					if r.Again != "" || r.Applied || r.Skipped != "no such job" {
						t.Errorf("entry of a skipped job %+v", r)
					}
				} else if r.Again != RejudgeID("set", r.Job) || r.Applied != (r.Job != "d") || r.Skipped != "" {
					t.Errorf("entry %+v", r)
				}
				all = append(all, r.Job+" "+string(r.Old)+" "+string(r.New))
			}
			if after = next; next == "" {
				return all
			}
		}
	}
	if diff := cmp.Diff([]string{"a WA AC", "b WA AC", "c AC AC", "d WA IE", "e TLE AC", "gone  "},
		list(false)); diff != "" {
		t.Errorf("all jobs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a WA AC", "b WA AC", "d WA IE", "e TLE AC"}, list(true)); diff != "" {
		t.Errorf("changed jobs (-want +got):\n%s", diff)
	}
	_, _, err := b.RejudgedPage(b.ctx(), "set", false, "\x00", 2)
	b.want(err, ErrBadCursor)
}

// testRejudgings checks two rejudgings with the same job: the first is cancelled, then the second is applied.
func testRejudgings(t *testing.T, be backend) {
	b := be.open(t, nil)
	b.put("a", nil)
	b.judgeAll(map[string]api.Verdict{"a": api.WrongAnswer})
	b.rejudging("one", map[string]api.Verdict{"a": api.WrongAnswer})
	b.clock.advance(time.Second)
	for range 2 {
		b.must(b.CancelRejudging(b.ctx(), "one"))
	}
	if got := b.get(RejudgeID("one", "a")).Report.State; got != api.CancelledState {
		t.Errorf("job of a cancelled rejudging is %s", got)
	}
	b.want(b.ApplyRejudging(b.ctx(), "one"), api.ErrFinal)
	for i, verdict := range []api.Verdict{api.TimeLimit, api.Accepted} {
		b.clock.advance(time.Second)
		id := []string{"two", "three"}[i]
		b.rejudging(id, map[string]api.Verdict{"a": b.get("a").Report.Verdict})
		b.judgeAll(map[string]api.Verdict{"a": verdict})
		b.must(b.ApplyRejudging(b.ctx(), id))
	}
	if r := b.get("a").Report; r.Verdict != api.Accepted || r.Rejudging.PreviousVerdict != api.TimeLimit {
		t.Errorf("verdict %s after %s, want AC after TLE", r.Verdict, r.Rejudging.PreviousVerdict)
	}
	var ids []string
	for after := ""; ; {
		page, next, err := b.Rejudgings(b.ctx(), after, 1)
		b.must(err)
		for _, r := range page {
			ids = append(ids, r.ID+" "+string(r.State)+" "+string(r.Verdicts[0].Old)+" "+string(r.Verdicts[0].New))
		}
		if after = next; next == "" {
			break
		}
	}
	if diff := cmp.Diff([]string{"three applied TLE AC", "two applied WA TLE", "one cancelled WA CX"}, ids); diff != "" {
		t.Errorf("rejudgings (-want +got):\n%s", diff)
	}
	for _, cursor := range []string{"x", "1", "1-", "-1-a", "1-\x00"} {
		_, _, err := b.Rejudgings(b.ctx(), cursor, 1)
		b.want(err, ErrBadCursor)
	}
	b.clock.advance(2 * valueAge)
	if _, err := b.Sweep(b.ctx()); err != nil {
		t.Fatal(err)
	}
	_, err := b.Rejudging(b.ctx(), "one")
	b.want(err, ErrNoRejudging)
	var left int
	b.must(b.read.QueryRow(`SELECT COUNT(*) FROM rejudged`).Scan(&left))
	if left != 0 {
		t.Errorf("%d jobs of deleted rejudgings are left", left)
	}
}

// testRejudgedWithoutVerdict checks that a report without a verdict on the program does not replace one with a verdict.
func testRejudgedWithoutVerdict(t *testing.T, be backend) {
	b := be.open(t, nil)
	b.put("a", nil)
	b.judgeAll(map[string]api.Verdict{"a": api.WrongAnswer})
	for set, verdict := range map[string]api.Verdict{"none": "", "failed": api.InternalError, "skipped": api.Skipped,
		"cancelled": api.Cancelled, "unknown": "OK"} {
		b.rejudging(set, map[string]api.Verdict{"a": api.WrongAnswer})
		b.judgeAll(map[string]api.Verdict{"a": verdict})
		b.must(b.ApplyRejudging(b.ctx(), set))
		if r := b.get("a").Report; r.Verdict != api.WrongAnswer || r.Rejudging != nil {
			t.Errorf("%s: the job has verdict %q and %+v after it", set, r.Verdict, r.Rejudging)
		}
	}
}

// testInterruptedApply interrupts the application of a rejudging, and applies it again twice at the same time.
func testInterruptedApply(t *testing.T, be backend) {
	b := be.open(t, nil)
	old, now := map[string]api.Verdict{}, map[string]api.Verdict{}
	for i := range applyBatch + 20 {
		id := "j" + string(rune('a'+i/26)) + string(rune('a'+i%26))
		old[id], now[id] = api.WrongAnswer, api.Accepted
		b.put(id, nil)
	}
	b.judgeAll(old)
	b.rejudging("set", old)
	b.judgeAll(now)
	b.must(b.closeRejudging(b.ctx(), "apply", "set", rejudgingApplied, rejudgingOpen))
	if n, err := b.applyBatch(b.ctx(), "set"); n != applyBatch || err != nil {
		t.Fatalf("a batch of %d, %v", n, err)
	}
	if v, err := b.Rejudging(b.ctx(), "set"); v.State != api.RejudgingApplying || err != nil {
		t.Errorf("state %s, %v, want applying", v.State, err)
	}
	if u := b.unfinished("set"); u.State != api.RejudgingApplying {
		t.Errorf("unfinished %+v, want it applying", u)
	}
	other := b.again()
	failed := make(chan error)
	go func() { failed <- b.ApplyRejudging(context.Background(), "set") }()
	go func() { failed <- other.CompleteRejudging(context.Background(), "set") }()
	b.must(errors.Join(<-failed, <-failed))
	if all, err := b.UnfinishedRejudgings(b.ctx(), 10); len(all) > 0 || err != nil {
		t.Errorf("work is left: %+v, %v", all, err)
	}
	for id := range old {
		if r := b.get(id).Report; r.Verdict != api.Accepted {
			t.Errorf("job %s: %s after the set was applied", id, r.Verdict)
		}
	}
	if v, err := b.Rejudging(b.ctx(), "set"); v.State != api.RejudgingApplied || err != nil {
		t.Errorf("state %s, %v, want applied", v.State, err)
	}
}
