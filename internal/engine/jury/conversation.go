package jury

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"judged/internal/api"
	"judged/internal/base/linux"
	"judged/internal/base/units"
	"judged/internal/sandbox"
)

// Interactor is a program of the jury that talks with the contestant's program.
type Interactor struct {
	Protocol   api.Protocol
	Program    Program
	Transcript bool // record the conversation
	Instances  int  // of the program, with the protocol CMS
}

// answerPipe is how much an interactor can write before the contestant's program reads, in bytes: as much as with
// Kattis' problemtools, so that a program that asks many questions at once deadlocks no earlier.
const answerPipe = 1 << 20

// wallFactor is how many times its wall limit the contestant's program may run where noise explains it.
const wallFactor = 10

// Conversation is one run of an interactor with one run of a contestant's program. Two pipes join them, with nobody
// between unless the conversation is recorded. Close it.
type Conversation struct {
	runner     *Runner
	interactor Interactor
	multiPass  bool
	box        *sandbox.Sandbox
	open       []*os.File // input and answer
	ends       ends
	relay      *relay // between the two, for a transcript; nil otherwise

	// alive and theirAlive are the ends of a pipe whose reader only the interactor has.
	alive, theirAlive *os.File
	witness           witness
	cancel            context.CancelCauseFunc
	ended             chan struct{}  // closed when the next two are set
	result            sandbox.Result // of the interactor
	err               error
}

// ends are those of the pipes.
type ends struct{ stdin, stdout, theirStdin, theirStdout *os.File }

// join creates the pipes.
func (c *Conversation) join(transcript bool) (err error) {
	e := &c.ends
	if transcript {
		c.relay, err = newRelay(e)
	} else {
		if e.theirStdin, e.stdout, err = linux.Pipe(); err != nil {
			return err
		}
		e.stdin, e.theirStdout, err = linux.Pipe()
	}
	if err != nil {
		return err
	}
	return linux.SetPipeSize(e.stdin, answerPipe)
}

// Converse loads an interactor for one run of a program, with that wall limit.
func (r *Runner) Converse(i Interactor, t Case, wall time.Duration) (_ *Conversation, err error) {
	c := &Conversation{runner: r, interactor: i, multiPass: t.MultiPass}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	for _, in := range []*sandbox.Input{t.Input, t.Answer} {
		f, err := in.View()
		if err != nil {
			return nil, err
		}
		c.open = append(c.open, f)
	}
	if err := c.join(i.Transcript); err != nil {
		return nil, err
	}
	if c.box, err = r.take(); err != nil {
		return nil, err
	}
	if c.theirAlive, c.alive, err = linux.Pipe(); err != nil {
		return nil, err
	}
	limits := r.limits
	limits.WallTime += wallFactor * wall // End counts what is the interactor's own
	return c, c.box.Load(sandbox.Spec{
		Args: r.command(i.Program, interactorArgs(i.Protocol, i.Program.Args)), Files: i.Program.Files,
		Stdin: c.ends.theirStdin, Stdout: c.ends.theirStdout,
		Open: []sandbox.OpenFile{{Name: "input", File: c.open[0]}, {Name: "answer", File: c.open[1]},
			{File: c.theirAlive}},
		Folder: feedbackName, FolderFrom: t.Feedback, Limits: limits,
	})
}

// Stdin and Stdout are the ends of the pipes for the contestant's program.
func (c *Conversation) Stdin() *os.File  { return c.ends.stdin }
func (c *Conversation) Stdout() *os.File { return c.ends.stdout }

// Start lets the interactor go. The program is loaded, and let go next. From now on each of them alone has its ends of
// the pipes, so that the other one sees at once when it ends.
func (c *Conversation) Start(ctx context.Context, program *sandbox.Sandbox) (err error) {
	ended := make(chan struct{})
	if err = c.witness.watch(program, c.box, c.alive, ended); err != nil {
		return err
	}
	c.closeEnds()
	if c.relay != nil {
		c.relay.start()
	}
	ctx, c.cancel = context.WithCancelCause(ctx)
	c.ended = ended
	go func() {
		c.result, c.err = c.box.Run(ctx)
		close(ended)
	}()
	return nil
}

// AtLimit is called each time that the program reaches a limit, while it is there.
func (c *Conversation) AtLimit(wall bool) { c.witness.atLimit(wall) }

// Delay is how long the interactor has waited for a CPU that others had so far, and the program perhaps for the
// interactor. The program runs on other CPUs, so it does not cause that delay itself, except on a host with one CPU.
func (c *Conversation) Delay() time.Duration { return delayOf(c.box, c.ended, &c.result) }

// delayOf is that of a program of the jury. result is set when ended is closed.
func delayOf(box *sandbox.Sandbox, ended <-chan struct{}, result *sandbox.Result) time.Duration {
	select {
	case <-ended:
		if result.Waited == nil {
			return 0
		}
		return *result.Waited
	default:
		return box.Delay()
	}
}

