package judgehost

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/base/units"
	"judged/internal/engine/judge"
	"judged/internal/engine/jury"
	"judged/internal/engine/measure"
	"judged/internal/engine/problem"
)

// batch are tasks of one submission that a host got at once.
type batch struct {
	*host
	drain   context.Context
	ctx     context.Context // ends when nothing more of the batch is wanted; its cause says why
	end     context.CancelCauseFunc
	program program
	reports *reporter
}

// Why a batch ends early, other than by an error.
var (
	errDecided   = errors.New("the server wants no more of this judging")
	errTakenBack = errors.New("the server has taken the judging back")
	errDraining  = errors.New("judged is ending")
)

// judge judges a batch. It reports whether tasks of it may be left.
func (h *host) judge(drain, abort context.Context, tasks []task) (unfinished bool) {
	defer h.engine.Tidy(h.slot)
	b := &batch{host: h, drain: drain}
	b.ctx, b.end = context.WithCancelCause(abort)
	defer b.end(nil)
	b.reports = newReporter(abort, h, b.end)
	defer b.reports.close()
	at, err := b.run(tasks)
	if sendErr := b.reports.flush(); err == nil {
		err = sendErr
	}
	if cause := context.Cause(b.ctx); err != nil && cause != nil {
		err = cause
	}
	return b.finish(abort, tasks[min(at, len(tasks)-1)], err)
}

// finish does what the end of a batch at a task needs.
func (b *batch) finish(abort context.Context, t task, err error) (unfinished bool) {
	switch {
	case err == nil:
		return false
	case abort.Err() != nil || errors.Is(err, errDraining):
		b.log.Info("judged is ending; giving back the rest", "job", string(t.Job))
	case errors.Is(err, errDecided), errors.Is(err, errTakenBack), errors.Is(err, errCompilerError):
	case errors.As(err, new(*fault)):
		b.report(abort, t, err)
	case errors.As(err, new(*serverError)):
		b.log.Error("the DOMjudge server does not answer; giving back the rest", "job", string(t.Job), "error", err)
	case b.failures.add(t.ID):
		b.report(abort, t, fmt.Errorf("cannot decide a test in %d attempts: %w", maxFailures, err))
	default:
		b.log.Error("cannot decide a test; giving it back, so that it is judged again", "judgetask", string(t.ID), "error",
			err)
	}
	return true
}

// run judges the tasks in order. at is the one at which an error ended it.
func (b *batch) run(tasks []task) (at int, err error) {
	if err := b.prepare(tasks); err != nil {
		return 0, err
	}
	for at < len(tasks) && err == nil {
		var n int
		n, err = b.judgeFrom(tasks[at:])
		at += n
	}
	return at, err
}

// prepare checks the tasks, and compiles the submission unless the last batch has.
func (b *batch) prepare(tasks []task) error {
	for i := range tasks {
		if err := tasks[i].checkRun(); err != nil {
			return &fault{kind: faultHost, err: err}
		}
		if !sameJob(tasks[i], tasks[0]) {
			return &fault{kind: faultHost, err: fmt.Errorf("judge tasks %s and %s come together and are not of one "+
				"submission; judged knows the protocol of DOMjudge 8.3 to 10", tasks[0].ID, tasks[i].ID)}
		}
	}
	t := tasks[0]
	if b.last.job == t.Job && b.last.uuid == t.UUID {
		b.program = b.last.program
		return nil
	}
	b.forget()
	if err := b.refresh(b.ctx); err != nil {
		return err
	}
	p, err := b.compileJob(b.ctx, t)
	if err != nil {
		return err
	}
	b.last = lastJob{t.Job, t.UUID, p}
	b.program = p
	return nil
}

// judgeFrom judges the first tasks: until one is not correct, or another needs something else. It returns how many have
// their result.
func (b *batch) judgeFrom(tasks []task) (n int, err error) {
	if b.drain.Err() != nil {
		return 0, errDraining
	}
	s, err := b.newSegment(tasks)
	if err != nil {
		return 0, err
	}
	defer s.close()
	n, last, err := s.judge()
	if err != nil || last == nil {
		return n, err
	}
	if err := b.conclude(*last); err != nil {
		return n, err
	}
	return n + 1, nil
}

// conclude reports a run that is not correct, and returns errDecided if that is enough. What ran before has to be known
// to the server by then: it decides in the order of the tests.
func (b *batch) conclude(r run) error {
	if r.result == "" {
		return r.fault()
	}
	if err := b.reports.flush(); err != nil {
		return err
	}
	return b.reports.send(r)
}

// fault is whose fault it is that a run has no result.
func (r run) fault() error {
	if v := r.report.Verdict; v != api.InternalError {
		return fmt.Errorf("report test %s: DOMjudge has no result for verdict %q; report this as a bug of judged",
			r.task.Testcase, v)
	}
	err := errors.New(r.report.Message)
	f := &fault{kind: faultCompare, id: r.task.CompareScript, err: err}
	if r.interactive {
		f.kind, f.id = faultRun, r.task.RunScript
	}
	if c := r.report.Checker; c != nil {
		f.log = c.Stderr
	}
	switch r.report.Fault {
	case api.JuryFault, api.ProblemFault:
		return f
	}
	return err
}

