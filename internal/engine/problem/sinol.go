package problem

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/base/units"
)

// sinolFile is the settings of a package of sinol-make, for the system SIO2.
const sinolFile = "config.yml"

// sinolPackage holds the keys of config.yml that affect judging.
type sinolPackage struct {
	p      *Package
	t      *tree
	id     string // with which the names of all files begin
	limits sinolLimits
	// points by group: "0", which has examples, gives none.
	points   map[string]float64
	requires map[string][]string
	total    float64 // which the points must add up to
	timed    bool    // the points of a test depend on its time
	passFail bool
	groups   []string // that have tests, in their order
	tests    map[string][]string
}

// sinolLimits are limits in milliseconds and KiB. Those of a test precede those of its group, and those the others.
type sinolLimits struct {
	time, memory    float64
	times, memories map[string]float64
}

// readSinol reads a package: in/abc1a.in with out/abc1a.out, or with the solution prog/abc.cpp that makes it.
func (p *Package) readSinol(t *tree) error {
	s, err := t.mainSettings(sinolFile)
	if err != nil {
		return err
	}
	p.Format, p.TimeRule = Sinol, TimeRule{Accepted: 2, Rejected: 1, Resolution: time.Second}
	p.Checker = Checker{Kind: "words"} // as oicompare
	x := &sinolPackage{p: p, t: t}
	if err := x.readID(s); err != nil {
		return err
	}
	p.Name = x.id
	s.decode("title", &p.Name)
	if x.limits, err = readSinolLimits(s); err != nil {
		return err
	}
	if err := x.readOverrides(s.mapping("override_limits")); err != nil {
		return err
	}
	var scores map[string]*float64 // a group without a value has no points
	if s.decode("scores", &scores) {
		x.points = map[string]float64{}
		for group, points := range scores {
			if points != nil {
				x.points[group] = *points
			}
		}
	}
	s.decode("subtask_dependencies", &x.requires)
	for group, required := range x.requires {
		if len(required) > maxKeys {
			return fmt.Errorf("%s: subtask_dependencies: group %s has %d; no problem needs that", sinolFile, group,
				len(required))
		}
	}
	if fake := "off"; s.decode("fake_time", &fake) && fake != "off" {
		p.unsupported("fake_time: %s; programs see the time of the host", fake)
	}
	if s.has("extra_execution_files") {
		p.unsupported("extra_execution_files; submissions do not see them")
		s.ignore("extra_execution_files")
	}
	x.readContestType(s)
	x.total = 100
	s.decode("sinol_total_score", &x.total)
	if err := errors.Join(x.readLibraries(s), x.readPrograms()); err != nil {
		return err
	}
	if err := x.readTests(); err != nil {
		return err
	}
	if err := x.scheme(); err != nil {
		return err
	}
	if err := x.expectScores(s.mapping("sinol_expected_scores")); err != nil {
		return err
	}
	for key := range s.keys { // of other languages, and of the options of sinol-make that it does not document
		if strings.HasPrefix(key, "title_") || strings.HasPrefix(key, "sinol_undocumented_") {
			s.ignore(key)
		}
	}
	s.ignore("sinol_latex_compiler", "sinol_static_tests")
	p.findUnused(t, "not used", x.isOfSinol)
	return s.close(p)
}

var errNoSinolTests = errors.New("in/ has no tests, such as abc1a.in of the task abc; make them by sinol-make gen")

// readID finds the ID of the task: SIO2 takes it from the name of the archive, and all files begin with it.
func (x *sinolPackage) readID(s *settings) error {
	if s.decode("sinol_task_id", &x.id); x.id != "" {
		return s.err
	}
	for _, f := range x.t.under("in") {
		if i := strings.IndexAny(f.Name, "0123456789"); i > 0 && path.Ext(f.Name) == inputSuffix {
			x.id = f.Name[:i]
			return nil
		}
	}
	return errNoSinolTests
}

func readSinolLimits(s *settings) (l sinolLimits, err error) {
	s.factor("time_limit", &l.time)
	s.factor("memory_limit", &l.memory)
	s.decode("time_limits", &l.times)
	s.decode("memory_limits", &l.memories)
	for key, all := range map[string]map[string]float64{"time_limits": l.times, "memory_limits": l.memories} {
		for of, n := range all {
			if !(n >= 1 && n < maxLimit) {
				s.fail(key, "%s: %v is out of range; use a number of at least 1", of, n)
			}
		}
	}
	return l, s.err
}

// of returns the limits of a test.
func (l sinolLimits) of(test, group string) (timeMS, memoryKiB float64) {
	return cmp.Or(l.times[test], l.times[group], l.time), cmp.Or(l.memories[test], l.memories[group], l.memory)
}

