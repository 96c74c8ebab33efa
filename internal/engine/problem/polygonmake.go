package problem

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"judged/internal/api"
	"judged/internal/engine/jury"
)

// testMaker adds recipes for the tests that a standard package lacks.
type testMaker struct {
	p          *Package
	t          *tree
	xml        polygonXML
	set        polygonTestset
	generators map[string]jury.Program
	commands   map[string]int // indexes in p.Recipes
}

// polygonRecipes returns recipes: generators for inputs, and the main solution for answers.
func (p *Package) polygonRecipes(t *tree, x polygonXML, s polygonTestset) error {
	m := testMaker{p, t, x, s, map[string]jury.Program{}, map[string]int{}}
	var answers []Recipe
	var solution *Recipe
	for i, test := range p.Tests {
		hasInput := t.hasPath(test.Input)
		if !hasInput {
			if err := m.generate(i); err != nil {
				return err
			}
		}
		if t.hasPath(test.Answer) {
			continue
		}
		if solution == nil {
			var err error
			if solution, err = m.mainSolution(); err != nil {
				return fmt.Errorf("make the answer of test %q: %w", test.Name, err)
			}
		}
		answer := *solution
		answer.Test, answer.Input, answer.Ready = test.Name, test.Input, hasInput
		answer.Products = []Product{{"", test.Answer}}
		answers = append(answers, answer)
	}
	p.Recipes = append(p.Recipes, answers...)
	return nil
}

// hasPath reports whether the package has a file at a path.
func (t *tree) hasPath(name string) bool {
	rel, err := filepath.Rel(t.dir, name)
	return err == nil && t.has(filepath.ToSlash(rel))
}

// generate adds the recipe of a test's input: its command, which may also write the inputs of other tests.
func (m *testMaker) generate(i int) error {
	test := m.p.Tests[i]
	missing := fmt.Errorf("input %q is missing and problem.xml has no command that makes it; download the package again",
		path.Base(test.Input))
	if i >= len(m.set.Tests) {
		return missing
	}
	command, product := m.set.Tests[i].Command, Product{m.set.Tests[i].FromFile, test.Input}
	if at, ok := m.commands[command]; ok && product.Name != "" {
		m.p.Recipes[at].Products = append(m.p.Recipes[at].Products, product)
		return nil
	}
	words := fields(command)
	if len(words) == 0 {
		return missing
	}
	program, err := m.generator(words[0])
	if err != nil {
		return fmt.Errorf("make the input of test %q: %w", test.Name, err)
	}
	program.Args = words[1:]
	m.commands[command] = len(m.p.Recipes)
	m.p.Recipes = append(m.p.Recipes, Recipe{Test: test.Name, Command: command, Run: jury.Work{Program: program},
		Products: []Product{product}, Ready: true})
	return nil
}

// generator finds the program of a command, which names it without folder and extension.
func (m *testMaker) generator(name string) (jury.Program, error) {
	if known, ok := m.generators[name]; ok {
		return known, nil
	}
	source, err := m.generatorSource(strings.TrimSuffix(name, ".exe"))
	if err != nil {
		return jury.Program{}, err
	}
	program, err := m.p.polygonProgram(m.t, source, m.t.headers())
	if err != nil {
		return jury.Program{}, err
	}
	start, err := program.start()
	if err == nil {
		m.generators[name] = start.jury(nil, nil)
	}
	return m.generators[name], err
}

// generatorSource returns the executable with a name, otherwise the source with that name in files/.
func (m *testMaker) generatorSource(name string) (polygonProgram, error) {
	isNamed := func(file string) bool { return strings.TrimSuffix(path.Base(file), path.Ext(file)) == name }
	for _, e := range m.xml.Executables {
		if isNamed(e.Source.Path) {
			return e, nil
		}
	}
	var found []polygonProgram
	for _, f := range m.t.under("files") {
		if isNamed(f.Name) && languageByEnding[path.Ext(f.Name)] != "" {
			var p polygonProgram
			p.Source.Path = "files/" + f.Name
			found = append(found, p)
		}
	}
	if len(found) != 1 {
		return polygonProgram{}, fmt.Errorf("%d sources in files/ have the name %q, but problem.xml lists none; "+
			"download the package again", len(found), name)
	}
	return found[0], nil
}

// mainSolution generates answers. It is started like a submission: with its input and output files and the code that is
// added.
func (m *testMaker) mainSolution() (*Recipe, error) {
	p := m.p
	for i, s := range m.xml.Solutions {
		if s.Tag != "main" {
			continue
		}
		program := p.Submissions[i].Program
		start, err := program.start()
		if err != nil {
			return nil, err
		}
		included := p.include(api.Job{Language: start.language})
		r := &Recipe{Command: program.Name, Run: jury.Work{Program: start.jury(nil, included.Files),
			InputFile: p.InputFile, OutputFile: p.OutputFile}}
		if p.Interactor != nil {
			talks, err := p.Interactor.Program.start()
			if err != nil {
				return nil, err
			}
			r.Interactor = &jury.Interactor{Protocol: api.Testlib, Program: talks.jury(p.Interactor.Args, nil)}
		}
		return r, nil
	}
	return nil, errors.New("problem.xml has no solution with the tag main; tag one in Polygon")
}

// fields splits a command into words. Words in double quotes may contain spaces.
func fields(command string) (words []string) {
	word, quoted, any := strings.Builder{}, false, false
	for _, c := range command + " " {
		switch {
		case c == '"':
			quoted, any = !quoted, true
		case !quoted && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			if any {
				words = append(words, word.String())
			}
			word.Reset()
			any = false
		default:
			word.WriteRune(c)
			any = true
		}
	}
	return words
}
