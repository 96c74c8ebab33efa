package problem

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/base/text"
	"judged/internal/base/units"
)

// readPolygon reads a full package of Polygon, or a standard one, which lacks the tests that its programs generate.
func (p *Package) readPolygon(t *tree) error {
	x, named, err := p.parsePolygon(t)
	if err != nil {
		return err
	}
	p.Format, p.TimeRule = Polygon, TimeRule{Accepted: 2, Rejected: 1, Resolution: time.Second}
	for _, n := range x.Names {
		if p.Name == "" || n.Language == "english" {
			p.Name = n.Value
		}
	}
	set, err := p.readTestsets(t, x)
	if err != nil {
		return err
	}
	p.findPolygonSettings(x)
	if err := p.readAssets(t, x); err != nil {
		return err
	}
	if err := p.readJuryTests(t, x, named); err != nil {
		return err
	}
	if err := p.convertLines(t.ctx); err != nil {
		return err
	}
	if p.Interactor == nil {
		p.InputFile, p.OutputFile = x.Judging.Input, x.Judging.Output
	} else if x.Judging.Input != "" || x.Judging.Output != "" {
		p.unsupported("input-file and output-file of an interactive problem; submissions read stdin and write stdout")
	}
	if err := p.polygonRecipes(t, x, set); err != nil {
		return err
	}
	p.findUnused(t, "not in problem.xml and not used", func(name string) bool {
		return named[name] || isOfPolygon(name)
	})
	return nil
}

// findPolygonSettings adds findings for settings that change verdicts and that judged does not support.
func (p *Package) findPolygonSettings(x polygonXML) {
	if x.Judging.RunCount > 1 {
		p.unsupported("run-count %d", x.Judging.RunCount)
	}
	if x.Judging.Percent == "true" {
		p.unsupported("treat-points-from-checker-as-percent; the points of the checker are those of the test")
	}
	if x.Checker != nil && x.Checker.Type != "" && x.Checker.Type != "testlib" {
		p.unsupported("checker of the type %s; it is run as one of the type testlib", x.Checker.Type)
	}
	for _, property := range x.Properties {
		if property.Name != "tests-wellformed" {
			p.find("problem.xml: property %q is not used", property.Name)
		}
	}
}

// isOfPolygon reports whether a file is one that Polygon adds to packages without an entry in problem.xml.
func isOfPolygon(name string) bool {
	top, rest, inFolder := strings.Cut(name, "/")
	switch {
	case !inFolder:
		return slices.Contains([]string{"doall.bat", "doall.sh", "wipe.bat", "wipe.sh", "tags"}, name)
	case top == "scripts":
		return strings.HasPrefix(rest, "gen-") || strings.HasPrefix(rest, "run-")
	case top == "solutions": // descriptions, and binaries of JVM languages such as .jarkt17
		return path.Ext(name) == ".desc" || strings.HasPrefix(path.Ext(name), ".jar")
	case name == "files/towin.exe": // converts line endings
		return true
	}
	return slices.Contains([]string{"statements", "statement-sections", "documents"}, top)
}

func (p *Package) readTestsets(t *tree, x polygonXML) (polygonTestset, error) {
	sets := x.Judging.Sets
	main := slices.IndexFunc(sets, func(s polygonTestset) bool { return s.Name == "tests" })
	main = max(main, 0)
	if len(sets) == 0 {
		return polygonTestset{}, errors.New("problem.xml has no testset")
	}
	for i, s := range sets {
		if i != main {
			p.unsupported("testset %q; only %q is used", s.Name, sets[main].Name)
		}
	}
	s := sets[main]
	if s.TimeMS < 0 || s.TimeMS > maxLimit || s.Memory < 0 {
		return s, fmt.Errorf("limits of testset %q are out of range", s.Name)
	}
	p.Limits.Time, p.Limits.Memory = time.Duration(s.TimeMS)*time.Millisecond, units.Bytes(s.Memory)
	if s.Count < 1 || s.Count > maxEntries {
		return s, fmt.Errorf("testset %q has %d tests; use 1 to %d", s.Name, s.Count, maxEntries)
	}
	if n := len(s.Tests); n > 0 && n != s.Count {
		return s, fmt.Errorf("testset %q lists %d tests, but its test-count is %d; download the package again", s.Name, n,
			s.Count)
	}
	for i := range s.Count {
		input, err := testFile(s.Inputs, i+1)
		if err != nil {
			return s, err
		}
		answer, err := testFile(s.Answers, i+1)
		if err != nil {
			return s, err
		}
		group := ""
		if i < len(s.Tests) {
			group = s.Tests[i].Group
		}
		p.Tests = append(p.Tests, Test{Name: path.Base(input), Input: t.use(input), Answer: t.use(answer),
			ValidatorArgs: validatorArgs(s.Name, group)})
	}
	return s, p.polygonScheme(s)
}

