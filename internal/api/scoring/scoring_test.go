package scoring

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
)

func points(n float64) *float64 { return &n }

// tests returns members of a group, each worth accept.
func tests(accept float64, names ...string) []api.Member {
	var members []api.Member
	for _, n := range names {
		members = append(members, api.Member{Test: n, Accept: accept, MaxScore: &accept})
	}
	return members
}

func groups(gs ...*api.Group) []api.Member {
	var members []api.Member
	for _, g := range gs {
		members = append(members, api.Member{Group: g})
	}
	return members
}

// subtasks returns the scheme of an IOI-style problem in 2025-09: samples without points, and two groups of which the
// second requires the first.
func subtasks() Scheme {
	secret := &api.Group{Name: "secret", Aggregation: api.Sum, Verdict: api.ByScore, MaxScore: points(100),
		Continue: true,
		Members: groups(
			&api.Group{Name: "secret/1", Aggregation: api.PassFail, MaxScore: points(30), Members: tests(0, "a", "b")},
			&api.Group{Name: "secret/2", Aggregation: api.PassFail, MaxScore: points(70),
				RequirePass: []string{"secret/1"},
				Members:     tests(0, "c", "d")})}
	sample := &api.Group{Name: "sample", Aggregation: api.Sum, Members: tests(0, "s")}
	return Scheme{Root: &api.Group{Aggregation: api.Sum, Verdict: api.ByScore, IgnoreFirst: true, Continue: true,
		Members: groups(sample, secret)}, Scoring: true}
}

// flat returns a scheme with one group of three tests.
func flat(g api.Group, accept float64) Scheme {
	g.Members = tests(accept, "a", "b", "c")
	return Scheme{Root: &g, Scoring: true}
}

// judge runs the tests of a scheme like the judge: verdicts has TEST:VERDICT, or for a checker's score TEST:SCORE or
// TEST:PART%.
func judge(t *testing.T, s Scheme, stop api.Stop, verdicts string) string {
	t.Helper()
	given := map[string]string{}
	for f := range strings.FieldsSeq(verdicts) {
		name, v, _ := strings.Cut(f, ":")
		given[name] = v
	}
	p := s.NewProgress(stop)
	var reports []api.TestReport
	var ran []string
	for _, name := range s.Tests() {
		r := api.TestReport{Name: name, Verdict: api.Skipped}
		if p.Needs(name) {
			ran = append(ran, name)
			r.Verdict = api.Verdict(given[name])
			var n float64
			if _, err := fmt.Sscan(given[name], &n); err == nil {
				r.Verdict, r.Score = api.Partial, &n
			}
			if r.Ratio = strings.HasSuffix(given[name], "%"); r.Ratio {
				n /= 100
			}
			p.Record(r)
		}
		reports = append(reports, r)
	}
	result, err := s.Result(reports, stop)
	if err != nil {
		return err.Error()
	}
	text := string(result.Verdict)
	if result.Score != nil {
		text += fmt.Sprintf(" %g", *result.Score)
	}
	for _, g := range result.Groups {
		text += fmt.Sprintf(" %s=%s", g.Name, g.Verdict)
		if g.Score != nil {
			text += fmt.Sprintf(",%g", *g.Score)
		}
	}
	return text + " ran " + strings.Join(ran, "")
}