// readOverrides makes factors of the limits of languages. Those of judged-problem.toml have precedence.
func (x *sinolPackage) readOverrides(s *settings) error {
	for _, key := range slices.Sorted(maps.Keys(s.keys)) {
		own := s.mapping(key)
		l, err := readSinolLimits(own)
		if err = errors.Join(err, own.close(x.p)); err != nil {
			return err
		}
		language := languageByEnding["."+key]
		all := x.limits
		if language == "" || l.times != nil || l.memories != nil || l.time > 0 && (all.time == 0 || all.times != nil) ||
			l.memory > 0 && (all.memory == 0 || all.memories != nil) {
			x.p.unsupported("override_limits: %s; judged has one factor of time_limit and one of memory_limit for a "+
				"language, and none of those of groups", key)
			continue
		}
		f := api.Factors{Time: l.time / max(x.limits.time, 1), Memory: l.memory / max(x.limits.memory, 1)}
		for _, wrong := range f.Check() {
			return fmt.Errorf("%s: override_limits: %s: %s: %s", sinolFile, key, wrong.Field, wrong.Detail)
		}
		if x.p.Factors == nil {
			x.p.Factors = map[string]api.Factors{}
		}
		x.p.Factors[language] = x.p.Factors[language].Or(f)
	}
	return s.err
}

// readContestType reads how points are given.
func (x *sinolPackage) readContestType(s *settings) {
	kind := "default"
	switch s.decode("sinol_contest_type", &kind); strings.ToLower(kind) {
	case "default", "oij":
	case "oi":
		x.timed = true
		x.p.unsupported("sinol_contest_type: oi; points do not depend on the time of a test")
	case "icpc":
		x.passFail = true
	default:
		s.fail("sinol_contest_type", "%q is unknown; use default, oi, oij or icpc", kind)
	}
}

// readLibraries finds the files that submissions are compiled with.
func (x *sinolPackage) readLibraries(s *settings) error {
	compiled := map[string]bool{}
	all := s.mapping("extra_compilation_args")
	for _, key := range slices.Sorted(maps.Keys(all.keys)) {
		for _, arg := range all.list(key) {
			name := "prog/" + arg
			if language := languageByEnding["."+key]; language != "" && x.t.has(name) {
				compiled[name] = true
				x.p.Includes[language] = append(x.p.Includes[language], File{arg, x.t.use(name)})
				continue
			}
			x.p.unsupported("extra_compilation_args: %s: %s; judged compiles with files of prog/, and without further "+
				"options", key, arg)
		}
	}
	for _, file := range s.list("extra_compilation_files") {
		name := "prog/" + file
		if !x.t.has(name) {
			return fmt.Errorf("%s: extra_compilation_files: %q is missing", sinolFile, name)
		}
		language := languageByEnding[path.Ext(file)]
		if (language == "c" || language == "cpp") && !compiled[name] {
			x.p.unsupported("extra_compilation_files: %s; it is compiled with each submission, as in extra_compilation_args",
				file)
		}
		if !compiled[name] {
			x.p.Includes[""] = append(x.p.Includes[""], File{file, x.t.use(name)})
		}
	}
	return errors.Join(s.err, all.err)
}

// readPrograms finds the solutions, the checker and the validator in prog/, by their names. Of the solutions only abc.*
// must be right.
func (x *sinolPackage) readPrograms() error {
	solution := regexp.MustCompile(`^` + regexp.QuoteMeta(x.id) + `([bs]?[0-9]*(?:_.*)?)\.(?:c|cpp|cc|py|rs|java)$`)
	for _, f := range x.t.under("prog") {
		name := "prog/" + f.Name
		switch role, _ := strings.CutPrefix(strings.TrimSuffix(f.Name, path.Ext(f.Name)), x.id); {
		case languageByEnding[path.Ext(f.Name)] == "":
		case role == "soc":
			return fmt.Errorf("%s is an interactor of SIO2, which judged does not run", name)
		case role == "chk" && x.p.Checker.Program != nil:
			return fmt.Errorf("%s and %s are both checkers; remove one of them", x.p.Checker.Program.Name, name)
		case role == "chk":
			x.p.Checker = Checker{Kind: string(api.SIO), Program: x.program(f.Name)}
		case role == "inwer":
			x.p.Validators = append(x.p.Validators, Validator{Program: *x.program(f.Name), OK: testlibValid})
		case solution.MatchString(f.Name):
			s := Submission{Program: Program{Name: name, Language: languageByEnding[path.Ext(f.Name)],
				Files: []File{{f.Name, x.t.use(name)}}}}
			if role == "" {
				s.Expected, s.Lower = rule(Expectation{Final: []string{"AC"}}, lower).Expected, true
			}
			x.p.Submissions = append(x.p.Submissions, s)
		}
	}
	if len(x.p.Submissions) > maxPrograms {
		return fmt.Errorf("%d solutions; use at most %d", len(x.p.Submissions), maxPrograms)
	}
	return nil
}

