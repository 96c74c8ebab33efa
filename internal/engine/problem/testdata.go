package problem

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"judged/internal/api"
	"judged/internal/api/scoring"
	"judged/internal/engine/checker"
)

// dataReader reads the folder data.
type dataReader struct {
	p    *Package
	t    *tree
	kind kind
	args map[string]bool // flags of output validators, one entry for each different list
	last []string        // one of them
}

// readData reads the tests with their groups, and the tests of the validators.
func (p *Package) readData(t *tree, k kind) error {
	r := dataReader{p, t, k, map[string]bool{}, nil}
	root := &api.Group{Aggregation: api.Sum, Verdict: api.FirstError}
	legacyRoot := legacyGrading{onReject: "break", accept: 1}
	if p.Format == Legacy {
		if err := r.legacyGroup(root, &legacyRoot); err != nil {
			return err
		}
	} else {
		// Samples do not count in scores, and a wrong one ends nothing there.
		root.IgnoreFirst, root.Continue = k.scoring, k.scoring
		if k.scoring {
			root.Verdict = api.ByScore
		}
	}
	for _, name := range []string{"sample", "secret"} {
		if len(r.listAll(name)) == 0 { // such as samples that have interactions only
			root.IgnoreFirst = false
			if name == "secret" {
				p.find("no test in data/secret; the samples alone decide")
			}
			continue
		}
		g, err := r.group(name, legacyRoot, nil)
		if err != nil {
			return err
		}
		root.Members = append(root.Members, api.Member{Group: g})
	}
	p.Scheme = scoring.Scheme{Root: root, Scoring: k.scoring}
	return r.finish()
}

// finish sets the arguments of the checker, which judged has once for all tests.
func (r *dataReader) finish() error {
	if len(r.args) > 1 {
		r.p.unsupported("output_validator_args that differ between tests; those of the last group are used")
	}
	if c := r.p.judging(); len(r.last) > 0 {
		c.Args = append(slices.Clone(c.Args), r.last...)
	}
	r.p.InvalidInputs = r.invalidInputs()
	r.outputs("invalid_output", false)
	r.outputs("valid_output", true)
	if r.p.Checker.Kind == defaultValidator {
		if _, err := checker.Parse(defaultValidator, r.p.Checker.Args...); err != nil {
			return fmt.Errorf("read flags of the output validator: %w", err)
		}
	}
	return nil
}

// judging is the checker or interactor that gives the verdict.
func (p *Package) judging() *Checker {
	if p.Interactor != nil {
		return p.Interactor
	}
	return &p.Checker
}

// group reads a folder below data.
func (r *dataReader) group(name string, inherited legacyGrading, args []string) (*api.Group, error) {
	g := &api.Group{Name: name, Aggregation: api.Sum, Verdict: api.FirstError}
	grading := inherited
	var err error
	if r.p.Format == Legacy {
		err = r.legacyGroup(g, &grading)
		g.IgnoreFirst = false // a flag of the root
		args = grading.args
	} else {
		args, err = r.kattisGroup(g, args)
	}
	if err != nil {
		return nil, err
	}
	tests, folders := r.list(name)
	if r.p.Format == Kattis && name != "secret" && len(folders) > 0 { // folders of a group are no groups
		tests, folders = r.listAll(name), nil
	}
	member := r.testScore(g, grading, len(tests))
	if len(tests) > 0 {
		r.args[strings.Join(args, "\x00")] = true
		r.last = args
	}
	for _, child := range merged(tests, folders) {
		full := path.Join(name, child.name)
		if child.folder {
			sub, err := r.group(full, grading, args)
			if err != nil {
				return nil, err
			}
			g.Members = append(g.Members, api.Member{Group: sub})
			continue
		}
		test, err := r.test(full)
		if err != nil {
			return nil, err
		}
		r.p.Tests = append(r.p.Tests, test)
		member.Test = full
		g.Members = append(g.Members, member)
	}
	return g, nil
}

type child struct {
	name   string
	folder bool
}

// merged is tests and folders in lexicographic order.
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

