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

// batch holds tasks of one submission that a host fetched at once.
type batch struct {
	*host
	drain   context.Context
	ctx     context.Context // canceled when no more results are needed; its cause says why
	end     context.CancelCauseFunc
	program program
	reports *reporter
}

// The reasons why a batch ends early without an error.
var (
	errDecided   = errors.New("the server needs no more results of this judging")
	errTakenBack = errors.New("the server has withdrawn the judging")
	errDraining  = errors.New("judged is shutting down")
)

// judge judges a batch. It reports whether some of its tasks may be unfinished.
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

// finish handles the end of a batch at task t, and reports whether some of its tasks may be unfinished.
func (b *batch) finish(abort context.Context, t task, err error) (unfinished bool) {
	lost := new(serverError)
	switch {
	case err == nil:
		return false
	case abort.Err() != nil || errors.Is(err, errDraining):
		b.log.Info("judged is shutting down; returning the remaining tasks", "job", string(t.Job))
	case errors.Is(err, errDecided), errors.Is(err, errTakenBack), errors.Is(err, errCompilerError):
	case errors.As(err, new(*fault)):
		b.report(abort, t, err)
	case errors.As(err, &lost):
		b.log.Error("the DOMjudge server does not answer; returning the remaining tasks", "job", string(t.Job), "error", err)
		if lost.fails && b.broken.lasts(t.Job, b.client.server.Outage) {
			b.report(abort, t, lost.permanent())
		}
	case b.failures.add(t.ID):
		b.report(abort, t, fmt.Errorf("judge a test: failed %d times: %w", maxFailures, err))
	default:
		b.log.Error("cannot judge a test; returning it, so that it is judged again", "judgetask", string(t.ID), "error",
			err)
	}
	return true
}

// run judges the tasks in order. It returns the index of the task at which an error stopped it.
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

// prepare checks the tasks. It compiles the submission, unless the previous batch was for the same one.
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

// judgeFrom judges tasks until one is not correct, or the next one needs different settings. It returns the number of
// tasks that have a result.
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

// conclude reports a run that is not correct. It returns errDecided if the server needs no further results. It sends
// earlier results first, because the server decides in the order of the tests.
func (b *batch) conclude(r run) error {
	if r.result == "" {
		return r.fault()
	}
	if err := b.reports.flush(); err != nil {
		return err
	}
	return b.reports.send(r)
}

// fault returns an error that says who is responsible for a run without a result.
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

// segment holds tasks that the engine judges together: while it checks the output of one, the next one runs.
type segment struct {
	*batch
	tasks  []task
	job    judge.Task
	limits api.Limits
	held   []held
}

// newSegment returns a segment of the first task and of those after it that have the same settings and whose test cases
// are cached.
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
			Input: filepath.Join(x.Path, inputFile), Answer: filepath.Join(x.Path, outputFile),
			CheckerArgs: strings.Fields(string(t.compare.Args))})
	}
	return s, nil
}

// quietPyPy returns the environment in which PyPy does not warn on stderr that /proc/cpuinfo is missing. DOMjudge's
// scripts use PyPy for Python. The size is the one that PyPy falls back to.
func quietPyPy() []string { return []string{"PYPY_GC_NURSERY=4MB"} }

func (s *segment) close() {
	for _, x := range s.held {
		x.Release()
	}
}

// sameRules reports whether two tasks differ only in their test cases and the arguments of their checkers.
func sameRules(a, b task) bool {
	a.compare.Args = b.compare.Args
	return a.RunText == b.RunText && a.compare == b.compare && a.RunScript == b.RunScript &&
		a.CompareScript == b.CompareScript
}

// maxKept is the number of bytes of an output that are kept. It exceeds all output limits in use.
const maxKept units.Bytes = 64 << 20

// wholeOutputs returns a setting that keeps outputs in full, because the server may request them later.
func wholeOutputs(l api.Limits) api.Keep {
	return api.Keep{Stdout: api.KeepAlways, Stderr: api.KeepAlways, Bytes: min(l.Output, maxKept), Total: math.MaxInt64}
}

// addJury adds the checker or the interactor of a task.
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

// judge judges the tasks of a segment and reports the correct ones. last is the first one that is not correct; it is
// not reported yet.
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
		return 0, nil, errors.New("the engine returned no test result")
	}
	return correct, nil, err
}
