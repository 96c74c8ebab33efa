package problem

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"judged/internal/api"
)

// readGEN reads the list of tests and subtasks.
func (c *cmsTask) readGEN() error {
	const file = "gen/GEN"
	if !c.t.has(file) {
		return nil
	}
	b, err := c.t.content(file, maxSettings)
	if err != nil {
		return err
	}
	for i, line := range strings.Split(string(b), "\n") {
		command, comment, commented := strings.Cut(line, "#")
		command, comment = strings.TrimSpace(command), strings.TrimSpace(comment)
		copied := commented && strings.HasPrefix(comment, "COPY:")
		points, subtask := strings.CutPrefix(comment, "ST:")
		if strings.HasPrefix(comment, "STDEP:") {
			c.p.unsupported("STDEP in %s; as in CMS, subtasks have the tests below them", file)
		}
		switch {
		case command != "" && (copied || commented && subtask):
			return fmt.Errorf("%s, line %d: a test and a command on one line; use two lines", file, i+1)
		case commented && subtask:
			points = strings.TrimSpace(points)
			n, err := strconv.ParseFloat(points, 64)
			if err != nil || !(n >= 0 && api.ValidPoints(n)) {
				return fmt.Errorf("%s, line %d: points %q are not a number >= 0", file, i+1, points)
			}
			if len(c.subtask) == 0 && len(c.lines) > 0 {
				return fmt.Errorf("%s, line %d: tests before the first subtask; move them into a subtask", file, i+1)
			}
			c.subtask = append(c.subtask, cmsSubtask{points: n})
			continue
		case copied:
			command = comment
		case command == "":
			continue
		}
		if last := len(c.subtask) - 1; last >= 0 {
			c.subtask[last].tests = append(c.subtask[last].tests, len(c.lines))
		}
		c.lines = append(c.lines, command)
	}
	return nil
}

// checkTotal adds a finding for subtasks that CMS refuses.
func (c *cmsTask) checkTotal() {
	sum := 0.0
	for _, x := range c.subtask {
		sum += x.points
	}
	if len(c.subtask) > 0 && math.Abs(sum-100) > api.Rounding {
		c.p.find("gen/GEN: the points of the subtasks add up to %g; CMS requires 100", sum)
	}
}

// readScore sets the number of tests and the subtasks, which task.yaml can define instead of GEN.
func (c *cmsTask) readScore(s *settings) error {
	s.decode("n_input", &c.inputs)
	if s.decode("total_value", &c.total); !(c.total >= 0 && api.ValidPoints(c.total)) {
		s.fail("total_value", "%v is not a number >= 0", c.total)
	}
	kind, parameters := "", yaml.Node{}
	hasKind, hasParameters := s.decode("score_type", &kind), s.decode("score_type_parameters", &parameters)
	switch {
	case s.err != nil:
		return s.err
	case c.inputs > maxEntries:
		return c.wrongNumber()
	case hasKind && hasParameters && c.inputs > 0:
		if err := c.readScoreType(kind, parameters); err != nil {
			return fmt.Errorf("read %s: score_type_parameters: %w", cmsFile, err)
		}
	case hasKind || hasParameters:
		c.p.find("score_type is not used; CMS requires score_type, score_type_parameters and n_input together")
		fallthrough
	default:
		c.checkTotal()
	}
	switch n := len(c.lines); {
	case c.inputs == 0:
		c.inputs = n
	case n > 0 && n != c.inputs:
		return fmt.Errorf("gen/GEN has %d tests, but n_input is %d; correct one of them", n, c.inputs)
	}
	if c.inputs == 0 && c.t.has("gen/cases.gen") {
		return errors.New("no tests; gen/cases.gen describes them: run task-maker before, which writes gen/GEN")
	}
	if c.inputs < 1 || c.inputs > maxEntries {
		return c.wrongNumber()
	}
	return nil
}

