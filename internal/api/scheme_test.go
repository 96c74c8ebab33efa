package api

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func points(n float64) *float64 { return &n }

// tests returns members of a group, each worth accept.
func tests(accept float64, names ...string) []Member {
	var members []Member
	for _, n := range names {
		members = append(members, Member{Test: n, Accept: accept, MaxScore: &accept})
	}
	return members
}

func groups(gs ...*Group) []Member {
	var members []Member
	for _, g := range gs {
		members = append(members, Member{Group: g})
	}
	return members
}

// subtasks returns the scheme of an IOI-style problem in 2025-09: samples without points, and two groups of which the
// second requires the first.
func subtasks() Scheme {
	secret := &Group{Name: "secret", Aggregation: Sum, Verdict: ByScore, MaxScore: points(100), Continue: true,
		Members: groups(
			&Group{Name: "secret/1", Aggregation: PassFail, MaxScore: points(30), Members: tests(0, "a", "b")},
			&Group{Name: "secret/2", Aggregation: PassFail, MaxScore: points(70), RequirePass: []string{"secret/1"},
				Members: tests(0, "c", "d")})}
	sample := &Group{Name: "sample", Aggregation: Sum, Members: tests(0, "s")}
	return Scheme{Root: &Group{Aggregation: Sum, Verdict: ByScore, IgnoreFirst: true, Continue: true,
		Members: groups(sample, secret)}, Scoring: true}
}

// flat returns a scheme with one group of three tests.
func flat(g Group, accept float64) Scheme {
	g.Members = tests(accept, "a", "b", "c")
	return Scheme{Root: &g, Scoring: true}
}

