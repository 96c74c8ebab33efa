package problem

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"judged/internal/api"
	"judged/internal/engine/checker"
)

// dataReader reads the folder data.
type dataReader struct {
	p    *Package
	t    *tree
	kind kind
	// the group whose maximum score the format implies if no settings define it
	implied      *api.Group
	legacyPoints bool     // some groups have points as in legacy packages, which do not imply a maximum
	unanswered   []string // inputs without an answer
	domjudge     bool     // points count as in DOMjudge
}

// inherited holds the settings that a group inherits from its parent and a test from its group.
type inherited struct {
	legacyGrading
	args                       []string // arguments of submissions
	checkerArgs, validatorArgs programArgs
}

// programArgs holds the arguments of programs by name. Those with the name "" are for all programs.
type programArgs map[string][]string

// of returns the arguments of a program.
func (a programArgs) of(program string) []string {
	base := path.Base(program)
	for _, name := range []string{"", base, strings.TrimSuffix(base, path.Ext(base))} {
		if args, ok := a[name]; ok {
			return args
		}
	}
	return nil
}

// readData reads the tests with their groups, and the tests of validators.
func (p *Package) readData(t *tree, k kind) error {
	r := dataReader{p: p, t: t, kind: k}
	madeFor, err := t.ofDOMjudge()
	if err != nil {
		return err
	}
	r.domjudge = p.Format == Legacy && k.scoring && madeFor != ""
	root := &api.Group{Aggregation: api.Sum, Verdict: api.FirstError}
	top := inherited{legacyGrading: legacyGrading{legacy: p.Format == Legacy, onReject: "break", accept: 1}}
	s, err := r.groupSettings("", &top)
	if err != nil {
		return err
	}
	if !k.scoring {
		r.findPoints(s)
	}
	if top.legacy || s.has(legacyKeys...) {
		r.legacyGroup(root, s, &top.legacyGrading)
	}
	if r.domjudge {
		p.find("%s: points count as in DOMjudge: a group without subgroups gives its accept_score once, and tests without "+
			"%s, such as samples, give none", madeFor, legacyFile)
		root.Verdict = api.ByScore
	}
	if p.Format != Legacy && k.scoring {
		// Samples have no points, and a failed sample does not end the judging.
		root.IgnoreFirst, root.Continue, root.Verdict = true, true, api.ByScore
	}
	if err := s.close(p); err != nil {
		return err
	}
	for _, name := range []string{"sample", "secret"} {
		if len(r.listAll(name)) == 0 { // for example, samples with interactions only
			root.IgnoreFirst = false
			if name == "secret" {
				p.find("no test in data/secret; only the samples are judged%s", r.t.howToMake())
			}
			continue
		}
		g, err := r.group(name, top)
		if err != nil {
			return err
		}
		root.Members = append(root.Members, api.Member{Group: g})
	}
	if len(r.unanswered) > 0 {
		return noAnswers(r.unanswered)
	}
	if r.implied != nil && r.legacyPoints {
		r.implied.MaxScore = nil
	}
	p.Scheme.Root, p.Scheme.Scoring = root, k.scoring
	if p.Scheme.Grader != nil && !p.Scheme.IsCustom() {
		p.find("graders is not used, because no group sets grading: custom")
		p.Scheme.Grader = nil
	}
	err = errors.Join(r.invalidInputs(top), r.outputs("invalid_output", false, top),
		r.outputs("valid_output", true, top))
	if err != nil {
		return err
	}
	return r.checkFlags()
}

// checkFlags returns an error for flags that the default output validator does not have.
func (r *dataReader) checkFlags() error {
	if r.p.Checker.Kind != defaultValidator {
		return nil
	}
	tests := slices.Clone(r.p.Tests)
	for _, o := range r.p.Outputs {
		tests = append(tests, o.Test)
	}
	for _, t := range tests {
		if _, err := checker.Parse(defaultValidator, slices.Concat(r.p.Checker.Args, t.CheckerArgs)...); err != nil {
			return fmt.Errorf("read flags of the output validator for test %q: %w", t.Name, err)
		}
	}
	return nil
}

