package problem

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/engine/jury"
)

// cmsFile contains the settings of a task in the format italy_yaml of the Contest Management System.
const cmsFile = "task.yaml"

// cmsTask holds the keys of task.yaml that affect judging.
type cmsTask struct {
	p       *Package
	t       *tree
	name    string
	inputs  int // value of n_input; 0 means that it is absent
	total   float64
	lines   []string // lines of gen/GEN: for each test its command, or COPY: and a file
	subtask []cmsSubtask
	// The generator and the solution that make missing tests, from the first missing one on.
	generator *jury.Program
	solution  *Recipe
}

// cmsSubtask is a subtask with its points and the numbers of its tests.
type cmsSubtask struct {
	points float64
	tests  []int
}

// readCMS reads a task: the files input/inputN.txt and output/outputN.txt, or the programs that make them.
func (p *Package) readCMS(t *tree) error {
	s, err := t.mainSettings(cmsFile)
	if err != nil {
		return err
	}
	p.Format, p.TimeRule = CMS, TimeRule{Accepted: 2, Rejected: 1, Resolution: time.Second}
	c := &cmsTask{p: p, t: t, total: 100}
	for _, key := range []string{"nome_breve", "name"} {
		s.decode(key, &c.name)
	}
	if c.name == "" {
		p.find("%s has no name; only sol/solution and sol/soluzione must be right", cmsFile)
	}
	p.Name = c.name
	for _, key := range []string{"nome", "title"} {
		if s.keys[key].Value != "" {
			s.decode(key, &p.Name)
		}
	}
	c.readLimits(s)
	p.InputFile, p.OutputFile = "input.txt", "output.txt"
	for key, to := range map[string]*string{"infile": &p.InputFile, "outfile": &p.OutputFile} {
		if s.has(key) && !s.decode(key, to) {
			*to = "" // left empty
		}
	}
	if outputs := false; s.decode("output_only", &outputs) && outputs {
		return errors.New("output_only: contestants submit outputs, but judged judges programs")
	}
	if err := c.readProgramsOfJury(s); err != nil {
		return err
	}
	for _, name := range []string{"gen/validator", "gen/valida"} { // of task-maker
		if program, err := c.program(name); err == nil && program != nil {
			p.unsupported("%s; the inputs of a task are not validated", program.Name)
		}
	}
	if err := c.readGEN(); err != nil {
		return err
	}
	if err := c.readScore(s); err != nil {
		return err
	}
	for _, key := range []string{"output_only_testcases", "output_optional_testcases"} {
		if _, ok := s.keys[key]; ok {
			p.unsupported("%s; submissions are programs", key)
			s.ignore(key)
		}
	}
	for key := range s.keys { // Settings of the contest, of feedback, and of the number of submissions.
		if strings.HasPrefix(key, "token_") || strings.HasPrefix(key, "max_") || strings.HasPrefix(key, "min_") {
			s.ignore(key)
		}
	}
	s.ignore("nome", "title", "primary_language", "public_testcases", "risultati", "feedback_level", "score_mode",
		"score_precision", "version", "difficulty", "syllabuslevel", "label", "source", "tags", "keywords")
	if err := s.close(p); err != nil {
		return err
	}
	c.readIncludes()
	if err := c.readSolutions(); err != nil {
		return err
	}
	if err := c.readTests(); err != nil {
		return err
	}
	if _, err := c.program("gen/generator", "gen/generatore"); err != nil { // may make no input
		return err
	}
	p.findUnused(t, "not used", isOfCMS)
	return nil
}

// isOfCMS reports whether a file is for contestants.
func isOfCMS(name string) bool {
	top, rest, _ := strings.Cut(name, "/")
	isTemplate := top == "sol" && strings.HasPrefix(rest, "template.")
	return isTemplate || slices.Contains([]string{"att", "statement", "testo"}, top)
}

func (c *cmsTask) readLimits(s *settings) {
	for _, key := range []string{"timeout", "time_limit"} {
		s.duration(key, &c.p.Limits.Time)
	}
	for _, key := range []string{"memlimit", "memory_limit"} {
		s.size(key, 1<<20, &c.p.Limits.Memory)
	}
}