// validatorArgs are those that Polygon gives to a validator, which may ask testlib for them. A test without a group has an
// empty one. testlib does not accept an empty testset.
func validatorArgs(testset, group string) map[string][]string {
	args := []string{"--group", group}
	if testset != "" {
		args = append([]string{"--testset", testset}, args...)
	}
	return map[string][]string{"": args}
}

var numberVerb = text.Pattern(`%(0?[0-9])?d`)

// testFile returns the name of a test file from a pattern such as tests/%02d.
func testFile(pattern string, n int) (string, error) {
	if verb := numberVerb().FindString(pattern); verb == "" || strings.Count(pattern, "%") != 1 {
		return "", fmt.Errorf("path pattern %q of a testset has no number; want tests/%%02d", pattern)
	}
	name := path.Clean(fmt.Sprintf(pattern, n))
	if !fs.ValidPath(name) {
		return "", fmt.Errorf("path pattern %q of a testset is outside of the package; want tests/%%02d", pattern)
	}
	return name, nil
}

// polygonScheme creates the groups. Tests without a group have separate points.
func (p *Package) polygonScheme(s polygonTestset) error {
	if err := p.checkGroups(s); err != nil {
		return err
	}
	p.Scheme.Root = &api.Group{Aggregation: api.Sum, Verdict: api.FirstError}
	root := p.Scheme.Root
	p.Scheme.Scoring = slices.ContainsFunc(s.Groups, func(g polygonGroup) bool { return g.Points != nil })
	for _, t := range s.Tests {
		p.Scheme.Scoring = p.Scheme.Scoring || t.Points != nil && *t.Points > 0
	}
	if p.Scheme.Scoring {
		root.Verdict, root.Continue = api.ByScore, true
	}
	known := map[string]polygonGroup{}
	for _, g := range slices.Backward(s.Groups) { // the first group with a name takes precedence
		known[g.Name] = g
	}
	groups := map[string]*api.Group{}
	for i, test := range p.Tests {
		group, points := "", 0.0
		if i < len(s.Tests) {
			group = s.Tests[i].Group
			if s.Tests[i].Points != nil {
				points = *s.Tests[i].Points
			}
		}
		member := api.Member{Test: test.Name, Accept: points, MaxScore: &points}
		if !(points >= 0 && api.ValidPoints(points)) {
			return fmt.Errorf("points of test %q are out of range", test.Name)
		}
		if group == "" {
			root.Members = append(root.Members, member)
			continue
		}
		g := groups[group]
		if g == nil {
			g = polygonGroupOf(group, known, p.Scheme.Scoring)
			groups[group] = g
			root.Members = append(root.Members, api.Member{Group: g})
		}
		g.Members = append(g.Members, member)
	}
	for _, g := range groups {
		if g.Aggregation == api.PassFail && g.MaxScore == nil {
			var points []float64
			for _, m := range g.Members {
				points = append(points, m.Accept)
			}
			g.MaxScore = new(api.AddUp(points, 1))
		}
	}
	return nil
}