// program returns a program of the jury with the headers next to it.
func (x *sinolPackage) program(name string) *Program {
	p := &Program{Name: "prog/" + name, Language: languageByEnding[path.Ext(name)],
		Files: []File{{name, x.t.use("prog/" + name)}}}
	for _, f := range x.t.under("prog") {
		if slices.Contains(headerEndings, path.Ext(f.Name)) && !strings.Contains(f.Name, "/") && len(p.Files) <= maxHeaders {
			p.Files = append(p.Files, File{f.Name, x.t.use("prog/" + f.Name)})
		}
	}
	return p
}

// readTests finds the tests: abc1a is in group 1. Examples are in group 0, and so are tests called ocen, with any number.
func (x *sinolPackage) readTests() error {
	pattern := regexp.MustCompile(`^` + regexp.QuoteMeta(x.id) + `(([0-9]+)[a-z]?[a-z0-9]*)\.in$`)
	byGroup := map[string][]Test{}
	var noTime, noMemory []string
	x.tests = map[string][]string{}
	for _, f := range x.t.under("in") {
		m := pattern.FindStringSubmatch(f.Name)
		if m == nil {
			continue
		}
		test, group := m[1], cmp.Or(strings.TrimLeft(m[2], "0"), "0")
		if strings.HasSuffix(test, "ocen") {
			group = "0"
		}
		timeMS, memoryKiB := x.limits.of(test, group)
		if timeMS == 0 {
			noTime = append(noTime, test)
		}
		if memoryKiB == 0 {
			noMemory = append(noMemory, test)
		}
		own := api.Limits{CPUTimeMS: int64(timeMS), Memory: units.Bytes(memoryKiB) << 10}
		t := Test{Name: test, Input: x.t.use("in/" + f.Name)}
		if own != (api.Limits{CPUTimeMS: int64(x.limits.time), Memory: units.Bytes(x.limits.memory) << 10}) {
			t.Limits = own
		}
		x.p.Limits.Time = max(x.p.Limits.Time, t.Limits.CPUTime())
		byGroup[group] = append(byGroup[group], t)
		x.tests[group] = append(x.tests[group], test)
	}
	if x.limits.time > 0 {
		x.p.Limits.Time = time.Duration(x.limits.time * float64(time.Millisecond))
	}
	x.p.Limits.Memory = units.Bytes(x.limits.memory) << 10
	x.groups = slices.SortedFunc(maps.Keys(byGroup), func(a, b string) int {
		return cmp.Or(len(a)-len(b), strings.Compare(a, b)) // numbers
	})
	if len(x.groups) == 0 {
		return errNoSinolTests
	}
	for _, group := range x.groups {
		x.p.Tests = append(x.p.Tests, byGroup[group]...)
	}
	x.findMissing("time_limits", noTime, "the largest one of the others")
	x.findMissing("memory_limits", noMemory, "the default of the host")
	for _, limits := range []map[string]float64{x.limits.times, x.limits.memories} {
		for _, of := range slices.Sorted(maps.Keys(limits)) {
			if x.tests[of] == nil && !slices.ContainsFunc(x.p.Tests, func(t Test) bool { return t.Name == of }) {
				x.p.find("%s: the limits of %q have no effect, as no group or test has that name", sinolFile, of)
			}
		}
	}
	return x.findAnswers()
}

// findMissing adds a finding for tests without a limit that others have.
func (x *sinolPackage) findMissing(key string, tests []string, instead string) {
	switch n := len(tests); {
	case n == len(x.p.Tests) || n == 0:
	case n == 1:
		x.p.find("%s: %s has no limit of test %s; it gets %s", sinolFile, key, tests[0], instead)
	default:
		x.p.find("%s: %s has no limit of %d tests, such as %s; they get %s", sinolFile, key, n, tests[0], instead)
	}
}

// findAnswers finds the answers, or says how the solution makes them.
func (x *sinolPackage) findAnswers() error {
	for i := range x.p.Tests {
		t := &x.p.Tests[i]
		name := "out/" + x.id + t.Name + ".out"
		if t.Answer = x.t.path(name); x.t.has(name) {
			x.t.use(name)
			continue
		}
		r, err := x.p.answerRecipe()
		if err == nil && r == nil {
			err = fmt.Errorf("prog/ has no solution %s.cpp that makes it; add one, or out/", x.id)
		}
		if err != nil {
			return fmt.Errorf("make the output of test %q: %w", t.Name, err)
		}
		r.Test, r.Input, r.Products, r.Ready = t.Name, t.Input, []Product{{"", t.Answer}}, true
		x.p.Recipes = append(x.p.Recipes, *r)
	}
	return nil
}

// isOfSinol reports whether a file is for people or for SIO2, or belongs to programs that make inputs.
func (x *sinolPackage) isOfSinol(name string) bool {
	top, _, inFolder := strings.Cut(name, "/")
	return inFolder && slices.Contains([]string{"doc", "dlazaw", "attachments"}, top) || name == "no-precompile" ||
		strings.HasPrefix(name, "prog/"+x.id+"ingen") || top == "prog" && slices.Contains(headerEndings, path.Ext(name))
}