// judge runs the tests of a scheme like the judge: verdicts has TEST:VERDICT, or for a checker's score TEST:SCORE or
// TEST:PART%.
func judge(t *testing.T, s Scheme, stop Stop, verdicts string) string {
	t.Helper()
	given := map[string]string{}
	for f := range strings.FieldsSeq(verdicts) {
		name, v, _ := strings.Cut(f, ":")
		given[name] = v
	}
	p := s.NewProgress(stop)
	var reports []TestReport
	var ran []string
	for _, name := range s.Tests() {
		r := TestReport{Name: name, Verdict: Skipped}
		if p.Needs(name) {
			ran = append(ran, name)
			r.Verdict = Verdict(given[name])
			var n float64
			if _, err := fmt.Sscan(given[name], &n); err == nil {
				r.Verdict, r.Score = Partial, &n
			}
			if r.Ratio = strings.HasSuffix(given[name], "%"); r.Ratio {
				n /= 100
			}
			p.Record(r)
		}
		reports = append(reports, r)
	}
	result, err := s.Result(reports, stop, firstOf)
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

// firstOf is a grader: the verdict is that of the first member, and the score the sum and, as an argument, points.
// Without members it fails.
func firstOf(g *Group, members []Graded) (r Graded, err error) {
	if len(members) == 0 {
		return r, errors.New("graded without members")
	}
	for _, m := range members {
		r.Score += m.Score
	}
	if len(g.GraderArgs) > 0 {
		r.Score += float64(len(g.GraderArgs[0]))
	}
	r.Verdict = members[0].Verdict
	if r.Verdict == Partial {
		r.Verdict = Accepted
	}
	return r, nil
}

// graded has the groups sample, with s, and secret, with the tests a, b and c in the group secret/1 and d in the group
// secret/2. A grader computes the results of all of them.
func graded(proceed bool, most *float64) Scheme {
	group := func(name string, members ...Member) *Group {
		return &Group{Name: name, Aggregation: Custom, GraderArgs: []string{"ab"}, Continue: proceed, Members: members}
	}
	one, two := group("secret/1", tests(5, "a", "b", "c")...), group("secret/2", tests(5, "d")...)
	for _, g := range []*Group{one, two} {
		for i := range g.Members {
			g.Members[i].MaxScore = points(10)
		}
	}
	one.MaxScore = most
	return Scheme{Scoring: true, Grader: &Grader{}, Root: group("", groups(group("sample", tests(0, "s")...),
		group("secret", groups(one, two)...))...)}
}

func TestResult(t *testing.T) {
	passFail := Scheme{Root: &Group{Verdict: FirstError, Members: groups(
		&Group{Name: "sample", Verdict: FirstError, Members: tests(0, "s")},
		&Group{Name: "secret", Verdict: FirstError, Members: tests(0, "a", "b")})}}
	unbounded := flat(Group{Aggregation: Max, Verdict: ByScore, Continue: true}, 1)
	for i := range unbounded.Root.Members {
		unbounded.Root.Members[i].MaxScore = nil
	}
	for _, tt := range []struct {
		name     string
		scheme   Scheme
		stop     Stop
		verdicts string
		want     string
	}{
		{"grader: all", graded(false, nil), "", "s:AC a:AC b:AC c:AC d:AC",
			"AC 30 sample=AC,2 secret=AC,26 secret/1=AC,17 secret/2=AC,7 ran sabcd"},
		{"grader: a partial score", graded(false, nil), "", "s:AC a:3 b:AC c:AC d:AC",
			"AC 28 sample=AC,2 secret=AC,24 secret/1=AC,15 secret/2=AC,7 ran sabcd"},
		{"grader: below the maximum", graded(false, points(20)), "", "s:AC a:AC b:AC c:AC d:AC",
			"AC 30 sample=AC,2 secret=AC,26 secret/1=PC,17 secret/2=AC,7 ran sabcd"},
		{"grader: above the maximum", graded(false, points(16)), "", "s:AC a:AC b:AC c:AC d:AC",
			`score 17 of group "secret/1" is above its maximum 16`},
		{"grader: tests after a failure are not graded", graded(false, nil), "", "s:AC a:AC b:WA c:AC d:AC",
			"AC 20 sample=AC,2 secret=AC,16 secret/1=AC,7 secret/2=AC,7 ran sabd"},
		{"grader: nor groups after a rejected one", graded(false, nil), "", "s:AC a:WA b:AC c:AC d:AC",
			"AC 8 sample=AC,2 secret=WA,4 secret/1=WA,2 secret/2=AC,7 ran sad"},
		{"grader: all of them with continue", graded(true, nil), "", "s:AC a:WA b:AC c:AC d:AC",
			"AC 25 sample=AC,2 secret=WA,21 secret/1=WA,12 secret/2=AC,7 ran sabcd"},
		{"grader: all of them with the stop rule never", graded(false, nil), StopNever, "s:AC a:WA b:AC c:AC d:AC",
			"AC 25 sample=AC,2 secret=WA,21 secret/1=WA,12 secret/2=AC,7 ran sabcd"},
		{"grader: a failed sample", graded(false, nil), "", "s:WA a:AC b:AC c:AC d:AC",
			"WA 0 sample=WA,2 secret=AC,26 secret/1=AC,17 secret/2=AC,7 ran sabcd"},
		{"grader: an internal error", graded(true, nil), "", "s:AC a:AC b:IE c:AC d:AC",
			"IE 0 sample=AC,2 secret=IE,17 secret/1=IE,10 secret/2=AC,7 ran sabcd"},
		{"pass-fail accepts", passFail, "", "s:AC a:AC b:AC", "AC sample=AC secret=AC ran sab"},
		{"pass-fail stops at a sample", passFail, "", "s:WA a:AC b:AC", "WA sample=WA secret=SK ran s"},
		{"pass-fail without a stop", passFail, StopNever, "s:AC a:RTE b:WA", "RTE sample=AC secret=RTE ran sab"},
		{"subtasks: all", subtasks(), "", "s:AC a:AC b:AC c:AC d:AC",
			"AC 100 sample=AC,0 secret=AC,100 secret/1=AC,30 secret/2=AC,70 ran sabcd"},
		{"subtasks: a wrong sample costs nothing", subtasks(), "", "s:WA a:AC b:AC c:AC d:AC",
			"AC 100 sample=WA,0 secret=AC,100 secret/1=AC,30 secret/2=AC,70 ran sabcd"},
		{"subtasks: a group stops at its first failure", subtasks(), "", "s:AC a:AC b:AC c:TLE d:AC",
			"PC 30 sample=AC,0 secret=PC,30 secret/1=AC,30 secret/2=TLE,0 ran sabc"},
		{"subtasks: a group is not run without the one that it requires", subtasks(), "", "s:AC a:WA b:AC c:AC d:AC",
			"WA 0 sample=AC,0 secret=WA,0 secret/1=WA,0 secret/2=SK,0 ran sa"},
		{"subtasks: nor with the stop rule never", subtasks(), StopNever, "s:AC a:WA b:AC c:AC d:AC",
			"WA 0 sample=AC,0 secret=WA,0 secret/1=WA,0 secret/2=SK,0 ran sab"},
		{"subtasks: an internal error", subtasks(), StopNever, "s:AC a:AC b:AC c:IE d:AC",
			"IE 0 sample=AC,0 secret=IE,30 secret/1=AC,30 secret/2=IE,0 ran sabcd"},
		{"sum", flat(Group{Aggregation: Sum, Verdict: ByScore, Continue: true}, 10), "", "a:AC b:WA c:AC",
			"PC 20 ran abc"},
		{"min", flat(Group{Aggregation: Min, Verdict: WorstError}, 10), "", "a:AC b:WA c:AC", "WA 0 ran ab"},
		{"max of checker scores", unbounded, "", "a:3 b:7.5 c:1", "AC 7.5 ran abc"},
		{"average", flat(Group{Aggregation: Average, Verdict: ByScore, Continue: true}, 3), "", "a:AC b:WA c:1.5",
			"PC 1.5 ran abc"},
		{"a part of the points of a test", flat(Group{Aggregation: Sum, Verdict: ByScore, Continue: true}, 20),
			"", "a:50% b:AC c:25%", "PC 35 ran abc"},
		{"a part of the points of a sample", subtasks(), "", "s:50% a:AC b:AC c:AC d:AC",
			"AC 100 sample=AC,0 secret=AC,100 secret/1=AC,30 secret/2=AC,70 ran sabcd"},
		{"a part of points without a maximum", unbounded, "", "a:50% b:AC c:AC",
			`the checker gives a part of the points of test "a", which has no maximum`},
		{"more than the maximum", flat(Group{Aggregation: Sum, Continue: true}, 10), "", "a:11 b:AC c:AC",
			`score 11 of test "a" is above its maximum 10`},
		{"more than the maximum of a group", flat(Group{Name: "g", Aggregation: Sum, MaxScore: points(20)}, 10), "",
			"a:AC b:AC c:AC", `score 30 of group "g" is above its maximum 20`},
		{"the worst error", flat(Group{Aggregation: Sum, Verdict: WorstError, Continue: true}, 1), "",
			"a:WA b:TLE c:RTE", "RTE 0 ran abc"},
		{"the first error", flat(Group{Aggregation: Sum, Verdict: FirstError, Continue: true}, 1), "",
			"a:WA b:TLE c:RTE", "WA 0 ran abc"},
		{"always accepted", flat(Group{Aggregation: Sum, Verdict: AlwaysAccept, Continue: true}, 1), "",
			"a:WA b:TLE c:WA", "PC 0 ran abc"},
		{"accepted if any is", flat(Group{
			Aggregation: Sum, Verdict: WorstError, AcceptIfAny: true, Continue: true},
			1), "", "a:WA b:AC c:WA", "PC 1 ran abc"},
		{"on_reject break", flat(Group{Aggregation: Sum, Verdict: WorstError}, 1), "", "a:AC b:WA c:AC", "WA 0 ran ab"},
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
	s := Scheme{Root: &Group{Verdict: WorstError, Members: groups(
		&Group{Name: "1", Verdict: WorstError, AcceptIfAny: true, Continue: true, Members: tests(1, "a", "b")},
		&Group{Name: "2", Verdict: WorstError, Members: tests(1, "c", "d")})}, Scoring: true}
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