// segment are tasks that the engine judges together, so that the check of one is made while the next one runs.
type segment struct {
	*batch
	tasks  []task
	job    judge.Task
	limits api.Limits
	held   []held
}

// newSegment gathers the first task, and those after it that need nothing else and whose test cases are here.
func (b *batch) newSegment(tasks []task) (_ *segment, err error) {
	s := &segment{batch: b}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	first := tasks[0]
	if s.limits, err = limitsOf(first, b.config().Overshoot); err != nil {
		return nil, err
	}
	s.job = judge.Task{Args: []string{"./" + programName}, Env: quietPyPy(), Files: b.program.files, Limits: s.limits,
		Repeats: api.Repeats{Policy: api.Confirm}, Stop: api.StopFirstFailure, Keep: wholeOutputs(s.limits)}
	if first.run.Passes > 1 {
		s.job.Passes = int(first.run.Passes)
	}
	if err := s.addJury(first); err != nil {
		return nil, err
	}
	for i, t := range tasks {
		if i > 0 && (!sameRules(t, first) || !b.store.has(testcaseKey(t.Testcase, t.TestcaseHash))) {
			break
		}
		x, err := b.testcase(b.ctx, t.Testcase, t.TestcaseHash)
		if err != nil {
			return nil, err
		}
		s.held = append(s.held, x)
		s.tasks = append(s.tasks, t)
		s.job.Tests = append(s.job.Tests, problem.Test{Name: strconv.Itoa(i + 1),
			Input: filepath.Join(x.path, inputFile), Answer: filepath.Join(x.path, outputFile),
			CheckerArgs: strings.Fields(string(t.compare.Args))})
	}
	return s, nil
}

// quietPyPy is the environment in which PyPy, the Python of DOMjudge's scripts, does not warn on stderr that it finds no
// /proc/cpuinfo. The size is what it takes then.
func quietPyPy() []string { return []string{"PYPY_GC_NURSERY=4MB"} }

func (s *segment) close() {
	for _, x := range s.held {
		x.release()
	}
}

// sameRules reports whether two tasks differ in their test cases and the arguments of their checkers only.
func sameRules(a, b task) bool {
	a.compare.Args = b.compare.Args
	return a.RunText == b.RunText && a.compare == b.compare && a.RunScript == b.RunScript &&
		a.CompareScript == b.CompareScript
}

// maxKept is how much of an output is kept, in bytes. No output limit in use is larger.
const maxKept units.Bytes = 64 << 20

// wholeOutputs keeps outputs in full, because the server may request them later.
func wholeOutputs(l api.Limits) api.Keep {
	return api.Keep{Stdout: api.KeepAlways, Stderr: api.KeepAlways, Bytes: min(l.Output, maxKept), Total: math.MaxInt64}
}

// addJury adds the checker or the interactor.
func (s *segment) addJury(t task) (err error) {
	script, err := s.executable(s.ctx, "run", t.RunScript, t.run.Hash)
	if err != nil {
		return err
	}
	s.held = append(s.held, script.held)
	if s.job.Jury, err = s.engine.Jury(s.slot); err != nil {
		return err
	}
	if t.compare.Combined {
		s.job.Interactor = &jury.Interactor{Protocol: api.ICPC, Program: juryProgram("run script", t.RunScript, script)}
		return nil
	}
	if !script.onlyRedirects {
		return &fault{kind: faultRun, id: t.RunScript, err: fmt.Errorf("run script %s is not DOMjudge's default one; "+
			"judged runs programs itself, see deploy/DOMJUDGE.md", t.RunScript)}
	}
	compare, err := s.executable(s.ctx, "compare", t.CompareScript, t.compare.Hash)
	if err != nil {
		return err
	}
	s.held = append(s.held, compare.held)
	s.job.CheckerProgram = &jury.Checker{Protocol: api.ICPC, Program: juryProgram("compare script", t.CompareScript,
		compare)}
	return nil
}

func juryProgram(what string, id stringOrNumber, x executable) jury.Program {
	return jury.Program{Name: fmt.Sprintf("%s %s", what, id), Command: []string{"./" + runFile}, Files: x.files}
}

// judge judges the tasks of a segment and reports those that are correct. last is the first one that is not; it is not
// reported.
func (s *segment) judge() (correct int, last *run, err error) {
	ctx, stop := context.WithCancelCause(s.ctx)
	defer stop(nil)
	begin := time.Now()
	decided := func(report api.TestReport) {
		if last != nil {
			return
		}
		r := newRun(s.tasks[correct], report)
		r.begin, r.end = begin, time.Now()
		r.inputSize = sizeOfFile(s.job.Tests[correct].Input)
		begin = r.end
		switch {
		case r.result == resultCorrect:
			correct++
			s.reports.add(r)
			if s.drain.Err() != nil {
				stop(errDraining)
			}
		default:
			last = &r
		}
	}
	_, err = s.engine.Judge(ctx, s.lease, s.job, decided)
	cause := context.Cause(ctx)
	switch {
	case last != nil && err == nil:
		return correct, last, nil
	case err != nil && errors.Is(cause, errDraining) && correct == len(s.tasks):
		return correct, nil, nil
	case err != nil && cause != nil && !errors.As(err, new(*measure.NoiseError)):
		return correct, nil, cause
	case err == nil && correct == 0:
		return 0, nil, errors.New("the engine decided no test")
	}
	return correct, nil, err
}