// judging returns the checker or interactor that determines the verdict.
func (p *Package) judging() *Checker {
	if p.Interactor != nil {
		return p.Interactor
	}
	return &p.Checker
}

// group reads a folder below data.
func (r *dataReader) group(name string, from inherited) (*api.Group, error) {
	g := &api.Group{Name: name, Aggregation: api.Sum, Verdict: api.FirstError}
	if r.domjudge { // not inherited, and no points without it
		from.accept = 0
	}
	if err := r.grade(g, &from); err != nil {
		return nil, err
	}
	tests, folders := r.list(name)
	nextToGroups := name == "secret" && r.p.Format != Legacy && len(tests) > 0 && r.hasGroups(folders)
	if nextToGroups {
		r.p.find("data/secret has groups and tests next to them, such as %s; the format allows only one of both, and "+
			"judged gives no points for these tests", tests[0])
	}
	if r.p.Format == Kattis && (name != "secret" || !r.hasGroups(folders)) {
		tests, folders = r.listAll(name), nil // the folders are not groups
	}
	member := r.testScore(g, from.legacyGrading, len(tests))
	if nextToGroups && r.kind.scoring && !from.legacy {
		member = api.Member{MaxScore: new(float64)}
	}
	for _, child := range merged(tests, folders) {
		full := path.Join(name, child.name)
		if child.folder {
			sub, err := r.group(full, from)
			if err != nil {
				return nil, err
			}
			g.Members = append(g.Members, api.Member{Group: sub})
			continue
		}
		test, err := r.test(full, from)
		if err != nil {
			return nil, err
		}
		r.p.Tests = append(r.p.Tests, test)
		member.Test = full
		g.Members = append(g.Members, member)
	}
	if r.domjudge {
		r.domjudgePoints(g, from.accept, len(folders) == 0)
	}
	continues := func(m api.Member) bool { return m.Group != nil && m.Group.Continue }
	if g.Verdict == api.ByScore && g.Aggregation == api.Min && slices.ContainsFunc(g.Members, continues) {
		g.Continue = true // the smallest of sums can be above 0 after a failure
	}
	return g, nil
}

type child struct {
	name   string
	folder bool
}

// merged returns tests and folders in lexicographic order.
func merged(tests, folders []string) []child {
	var all []child
	for _, n := range tests {
		all = append(all, child{n, false})
	}
	for _, n := range folders {
		all = append(all, child{n, true})
	}
	slices.SortFunc(all, func(a, b child) int { return strings.Compare(a.name, b.name) })
	return all
}

// list returns the tests and groups in a folder.
func (r *dataReader) list(name string) (tests, folders []string) {
	last := ""
	for _, f := range r.t.under("data/" + name) { // sorted
		first, rest, inFolder := strings.Cut(f.Name, "/")
		if base, ok := strings.CutSuffix(f.Name, inputSuffix); ok && !inFolder {
			tests = append(tests, base)
		}
		if isTestFiles(f.Name) {
			continue
		}
		if inFolder && strings.HasSuffix(rest, inputSuffix) && first != last {
			folders = append(folders, first)
			last = first
		}
	}
	return tests, folders
}

// listAll returns the tests in a folder and its subfolders.
func (r *dataReader) listAll(name string) []string {
	var tests []string
	for _, f := range r.t.under("data/" + name) {
		if base, ok := strings.CutSuffix(f.Name, inputSuffix); ok && !isTestFiles(f.Name) {
			tests = append(tests, base)
		}
	}
	return tests
}

// hasGroups reports whether a folder of data/secret is a group.
func (r *dataReader) hasGroups(folders []string) bool {
	return slices.ContainsFunc(folders, func(name string) bool {
		return r.t.has("data/secret/"+name+"/"+groupFile) || r.t.has("data/secret/"+name+"/"+legacyFile)
	})
}

