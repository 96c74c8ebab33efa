package measure

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"judged/internal/api"
	"judged/internal/base/linux"
	"judged/internal/base/units"
	"judged/internal/sandbox/initproc"
)

// ErrNoise means that other work disturbed a reference kernel in each of its runs. It does not indicate a bad CPU.
var ErrNoise = errors.New("disturbed by noise")

// kernelTries is how often a kernel is run if noise disturbs it.
const kernelTries = 3

// undisturbed repeats a run while noise disturbs it.
func undisturbed(run func() (Reading, error)) (r Reading, err error) {
	for range kernelTries {
		if r, err = run(); !errors.Is(err, ErrNoise) {
			return r, err
		}
	}
	return r, fmt.Errorf("%w; gave up after %d tries; stop the other work on the CPU or reserve the CPU, see judged "+
		"doctor", err, kernelTries)
}

// kernelFailure returns an error that explains from its run why a kernel or a probe has no result.
func kernelFailure(t api.TestReport, l api.Limits) error {
	var run api.Run
	if len(t.Runs) > 0 {
		run = t.Runs[len(t.Runs)-1]
	}
	switch e := t.Exit; {
	case t.Verdict == api.TimeLimit:
		return fmt.Errorf("%w: stopped at %s of CPU time, many times what it needs; %s", ErrNoise,
			units.Duration(l.CPUTime()), surroundings(run))
	case t.Verdict == api.WallTimeLimit, t.Verdict == api.IdlenessLimit:
		return fmt.Errorf("%w: stopped after %s with %s of CPU time; %s", ErrNoise, units.Duration(run.WallTime),
			units.Duration(run.CPUTime), surroundings(run))
	case t.Verdict == api.InternalError:
		return fmt.Errorf("%w: %s; %s", ErrNoise, t.Message, surroundings(run))
	case t.Verdict == api.MemoryLimit:
		return fmt.Errorf("needs more memory than its limit of %s", l.Memory)
	case e != nil && e.Signal == linux.SignalName(syscall.SIGKILL):
		return fmt.Errorf("%w: killed from outside; the host may be out of memory, see the kernel log", ErrNoise)
	case e != nil && e.Code != nil && *e.Code == initproc.ExitWrong:
		return errors.New("computed a wrong result: the processor, the memory or the judged binary is damaged")
	case e != nil && e.Code != nil && *e.Code == initproc.ExitUnusable:
		return errors.New("cannot start: too little memory, or a damaged judged binary")
	}
	return fmt.Errorf("verdict %s: judged's own program does not work in the sandbox", t.Verdict)
}

// surroundings describes what else used the CPU during a run, as far as it is known.
func surroundings(r api.Run) string {
	var known []string
	add := func(text string, d *time.Duration) {
		if d != nil {
			known = append(known, fmt.Sprintf(text, units.Duration(*d)))
		}
	}
	add("it waited %s for the CPU", r.Evidence.RunDelay)
	add("other programs used it for %s", r.Evidence.ForeignTime)
	add("the hypervisor took %s", r.Evidence.StealTime)
	if n := r.Evidence.Throttled; n != nil && *n > 0 {
		known = append(known, fmt.Sprintf("a quota stopped it %d times", *n))
	}
	if len(known) == 0 {
		return "what else used the CPU is unknown"
	}
	return strings.Join(known, ", ")
}