// errHung is the cause for stopping a program of the jury that hangs.
var errHung = errors.New("did not end")

// Said is the result of a conversation.
type Said struct {
	api.CheckReport
	// First reports whether the interactor ended first.
	First      bool
	Transcript *api.Transcript // where the interactor was asked for one
	// Output is what an interactor that uses testlib has left for the checker; nil is nothing. Close it.
	Output *os.File
}

// End waits for the interactor, after the run of the program.
func (c *Conversation) End(ctx context.Context, program sandbox.Result, limit units.Bytes) (Said, error) {
	patience := time.AfterFunc(c.runner.limits.WallTime, func() { c.cancel(errHung) })
	defer patience.Stop()
	<-c.ended
	if c.err != nil {
		return Said{}, c.err
	}
	if ctx.Err() != nil {
		return Said{}, context.Cause(ctx)
	}
	first, err := c.witness.juryFirst(program)
	if err != nil {
		return Said{}, err
	}
	said := Said{First: first}
	if c.relay != nil {
		said.Transcript = c.relay.transcript()
	}
	if said.CheckReport, err = c.report(program, limit); err != nil {
		return Said{}, err
	}
	said.FirstExit = api.ExitProgram
	if said.First {
		said.FirstExit = api.ExitInteractor
	}
	if c.interactor.Protocol == api.Testlib && said.Verdict == api.Accepted {
		if said.Output, err = c.box.OpenFile(feedbackName + "/" + toutName); err != nil {
			return Said{}, err
		}
		if said.Output != nil {
			err = said.Output.Chmod(0o444)
		}
	}
	return said, err
}

// report is what the interactor says. Two ends of it are the program's doing: it no longer reads what is written to it,
// or it has written more than it may, and the interactor failed at that in whatever way.
func (c *Conversation) report(program sandbox.Result, limit units.Bytes) (api.CheckReport, error) {
	said, err := c.said(program)
	if flooded(said, c.result, program.OutputBytes > limit) {
		said = api.CheckReport{Verdict: api.OutputLimit, Message: "the program wrote more than it may to the interactor"}
	}
	return said, err
}

// flooded reports whether a program of the jury that failed, but was executed, got more than the program may write.
func flooded(said api.CheckReport, jury sandbox.Result, tooMuch bool) bool {
	return said.Verdict == api.InternalError && jury.ExecError == 0 && tooMuch
}

// said returns the interactor's result, regardless of how much input it had left to read.
func (c *Conversation) said(program sandbox.Result) (api.CheckReport, error) {
	const what = "interactor"
	p, wall := c.interactor.Protocol, c.runner.limits.WallTime
	if c.result.Signal == syscall.SIGPIPE {
		return api.CheckReport{Verdict: api.WrongAnswer,
			Message: "the program does not read what the interactor writes"}, nil
	}
	if c.witness.isHung(program) {
		fault := errors.New("kept the program waiting until its wall limit; raise that limit if it needs so long")
		return failed(what, p, fault, c.stderr()), nil
	}
	if c.result.Stop == sandbox.StopCancelled {
		return late(what, p, c.result, wall, c.stderr()), nil
	}
	return c.runner.report(what, p, c.multiPass, c.box, c.result)
}

// late is the report of a program of the jury that did not end in time after the contestant's. One that was busy most of
// that time, or waited for a CPU, has exhausted it: it may still have had to read what that one wrote.
func late(what string, p api.Protocol, r sandbox.Result, wall time.Duration, stderr string) api.CheckReport {
	said := failed(what, p, fmt.Errorf("did not end within %s after the program, the value of limits.jury.wall_time",
		wall),
		stderr)
	busy := r.CPUTime
	if r.RunDelay != nil {
		busy += *r.RunDelay
	}
	said.Exhausted = busy > wall/2
	return said
}

func (c *Conversation) stderr() string {
	e, _ := readEnding(c.box, c.result) // of an interactor that is at fault whatever it says
	return e.stderr
}

func (c *Conversation) closeEnds() {
	e := &c.ends
	for _, f := range []**os.File{&e.stdin, &e.stdout, &e.theirStdin, &e.theirStdout, &c.theirAlive} {
		if *f != nil {
			(*f).Close()
			*f = nil
		}
	}
}

// Close ends the conversation, whatever its state.
func (c *Conversation) Close() {
	c.closeEnds()
	for _, f := range c.open {
		f.Close()
	}
	if c.ended != nil {
		c.cancel(context.Canceled)
		<-c.ended
	}
	if c.relay != nil {
		c.relay.close()
	}
	c.witness.close()
	if c.alive != nil {
		c.alive.Close()
	}
	if c.box != nil {
		c.runner.release(c.box)
	}
}