// test finds the files of a test and reads its own settings.
func (r *dataReader) test(name string, from inherited) (Test, error) {
	in, ans := "data/"+name+".in", "data/"+name+".ans"
	if !r.t.has(ans) {
		r.unanswered = append(r.unanswered, in)
	}
	t, err := r.withSettings(name, from)
	t.Answer = r.t.use(ans)
	if shown := r.shown(name); shown != "" && err == nil {
		r.p.Outputs = append(r.p.Outputs, Output{Test: t, Path: r.t.use(shown), Valid: true})
	}
	return t, err
}

// shown returns the file of a test that people see as a right output, so that the checker must accept it, or "". That is the
// answer of a sample if no other file replaces it.
func (r *dataReader) shown(name string) string {
	name = "data/" + name
	replaced := slices.ContainsFunc([]string{".ans.statement", ".interaction"}, func(ending string) bool {
		return r.t.has(name + ending)
	})
	switch {
	case r.p.Format == Legacy || r.p.Interactor != nil || r.p.Limits.Passes > 0:
		return ""
	case r.t.has(name + ".out"):
		return name + ".out"
	case strings.HasPrefix(name, "data/sample/") && !replaced && r.p.Checker.Program != nil && r.t.has(name+".ans"):
		return name + ".ans"
	}
	return ""
}

// withSettings returns a test with its input and its own settings.
func (r *dataReader) withSettings(name string, from inherited) (Test, error) {
	t := Test{Name: name, Input: r.t.use("data/" + name + inputSuffix)}
	if r.p.Format != Legacy {
		s, err := r.t.settings("data/" + name + ".yaml")
		if err != nil {
			return Test{}, err
		}
		r.testSettings(s, &from)
		s.text("hint")
		if err := s.close(r.p); err != nil {
			return Test{}, err
		}
		r.addFiles(&t)
	}
	t.Args = from.args
	if c := r.p.judging(); c.Program != nil {
		t.CheckerArgs = from.checkerArgs.of(c.Program.Name)
	} else {
		t.CheckerArgs = from.checkerArgs.of("default")
	}
	for _, v := range r.p.Validators {
		if args := slices.Concat(from.validatorArgs.of(v.Program.Name), t.Args); len(args) > 0 {
			if t.ValidatorArgs == nil {
				t.ValidatorArgs = map[string][]string{}
			}
			t.ValidatorArgs[v.Program.Name] = args
		}
	}
	return t, nil
}

// addFiles adds the files in the folder of a test.
func (r *dataReader) addFiles(t *Test) {
	folder := "data/" + t.Name + filesSuffix
	for _, f := range r.t.under(folder) {
		if strings.Contains(f.Name, "/") {
			r.p.unsupported("subfolders in files of tests, such as %s/%s", folder, f.Name)
			continue
		}
		t.Files = append(t.Files, File{f.Name, r.t.use(folder + "/" + f.Name)})
	}
}

// filesSuffix is the suffix of folders with files of a test.
const filesSuffix = ".files"

// isTestFiles reports whether a file below data is copied to the working directory of a test.
func isTestFiles(name string) bool { return strings.Contains(name, filesSuffix+"/") }

// testSettings reads the settings that groups and tests have in common. It ignores what contestants see of a failed
// test, which is up to the platform.
func (r *dataReader) testSettings(s *settings, from *inherited) {
	if own := s.arguments("args"); own != nil {
		from.args = own
	}
	r.arguments(s, "output_validator_args", (*settings).arguments, &from.checkerArgs)
	r.arguments(s, "input_validator_args", (*settings).arguments, &from.validatorArgs)
	feedback := false
	s.decode("full_feedback", &feedback)
	s.text("description")
	s.ignore("input_visualizer_args", "output_visualizer_args")
}

