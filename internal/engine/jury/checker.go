package jury

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"judged/internal/api"
	"judged/internal/base/linux"
	"judged/internal/base/text"
	"judged/internal/sandbox"
)

// Checker is a program of the jury that checks the output of a contestant's program.
type Checker struct {
	Protocol api.Protocol
	Program  Program
}

// Missing returns the verdict of a program that has not created its output file. testlib rejects the form of such an
// output.
func (c Checker) Missing() api.Verdict {
	if c.Protocol == api.Testlib {
		return api.PresentationError
	}
	return api.WrongAnswer
}

// Case is one output to check.
type Case struct {
	Input, Answer *sandbox.Input // nil is empty
	Output        *os.File       // output of the contestant's program; Check does not close it
	// MultiPass allows the program of the jury to request another pass.
	MultiPass bool
	Feedback  *os.File // feedback folder of the previous pass; nil in the first pass
}

// most is the maximum length of a message in a report, in bytes.
const most = 4 << 10

// Files in the feedback folder, by their names in the sandbox.
const (
	feedbackName    = "feedback"
	judgeMessage    = feedbackName + "/judgemessage.txt"
	teamMessage     = feedbackName + "/teammessage.txt"
	judgeError      = feedbackName + "/judgeerror.txt"
	scoreFile       = feedbackName + "/score.txt"
	multiplierFile  = feedbackName + "/score_multiplier.txt"
	testlibFeedback = feedbackName + "/" + reportName
)

// Check runs the checker on one output. If the checker fails, the verdict is IE. Check returns an error only if judged
// fails or ctx is done.
func (r *Runner) Check(ctx context.Context, c Checker, t Case) (api.CheckReport, error) {
	what := c.Program.Called("checker")
	input, err := t.Input.View()
	if err != nil {
		return api.CheckReport{}, err
	}
	defer input.Close()
	answer, err := t.Answer.View()
	if err != nil {
		return api.CheckReport{}, err
	}
	defer answer.Close()
	box, err := r.acquire()
	if err != nil {
		return api.CheckReport{}, err
	}
	defer r.release(box)
	spec := sandbox.Spec{
		Args: r.command(c.Program, checkerArgs(c.Protocol, c.Program.Args)), Files: c.Program.Files,
		Open: openFiles(input, answer, t.Output), Folder: feedbackName, FolderFrom: t.Feedback, Limits: r.limits,
		Explained: sandbox.WaitingExplains,
	}
	if c.Protocol == api.ICPC {
		spec.Stdin = t.Output
	}
	if err := box.Load(spec); err != nil {
		return feedbackFault(what, c.Protocol, t, err)
	}
	result, err := box.Run(ctx)
	if err != nil {
		return api.CheckReport{}, err
	}
	if result.Stop == sandbox.StopCancelled {
		return api.CheckReport{}, context.Cause(ctx)
	}
	return r.report(what, c.Protocol, t.MultiPass, box, result)
}

// openFiles returns the files that a checker may open, in the order of their descriptors. The protocols do not use the
// descriptors.
func openFiles(input, answer, output *os.File) []sandbox.OpenFile {
	return []sandbox.OpenFile{{Name: "input", File: input}, {Name: "answer", File: answer},
		{Name: "output", File: output}}
}

// report returns the result of a checker or an interactor that has ended, or IE if it failed.
func (r *Runner) report(what string, p api.Protocol, multiPass bool, box *sandbox.Sandbox, result sandbox.Result) (
	api.CheckReport, error) {
	e, err := readEnding(box, result)
	if err != nil {
		return api.CheckReport{}, err
	}
	fault, err := r.fault(box, result)
	if err != nil {
		return api.CheckReport{}, err
	}
	exhausted := errors.As(fault, new(exhaustion))
	var said api.CheckReport
	if fault == nil {
		said, fault = reportOf(p, e)
	}
	if p == api.ICPC {
		said.Said = &api.JurySaid{Message: e.judge, Error: e.problem, Stdout: e.stdout, Stderr: e.stderr}
	}
	if fault == nil && multiPass {
		if said, fault, err = r.nextPass(said, e.code, box); err != nil {
			return api.CheckReport{}, err
		}
	}
	if fault != nil {
		said = failed(what, p, fault, e)
		said.Exhausted = exhausted
	}
	return said, nil
}

// failed returns the report of a faulty program of the jury.
func failed(what string, p api.Protocol, fault error, e ending) api.CheckReport {
	why := fmt.Sprintf("%s %s: %v", p, what, fault)
	if said := e.reason(); said != "" {
		why += "; it says: " + said
	}
	r := api.FailedCheck(faultOf(fault), why)
	r.Stderr = e.stderr
	return r
}

