package front

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/jobs"
)

// oneJob is a store with one job and its stored reports.
type oneJob struct {
	rec   jobs.Record
	kept  map[string]api.Report
	until time.Time
	ended *api.Report
}

func (s *oneJob) Head(context.Context, string) (api.Report, error) { return s.rec.Report, nil }

func (s *oneJob) Get(_ context.Context, id string) (jobs.Record, error) {
	if id == s.rec.ID {
		return s.rec, nil
	}
	rep, found := s.kept[id]
	if !found {
		return jobs.Record{}, api.ErrNotFound
	}
	return jobs.Record{ID: id, Report: rep}, nil
}

func (s *oneJob) Recheck(_ context.Context, rec jobs.Record, rep api.Report, check api.CrossCheck,
	until time.Time) error {
	s.kept[jobs.RecheckID(rec.Lease)] = rep
	s.rec.Report.CrossCheck, s.until = &check, until
	s.rec.Lease.Attempt++
	return nil
}

// by returns a report of a node with a time, for a limit of 1 s.
func by(node string, ms int, v api.Verdict) api.Report {
	cpu := time.Duration(ms) * time.Millisecond
	return api.Report{Verdict: v, CPUTime: &cpu, Host: &api.HostReport{Node: node}, Tests: []api.TestReport{{Name: "1",
		Verdict: v, CPUTime: &cpu, Timing: &api.Timing{Limit: time.Second, MarginRatio: 1 - float64(ms)/1000}}}}
}

func TestCrossCheck(t *testing.T) {
	const ac, tle = api.Accepted, api.TimeLimit
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	pool := func(names ...string) (nodes []api.Node) {
		for _, n := range append([]string{"down", "drained", "other pool"}, names...) {
			nodes = append(nodes, api.Node{Name: n, Pool: map[bool]string{true: "q", false: "p"}[n == "other pool"],
				Up: n != "down", Ready: true, Drained: n == "drained", Slots: []api.NodeSlot{{CPUs: "2-3"}},
				Languages: []api.LanguageStatus{{ID: "c", Available: true}, {ID: "go"}}})
		}
		return nodes
	}
	score := func(r api.Report, points float64) api.Report { r.Score = &points; return r }
	for _, tt := range []struct {
		name     string
		priority api.Priority
		pool     string
		nodes    []api.Node
		reports  []api.Report // of one host after the other
		node     string       // node whose report counts
		decision string       // "" means not checked
	}{
		{"far from the limit", api.Contest, "p", pool("a", "b"), []api.Report{by("a", 890, ac)}, "a", ""},
		{"far over the limit", api.Contest, "p", pool("a", "b"), []api.Report{by("a", 1300, tle)}, "a", ""},
		{"judged failed", api.Contest, "p", pool("a", "b"), []api.Report{by("a", 990, api.InternalError)}, "a", ""},
		{"no verdict", api.Contest, "p", pool("a", "b"), []api.Report{by("a", 990, "")}, "a", ""},
		{"not run", api.Contest, "p", pool("a", "b"), []api.Report{by("a", 990, api.Skipped)}, "a", ""},
		{"the second has no verdict", api.Contest, "p", pool("a", "b", "c"),
			[]api.Report{by("a", 990, ac), by("b", 990, "")}, "a", api.NoOtherHost},
		{"practice", api.Practice, "p", pool("a", "b"), []api.Report{by("a", 990, ac)}, "a", ""},
		{"rejudging", api.Rejudge, "p", pool("a", "b"), []api.Report{by("a", 990, ac), by("b", 990, ac)}, "a",
			api.HostsAgree},
		{"background", api.Background, "p", pool("a", "b"), []api.Report{by("a", 990, ac)}, "a", ""},
		{"screening pool", api.Contest, "s", pool("a", "b"), []api.Report{by("a", 990, ac)}, "a", ""},
		{"alone", api.Contest, "p", pool("a"), []api.Report{by("a", 990, ac)}, "a", ""},
		{"agree", api.Contest, "p", pool("a", "b"), []api.Report{by("a", 1010, tle), by("b", 1300, tle)}, "a",
			api.HostsAgree},
		{"agree far from the limit", api.Contest, "p", pool("a", "b"), []api.Report{by("a", 960, ac), by("b", 500,
			ac)}, "a",
			api.HostsAgree},
		{"the second is right", api.Contest, "p", pool("a", "b", "c"),
			[]api.Report{by("a", 1010, tle), by("b", 990, ac), by("c", 980, ac)}, "b", api.MajorityOfHosts},
		{"the first is right", api.Contest, "p", pool("a", "b", "c"),
			[]api.Report{by("a", 990, ac), by("b", 1010, tle), by("c", 980, ac)}, "a", api.MajorityOfHosts},
		{"all differ", api.Contest, "p", pool("a", "b", "c"), []api.Report{by("a", 990, ac), by("b", 1010, tle),
			by("c", 980, api.WrongAnswer)}, "a", api.NoMajority},
		{"scores differ", api.Contest, "p", pool("a", "b", "c"), []api.Report{score(by("a", 990, api.Partial), 30),
			score(by("b", 990, api.Partial), 60), score(by("c", 990, api.Partial), 60)}, "b", api.MajorityOfHosts},
		{"no third", api.Contest, "p", pool("a", "b"), []api.Report{by("a", 990, ac), by("b", 1010, tle)}, "a",
			api.NoOtherHost},
		{"nobody else came", api.Contest, "p", pool("a", "b"), []api.Report{by("a", 990, ac), by("a", 1010, tle)}, "a",
			api.NoOtherHost},
		{"the second failed", api.Contest, "p", pool("a", "b"),
			[]api.Report{by("a", 990, ac), by("b", 0, api.InternalError)}, "a", api.NoOtherHost},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &oneJob{kept: map[string]api.Report{}, rec: jobs.Record{ID: "1", Pool: tt.pool,
				Lease: api.Lease{ID: "1", Attempt: 1}, Report: api.Report{Priority: tt.priority}}}
			var counted, wantCounted []string
			if tt.decision != "" {
				wantCounted = []string{tt.pool + " " + tt.decision}
			}
			c := NewVerifier(VerifierOptions{Store: s,
				Nodes:    func(context.Context) ([]api.Node, error) { return tt.nodes, nil },
				Screened: func(pool string) bool { return pool == "s" }, Now: func() time.Time { return now },
				Decided: func(pool, decision string) { counted = append(counted, pool+" "+decision) },
				Finish: func(_ context.Context, l api.Lease, rep api.Report) error {
					if l != s.rec.Lease {
						return api.ErrStale
					}
					s.ended = &rep
					return nil
				}, Log: slog.New(slog.DiscardHandler)})
			for i, rep := range tt.reports {
				if s.ended != nil {
					t.Fatalf("ended after %d reports", i)
				}
				if err := c.Finish(t.Context(), s.rec.Lease, rep); err != nil {
					t.Fatal(err)
				}
			}
			if s.ended == nil {
				t.Fatal("did not end")
			}
			var hosts []api.CrossCheckedHost
			for i, rep := range tt.reports {
				h := api.CrossCheckedHost{Node: rep.Host.Node, Verdict: rep.Verdict, Score: rep.Score,
					CPUTime: rep.CPUTime}
				if i < len(tt.reports)-1 {
					h.Job = jobs.RecheckID(api.Lease{ID: "1", Attempt: i + 1})
				}
				hosts = append(hosts, h)
			}
			want := &api.CrossCheck{Hosts: hosts, Decision: tt.decision}
			if tt.decision == "" {
				want = nil
			}
			if diff := cmp.Diff(want, s.ended.CrossCheck); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			var expected api.Report
			for _, rep := range tt.reports {
				if rep.Host.Node == tt.node && expected.Host == nil {
					expected = rep
				}
			}
			expected.CrossCheck = s.ended.CrossCheck
			if diff := cmp.Diff(expected, *s.ended); diff != "" {
				t.Errorf("report (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(wantCounted, counted); diff != "" {
				t.Errorf("decisions counted (-want +got)\n%s", diff)
			}
			if len(tt.reports) > 1 && !s.until.Equal(now.Add(crossCheckPatience)) {
				t.Errorf("waits until %v for another host", s.until)
			}
		})
	}
}

