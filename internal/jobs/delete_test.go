package jobs

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/testkit"
)

// testDelete checks what a deletion removes, and when it is refused.
func testDelete(t *testing.T, b backend) {
	s := b.open(t, nil)
	// From now on, both processes keep the events in memory.
	processes := []*bench{s}
	if b.name == "postgres" { // SQLite has one daemon
		processes = append(processes, s.again())
	}
	var live []*Follower
	for _, p := range processes {
		live = append(live, p.follow(FeedNow, FeedFilter{}))
		testkit.WaitFor(t, time.Minute, "the feed", func() bool { _, live, _ := p.feed.state(); return live })
	}
	refused := func(id, why string) {
		t.Helper()
		err := s.Delete(s.ctx(), id)
		s.want(err, ErrInUse)
		if err != nil && !strings.Contains(err.Error(), why) {
			t.Errorf("refused with %q, want %q", err, why)
		}
	}
	s.put("kept", nil)
	s.put("a", nil)
	refused("a", "it is queued")
	s.finish(s.take().Lease, api.Accepted)
	l := s.take()
	refused("a", "it is running")
	s.finish(l.Lease, api.WrongAnswer)
	_, positions := s.readAll(FeedOldest)

	s.must(s.PutAuditOpen(t, "audit", l))
	refused("a", "1 of its audits")
	refused("audit", "report of another job")
	s.finish(s.take().Lease, api.WrongAnswer)
	s.must(s.CompareAudit(s.ctx(), "audit", AuditResult{}))

	_, err := s.PutRejudging(s.ctx(), api.RejudgingRequest{ID: "set"}, "digest")
	s.must(err)
	s.must(s.SelectRejudged(s.ctx(), s.unfinished("set"), []SelectedJob{{ID: "a", Verdict: api.WrongAnswer}},
		RejudgingProgress{Selected: true}))
	s.must(s.QueueRejudged(s.ctx(), "set", SelectedJob{ID: "a", Verdict: api.WrongAnswer}, again("set", "a")))
	s.must(s.EndFilling(s.ctx(), s.unfinished("set"), ""))
	refused("a", `rejudging "set" is open`)
	s.finish(s.take().Lease, api.Accepted)
	refused(RejudgeID("set", "a"), `rejudging "set" is open`)
	s.must(s.ApplyRejudging(s.ctx(), "set"))
	newest, err := s.newestInFeed(s.ctx())
	s.must(err)
	for i, p := range processes {
		for ctx := p.ctx(); live[i].Position().Row < newest && ctx.Err() == nil; {
			_, err := live[i].Next(ctx)
			p.must(err)
		}
	}

	s.want(s.Delete(WithTenant(s.ctx(), "other"), "a"), api.ErrNotFound)
	s.must(s.Delete(s.ctx(), "a"))
	for _, id := range []string{"a", "audit", RejudgeID("set", "a")} {
		_, err := s.Get(s.ctx(), id)
		s.want(err, api.ErrNotFound)
	}
	s.want(s.Delete(s.ctx(), "a"), api.ErrNotFound)
	s.want(s.Delete(s.ctx(), "*"), api.ErrNotFound)
	left := func(query string) (n int) {
		t.Helper()
		s.must(s.read.QueryRow(query).Scan(&n))
		return n
	}
	got := []int{left(`SELECT COUNT(*) FROM jobs`), left(`SELECT COUNT(DISTINCT job) FROM labels`),
		left(`SELECT COUNT(DISTINCT job) FROM feed WHERE job > 0`)}
	if diff := cmp.Diff([]int{1, 1, 1}, got); diff != "" {
		t.Errorf("jobs, jobs with labels, jobs in the feed (-want +got):\n%s", diff)
	}
	// A reader can resume after an event of the deleted job.
	s.put("next", nil)
	for i, p := range positions {
		got, _ := s.readAll(p)
		if len(got) == 0 || got[len(got)-1] != "next 0+1 queued" || strings.Contains(fmt.Sprint(got), "a 1+") {
			t.Errorf("resumed after event %d: %q", i, got)
		}
	}
	for _, p := range processes[1:] {
		testkit.WaitFor(t, time.Minute, "the other process to forget the events", func() bool {
			got, _ := p.readAll(positions[len(positions)-1])
			return !strings.Contains(fmt.Sprint(got), "a 1+")
		})
	}
}

// PutAuditOpen stores an audit of a job.
func (b *bench) PutAuditOpen(t *testing.T, id string, w api.Work) error {
	t.Helper()
	_, err := b.PutAudit(b.ctx(), Audit{ID: id, Original: w.ID, Pool: defaultPool, Origin: "n1"}, w.Job)
	return err
}
