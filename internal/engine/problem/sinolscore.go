package problem

import (
	"fmt"
	"maps"
	"math"
	"path"
	"slices"

	"go.yaml.in/yaml/v3"

	"judged/internal/api"
)

// scheme makes the groups. A group gives its points for the worst of its tests. SIO2 knows whole points only.
func (x *sinolPackage) scheme() error {
	root := &api.Group{Aggregation: api.Sum, Verdict: api.ByScore, Continue: true}
	x.p.Scheme.Root, x.p.Scheme.Scoring = root, !x.passFail
	if x.passFail {
		root.Verdict, root.Continue = api.FirstError, false
	}
	if x.points == nil {
		x.sharePoints()
	}
	if x.points["0"] != 0 {
		x.p.find("%s: scores: group 0 gives no points", sinolFile)
	}
	sum := 0.0
	for _, group := range x.groups {
		points, given := x.points[group]
		if group == "0" || x.passFail {
			points = 0
		} else if !given || !(points >= 0 && api.ValidPoints(points)) {
			return fmt.Errorf("%s: scores: group %s has tests, and no number of points of at least 0", sinolFile, group)
		}
		sum += points
		g := &api.Group{Name: sinolGroup(group), Aggregation: api.Min, Verdict: root.Verdict, MaxScore: &points}
		for _, test := range x.tests[group] {
			g.Members = append(g.Members, api.Member{Test: test, Accept: points, MaxScore: &points, Whole: true})
		}
		x.require(g, group)
		root.Members = append(root.Members, api.Member{Group: g})
	}
	if !x.passFail && math.Abs(sum-x.total) > api.Rounding {
		x.p.find("%s: the scores of groups with tests add up to %g, but sinol_total_score is %g (default 100)", sinolFile,
			sum, x.total)
	}
	for key, groups := range map[string][]string{"scores": slices.Sorted(maps.Keys(x.points)),
		"subtask_dependencies": slices.Sorted(maps.Keys(x.requires))} {
		for _, group := range groups {
			if x.tests[group] == nil {
				x.p.find("%s: %s: group %s has no tests", sinolFile, key, group)
			}
		}
	}
	return nil
}

func sinolGroup(number string) string { return "group" + number }

// sharePoints gives each group the same points, and the last one those that are left.
func (x *sinolPackage) sharePoints() {
	scored := slices.DeleteFunc(slices.Clone(x.groups), func(g string) bool { return g == "0" })
	x.points = map[string]float64{}
	for i, group := range scored {
		x.points[group] = float64(100 / len(scored))
		if i == len(scored)-1 {
			x.points[group] += float64(100 % len(scored))
		}
	}
}

// require sets the groups that a group depends on. In SIO2 their tests count as if they were its own, so those on which
// they depend have no effect on it.
func (x *sinolPackage) require(g *api.Group, group string) {
	own := map[string]bool{}
	for _, required := range x.requires[group] {
		own[required] = true
	}
	for _, required := range x.requires[group] {
		g.RequirePass = append(g.RequirePass, sinolGroup(required))
		for _, indirect := range x.requires[required] {
			if !own[indirect] {
				x.p.unsupported("subtask_dependencies: group %s without group %s, on which group %s depends; it has to "+
					"pass, too", group, indirect, required)
			}
		}
	}
	if len(g.RequirePass) > 0 && x.p.Checker.Program != nil {
		x.p.unsupported("subtask_dependencies with a checker; a group gives no points if one that it depends on gives " +
			"only a part of them")
	}
}

// sinolExpected holds what sinol-make measured of a solution.
type sinolExpected struct {
	Groups map[string]struct {
		Points *float64             `yaml:"points"`
		Status string               `yaml:"status"`
		Others map[string]yaml.Node `yaml:",inline"`
	} `yaml:"expected"`
	Points *float64             `yaml:"points"`
	Others map[string]yaml.Node `yaml:",inline"`
}

// expectScores sets the points that solutions have to get.
func (x *sinolPackage) expectScores(s *settings) error {
	var unknown []string
	for i := range x.p.Submissions {
		one, want := &x.p.Submissions[i], sinolExpected{}
		known := s.decode(path.Base(one.Name), &want)
		for _, key := range slices.Sorted(maps.Keys(want.Others)) {
			x.p.find("unknown key %q in %s: %s", key, s.file, path.Base(one.Name))
		}
		for _, group := range slices.Sorted(maps.Keys(want.Groups)) {
			if x.tests[group] == nil {
				x.p.find("%s: %s: group %s has no tests", s.file, path.Base(one.Name), group)
			}
			for _, key := range slices.Sorted(maps.Keys(want.Groups[group].Others)) {
				x.p.find("unknown key %q in %s: %s: group %s", key, s.file, path.Base(one.Name), group)
			}
		}
		switch {
		case known && want.Points == nil:
			x.p.cannotCheck("%s: %s: no points are given", s.file, path.Base(one.Name))
		case known && x.passFail:
			one.Expected = rule(Expectation{Final: []string{"AC"}}, 0).Expected
			if *want.Points == 0 {
				one.Expected[0].Final = append(slices.Clone(rejected), "MLE")
			}
		case known:
			one.Expected = append(one.Expected, x.scores(want, s.file+": "+path.Base(one.Name))...)
		case len(one.Expected) == 0:
			unknown = append(unknown, one.Name)
		}
	}
	if len(unknown) > 0 {
		x.p.find("nothing is expected of %s, as sinol_expected_scores does not name it; number of such solutions: %d",
			unknown[0], len(unknown))
	}
	for _, name := range slices.Sorted(maps.Keys(s.keys)) {
		x.p.cannotCheck("%s: there is no solution prog/%s", s.file, name)
	}
	return s.err
}

// scores are the points of the groups and their sum. Where they depend on the time, they may be more.
func (x *sinolPackage) scores(want sinolExpected, of string) (all []Expectation) {
	sum := [2]float64{*want.Points, *want.Points}
	for _, group := range slices.Sorted(maps.Keys(want.Groups)) {
		g := want.Groups[group]
		if group == "0" || x.tests[group] == nil {
			continue
		}
		if g.Points == nil {
			x.p.cannotCheck("%s: no points of group %s are given", of, group)
			continue
		}
		score := [2]float64{*g.Points, *g.Points}
		if x.timed && g.Status == "OK" {
			score[1] = max(*g.Points, x.points[group])
		}
		sum[1] += score[1] - score[0]
		all = append(all, Expectation{Tests: sinolGroup(group), Score: &score})
	}
	return append(all, Expectation{Score: &sum})
}