// faultOf returns the party at fault for the failure of a program of the jury: the jury, unless the failure states
// another one.
func faultOf(failure error) api.Fault {
	var stated interface{ Fault() api.Fault }
	if errors.As(failure, &stated) {
		return stated.Fault()
	}
	return api.JuryFault
}

// exhaustion is a fault of a program that exceeded a limit.
type exhaustion struct{ error }

func exhausted(format string, args ...any) error { return exhaustion{fmt.Errorf(format, args...)} }

// fault returns why a program of the jury failed, or nil if it ended normally.
func (r *Runner) fault(box *sandbox.Sandbox, result sandbox.Result) (fault, err error) {
	full, err := box.IsBoxFull()
	if err != nil {
		return nil, err
	}
	l := r.limits
	switch {
	case result.Lacks != "":
		return api.Blame(api.HostFault, fmt.Errorf("cannot be executed: %s", result.WhyLacks())), nil
	case result.ExecError == syscall.ENOENT:
		return errors.New("cannot be executed: its interpreter or loader is not in the sandbox; link it " +
			"statically, install what it needs, or end its #! line without CR"), nil
	case result.ExecError != 0:
		return fmt.Errorf("cannot be executed: %w", result.ExecError), nil
	case result.IsKilledByHost():
		return api.Blame(api.HostFault, fmt.Errorf("was %w", sandbox.ErrHostMemory)), nil
	case result.OOMKills > 0 || result.MemoryPeak != nil && *result.MemoryPeak > l.Memory:
		return exhausted("used more than %s of memory, the value of limits.jury.memory", l.Memory), nil
	case result.Stop == sandbox.StopCPU:
		return exhausted("used %s of CPU time, the value of limits.jury.cpu_time", l.CPUTime), nil
	case result.Stop == sandbox.StopWall:
		fault = fmt.Errorf("did not end within %s, the value of limits.jury.wall_time", l.WallTime)
		if w := result.Waited; w != nil && result.WallTime-*w < l.WallTime {
			fault = starved(fault, *w)
		}
		return fault, nil
	case full:
		return exhausted("filled its feedback folder; raise sandbox.work_size or sandbox.work_inodes if it must " +
			"write as much"), nil
	case result.FileBytes > l.Output || result.Signal == syscall.SIGXFSZ: // what a program has read takes no space
		return exhausted("wrote more than %s, the value of limits.jury.output, to stdout and stderr or to a file",
			l.Output), nil
	case result.Signal != 0:
		return fmt.Errorf("was killed by %s", linux.SignalName(result.Signal)), nil
	}
	return nil, nil
}

// readEnding reads the output and the files of a program that has ended, up to the size that a report can hold.
func readEnding(box *sandbox.Sandbox, result sandbox.Result) (e ending, err error) {
	e.code = result.Code
	for _, s := range []struct {
		of *sandbox.Output
		to *string
	}{{box.Stdout(), &e.stdout}, {box.Stderr(), &e.stderr}} {
		stream, err := s.of.Reader()
		if err != nil {
			return e, err
		}
		content, err := io.ReadAll(io.LimitReader(stream, most))
		if err != nil {
			return e, err
		}
		*s.to = message(content)
	}
	stdout, err := box.Stdout().Reader()
	if err != nil {
		return e, err
	}
	if e.lines, err = firstLines(stdout, sioLines); err != nil { // the points follow a message of any length
		return e, err
	}
	stderr, err := box.Stderr().Reader()
	if err != nil {
		return e, err
	}
	if e.verdict, e.seen, err = lastVerdict(stderr); err != nil { // the verdict line may follow long debugging output
		return e, err
	}
	for _, f := range []struct {
		name string
		to   *string
	}{{judgeMessage, &e.judge}, {teamMessage, &e.team}, {judgeError, &e.problem}, {scoreFile, &e.score},
		{multiplierFile, &e.multiplier}, {testlibFeedback, &e.report}} {
		content, there, err := box.ReadFile(f.name, most+1)
		if err != nil {
			return e, err
		}
		isLong := len(content) > most
		*f.to = message(content[:min(len(content), most)])
		switch {
		case f.to != &e.score && f.to != &e.multiplier:
		case isLong:
			*f.to = "more than 4KiB" // the first 4 KiB could parse as a number
		case there && *f.to == "":
			*f.to = "empty"
		}
	}
	if first := firstLine(e.report); verdictOf(first) != "" {
		e.verdict, e.seen = first, nil
	}
	return e, nil
}

// message converts text written by a program for use in a report.
func message(content []byte) string {
	return strings.TrimRight(text.Valid(content), " \t\r\n\x00")
}
