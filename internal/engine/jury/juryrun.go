package jury

import (
	"context"
	"errors"
	"os"
	"time"

	"judged/internal/api"
	"judged/internal/base/linux"
	"judged/internal/sandbox"
)

// juryRun is one run of a program of the jury that communicates with programs of a contestant.
type juryRun struct {
	runner *Runner
	what   string // name of the program of the jury in messages
	box    *sandbox.Sandbox
	// alive and theirAlive are the ends of a pipe. Only the program of the jury holds its read end.
	alive, theirAlive *os.File
	drain             drain
	cancel            context.CancelCauseFunc
	ended             chan struct{} // closed when result is set
	result            sandbox.Result
	decided           chan struct{} // closed when the next two fields are set
	said              api.CheckReport
	err               error
	delay             time.Duration // value of Delay when the contestant's programs had ended
}

func (j *juryRun) acquire() (err error) {
	if j.box, err = j.runner.acquire(); err != nil {
		return err
	}
	j.theirAlive, j.alive, err = linux.Pipe()
	return err
}

// Delay returns how long the program of the jury has waited for a CPU so far. The contestant's programs may have waited
// for it during that time. They run on other CPUs, so they do not cause the delay, except on a host with one CPU.
func (j *juryRun) Delay() time.Duration {
	select {
	case <-j.ended:
		if j.result.Waited == nil {
			return 0
		}
		return *j.result.Waited
	default:
		return j.box.Delay()
	}
}

// errHung is the cancellation cause for a program of the jury that hangs.
var errHung = errors.New("did not end")

// cancelLate cancels a program of the jury that does not end within its wall limit after the contestant's program. The
// time that it waits for a CPU does not count, up to a bound, as for a checker.
func (j *juryRun) cancelLate() {
	wall, start, before := j.runner.limits.WallTime, time.Now(), j.Delay()
	for left := wall; left > 0; left = wall + min(j.Delay()-before, maxWait*wall) - time.Since(start) {
		select {
		case <-j.ended:
			return
		case <-time.After(left):
		}
	}
	j.cancel(errHung)
}

// report returns said, unless a contestant's program is at fault: it ended while the program of the jury was writing to
// it, or it wrote too much and the program of the jury failed. kind is the kind of the program of the jury, and first
// says whether it ended first.
func (j *juryRun) report(said api.CheckReport, kind string, first, tooMuch bool) api.CheckReport {
	switch {
	case j.drain.flooded(said, j.result):
		said = api.CheckReport{Verdict: api.WrongAnswer,
			Message: "the program ended, and the " + kind + " kept writing to it"}
	case tooMuch && said.Verdict == api.InternalError && j.result.ExecError == 0:
		said = api.CheckReport{Verdict: api.OutputLimit,
			Message: "the program wrote more than its output limit to the " + kind}
	}
	said.FirstExit = api.ExitProgram
	if first {
		said.FirstExit = api.ExitInteractor
	}
	return said
}

// stop ends the program of the jury if it was started.
func (j *juryRun) stop() {
	if j.decided != nil {
		j.cancel(context.Canceled)
		<-j.decided
	}
}

func (j *juryRun) release() {
	closeFiles(&j.alive)
	if j.box != nil {
		j.runner.release(j.box)
	}
}

// closeFiles closes the files that are not nil and sets them to nil.
func closeFiles(files ...**os.File) {
	for _, f := range files {
		if *f != nil {
			(*f).Close()
			*f = nil
		}
	}
}
