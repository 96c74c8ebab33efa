package judge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"judged/internal/api"
	"judged/internal/base/text"
	"judged/internal/base/units"
	"judged/internal/engine/checker"
	"judged/internal/engine/jury"
	"judged/internal/engine/measure"
	"judged/internal/engine/problem"
	"judged/internal/sandbox"
	"judged/internal/timing/stats"
)

// Task is a job with its files on this host.
type Task struct {
	// Language compiles Files, of which the first has the entry point, and sets Args. If Language is "", the files
	// run as they are.
	Language string
	Use      *api.LanguageReport // of the report
	// CompileOptions are the compile options of the job.
	CompileOptions []string
	Args           []string // with the path of the program inside the sandbox
	// Compiled means that Args come from a language. They may contain api.StackMark.
	Compiled bool
	Env      []string       // NAME=VALUE, of the program alone
	Files    []sandbox.File // the program among them
	Tests    []problem.Test
	// InputFile and OutputFile are passed on to measure.Request.
	InputFile, OutputFile string
	StderrToStdout        bool
	Checker               checker.Checker
	// Checkers maps the names of tests to the checkers that are used for them instead of Checker.
	Checkers map[string]checker.Checker
	// CheckerProgram, if not nil, checks instead of Checker.
	CheckerProgram *jury.Checker
	// Interactor communicates with the program and judges it; it may be nil. If it uses testlib, CheckerProgram
	// checks its output file.
	Interactor *jury.Interactor
	Grader     *jury.Program // of Scheme; it may be nil
	Passes     int           // of a test of a multi-pass problem, at most; else 0
	Jury       *jury.Runner  // runs these programs
	Limits     api.Limits    // complete; a test's own limits take precedence
	Repeats    api.Repeats
	Stop       api.Stop
	// Scheme decides the order of the tests, which of them are needed, and their scores; it may be nil.
	Scheme *api.Scheme
	Head   units.Bytes
	// Keep and Collect select the outputs to keep of each test.
	Keep    api.Keep
	Collect []string
	// Place and Ready are passed on to measure.Request.
	Place func(context.Context, stats.Placement) (measure.Place, error)
	Ready func() error
	// Ran is called after each run of a test; it may be nil.
	Ran func(test string)
}

// Run judges the task on a worker and passes each test to decided as soon as it is decided. The error is not nil only
// if judged could not do its work or ctx ended; the report then holds what is known so far.
func Run(ctx context.Context, worker *measure.Worker, task Task, decided func(api.TestReport)) (api.Report, error) {
	if task.NeedsJury() {
		task.Jury.Prepare()
	}
	tests, _ := task.plan()
	start := func(ctx context.Context, t problem.Test) <-chan measure.Result {
		return startTest(ctx, worker, task, t, t.Name != tests[len(tests)-1].Name)
	}
	report, err := task.runTests(ctx, start, decided)
	report.Language = task.Use
	return report, err
}

// pending is a test whose runs have ended.
type pending struct {
	test   problem.Test
	result <-chan measure.Result
	cancel context.CancelCauseFunc // ends its check
}

var errStopped = errors.New("the test before has ended the job")

