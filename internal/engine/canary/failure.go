package canary

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"judged/internal/base/job"
	"judged/internal/base/linux"
	"judged/internal/base/units"
	"judged/internal/sandbox/initproc"
)

// ErrNoise is of a reference kernel that other work kept from its end, each time
// that it was run. It says nothing against the CPU.
var ErrNoise = errors.New("met noise")

// tries is how often a kernel is run that meets noise.
const tries = 3

// undisturbed runs a kernel again while it meets noise.
func undisturbed(run func() (Reading, error)) (r Reading, err error) {
	for range tries {
		if r, err = run(); !errors.Is(err, ErrNoise) {
			return r, err
		}
	}
	return r, fmt.Errorf("%w; that was the last of %d tries: end the other work on the CPU or reserve it, see judged doctor", err, tries)
}

// failure is why a kernel or a probe has no result, from what its run shows.
func failure(t job.TestReport, l job.Limits) error {
	var run job.Run
	if len(t.Runs) > 0 {
		run = t.Runs[len(t.Runs)-1]
	}
	switch e := t.Exit; {
	case t.Verdict == job.TimeLimit:
		return fmt.Errorf("%w: it was stopped at %s of CPU time, a multiple of what it takes; %s", ErrNoise, units.Duration(l.CPUTime()), surroundings(run))
	case t.Verdict == job.WallTimeLimit, t.Verdict == job.IdlenessLimit:
		return fmt.Errorf("%w: it was stopped after %s with %s of CPU time; %s", ErrNoise, units.Duration(run.WallTime), units.Duration(run.CPUTime), surroundings(run))
	case t.Verdict == job.InternalError:
		return fmt.Errorf("%w: %s; %s", ErrNoise, t.Message, surroundings(run))
	case t.Verdict == job.MemoryLimit:
		return fmt.Errorf("it needs more than %s of memory, which it gets", l.Memory)
	case e != nil && e.Signal == linux.SignalName(syscall.SIGKILL):
		return fmt.Errorf("%w: it was killed from outside; the host may be out of memory, see its log", ErrNoise)
	case e != nil && e.Code != nil && *e.Code == initproc.ExitWrong:
		return errors.New("it computed something else than it must: the processor or the memory is damaged, or judged is")
	case e != nil && e.Code != nil && *e.Code == initproc.ExitUnusable:
		return errors.New("it could not begin: it gets too little memory, or judged is damaged")
	}
	return fmt.Errorf("verdict %s; judged's own program does not run in its sandbox", t.Verdict)
}

// surroundings says what else had the CPU during a run, as far as that is known.
func surroundings(r job.Run) string {
	var known []string
	add := func(text string, d *time.Duration) {
		if d != nil {
			known = append(known, fmt.Sprintf(text, units.Duration(*d)))
		}
	}
	add("it waited %s for the CPU", r.Evidence.RunDelay)
	add("others ran there for %s", r.Evidence.ForeignTime)
	add("the hypervisor took %s", r.Evidence.StealTime)
	if n := r.Evidence.Throttled; n != nil && *n > 0 {
		known = append(known, fmt.Sprintf("a quota stopped it %d times", *n))
	}
	if len(known) == 0 {
		return "what else had the CPU is not known here"
	}
	return strings.Join(known, ", ")
}
