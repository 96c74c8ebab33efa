package jobs

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
)

// testList compares pages with the result of a walk over all jobs.
func testList(t *testing.T, b backend) {
	s := b.open(t, nil)
	var all []api.Report
	pools := map[string]string{}
	for i := range 60 {
		id := fmt.Sprint("job", i)
		s.clock.advance(time.Minute)
		rec := s.put(id, func(j *api.Job) {
			j.Priority = api.Priorities()[rand.IntN(4)]
			j.Pool = []string{"default", "metal"}[rand.IntN(2)]
			j.Labels = map[string]string{"team": fmt.Sprint(rand.IntN(3)), "odd": fmt.Sprint(i % 2)}
			if i%7 == 0 {
				j.Labels = nil
			}
			j.Problem = []string{"", "sum", "path"}[rand.IntN(3)]
			j.Language = []string{"", "c", "python3"}[rand.IntN(3)]
		})
		pools[id] = rec.Job.Pool
	}
	for i := range 40 {
		w, err := s.Take(s.ctx(), api.Want{Pool: pools[fmt.Sprint("job", i)]})
		s.must(err)
		switch rand.IntN(4) {
		case 0:
			s.finish(w.Lease, api.Accepted)
		case 1:
			s.finish(w.Lease, api.TimeLimit)
		case 2:
			_, err := s.Cancel(s.ctx(), w.ID)
			s.must(err)
		}
	}
	for i := range 60 {
		rep := s.get(fmt.Sprint("job", i)).Report
		rep.Tests = nil
		all = append(all, rep)
	}
	slices.Reverse(all)

	filters := []Filter{
		{}, {State: api.Queued}, {State: api.Running}, {State: api.Done}, {State: api.CancelledState},
		{Verdict: api.TimeLimit},
		{Verdict: api.Accepted, State: api.Done}, {Priority: api.Rejudge}, {Pool: "metal"},
		{Pool: "metal", Priority: api.Contest, State: api.Queued},
		{Verdict: api.Accepted, Pool: "metal", Priority: api.Contest, From: all[50].CreatedAt}, {Pool: "none"},
		{Label: map[string]string{"team": "1"}}, {Label: map[string]string{"team": "1", "odd": "0"}},
		{Label: map[string]string{"team": "x"}}, {Problem: "sum"}, {Language: "c"}, {Language: "none"},
		{Problem: "sum", Language: "python3", Verdict: api.Accepted, To: all[20].CreatedAt},
		{From: all[40].CreatedAt}, {To: all[20].CreatedAt}, {From: all[40].CreatedAt, To: all[20].CreatedAt},
		{From: all[40].CreatedAt, Label: map[string]string{"odd": "1"}, State: api.Done, Pool: "default"},
	}
	for _, f := range filters {
		for _, limit := range []int{0, 1, 7, 1000} {
			f.Limit = limit
			var want, got []api.Report
			for _, rep := range all {
				if j := s.get(rep.ID).Job; (f.Problem == "" || f.Problem == j.Problem) &&
					(f.Language == "" || f.Language == j.Language) && matches(f, rep, pools[rep.ID]) {
					want = append(want, rep)
				}
			}
			for f.After = ""; ; {
				page, next, err := s.List(s.ctx(), f)
				s.must(err)
				most := limit
				if limit == 0 {
					most = defaultPage
				}
				if len(page) > most || next != "" && len(page) != most {
					t.Errorf("filter %+v: a page of %d, next %q", f, len(page), next)
				}
				got = append(got, page...)
				if f.After = next; next == "" {
					break
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("filter %+v (-want +got):\n%s", f, diff)
			}
		}
	}
	for _, after := range []string{"x", "MSAy!", "MSAyIDM", "MSAtMQo"} {
		_, _, err := s.List(s.ctx(), Filter{After: after})
		s.want(err, ErrBadCursor)
	}
}

func matches(f Filter, rep api.Report, pool string) bool {
	for k, v := range f.Label {
		if rep.Labels[k] != v {
			return false
		}
	}
	return (f.State == "" || rep.State == f.State) && (f.Verdict == "" || rep.Verdict == f.Verdict) &&
		(f.Priority == "" || rep.Priority == f.Priority) && (f.Pool == "" || pool == f.Pool) &&
		(f.From.IsZero() || !rep.CreatedAt.Before(f.From)) && (f.To.IsZero() || rep.CreatedAt.Before(f.To))
}

// testCopies checks which jobs are listed with and without their copies, and how many copies they have.
func testCopies(t *testing.T, b backend) {
	s := b.open(t, nil)
	s.put("a", nil)
	s.finish(s.take().Lease, api.Accepted)
	for _, set := range []string{"first", "second"} {
		n := again(set, "a")
		n.ID = RejudgeID(set, "a")
		_, _, err := s.Put(s.ctx(), n)
		s.must(err)
	}
	_, err := s.PutAudit(s.ctx(), Audit{ID: "@audit", Original: "a", Origin: "n"}, s.get("a").Job)
	s.must(err)
	s.put("b", nil)
	for _, tt := range []struct {
		f    Filter
		want []string
	}{
		{Filter{}, []string{"b", RejudgeID("second", "a"), RejudgeID("first", "a"), "a"}},
		{Filter{Originals: true}, []string{"b", "a"}},
		{Filter{Originals: true, State: api.Queued}, []string{"b"}},
		{Filter{Audits: true, Limit: 2}, []string{"b", "@audit"}},
	} {
		var got []string
		page, _, err := s.List(s.ctx(), tt.f)
		s.must(err)
		for _, rep := range page {
			got = append(got, rep.ID)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("filter %+v (-want +got):\n%s", tt.f, diff)
		}
	}
	got, err := s.Copies(s.ctx(), "b", "a", "none")
	s.must(err)
	if diff := cmp.Diff(map[string]map[string]int{"a": {RejudgeLabel: 2, AuditLabel: 1}}, got); diff != "" {
		t.Errorf("copies (-want +got):\n%s", diff)
	}
	none, err := s.Copies(s.ctx())
	if len(none) > 0 || err != nil {
		t.Errorf("copies of no jobs: %v, %v", none, err)
	}
}

// testListStatements: only texts of which there are few are kept as prepared statements.
func testListStatements(t *testing.T, b backend) {
	s := b.open(t, nil)
	two := map[string]string{"a": "1", "b": "2"}
	_, _, err := s.List(s.ctx(), Filter{Label: two}) // prepares the count of a label's jobs
	s.must(err)
	var got []int
	for _, f := range []Filter{{State: api.Done}, {State: api.Queued}, {Label: map[string]string{"a": "1"}}, {Label: two},
		{From: time.Unix(1, 0)}, {To: time.Unix(1, 0)}} {
		before := len(s.prepared.statements)
		_, _, err := s.List(s.ctx(), f)
		s.must(err)
		got = append(got, len(s.prepared.statements)-before)
	}
	if diff := cmp.Diff([]int{1, 0, 1, 0, 0, 0}, got); diff != "" {
		t.Errorf("new prepared statements (-want +got):\n%s", diff)
	}
}