func (c *cmsTask) wrongNumber() error {
	return fmt.Errorf("%d tests; use 1 to %d, with n_input or lines in gen/GEN", c.inputs, maxEntries)
}

// readScoreType reads the parameters of a score type: the points of each test, or the points and the tests of each
// group. The tests are given by their number or by a pattern of their names.
func (c *cmsTask) readScoreType(kind string, parameters yaml.Node) error {
	c.subtask = nil
	switch kind {
	case "Sum":
		points := 0.0
		err := parameters.Decode(&points)
		if err != nil {
			return errors.New(oneLine(err))
		}
		c.total = points * float64(c.inputs)
		return nil
	case "GroupMin":
	case "GroupMul":
		c.p.unsupported("score_type GroupMul; the score of a group is the smallest one of its tests")
	default:
		return fmt.Errorf("unknown score_type %q; use Sum, GroupMin or GroupMul", kind)
	}
	var groups []yaml.Node
	if err := parameters.Decode(&groups); err != nil {
		return errors.New(oneLine(err))
	}
	if len(groups) == 0 {
		return fmt.Errorf("%s has no group; give points and tests of each, such as [[20, 3], [80, 5]]", kind)
	}
	if len(groups)*c.inputs > maxMatches {
		return fmt.Errorf("%d groups for %d tests; no problem needs that", len(groups), c.inputs)
	}
	next, way := 0, ""
	for _, n := range groups {
		points, tests, err := c.groupParameters(n)
		if err != nil {
			return err
		}
		first := cmp.Or(way, fmt.Sprintf("%T", tests))
		if way = fmt.Sprintf("%T", tests); way != first {
			return errors.New("the groups give their tests in different ways; use numbers, patterns or lists for all")
		}
		x := cmsSubtask{points: points}
		if x.tests, err = c.testsOfGroup(tests, &next); err != nil {
			return err
		}
		c.subtask = append(c.subtask, x)
	}
	if next > c.inputs {
		return fmt.Errorf("the groups have %d tests, but n_input is %d", next, c.inputs)
	}
	return nil
}

// groupParameters reads the points and the tests of a group, from a list or a mapping.
func (c *cmsTask) groupParameters(n yaml.Node) (points float64, tests any, err error) {
	var list []any
	named := struct {
		Points any                  `yaml:"max_score"`
		Tests  any                  `yaml:"testcases"`
		Others map[string]yaml.Node `yaml:",inline"`
	}{}
	if n.Kind == yaml.MappingNode {
		err = n.Decode(&named)
		list = []any{named.Points, named.Tests}
		for _, key := range slices.Sorted(maps.Keys(named.Others)) {
			if key != "always_show_testcases" {
				c.p.find("unknown key %q in score_type_parameters", key)
			}
		}
	} else {
		err = n.Decode(&list)
	}
	if err != nil {
		return 0, nil, errors.New(oneLine(err))
	}
	if len(list) < 2 {
		return 0, nil, errors.New("a group needs points and tests, such as [20, 3]")
	}
	points, err = strconv.ParseFloat(fmt.Sprint(list[0]), 64)
	if err != nil || !(points >= 0 && api.ValidPoints(points)) {
		return 0, nil, fmt.Errorf("points %v are not a number >= 0", list[0])
	}
	return points, list[1], nil
}