func TestCanJudge(t *testing.T) {
	n := api.Node{Slots: []api.NodeSlot{{CPUs: "1"}, {CPUs: "2-3"}}, Languages: []api.LanguageStatus{
		{ID: "c", Available: true}, {ID: "go"}}}
	for _, tt := range []struct {
		j    api.Job
		want bool
	}{
		{api.Job{CPUs: 1}, true}, {api.Job{CPUs: 2}, true}, {api.Job{CPUs: 3}, false},
		{api.Job{Language: "c"}, true}, {api.Job{Language: "go"}, false}, {api.Job{Language: "d"}, false},
	} {
		if got := canJudge(n, tt.j); got != tt.want {
			t.Errorf("%+v: %v", tt.j, got)
		}
	}
	if canJudge(api.Node{}, api.Job{}) {
		t.Error("a node without slots judges")
	}
}

// TestCrossCheckErrors checks that another lease changes nothing, and that Finish returns the errors of the store.
func TestCrossCheckErrors(t *testing.T) {
	s := &oneJob{kept: map[string]api.Report{}, rec: jobs.Record{ID: "1", Pool: "p", Lease: api.Lease{ID: "1",
		Attempt: 2},
		Report: api.Report{Priority: api.Contest}}}
	broken := errors.New("no nodes")
	c := NewVerifier(VerifierOptions{Store: s, Nodes: func(context.Context) ([]api.Node, error) { return nil, broken },
		Screened: func(string) bool { return false }, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Finish: func(context.Context, api.Lease, api.Report) error { return api.ErrStale }})
	old := api.Lease{ID: "1", Attempt: 1}
	if err := c.Finish(t.Context(), old, by("a", 990, api.Accepted)); !errors.Is(err, api.ErrStale) {
		t.Errorf("another lease: %v", err)
	}
	if err := c.Finish(t.Context(), s.rec.Lease, by("a", 990, api.Accepted)); !errors.Is(err, broken) {
		t.Errorf("registry away: %v", err)
	}
}