// arguments reads arguments of validators: for all of them, or a mapping by name.
func (r *dataReader) arguments(s *settings, key string, read func(*settings, string) []string, to *programArgs) {
	if s.keys[key].Kind != yaml.MappingNode {
		if own := read(s, key); own != nil {
			*to = programArgs{"": own}
		}
		return
	}
	*to = programArgs{}
	m := s.mapping(key)
	if r.p.Format == Legacy && m.has("flags") { // {name: VALIDATOR, flags: ...}
		name := ""
		m.decode("name", &name)
		if (*to)[name] = read(m, "flags"); name != "" && !r.hasProgram(name) {
			r.p.find("%s: unknown validator %q", m.file, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.keys)) {
		(*to)[name] = read(m, name)
		if !r.hasProgram(name) {
			r.p.find("%s: unknown validator %q", m.file, name)
		}
	}
	if s.err == nil {
		s.err = m.err
	}
}

// hasProgram reports whether a validator has the name.
func (r *dataReader) hasProgram(name string) bool {
	named := programArgs{name: {}}
	has := func(p Program) bool { return named.of(p.Name) != nil }
	c := r.p.judging()
	return name == "default" && c.Program == nil || c.Program != nil && has(*c.Program) ||
		slices.ContainsFunc(r.p.Validators, func(v Validator) bool { return has(v.Program) })
}

// testScore returns the score of each test of a group.
func (r *dataReader) testScore(g *api.Group, legacy legacyGrading, tests int) api.Member {
	if !r.kind.scoring {
		return api.Member{}
	}
	if legacy.legacy {
		return api.Member{Accept: legacy.accept, Reject: legacy.reject, Scored: r.kind.scored && !r.domjudge}
	}
	if g.Aggregation == api.PassFail || tests == 0 {
		return api.Member{}
	}
	if g.MaxScore == nil { // nobody else gives points, except to samples, which have none
		return api.Member{Scored: g.Name != "sample" && r.p.judging().Program != nil}
	}
	most := *g.MaxScore
	if g.Aggregation == api.Sum {
		most /= float64(tests)
	}
	return api.Member{Accept: most, MaxScore: &most}
}

// validation returns the tests of validators in a folder.
func (r *dataReader) validation(folder string, top inherited) (tests []Test, err error) {
	for _, base := range r.listAll(folder) {
		name, from := folder+"/"+base, top
		s, err := r.groupSettings(path.Dir(name), &from)
		if err != nil {
			return nil, err
		}
		if err := s.close(r.p); err != nil {
			return nil, err
		}
		t, err := r.withSettings(name, from)
		if err != nil {
			return nil, err
		}
		tests = append(tests, t)
	}
	return tests, nil
}

func (r *dataReader) invalidInputs(top inherited) error {
	for _, folder := range []string{"invalid_input", "invalid_inputs"} {
		tests, err := r.validation(folder, top)
		if err != nil {
			return err
		}
		r.p.InvalidInputs = append(r.p.InvalidInputs, tests...)
	}
	return nil
}

func (r *dataReader) outputs(folder string, valid bool, top inherited) error {
	if files := r.t.under("data/" + folder); len(files) > 0 && (r.p.Interactor != nil || r.p.Limits.Passes > 0) {
		r.p.find("data/%s is not used: a problem that is interactive or multi-pass has no outputs", folder)
		for _, f := range files {
			r.t.use("data/" + folder + "/" + f.Name)
		}
		return nil
	}
	tests, err := r.validation(folder, top)
	for _, t := range tests {
		if !r.t.has("data/"+t.Name+".ans") || !r.t.has("data/"+t.Name+".out") {
			r.p.cannotCheck("data/%s.in has no .ans or no .out next to it, so the checker is not tested with it", t.Name)
			continue
		}
		t.Answer = r.t.use("data/" + t.Name + ".ans")
		r.p.Outputs = append(r.p.Outputs, Output{Test: t, Path: r.t.use("data/" + t.Name + ".out"), Valid: valid})
	}
	return err
}