// testsOfGroup returns the tests of a group: as many as a number says, from next on, those whose names match a pattern, or
// those of a list of names.
func (c *cmsTask) testsOfGroup(given any, next *int) (tests []int, err error) {
	switch given := given.(type) {
	case int:
		if given < 0 {
			return nil, fmt.Errorf("%d tests of a group are less than 0", given)
		}
		for range min(given, c.inputs) {
			tests = append(tests, *next)
			*next++
		}
	case string:
		pattern, err := regexp.Compile("^(?:" + given + ")")
		if err != nil {
			return nil, err
		}
		for i := range c.inputs {
			if pattern.MatchString(cmsTestName(i)) {
				tests = append(tests, i)
			}
		}
	case []any:
		for _, name := range given {
			i, err := strconv.Atoi(fmt.Sprint(name))
			if _, isText := name.(string); err != nil || !isText || i < 0 || i >= c.inputs || cmsTestName(i) != name {
				return nil, fmt.Errorf("no test has the name %q; use %q to %q", fmt.Sprint(name), cmsTestName(0),
					cmsTestName(c.inputs-1))
			}
			tests = append(tests, i)
		}
		slices.Sort(tests)
		tests = slices.Compact(tests)
	default:
		return nil, fmt.Errorf("tests %v of a group are neither a number nor a pattern nor a list of names", given)
	}
	return tests, nil
}

// maxMatches bounds the patterns of groups, each of which is compared with the names of all tests.
const maxMatches = 300_000

func cmsTestName(i int) string { return fmt.Sprintf("%03d", i) }

// scheme creates a group for each subtask. The checker returns a fraction of the points of a test.
func (c *cmsTask) scheme() error {
	root := &api.Group{Aggregation: api.Sum, Verdict: api.ByScore, Continue: true}
	c.p.Scheme.Root, c.p.Scheme.Scoring = root, true
	member := func(i int, points float64) api.Member {
		return api.Member{Test: cmsTestName(i), Accept: points, MaxScore: &points}
	}
	if len(c.subtask) == 0 {
		for i := range c.inputs {
			root.Members = append(root.Members, member(i, c.total/float64(c.inputs)))
		}
		return nil
	}
	used := map[int]int{} // the subtask of each test
	for i, x := range c.subtask {
		g := &api.Group{Name: fmt.Sprintf("subtask%d", i), Aggregation: api.Min, Verdict: api.ByScore, MaxScore: &x.points}
		if err := c.share(g, i, used); err != nil {
			return err
		}
		for _, test := range x.tests {
			if _, taken := used[test]; !taken {
				g.Members = append(g.Members, member(test, x.points))
				used[test] = i
			}
		}
		switch {
		case len(g.Members) > 0:
			root.Members = append(root.Members, api.Member{Group: g})
		case len(x.tests) > 0:
			return fmt.Errorf("subtask%d has only tests of earlier subtasks; give it one that they do not have", i)
		case x.points > 0:
			return fmt.Errorf("subtask%d has %g points and no tests; no submission can get all points", i, x.points)
		default:
			c.p.find("subtask%d has no tests", i)
		}
	}
	c.p.Tests = slices.DeleteFunc(c.p.Tests, func(t Test) bool {
		i, _ := strconv.Atoi(t.Name)
		_, isUsed := used[i]
		if !isUsed {
			c.p.find("test %s is not judged: no subtask contains it", t.Name)
		}
		return !isUsed
	})
	return nil
}

// share makes a subtask require earlier ones whose tests it has, too: judged runs a test once. That is the same if it has
// all of their tests, and if a test gives all points or none.
func (c *cmsTask) share(g *api.Group, i int, used map[int]int) error {
	all, seen := map[int]bool{}, map[int]bool{}
	for _, test := range c.subtask[i].tests {
		all[test] = true
	}
	for _, test := range c.subtask[i].tests {
		other, taken := used[test]
		if !taken || seen[other] {
			continue
		}
		seen[other] = true
		for _, needed := range c.subtask[other].tests {
			if !all[needed] {
				return fmt.Errorf("subtask%d has test %s of subtask%d, and not its test %s; judged needs all or none of "+
					"them", i, cmsTestName(test), other, cmsTestName(needed))
			}
		}
		g.RequirePass = append(g.RequirePass, fmt.Sprintf("subtask%d", other))
	}
	if len(g.RequirePass) > 0 && c.p.Checker.Program != nil {
		c.p.unsupported("tests of several subtasks with a checker; a subtask gives no points if a test of an earlier one " +
			"gives only a part of them")
	}
	return nil
}