// runTests runs the tests in order until no further one is needed. While the output of a test is checked the next one
// runs already; if the check shows that it is not needed, that run is cancelled and its test counts as not run.
func (t Task) runTests(ctx context.Context, run func(context.Context, problem.Test) <-chan measure.Result,
	decided func(api.TestReport)) (api.Report, error) {
	var reports []api.TestReport
	var before *pending
	tests, progress := t.plan()
	room := t.Keep.Total
	decide := func() error {
		if before == nil {
			return nil
		}
		r := <-before.result
		before.cancel(nil)
		name := before.test.Name
		before = nil
		if noise := new(measure.NoiseError); errors.As(r.Err, &noise) {
			reports = append(reports, r.Report)
		}
		if r.Err != nil {
			return fmt.Errorf("judge test %q: %w", name, r.Err)
		}
		progress.Record(r.Report)
		r.Report.Kept = t.bound(r.Report, &room)
		reports = append(reports, r.Report)
		decided(r.Report)
		return nil
	}
	for _, test := range tests {
		if before != nil && (len(before.result) > 0 || !progress.Needs(test.Name)) {
			if err := decide(); err != nil {
				return unfinished(reports), err
			}
		}
		if !progress.Needs(test.Name) {
			reports = append(reports, api.TestReport{Name: test.Name, Verdict: api.Skipped, Agree: true})
			continue
		}
		runCtx, cancel := context.WithCancelCause(ctx)
		if before != nil {
			before.result = before.cancelNext(progress, test.Name, cancel)
		}
		next := &pending{test, run(runCtx, test), cancel}
		err := decide()
		needed := progress.Needs(test.Name)
		if err != nil || !needed {
			cancel(errStopped)
			<-next.result
		}
		if err != nil {
			return unfinished(reports), err
		}
		if !needed {
			reports = append(reports, api.TestReport{Name: test.Name, Verdict: api.Skipped, Agree: true})
			continue
		}
		before = next
	}
	if err := decide(); err != nil {
		return unfinished(reports), err
	}
	return t.summarize(ctx, reports)
}

// cancelNext publishes the result of a test, and cancels the next test if it is not needed after that. Nobody else uses
// the progress until the result has passed.
func (p *pending) cancelNext(progress *api.Progress, next string,
	cancel context.CancelCauseFunc) <-chan measure.Result {
	passed := make(chan measure.Result, 1)
	result := p.result
	go func() {
		r := <-result
		if r.Err == nil {
			progress.Record(r.Report)
		}
		if r.Err != nil || !progress.Needs(next) {
			cancel(errStopped)
		}
		passed <- r
	}()
	return passed
}

// plan returns the tests in the order in which they run, and what keeps track of which of them are needed.
func (t Task) plan() ([]problem.Test, *api.Progress) {
	byName := map[string]problem.Test{}
	for _, test := range t.Tests {
		byName[test.Name] = test
	}
	var tests []problem.Test
	scheme := t.scheme()
	for _, name := range scheme.Tests() {
		tests = append(tests, byName[name])
	}
	return tests, scheme.NewProgress(t.Stop)
}

// scheme is that of the task. Without one all tests are one group, in name order.
func (t Task) scheme() api.Scheme {
	if t.Scheme != nil {
		return *t.Scheme
	}
	all := &api.Group{}
	for _, test := range byName(t.Tests) {
		all.Members = append(all.Members, api.Member{Test: test.Name})
	}
	return api.Scheme{Root: all}
}

// byName sorts tests in natural order: 1, 2, 10.
func byName(tests []problem.Test) []problem.Test {
	tests = slices.Clone(tests)
	slices.SortStableFunc(tests, func(a, b problem.Test) int { return text.Natural(a.Name, b.Name) })
	return tests
}

// startTest measures one test and has each of its outputs checked, the last one while it returns. more says that
// another test may follow.
func startTest(ctx context.Context, worker *measure.Worker, task Task, t problem.Test, more bool) <-chan measure.Result {
	if task.Passes > 0 {
		return runPasses(ctx, worker, task, t)
	}
	return startPass(ctx, worker, task, pass{Test: t}, more)
}