// checkGroups adds findings for groups that have no effect, and for points that contradict each other. It returns an error
// for points that are out of range.
func (p *Package) checkGroups(s polygonTestset) error {
	with, declared, points := map[string]bool{}, map[string]bool{}, map[string]float64{}
	for _, t := range s.Tests {
		if with[t.Group] = true; t.Points != nil {
			points[t.Group] += *t.Points
		}
	}
	for _, g := range s.Groups {
		if declared[g.Name] {
			p.find("group %q is declared twice; the first one is used", g.Name)
			continue
		}
		declared[g.Name] = true
		if g.Points != nil && !(*g.Points >= 0 && api.ValidPoints(*g.Points)) {
			return fmt.Errorf("points %v of group %q are out of range", *g.Points, g.Name)
		}
		complete := g.Policy == completeGroup
		if sum := points[g.Name]; g.Points != nil && (sum > 0 || !complete) && math.Abs(sum-*g.Points) > api.Rounding {
			given := sum
			if complete {
				given = *g.Points
			}
			p.find("group %q has %g points, but its tests have %g; judged gives %g", g.Name, *g.Points, sum, given)
		}
		if !with[g.Name] {
			p.find("group %q has no tests", g.Name)
		}
		if !slices.Contains([]string{"", "each-test", completeGroup}, g.Policy) {
			p.find("group %q: points-policy %q is unknown; each test gives its points", g.Name, g.Policy)
		}
	}
	for _, t := range s.Tests {
		if len(declared) > 0 && t.Group != "" && !declared[t.Group] {
			p.find("group %q of tests is not among the groups; each test gives its points", t.Group)
		}
	}
	return nil
}

// completeGroup is the policy of groups that give points only if all of their tests pass.
const completeGroup = "complete-group"

func polygonGroupOf(name string, known map[string]polygonGroup, points bool) *api.Group {
	g := &api.Group{Name: name, Aggregation: api.Sum, Verdict: api.FirstError}
	if points {
		g.Verdict, g.Continue = api.ByScore, true
	}
	x := known[name]
	if x.Policy == completeGroup && points {
		g.Aggregation, g.Continue, g.MaxScore = api.PassFail, false, x.Points
	}
	for _, d := range x.Dependencies {
		g.RequirePass = append(g.RequirePass, d.Group)
	}
	return g
}

// polygonTags maps the tags of solutions to expectations.
var polygonTags = map[string]Submission{
	"main":                            rule(Expectation{Final: []string{"AC"}}, lower),
	"accepted":                        rule(Expectation{Final: []string{"AC"}}, lower),
	"rejected":                        rule(Expectation{Final: rejected}, 0),
	"failed":                          rule(Expectation{Final: rejected}, 0),
	"wrong-answer":                    rule(Expectation{Final: []string{"WA", "PC"}}, 0),
	"presentation-error":              rule(Expectation{Final: []string{"PE"}}, 0),
	"time-limit-exceeded":             rule(Expectation{Final: []string{"TLE"}}, upper),
	"time-limit-exceeded-or-accepted": rule(Expectation{Final: []string{"TLE", "AC"}}, 0),
	"time-limit-exceeded-or-memory-limit-exceeded": rule(Expectation{Final: []string{"TLE", "MLE"}}, 0),
	"memory-limit-exceeded":                        rule(Expectation{Final: []string{"MLE"}}, 0),
	"do-not-run":                                   {Skip: true},
}

var rejected = []string{"WA", "TLE", "RTE", "PC"}

// polygonLanguages are prefixes of Polygon's source types.
var polygonLanguages = map[string]string{
	"cpp": "cpp", "c": "c", "java": "java", "java8": "java", "java11": "java", "java17": "java", "java21": "java",
	"python": "python", "python2": "python2", "kotlin": "kotlin", "pas": "pascal", "rust": "rust", "go": "go",
	"csharp": "csharp", "d": "d", "perl": "perl", "php": "php",
	"haskell": "haskell", "ocaml": "ocaml", "js": "javascript", "nodejs": "javascript", "ruby": "ruby",
	"scala": "scala",
}