func TestResult(t *testing.T) {
	passFail := Scheme{Root: &api.Group{Verdict: api.FirstError, Members: groups(
		&api.Group{Name: "sample", Verdict: api.FirstError, Members: tests(0, "s")},
		&api.Group{Name: "secret", Verdict: api.FirstError, Members: tests(0, "a", "b")})}}
	unbounded := flat(api.Group{Aggregation: api.Max, Verdict: api.ByScore, Continue: true}, 1)
	for i := range unbounded.Root.Members {
		unbounded.Root.Members[i].MaxScore = nil
	}
	for _, tt := range []struct {
		name     string
		scheme   Scheme
		stop     api.Stop
		verdicts string
		want     string
	}{
		{"pass-fail accepts", passFail, "", "s:AC a:AC b:AC", "AC sample=AC secret=AC ran sab"},
		{"pass-fail stops at a sample", passFail, "", "s:WA a:AC b:AC", "WA sample=WA secret=SK ran s"},
		{"pass-fail without a stop", passFail, api.StopNever, "s:AC a:RTE b:WA", "RTE sample=AC secret=RTE ran sab"},
		{"subtasks: all", subtasks(), "", "s:AC a:AC b:AC c:AC d:AC",
			"AC 100 sample=AC,0 secret=AC,100 secret/1=AC,30 secret/2=AC,70 ran sabcd"},
		{"subtasks: a wrong sample costs nothing", subtasks(), "", "s:WA a:AC b:AC c:AC d:AC",
			"AC 100 sample=WA,0 secret=AC,100 secret/1=AC,30 secret/2=AC,70 ran sabcd"},
		{"subtasks: a group stops at its first failure", subtasks(), "", "s:AC a:AC b:AC c:TLE d:AC",
			"PC 30 sample=AC,0 secret=PC,30 secret/1=AC,30 secret/2=TLE,0 ran sabc"},
		{"subtasks: a group is not run without the one that it requires", subtasks(), "", "s:AC a:WA b:AC c:AC d:AC",
			"WA 0 sample=AC,0 secret=WA,0 secret/1=WA,0 secret/2=SK,0 ran sa"},
		{"subtasks: nor with the stop rule never", subtasks(), api.StopNever, "s:AC a:WA b:AC c:AC d:AC",
			"WA 0 sample=AC,0 secret=WA,0 secret/1=WA,0 secret/2=SK,0 ran sab"},
		{"subtasks: an internal error", subtasks(), api.StopNever, "s:AC a:AC b:AC c:IE d:AC",
			"IE 0 sample=AC,0 secret=IE,30 secret/1=AC,30 secret/2=IE,0 ran sabcd"},
		{"sum", flat(api.Group{Aggregation: api.Sum, Verdict: api.ByScore, Continue: true}, 10), "", "a:AC b:WA c:AC",
			"PC 20 ran abc"},
		{"min", flat(api.Group{Aggregation: api.Min, Verdict: api.WorstError}, 10), "", "a:AC b:WA c:AC", "WA 0 ran ab"},
		{"max of checker scores", unbounded, "", "a:3 b:7.5 c:1", "AC 7.5 ran abc"},
		{"average", flat(api.Group{Aggregation: api.Average, Verdict: api.ByScore, Continue: true}, 3), "",
			"a:AC b:WA c:1.5",
			"PC 1.5 ran abc"},
		{"a part of the points of a test", flat(api.Group{Aggregation: api.Sum, Verdict: api.ByScore, Continue: true},
			20),
			"", "a:50% b:AC c:25%", "PC 35 ran abc"},
		{"a part of the points of a sample", subtasks(), "", "s:50% a:AC b:AC c:AC d:AC",
			"AC 100 sample=AC,0 secret=AC,100 secret/1=AC,30 secret/2=AC,70 ran sabcd"},
		{"a part of points without a maximum", unbounded, "", "a:50% b:AC c:AC",
			`the checker gives a part of the points of test "a", which has no maximum`},
		{"more than the maximum", flat(api.Group{Aggregation: api.Sum, Continue: true}, 10), "", "a:11 b:AC c:AC",
			`score 11 of test "a" is above its maximum 10`},
		{"more than the maximum of a group", flat(api.Group{Name: "g", Aggregation: api.Sum, MaxScore: points(20)},
			10), "",
			"a:AC b:AC c:AC", `score 30 of group "g" is above its maximum 20`},
		{"the worst error", flat(api.Group{Aggregation: api.Sum, Verdict: api.WorstError, Continue: true}, 1), "",
			"a:WA b:TLE c:RTE",
			"RTE 0 ran abc"},
		{"the first error", flat(api.Group{Aggregation: api.Sum, Verdict: api.FirstError, Continue: true}, 1), "",
			"a:WA b:TLE c:RTE",
			"WA 0 ran abc"},
		{"always accepted", flat(api.Group{Aggregation: api.Sum, Verdict: api.AlwaysAccept, Continue: true}, 1), "",
			"a:WA b:TLE c:WA",
			"PC 0 ran abc"},
		{"accepted if any is", flat(api.Group{
			Aggregation: api.Sum, Verdict: api.WorstError, AcceptIfAny: true, Continue: true},
			1), "",
			"a:WA b:AC c:WA", "PC 1 ran abc"},
		{"on_reject break",
			flat(api.Group{Aggregation: api.Sum, Verdict: api.WorstError}, 1), "", "a:AC b:WA c:AC", "WA 0 ran ab"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, judge(t, tt.scheme, tt.stop, tt.verdicts)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestAcceptedGroupDoesNotEndItsParent checks that on_reject depends on the verdict of a subgroup, not on its tests.
func TestAcceptedGroupDoesNotEndItsParent(t *testing.T) {
	s := Scheme{Root: &api.Group{Verdict: api.WorstError, Members: groups(
		&api.Group{Name: "1", Verdict: api.WorstError, AcceptIfAny: true, Continue: true, Members: tests(1, "a", "b")},
		&api.Group{Name: "2", Verdict: api.WorstError, Members: tests(1, "c", "d")})}, Scoring: true}
	if diff := cmp.Diff(judge(t, s, "", "a:WA b:AC c:AC d:AC"),
		"PC 3 1=PC,1 2=AC,2 ran abcd"); diff != "" {
		t.Errorf("-got +want\n%s", diff)
	}
}

func TestTestsAreInOrder(t *testing.T) {
	if got := subtasks().Tests(); !slices.Equal(got, []string{"s", "a", "b", "c", "d"}) {
		t.Errorf("got %q", got)
	}
}