// startPass is like startTest, but for one pass.
func startPass(ctx context.Context, worker *measure.Worker, task Task, t pass, more bool) <-chan measure.Result {
	limits := t.Limits
	if limits == (api.Limits{}) {
		limits = task.Limits
	}
	task = task.of(t.Test, limits)
	q := measure.Request{Name: t.Name, Args: task.Args, Env: task.Env, Files: task.Files, InputFile: task.InputFile,
		OutputFile: task.OutputFile, StderrToStdout: task.StderrToStdout, Limits: limits, Repeats: task.Repeats,
		Head: task.Head, Keep: task.Keep, Collect: task.Collect, Place: task.Place, Ready: task.Ready, More: more}
	if task.Ran != nil {
		q.Ran = func() { task.Ran(t.Name) }
	}
	input, answer := newInputs(t.Input), newInputs(t.Answer)
	input.file = t.input
	q.Input = input.at
	if task.Interactor != nil {
		q.Input = nil // the interactor reads it
		task.addTalk(&q, func() (jury.Case, error) { return task.juryCase(input, answer, t.feedback) })
	}
	switch {
	case task.Interactor != nil && (task.CheckerProgram == nil || task.Interactor.Protocol != api.Testlib): // it judges
	case task.CheckerProgram != nil:
		q.Missing = task.CheckerProgram.Missing()
		q.Check = func(ctx context.Context, output *os.File) (api.CheckReport, error) {
			return task.runChecker(ctx, input, answer, t.feedback, output)
		}
	case t.Answer != "":
		q.Check = func(ctx context.Context, output *os.File) (api.CheckReport, error) {
			answer, err := os.Open(t.Answer)
			if err != nil {
				return api.CheckReport{}, err
			}
			defer answer.Close()
			return task.Checker.Check(ctx, output, answer)
		}
	}
	result := worker.Start(ctx, q)
	done := make(chan measure.Result, 1)
	finish := func() {
		r := <-result
		input.close()
		answer.close()
		r.Report.Limits = t.Limits
		done <- r
	}
	if len(result) > 0 { // no check is under way
		finish()
	} else {
		go finish()
	}
	return done
}

// of returns the task with the arguments and the files of a test.
func (t Task) of(test problem.Test, limits api.Limits) Task {
	if t.Compiled {
		t.Args = api.FillStack(t.Args, limits.Stack)
	}
	t.Args = slices.Concat(t.Args, test.Args)
	if own, ok := t.Checkers[test.Name]; ok {
		t.Checker = own
	}
	switch {
	case len(test.CheckerArgs) == 0:
	case t.Interactor != nil:
		own := *t.Interactor
		own.Program.Args = slices.Concat(own.Program.Args, test.CheckerArgs)
		t.Interactor = &own
	case t.CheckerProgram != nil:
		own := *t.CheckerProgram
		own.Program.Args = slices.Concat(own.Program.Args, test.CheckerArgs)
		t.CheckerProgram = &own
	}
	if len(test.Files) > 0 {
		t.Files = slices.DeleteFunc(slices.Clone(t.Files), func(f sandbox.File) bool {
			return slices.ContainsFunc(test.Files, func(own problem.File) bool { return own.Name == f.Name })
		})
		for _, f := range test.Files {
			t.Files = append(t.Files, sandbox.File{Name: f.Name, Path: f.Path})
		}
	}
	return t
}

// addTalk connects the runs of a test to the interactor.
func (t Task) addTalk(q *measure.Request, find func() (jury.Case, error)) {
	wall := q.Limits.WallTime()
	if t.Interactor.Protocol == api.CMS {
		q.Instances = t.Interactor.Instances
		q.Communicate = func() (*jury.Communication, error) {
			c, err := find()
			if err != nil {
				return nil, err
			}
			return t.Jury.Communicate(*t.Interactor, c, wall)
		}
		return
	}
	q.Converse = func() (*jury.Conversation, error) {
		c, err := find()
		if err != nil {
			return nil, err
		}
		return t.Jury.Converse(*t.Interactor, c, wall)
	}
}

// runChecker runs the checker of the task on one output.
func (t Task) runChecker(ctx context.Context, input, answer inputs, feedback, output *os.File) (
	api.CheckReport, error) {
	c, err := t.juryCase(input, answer, feedback)
	if err != nil {
		return api.CheckReport{}, err
	}
	c.Output = output
	return t.Jury.Check(ctx, *t.CheckerProgram, c)
}

// juryCase returns a test in the form that programs of the jury get.
func (t Task) juryCase(input, answer inputs, feedback *os.File) (c jury.Case, err error) {
	c.MultiPass, c.Feedback = t.Passes > 0, feedback
	if c.Input, err = input.at(t.Jury.Resources()); err != nil {
		return c, err
	}
	c.Answer, err = answer.at(t.Jury.Resources())
	return c, err
}