// list returns the tests and the groups in a folder.
func (r *dataReader) list(name string) (tests, folders []string) {
	last := ""
	for _, f := range r.t.under("data/" + name) { // sorted
		first, rest, inFolder := strings.Cut(f.Name, "/")
		if base, ok := strings.CutSuffix(f.Name, inputSuffix); ok && !inFolder {
			tests = append(tests, base)
		}
		if inFolder && strings.HasSuffix(first, ".files") {
			r.p.unsupported("files of tests, such as %s", "data/"+name+"/"+first)
			continue
		}
		if inFolder && strings.HasSuffix(rest, inputSuffix) && first != last {
			folders = append(folders, first)
			last = first
		}
	}
	return tests, folders
}

// listAll returns the tests in a folder and below.
func (r *dataReader) listAll(name string) []string {
	var tests []string
	for _, f := range r.t.under("data/" + name) {
		if base, ok := strings.CutSuffix(f.Name, inputSuffix); ok {
			tests = append(tests, base)
		}
	}
	return tests
}

// test finds the files of a test and reads its own settings.
func (r *dataReader) test(name string) (Test, error) {
	in, ans := "data/"+name+".in", "data/"+name+".ans"
	if !r.t.has(ans) {
		return Test{}, fmt.Errorf("input %q has no answer; add %s", in, ans)
	}
	if r.p.Format != Legacy && r.t.has("data/"+name+".yaml") {
		s, err := r.t.settings("data/" + name + ".yaml")
		if err != nil {
			return Test{}, err
		}
		if args := s.list("output_validator_args"); args != nil {
			r.args[strings.Join(args, "\x00")] = true
		}
		if len(s.list("args")) > 0 {
			r.p.unsupported("args of tests, such as those of %s", name)
		}
		r.inputArgs(s, "input_validator_args")
		s.drop("full_feedback", "hint", "description", "input_visualizer_args", "output_visualizer_args")
		if err := s.close(r.p); err != nil {
			return Test{}, err
		}
	}
	return Test{Name: name, Input: r.t.use(in), Answer: r.t.use(ans)}, nil
}

// inputArgs takes arguments of input validators, which judged runs without any.
func (r *dataReader) inputArgs(s *settings, key string) {
	if _, ok := s.keys[key]; ok {
		if n := s.keys[key]; n.Value != "" || len(n.Content) > 0 {
			r.p.unsupported("%s", key)
		}
		s.drop(key)
	}
}

// testScore is the score of the tests of a group.
func (r *dataReader) testScore(g *api.Group, legacy legacyGrading, tests int) api.Member {
	if !r.kind.scoring {
		return api.Member{}
	}
	if r.p.Format == Legacy {
		return api.Member{Accept: legacy.accept, Reject: legacy.reject}
	}
	if g.MaxScore == nil || g.Aggregation == api.PassFail || tests == 0 {
		return api.Member{}
	}
	most := *g.MaxScore
	if g.Aggregation == api.Sum {
		most /= float64(tests)
	}
	return api.Member{Accept: most, MaxScore: &most}
}

func (r *dataReader) invalidInputs() []Test {
	var tests []Test
	for _, folder := range []string{"invalid_input", "invalid_inputs"} {
		for _, f := range r.t.under("data/" + folder) {
			if base, ok := strings.CutSuffix(f.Name, inputSuffix); ok {
				tests = append(tests, Test{Name: folder + "/" + base, Input: r.t.use("data/" + folder + "/" + f.Name)})
			}
		}
	}
	return tests
}

func (r *dataReader) outputs(folder string, valid bool) {
	for _, f := range r.t.under("data/" + folder) {
		base, ok := strings.CutSuffix(f.Name, inputSuffix)
		name := folder + "/" + base
		if !ok {
			continue
		}
		if !r.t.has("data/"+name+".ans") || !r.t.has("data/"+name+".out") {
			r.p.find("data/%s.in has no .ans or no .out next to it; it is not used", name)
			continue
		}
		test := Test{Name: name, Input: r.t.use("data/" + name + inputSuffix), Answer: r.t.use("data/" + name + ".ans")}
		r.p.Outputs = append(r.p.Outputs, Output{Test: test, Path: r.t.use("data/" + name + ".out"), Valid: valid})
	}
}
