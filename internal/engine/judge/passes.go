package judge

import (
	"context"
	"fmt"
	"os"
	"time"

	"judged/internal/api"
	"judged/internal/engine/jury"
	"judged/internal/engine/measure"
	"judged/internal/engine/problem"
)

// pass is one pass of a test. The first one has the input of the test.
type pass struct {
	problem.Test
	input    *os.File // written by the checker in the previous pass
	feedback *os.File // the checker's feedback folder of the pass before
}

// close closes the files of the previous pass.
func (p pass) close() {
	p.input.Close() // nil in the first pass, which returns an error
	p.feedback.Close()
}

// runPasses measures a test of a multi-pass problem. Each pass is measured like a test, by the same rule and with the
// same limits. The checker's files of the run that decides a pass, and only these, go on to all runs of the next pass:
// what the report has is one possible execution, also of a program that uses random numbers.
func runPasses(ctx context.Context, worker *measure.Worker, task Task, t problem.Test) <-chan measure.Result {
	var passes []api.TestReport
	result := make(chan measure.Result, 1)
	next := &pass{Test: t}
	for next != nil {
		current := *next
		r := <-startPass(ctx, worker, task, current, true)
		current.close()
		if r.Err != nil {
			result <- measure.Result{Report: joinPasses(append(passes, r.Report)), Err: r.Err}
			return result
		}
		var err error
		if next, err = task.afterPass(t, len(passes)+1, &r.Report); err != nil {
			result <- measure.Result{Err: err}
			return result
		}
		passes = append(passes, r.Report)
		discardKept(passes)
	}
	result <- measure.Result{Report: joinPasses(passes)}
	return result
}

// afterPass returns the next pass, nil after the last. Asking for more passes than there may be is a fault of the
// checker.
func (t Task) afterPass(test problem.Test, number int, r *api.TestReport) (*pass, error) {
	if r.Checker == nil || r.Checker.Next == nil {
		return nil, nil
	}
	folder := r.Checker.Next
	check := *r.Checker
	check.Next = nil
	r.Checker = &check
	switch {
	case r.Verdict != api.Accepted:
		return nil, folder.Close()
	case number == t.Passes:
		check = api.FailedCheck(api.JuryFault, fmt.Sprintf("%s %s: asks for pass %d; the problem allows %d, its "+
			"validation_passes", api.ICPC, t.judgedBy(), number+1, t.Passes))
		r.Fail(check.Fault, check.Message)
		return nil, folder.Close()
	}
	input, err := jury.RemoveNextPass(folder)
	if err != nil {
		folder.Close()
		return nil, err
	}
	return &pass{test, input, folder}, nil
}

// judgedBy returns the program of the jury that judges the output.
func (t Task) judgedBy() string {
	if t.Interactor != nil {
		return t.Interactor.Program.Called(InteractorName)
	}
	return t.CheckerProgram.Program.Called(CheckerName)
}

// joinPasses combines the reports of passes into the report of a test. All passes but the last were accepted.
func joinPasses(passes []api.TestReport) api.TestReport {
	last := passes[len(passes)-1]
	decisive := decisivePass(passes)
	r := passes[decisive]
	r.Pass = decisive + 1
	r.Verdict, r.Checker, r.Score, r.Ratio = last.Verdict, last.Checker, last.Score, last.Ratio
	r.Fault, r.Message = last.Fault, last.Message
	for _, p := range passes {
		r.Agree = r.Agree && p.Agree
		r.MemoryPeak = larger(r.MemoryPeak, p.MemoryPeak)
		r.Passes = append(r.Passes, api.PassReport{Verdict: p.Verdict, CPUTime: p.CPUTime, WallTime: p.WallTime,
			MemoryPeak: p.MemoryPeak, Output: p.Output, Timing: p.Timing, Runs: p.Runs})
	}
	return r
}

// decisivePass returns the failed pass, or the slowest pass if none failed.
func decisivePass(passes []api.TestReport) int {
	decisive := len(passes) - 1
	last := passes[decisive]
	for i, p := range passes {
		if !last.Verdict.Failed() && p.CPUTime != nil && *p.CPUTime > cpuTime(passes[decisive]) {
			decisive = i
		}
	}
	return decisive
}

// discardKept discards the outputs of passes that can no longer be decisive.
func discardKept(passes []api.TestReport) {
	decisive := decisivePass(passes)
	for i := range passes {
		if i != decisive {
			passes[i].Kept = nil
		}
	}
}

func cpuTime(r api.TestReport) time.Duration {
	if r.CPUTime == nil {
		return 0
	}
	return *r.CPUTime
}
