package judge

import (
	"fmt"
	"strings"

	"judged/internal/api"
	"judged/internal/base/units"
	"judged/internal/engine/jury"
	"judged/internal/engine/languages"
)

// Compiled is the result of compiling the sources of a task. Call Close when its files are no longer used.
type Compiled struct {
	Task        Task             // runs the compiled programs
	Compilation *api.Compilation // nil where nothing of the contestant was compiled
	// Failed is the report if a source does not compile: CE for sources of the contestant, IE for sources of the
	// jury.
	Failed *api.Report

	// Kept is the compiler's output that the job keeps.
	Kept []api.KeptOutput

	results []languages.Result
}

// Close allows the cache of compiled programs to remove the files.
func (c *Compiled) Close() {
	for _, r := range c.results {
		r.Close()
	}
}

// Key identifies the result: it depends on sources, compiler versions and flags.
func (c *Compiled) Key() []string {
	var key []string
	for _, r := range c.results {
		key = append(key, r.Key)
	}
	return key
}

// Compile compiles the sources of a task with f, the programs of the jury first.
func (t Task) Compile(f func(languages.Source) (languages.Result, error)) (_ Compiled, err error) {
	c := Compiled{Task: t}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	for _, p := range c.Task.juryPrograms() {
		if p.program.Language == "" {
			continue
		}
		r, err := f(languages.Source{Language: p.program.Language, Files: p.program.Files})
		if err != nil {
			return Compiled{}, fmt.Errorf("compile %s: %w", p.name, err)
		}
		c.results = append(c.results, r)
		if r.Failure != "" {
			c.fail(compilationOf(p.program.Language, r))
			c.Failed.Compilation.Program = p.name
			c.Failed.Fail(api.JuryFault, "the "+p.program.Called(p.name)+" does not compile: "+r.Failure)
			return c, nil
		}
		p.use(jury.Program{Name: p.program.Name, Command: r.Args, Files: r.Files, Args: p.program.Args})
	}
	if t.Language == "" {
		return c, nil
	}
	r, err := f(languages.Source{Language: t.Language, Options: t.CompileOptions, Files: t.Files})
	if err != nil {
		return Compiled{}, err
	}
	c.results = append(c.results, r)
	c.Compilation = compilationOf(t.Language, r)
	c.storeOutput(r)
	if r.Failure != "" {
		c.fail(c.Compilation)
		c.Failed.Verdict, c.Failed.Message = api.CompileError, r.Failure
		c.Failed.JudgementType = c.Failed.Verdict.JudgementType()
		return c, nil
	}
	c.Task.Args, c.Task.Files, c.Task.Language, c.Task.Compiled = r.Args, r.Files, "", true
	return c, nil
}

// maxQuoted is the maximum length of compiler output in a report, in bytes.
const maxQuoted = 64 << 10

func compilationOf(language string, r languages.Result) *api.Compilation {
	quoted := strings.ToValidUTF8(r.Output[:min(len(r.Output), maxQuoted)], "")
	return &api.Compilation{Language: language, Output: quoted, Bytes: r.Size,
		Truncated: units.Bytes(len(quoted)) < r.Size, Cached: r.Cached}
}

// storeOutput keeps the compiler's output. Its size counts towards the total that the job keeps.
func (c *Compiled) storeOutput(r languages.Result) {
	k := &c.Task.Keep
	wanted := map[api.KeepWhen]bool{api.KeepAlways: true, api.KeepFailed: r.Failure != "",
		api.KeepCut: c.Compilation.Truncated}
	if !wanted[k.Compiler] {
		return
	}
	out := api.KeptOutput{Output: api.Output{Stream: api.CompilerStream, Bytes: r.Size}, Content: []byte(r.Output)}
	out.Truncated = units.Bytes(len(r.Output)) < r.Size
	out.Cut(min(k.Bytes, k.Total))
	k.Total -= units.Bytes(len(out.Content))
	c.Kept = []api.KeptOutput{out}
}

// juryPart is a program of the jury in a task, and what puts another in its place.
type juryPart struct {
	name    string
	program jury.Program
	use     func(jury.Program)
}

func (t *Task) juryPrograms() []juryPart {
	var parts []juryPart
	if c := t.CheckerProgram; c != nil {
		parts = append(parts, juryPart{CheckerName, c.Program, func(p jury.Program) {
			t.CheckerProgram = &jury.Checker{Protocol: c.Protocol, Program: p}
		}})
	}
	if i := t.Interactor; i != nil {
		parts = append(parts, juryPart{InteractorName, i.Program, func(p jury.Program) {
			compiled := *i
			compiled.Program = p
			t.Interactor = &compiled
		}})
	}
	if g := t.Grader; g != nil {
		parts = append(parts, juryPart{GraderName, *g, func(p jury.Program) { t.Grader = &p }})
	}
	return parts
}

// fail sets the report, but for the verdict, of a task whose sources do not compile.
func (c *Compiled) fail(compilation *api.Compilation) {
	c.Failed = &api.Report{State: api.Done, Compilation: compilation, Language: c.Task.Use}
	tests, _ := c.Task.plan()
	for _, test := range tests {
		c.Failed.Tests = append(c.Failed.Tests, api.TestReport{Name: test.Name, Verdict: api.Skipped})
	}
}
