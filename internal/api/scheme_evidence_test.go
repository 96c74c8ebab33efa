package api

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// reports parses "TEST:VERDICT ..."; a test that is not named has no report, and "TEST:" has no verdict.
func reports(text string) (all []TestReport) {
	for f := range strings.FieldsSeq(text) {
		name, v, _ := strings.Cut(f, ":")
		all = append(all, TestReport{Name: name, Verdict: Verdict(v)})
	}
	return all
}

// TestAbsenceOfEvidenceIsNotAccepted checks that, if anything is missing, no submission is accepted if a test that counts
// was not run, and none silently lacks a verdict.
func TestAbsenceOfEvidenceIsNotAccepted(t *testing.T) {
	one := Scheme{Root: &Group{Members: tests(0, "a", "b", "c")}}
	requiring := func(scoring bool, groups ...string) Scheme { // each group requires the previous one
		root := &Group{Aggregation: Sum, Verdict: FirstError}
		if scoring {
			root.Verdict, root.Continue = ByScore, true
		}
		for i, name := range groups {
			g := &Group{Name: name, Aggregation: PassFail, MaxScore: points(10), Members: tests(0, name+"1", name+"2")}
			if i > 0 {
				g.RequirePass = []string{groups[i-1]}
			}
			root.Members = append(root.Members, Member{Group: g})
		}
		return Scheme{Root: root, Scoring: scoring}
	}
	ignoring := requiring(true, "s", "g")
	ignoring.Root.IgnoreFirst = true
	legacy := Scheme{Scoring: true, Root: &Group{Aggregation: Sum, Verdict: WorstError, IgnoreFirst: true,
		Members: groups(&Group{Name: "s", Verdict: WorstError, Members: tests(0, "s1")},
			&Group{Name: "g", Verdict: WorstError, Members: tests(5, "g1", "g2")})}}
	free := requiring(true, "a", "b", "c")
	free.Root.Members[0].Group.MaxScore = points(0)
	always := flat(Group{Aggregation: Sum, Verdict: AlwaysAccept}, 1)
	any := flat(Group{Aggregation: Sum, Verdict: WorstError, AcceptIfAny: true}, 1)
	const nothing = "no test was run"
	unfinished := func(test string) string { return fmt.Sprintf("test %q was not run", test) }
	for _, tt := range []struct {
		name   string
		scheme Scheme
		stop   Stop
		tests  string
		want   string // verdict and score, or a substring of the error
	}{
		{"job: all ran", one, "", "a:AC b:AC c:AC", "AC"},
		{"job: no report", one, "", "", unfinished("a")},
		{"job: all skipped", one, "", "a:SK b:SK c:SK", unfinished("a")},
		{"job: no verdicts", one, "", "a: b: c:", unfinished("a")},
		{"job: cancelled before the first test", one, "", "a:CX b:CX c:CX", unfinished("a")},
		{"job: cancelled in the middle", one, "", "a:AC b:CX c:SK", unfinished("b")},
		{"job: the last one is missing", one, "", "a:AC b:AC", unfinished("c")},
		{"job: one was skipped for no reason", one, "", "a:AC b:SK c:AC", unfinished("b")},
		{"job: skipped after a failure", one, "", "a:AC b:RTE c:SK", "RTE"},
		{"job: skipped although the stop rule is never", one, StopNever, "a:WA b:SK c:AC", unfinished("b")},
		{"job: skipped after a partial score", one, "", "a:PC b:SK c:AC", unfinished("b")},
		{"job: judged failed after a failure", one, StopNever, "a:WA b:IE c:AC", "WA"},
		{"job: judged failed", one, "", "a:AC b:IE c:SK", "IE"},
		{"job: an unknown verdict", one, "", "a:AC b:OK c:AC", "OK"},
		{"job: other tests ran", one, "", "x:AC y:AC z:AC", unfinished("a")},
		{"job: a group without a test", Scheme{Root: &Group{}}, "", "", nothing},

		{"samples: they fail, and all groups require them", ignoring, "", "s1:WA s2:SK g1:SK g2:SK", "WA 0"},
		{"samples: the second one fails", ignoring, "", "s1:AC s2:TLE g1:SK g2:SK", "TLE 0"},
		{"samples: judged failed at them", ignoring, "", "s1:IE s2:SK g1:SK g2:SK", "IE 0"},
		{"samples: judged failed at them, and nothing requires them", func() Scheme {
			s := requiring(true, "s", "g")
			s.Root.IgnoreFirst, s.Root.Members[1].Group.RequirePass = true, nil
			return s
		}(), "", "s1:AC s2:IE g1:AC g2:AC", "IE 0"},
		{"samples: they pass, and the groups were not run", ignoring, "", "s1:AC s2:AC g1:SK g2:SK", unfinished("g1")},
		{"samples: they alone ran", ignoring, "", "s1:AC s2:AC", unfinished("g1")},
		{"samples: cancelled in the middle", ignoring, "", "s1:AC s2:AC g1:AC g2:CX", unfinished("g2")},
		{"samples: a partial score of them", ignoring, "", "s1:PC s2:AC g1:AC g2:AC", "AC 10"},
		{"legacy samples: they fail and end the problem", legacy, "", "s1:WA g1:SK g2:SK", "WA 0"},
		{"legacy samples: they fail, and the rest is missing", legacy, "", "s1:WA", "WA 0"},
		{"legacy samples: never stop", legacy, StopNever, "s1:WA g1:SK g2:SK", unfinished("g1")},
		{"legacy samples: they do not count", legacy, StopNever, "s1:WA g1:AC g2:AC", "AC 10"},

		{"group: the first fails, a chain is skipped", requiring(true, "a", "b", "c"), "",
			"a1:WA a2:SK b1:SK b2:SK c1:SK c2:SK", "WA 0"},
		{"group: the middle fails", requiring(true, "a", "b", "c"), "", "a1:AC a2:AC b1:AC b2:MLE c1:SK c2:SK", "PC 10"},
		{"group: the rest is skipped for no reason", requiring(true, "a", "b", "c"), "",
			"a1:AC a2:AC b1:SK b2:SK c1:SK c2:SK", unfinished("b1")},
		{"group: what ran is worth nothing", free, "", "a1:AC a2:AC b1:WA b2:SK c1:SK c2:SK", "WA 0"},
		{"group: judged failed, a chain is skipped", requiring(true, "a", "b", "c"), "",
			"a1:AC a2:AC b1:IE b2:SK c1:SK c2:SK", "IE 0"},
		{"group: without points, the first fails", requiring(false, "a", "b"), "", "a1:WA a2:SK b1:SK b2:SK", "WA"},
		{"group: without points, the first is partial", requiring(false, "a", "b"), "", "a1:AC a2:PC b1:SK b2:SK",
			"tests that count were not run although no test failed"},
		{"group: without points, all ran", requiring(false, "a", "b"), "", "a1:AC a2:AC b1:AC b2:AC", "AC"},
		{"group: one has no test", func() Scheme {
			s := requiring(true, "a", "b")
			s.Root.Members[0].Group.Members, s.Root.Members[1].Group.RequirePass = nil, nil
			return s
		}(), "", "b1:AC b2:AC", "PC 10"},
		{"group: always accepted, nothing ran", always, "", "a:SK b:SK c:SK", unfinished("a")},
		{"group: always accepted, one failed", always, "", "a:WA b:SK c:SK", "PC 0"},
		{"group: accepted if any is, nothing ran", any, "", "", unfinished("a")},
		{"group: accepted if any is, none is", any, "", "a:WA b:SK c:SK", "WA 0"},
		{"group: accepted if any is, cancelled after it", any, "", "a:AC b:CX", unfinished("b")},
		{"group: the smallest, one is missing", flat(Group{Aggregation: Min}, 4), "", "a:AC b:AC", unfinished("c")},
		{"group: the largest, all missing", flat(Group{Aggregation: Max}, 4), "", "", unfinished("a")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := tt.scheme.Result(reports(tt.tests), tt.stop, nil)
			got := string(r.Verdict)
			if r.Score != nil {
				got += fmt.Sprintf(" %g", *r.Score)
			}
			if err != nil {
				got = err.Error()
				if isUnfinished := errors.As(err, new(*UnfinishedError)); r.Verdict != "" ||
					isUnfinished == strings.Contains(tt.want, "count") {
					t.Errorf("verdict %q with the error %v, unfinished %t", r.Verdict, err, isUnfinished)
				}
			}
			if err != nil && !strings.Contains(got, tt.want) || err == nil && got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestRecordedAsCounted checks that a test counts the same for groups that require it as in the result: points without
// a maximum are full points, and a fraction of a sample's points counts as such.
func TestRecordedAsCounted(t *testing.T) {
	for _, verdicts := range []string{"s:50% a:AC b:AC c:AC d:AC", "s:7 a:AC b:AC c:AC d:AC"} {
		s := subtasks()
		secret := s.Root.Members[1].Group
		secret.Members[0].Group.RequirePass = []string{"sample"}
		if verdicts[2] == '7' {
			s.Root.Members[0].Group.Members[0].MaxScore = nil
		}
		if got := judge(t, s, "", verdicts); !strings.HasPrefix(got, "AC 100 ") || !strings.HasSuffix(got, "ran sabcd") {
			t.Errorf("%s: %s", verdicts, got)
		}
	}
}

// TestCheck checks that a scheme with a test or a group that would never be run is refused. Packages cannot contain all
// of these, but problems stored by another version may.
func TestCheck(t *testing.T) {
	change := func(f func(root, one, two *Group)) Scheme {
		s := subtasks()
		secret := s.Root.Members[1].Group
		f(s.Root, secret.Members[0].Group, secret.Members[1].Group)
		return s
	}
	names := []string{"s", "a", "b", "c", "d"}
	for _, tt := range []struct {
		name   string
		scheme Scheme
		tests  []string
		want   string
	}{
		{"as it should be", subtasks(), names, ""},
		{"in another order", subtasks(), []string{"d", "c", "s", "b", "a"}, ""},
		{"no root", Scheme{}, names, "no root group"},
		{"no tests", subtasks(), nil, "there is no test"},
		{"a test that is in no group", subtasks(), append(names, "e"), `test "e" is in no group`},
		{"a test that does not exist", subtasks(), names[:4], `test "d" of a group is not a test of the problem`},
		{"a test twice", change(func(_, one, _ *Group) { one.Members[0].Test = "d" }), names,
			`test "d" is in the groups twice`},
		{"a test without a name", change(func(_, one, _ *Group) { one.Members[0].Test = "" }), names,
			`group "secret/1" has a test without a name`},
		{"a group without a test", change(func(_, one, _ *Group) { one.Members = nil }), names,
			`group "secret/1" has no test`},
		{"two groups of one name", change(func(_, one, two *Group) { two.Name, two.RequirePass = one.Name, nil }),
			names,
			`two groups have the name "secret/1"`},
		{"an unknown requirement", change(func(_, _, two *Group) { two.RequirePass[0] = "secret/0" }), names,
			`group "secret/2" requires group "secret/0", which does not exist`},
		{"a cycle", change(func(_, one, _ *Group) { one.RequirePass = []string{"secret/2"} }), names,
			`group "secret/1" requires group "secret/2", which is not judged before it`},
		{"the root", change(func(_, one, _ *Group) { one.RequirePass = []string{""} }), names,
			`group "secret/1" requires group "", which is not judged before it`},
		{"an unknown aggregation", change(func(_, one, _ *Group) { one.Aggregation = "median" }), names,
			`group "secret/1" has the unknown aggregation "median"`},
		{"an unknown verdict", change(func(_, one, _ *Group) { one.Verdict = "best" }), names, `or verdict "best"`},
		{"no grader", change(func(_, one, _ *Group) { one.Aggregation = Custom }), names,
			`group "secret/1" has no grader`},
		{"one of three ignored", change(func(root, one, _ *Group) {
			root.Members = append(root.Members, Member{Group: &Group{Name: "x", Members: tests(0, "e")}})
		}), append(names, "e"), "ignores the first of 3 members"},
		{"infinite points", change(func(_, one, _ *Group) { one.Members[0].Accept = 1e300 }), names,
			`the points 1e+300 of test "a" are out of range`},
		{"an infinite maximum", change(func(_, one, _ *Group) { one.MaxScore = points(-1e300) }), names,
			`the maximum -1e+300 of group "secret/1" is out of range`},
	} {
		err := tt.scheme.Check(tt.tests)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
}