// readProgramsOfJury finds the checker, or the manager of a Communication task. CMS uses the binary. judged prefers a
// source next to it, which runs on every host.
func (c *cmsTask) readProgramsOfJury(s *settings) error {
	c.p.Checker = Checker{Kind: "words"}
	if program, err := c.program("check/checker", "cor/correttore"); err != nil {
		return err
	} else if program != nil {
		c.p.Checker = Checker{Kind: string(api.CMS), Program: program}
	}
	manager, err := c.program("check/manager", "cor/manager")
	instances := 1
	s.decode("num_processes", &instances)
	talk := ""
	s.decode("user_io", &talk)
	if err != nil || manager == nil {
		return err
	}
	stubs := slices.ContainsFunc(c.t.under("sol"), func(f File) bool { return strings.HasPrefix(f.Name, "stub.") })
	if talk == "fifo_io" || talk == "" && stubs {
		c.p.unsupported("user_io: fifo_io; programs do not get paths of pipes; they read stdin and write stdout")
	}
	if !slices.Contains([]string{"", "std_io", "fifo_io"}, talk) {
		return fmt.Errorf("%s: user_io %q is unknown; use std_io or fifo_io", cmsFile, talk)
	}
	if instances < 1 || instances > api.MaxInstances {
		return fmt.Errorf("num_processes %d is out of range; use 1 to %d", instances, api.MaxInstances)
	}
	c.p.Checker = Checker{}
	c.p.Interactor = &Checker{Kind: string(api.CMS), Program: manager, Instances: instances}
	c.p.InputFile, c.p.OutputFile = "", ""
	return nil
}

// program finds a program by its possible paths without extension: a source, otherwise a binary.
func (c *cmsTask) program(paths ...string) (*Program, error) {
	for _, name := range paths {
		var sources []string
		for _, n := range c.t.names {
			if strings.TrimSuffix(n, path.Ext(n)) == name && languageByEnding[path.Ext(n)] != "" {
				sources = append(sources, n)
			}
		}
		switch {
		case len(sources) > 1:
			return nil, fmt.Errorf("%s and %s are sources of the same program; remove one of them", sources[0], sources[1])
		case len(sources) == 1:
			c.t.use(name) // compiled from it, if it is there
			return c.source(sources[0]), nil
		case c.t.has(name):
			return &Program{Name: name, Files: []File{{path.Base(name), c.t.use(name)}}}, nil
		}
	}
	return nil, nil
}

// source returns a source with the files of its folder that it may include or import.
func (c *cmsTask) source(name string) *Program {
	p := &Program{Name: name, Language: languageByEnding[path.Ext(name)], Entry: path.Base(name),
		Files: []File{{path.Base(name), c.t.use(name)}}}
	isPython := p.Language == "python"
	if isPython && isPython2(p.Files[0]) {
		p.Language = "python2"
	}
	folder := path.Dir(name)
	for _, f := range c.t.under(folder) {
		language := languageByEnding[path.Ext(f.Name)]
		isModule := isPython && language == "python"
		if full := path.Join(folder, f.Name); full != name && !strings.Contains(f.Name, "/") &&
			(isModule || language == "" && path.Ext(f.Name) != "" && len(p.Files) < maxPrograms) {
			p.Files = append(p.Files, File{f.Name, c.t.use(full)})
		}
	}
	return p
}

// readIncludes finds the files that are compiled with submissions: graders, or stubs of Communication tasks.
func (c *cmsTask) readIncludes() {
	var headers []File
	graded := map[string]File{}
	for _, f := range c.t.under("sol") {
		stem := strings.TrimSuffix(f.Name, path.Ext(f.Name))
		switch language := languageByEnding[path.Ext(f.Name)]; {
		case slices.Contains([]string{".h", ".hpp"}, path.Ext(f.Name)):
			headers = append(headers, f)
		case stem != "grader" && stem != "stub" || language == "" || (stem == "stub") != (c.p.Interactor != nil):
		case !slices.Contains([]string{"c", "cpp", "java"}, language):
			c.p.unsupported("sol/%s; submissions in %s are judged without it", f.Name, language)
			c.t.use("sol/" + f.Name)
		default:
			graded[language] = f
		}
	}
	for language, f := range graded {
		c.p.Includes[language] = append([]File{f}, headers...)
		for _, f := range c.p.Includes[language] {
			c.t.use("sol/" + f.Name)
		}
	}
}