// inputs holds the input of a test, with one copy per NUMA node on which it runs.
type inputs struct {
	path   string   // "" is an empty input
	file   *os.File // instead of path; nil means path
	onNode map[int]*sandbox.Input
}

func newInputs(path string) inputs { return inputs{path: path, onNode: map[int]*sandbox.Input{}} }

func (in inputs) at(slot sandbox.Resources) (i *sandbox.Input, err error) {
	if i := in.onNode[slot.Node]; i != nil {
		return i, nil
	}
	switch {
	case in.file != nil:
		i, err = sandbox.NewSingleInput(in.file, slot)
	case in.path != "":
		i, err = sandbox.NewInput(in.path, slot)
	default:
		return nil, nil
	}
	if err == nil {
		in.onNode[slot.Node] = i
	}
	return i, err
}

func (in inputs) close() {
	for _, i := range in.onNode {
		i.Close()
	}
}

// summarize computes the report of a task that came to its end, with the groups and scores of its scheme. The verdict is
// AC only where every test that counts was run and passed.
func (t Task) summarize(ctx context.Context, tests []api.TestReport) (api.Report, error) {
	r := unfinished(tests)
	if t.Scheme == nil {
		r.Score = score(tests)
	}
	var failed error // of the grader, or of judged
	result, err := t.scheme().Result(tests, t.Stop, func(g *api.Group, members []api.Graded) (api.Graded, error) {
		var graded api.Graded
		graded, failed = t.Jury.Grade(ctx, *t.Grader, g, members)
		return graded, failed
	})
	switch {
	case failed != nil && api.FaultOf(failed) != api.JuryFault:
		return r, failed
	case failed != nil, errors.As(err, new(*api.UnfinishedError)):
		return InternalError(r, err), nil
	case err != nil:
		r.Fail(api.ProblemFault, err.Error()+"; the problem's points or its checker are wrong")
		return r, nil
	}
	if r.Groups = result.Groups; t.Scheme != nil {
		r.Score = result.Score
	}
	conclude(&r, result.Verdict)
	return r, nil
}

// conclude sets the verdict of a report. For IE, the first test with IE determines the fault and the message.
func conclude(r *api.Report, v api.Verdict) {
	r.State, r.Verdict, r.JudgementType, r.Fault, r.Message = api.Done, v, v.JudgementType(), "", ""
	for _, t := range r.Tests {
		if v == api.InternalError && t.Verdict == v {
			r.Fail(t.Fault, fmt.Sprintf("judge test %q: %s", t.Name, t.Message))
			return
		}
	}
}

// unfinished returns the report of a task that ended early: the finished tests, without a verdict.
func unfinished(tests []api.TestReport) api.Report {
	r := api.Report{Tests: tests}
	agree := true
	for _, t := range tests {
		agree = agree && t.Agree
		r.CPUTime = larger(r.CPUTime, t.CPUTime)
		r.WallTime = larger(r.WallTime, t.WallTime)
		r.MemoryPeak = larger(r.MemoryPeak, t.MemoryPeak)
	}
	r.Deterministic = &agree
	return r
}

func larger[T ~int64](a, b *T) *T {
	if a == nil || (b != nil && *b > *a) {
		return b
	}
	return a
}

// score is the mean of the tests' scores, or nil when no test has one. A test without a score counts as 1 when it was
// accepted, else as 0.
func score(tests []api.TestReport) *float64 {
	scored := slices.ContainsFunc(tests, func(t api.TestReport) bool { return t.Score != nil })
	if !scored {
		return nil
	}
	scores := make([]float64, len(tests))
	for i, t := range tests {
		switch {
		case t.Score != nil:
			scores[i] = *t.Score
		case t.Verdict == api.Accepted:
			scores[i] = 1
		}
	}
	return new(api.AddUp(scores, float64(len(tests))))
}

// InternalError converts the partial report of a task to the report of a task that failed because of cause.
func InternalError(partial api.Report, cause error) api.Report {
	partial.Fail(api.FaultOf(cause), cause.Error())
	return partial
}