func (p *Package) readAssets(t *tree, x polygonXML) error {
	headers := t.headers()
	if len(headers) > maxPrograms {
		return fmt.Errorf("%d headers in files/; use at most %d", len(headers), maxPrograms)
	}
	if err := p.readResources(t, x.Resources); err != nil {
		return err
	}
	switch programs := len(x.Validators) + len(x.Solutions); {
	case x.Checker == nil:
		return errors.New("problem.xml has no checker")
	case programs > maxPrograms:
		return fmt.Errorf("%d validators and solutions; use at most %d", programs, maxPrograms)
	}
	checker, err := p.polygonProgram(t, *x.Checker, headers)
	if err != nil {
		return err
	}
	p.Checker = Checker{Kind: "testlib", Program: &checker}
	if x.Interactor != nil {
		interactor, err := p.polygonProgram(t, *x.Interactor, headers)
		if err != nil {
			return err
		}
		p.Interactor = &Checker{Kind: "testlib", Program: &interactor}
	}
	for _, v := range x.Validators {
		program, err := p.polygonProgram(t, v, headers)
		if err != nil {
			return err
		}
		p.Validators = append(p.Validators, Validator{Program: program, OK: testlibValid})
	}
	for _, s := range x.Solutions {
		program, err := p.polygonProgram(t, s.polygonProgram, nil)
		if err != nil {
			return err
		}
		submission, known := polygonTags[s.Tag]
		if !known {
			p.find("unknown tag %q of %s; it has no expected result", s.Tag, program.Name)
		}
		if len(s.Extras) > 0 {
			p.unsupported("extra tags of solutions")
		}
		submission.Program = program
		p.Submissions = append(p.Submissions, submission)
	}
	return nil
}

// readResources finds the files that submissions are compiled with. A file may be listed several times.
func (p *Package) readResources(t *tree, resources []polygonResource) error {
	for _, r := range resources {
		name := path.Clean(r.Path)
		compiled := len(r.Stages) == 0 || slices.Contains(r.Stages, polygonNamed{"compile"})
		for _, asset := range r.Assets {
			switch {
			case asset.Name != "solution":
				if !slices.Contains(headerEndings, path.Ext(name)) {
					p.unsupported("resource %s of the %s; programs of the jury get only headers", name, asset.Name)
				}
			case !t.has(name):
				return fmt.Errorf("resource %q in problem.xml is missing; download the package again", r.Path)
			case !compiled:
				p.unsupported("resource %s, as submissions get resources only for compiling", name)
			default:
				p.addResource(File{path.Base(name), t.use(name)}, r.Types)
			}
		}
	}
	return nil
}

// addResource adds a file to the submissions of some types, such as cpp.*;java.*, or of all types.
func (p *Package) addResource(f File, types string) {
	for _, kind := range strings.FieldsFunc(cmp.Or(types, "*"), func(c rune) bool { return c == ';' || c == ':' }) {
		kind, _, _ = strings.Cut(strings.TrimSpace(kind), ".")
		language := polygonLanguages[kind]
		switch {
		case language == "" && kind != "*":
			p.unsupported("resource files/%s for the type %s", f.Name, kind)
		case !slices.Contains(p.Includes[language], f):
			p.Includes[language] = append(p.Includes[language], f)
		}
	}
}

// headers returns the headers that the jury's programs may include.
func (t *tree) headers() (headers []File) {
	for _, f := range t.under("files") {
		if slices.Contains(headerEndings, path.Ext(f.Name)) {
			headers = append(headers, File{f.Name, t.use("files/" + f.Name)})
		}
	}
	return headers
}

// polygonProgram returns a source with the headers that it may include.
func (p *Package) polygonProgram(t *tree, x polygonProgram, headers []File) (Program, error) {
	name := path.Clean(x.Source.Path)
	if !t.has(name) {
		return Program{}, fmt.Errorf("source %q in problem.xml is missing", x.Source.Path)
	}
	program := Program{Name: name, Files: append([]File{{path.Base(name), t.use(name)}}, headers...)}
	kind, _, _ := strings.Cut(x.Source.Type, ".")
	if x.Source.Type == "python.2" || x.Source.Type == "python.pypy2" {
		kind = "python2"
	}
	if program.Language = polygonLanguages[kind]; program.Language == "" {
		program.Language = languageOf(program.Files[:1])
	}
	return program, nil
}