// readSolutions finds the solutions. The official one is named solution, soluzione, or like the task.
func (c *cmsTask) readSolutions() error {
	unknown := false
	for _, f := range c.t.under("sol") {
		language := languageByEnding[path.Ext(f.Name)]
		stem := strings.TrimSuffix(f.Name, path.Ext(f.Name))
		if language == "" || strings.Contains(f.Name, "/") ||
			slices.Contains([]string{"grader", "stub", "template"}, stem) {
			continue
		}
		c.t.use("sol/" + f.Name)
		s := Submission{Program: Program{Name: "sol/" + f.Name, Language: language, Files: []File{f}}}
		if slices.Contains([]string{"solution", "soluzione", c.name}, stem) {
			s.Expected, s.Lower = rule(Expectation{Final: []string{"AC"}}, lower).Expected, true
		} else {
			unknown = true
		}
		c.p.Submissions = append(c.p.Submissions, s)
	}
	if unknown && c.name != "" {
		c.p.find("solutions in sol/ have no expected result, except solution, soluzione and %s", c.name)
	}
	if len(c.p.Submissions) > maxPrograms {
		return fmt.Errorf("%d solutions; use at most %d", len(c.p.Submissions), maxPrograms)
	}
	return nil
}

// readTests finds the files of the tests, or adds the recipes for them, and creates the groups.
func (c *cmsTask) readTests() error {
	var answers []Recipe
	for i := range c.inputs {
		input, output := fmt.Sprintf("input/input%d.txt", i), fmt.Sprintf("output/output%d.txt", i)
		test := Test{Name: cmsTestName(i), Input: c.t.path(input), Answer: c.t.path(output)}
		made := !c.t.has(input)
		if made {
			if err := c.makeInput(i, &test); err != nil {
				return err
			}
		}
		switch {
		case c.t.has(output):
			c.t.use(output)
		case c.p.Interactor != nil:
			test.Answer = "" // the manager has its own answers
		default:
			r, err := c.makeAnswer(test)
			if err != nil {
				return err
			}
			r.Ready = !made || test.Input != c.t.path(input)
			answers = append(answers, r)
		}
		c.t.use(input)
		c.p.Tests = append(c.p.Tests, test)
	}
	c.p.Recipes = append(c.p.Recipes, answers...)
	return c.scheme()
}

// makeInput adds the recipe of an input: the generator with the arguments of its line in GEN, or a copy of a file.
func (c *cmsTask) makeInput(i int, test *Test) error {
	if i >= len(c.lines) {
		return fmt.Errorf("input/input%d.txt is missing and gen/GEN has no line for it; add one of them", i)
	}
	if name, ok := strings.CutPrefix(c.lines[i], "COPY:"); ok {
		name = path.Clean(strings.TrimSpace(name))
		if !c.t.has(name) {
			return fmt.Errorf("gen/GEN copies %q, which is missing", name)
		}
		test.Input = c.t.use(name)
		return nil
	}
	if c.generator == nil {
		program, err := c.program("gen/generator", "gen/generatore")
		if err == nil && program == nil {
			err = errors.New("gen/ has neither a generator nor a generatore; add it, or input/")
		}
		if err != nil {
			return fmt.Errorf("make the input of test %q: %w", test.Name, err)
		}
		start, err := program.start()
		if err != nil {
			return err
		}
		c.generator = new(start.jury(nil, nil))
	}
	program := *c.generator
	program.Args = strings.Fields(c.lines[i])
	c.p.Recipes = append(c.p.Recipes, Recipe{Test: test.Name, Command: "generator " + c.lines[i], Ready: true,
		Run: jury.Work{Program: program}, Products: []Product{{"", test.Input}}})
	return nil
}

// makeAnswer adds the recipe of an answer, which the official solution makes.
func (c *cmsTask) makeAnswer(test Test) (Recipe, error) {
	if c.solution == nil {
		if err := c.findSolution(); err != nil {
			return Recipe{}, fmt.Errorf("make the output of test %q: %w", test.Name, err)
		}
	}
	r := *c.solution
	r.Test, r.Input, r.Products = test.Name, test.Input, []Product{{"", test.Answer}}
	return r, nil
}

func (c *cmsTask) findSolution() error {
	var err error
	if c.solution, err = c.p.answerRecipe(); err == nil && c.solution == nil {
		err = errors.New("sol/ has no official solution; add sol/solution, or output/")
	}
	return err
}

// answerRecipe says how the first solution that must be right makes an answer, or nil if there is no such solution.
func (p *Package) answerRecipe() (*Recipe, error) {
	i := slices.IndexFunc(p.Submissions, func(s Submission) bool { return s.Lower })
	if i < 0 {
		return nil, nil
	}
	program := p.Submissions[i].Program
	start, err := program.start()
	if err != nil {
		return nil, err
	}
	included := p.include(api.Job{Language: start.language})
	return &Recipe{Command: program.Name, Run: jury.Work{Program: start.jury(nil, included.Files),
		InputFile: p.InputFile, OutputFile: p.OutputFile}}, nil
}
