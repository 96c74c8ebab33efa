package jury

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
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
	what       string // what messages call the interactor
	multiPass  bool
	box        *sandbox.Sandbox
	open       []*os.File // input and answer
	ends       ends
	relay      *relay // between the two, for a transcript; nil otherwise

	// alive and theirAlive are the ends of a pipe whose reader only the interactor has.
	alive, theirAlive *os.File
	witness           witness
	drain             drain
	cancel            context.CancelCauseFunc
	ended             chan struct{}  // closed when result is set
	result            sandbox.Result // of the interactor
	decided           chan struct{}  // closed when the next two are set
	said              api.CheckReport
	err               error
	delay             time.Duration // of the interactor when the program had ended

	check CheckFunc // still to be called, or nil
}

// CheckFunc has a checker look at what an interactor that uses testlib has left.
type CheckFunc func(ctx context.Context, output *os.File) (api.CheckReport, error)

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
	c := &Conversation{runner: r, interactor: i, what: i.Program.Called(interactorName), multiPass: t.MultiPass}
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
	if c.box, err = r.acquire(); err != nil {
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

// Start lets the interactor go. The program is loaded, and let go next. From now on the program sees at once when the
// interactor ends. check, where not nil, has the last word on a program that the interactor accepts. stop ends the
// program: it is called some time after the interactor, which ended first, or check has rejected it.
func (c *Conversation) Start(ctx context.Context, program *sandbox.Sandbox, check CheckFunc, stop func()) (err error) {
	ended := make(chan struct{})
	if err = c.witness.watch(program, c.box, c.alive, ended); err != nil {
		return err
	}
	c.closeEnds()
	outer := ctx
	ctx, c.cancel = context.WithCancelCause(ctx)
	if c.relay != nil {
		c.relay.start(c.discard)
	}
	c.ended, c.decided, c.check = ended, make(chan struct{}), check
	go func() {
		defer close(c.decided)
		c.result, c.err = c.box.Run(ctx)
		close(ended)
		if c.err == nil && c.result.Stop != sandbox.StopCancelled {
			c.err = c.decide(outer, stop)
		}
	}()
	return nil
}

// decide finds out what the interactor says once it has ended. While the program still runs nobody else can reject it.
func (c *Conversation) decide(ctx context.Context, stop func()) (err error) {
	c.said, err = c.runner.report(c.what, c.interactor.Protocol, c.multiPass, c.box, c.result)
	if err != nil {
		return err
	}
	if first, err := c.witness.juryEndedFirst(); err != nil || !first {
		return err
	}
	if err := c.runCheck(ctx); err != nil {
		return err
	}
	stopIfRejected(c.said, stop)
	return nil
}

// runCheck replaces what an interactor says that accepts by what the checker says, if there is one.
func (c *Conversation) runCheck(ctx context.Context) error {
	check := c.check
	if check == nil || c.said.Verdict != api.Accepted {
		return nil
	}
	c.check = nil
	output, err := c.openOutput()
	switch {
	case err != nil:
		return err
	case output == nil:
		c.said = api.FailedCheck(api.JuryFault, "the interactor accepted and left nothing for the checker; have it write "+
			"the file that is its second argument")
		return nil
	}
	defer output.Close()
	if err := output.Chmod(0o444); err != nil {
		return err
	}
	if c.said, err = check(ctx, output); err != nil {
		return fmt.Errorf("check what the interactor has left: %w", err)
	}
	return nil
}

// openOutput opens what an interactor that uses testlib has left; nil is nothing.
func (c *Conversation) openOutput() (*os.File, error) {
	return c.box.OpenFile(feedbackName + "/" + toutName)
}

// discard reads what the interactor still writes when the program has ended, and reports whether there was something.
func (c *Conversation) discard(pipe io.Reader) bool {
	return c.drain.from(pipe, c.runner.limits.Output, func() { c.cancel(errUnread) })
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
}

// Finish waits for the interactor, after the run of the program, and for the checker if the program came to its end
// or the interactor's was first.
func (c *Conversation) Finish(ctx context.Context, program sandbox.Result, finished bool, limit units.Bytes) (Said, error) {
	c.delay = c.Delay()
	if c.relay == nil {
		c.drain.running.Go(func() { c.discard(c.ends.stdin) })
	}
	patience := time.AfterFunc(c.runner.limits.WallTime, func() { c.cancel(errHung) })
	defer patience.Stop()
	<-c.decided
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
	c.drain.running.Wait()
	if c.relay != nil {
		said.Transcript = c.relay.transcript()
	}
	if finished {
		if err := c.runCheck(ctx); err != nil {
			return Said{}, err
		}
	}
	said.CheckReport = c.report(program, limit)
	said.FirstExit = api.ExitProgram
	if said.First {
		said.FirstExit = api.ExitInteractor
	}
	return said, nil
}

// report is what the interactor says. Two ends of it are the program's doing: it ended, and the interactor kept
// writing to it; or it has written more than it may, and the interactor failed at that in whatever way.
func (c *Conversation) report(program sandbox.Result, limit units.Bytes) api.CheckReport {
	said := c.finalSaid(program)
	switch {
	case c.drain.flooded(said, c.result):
		return unread(interactorName)
	case flooded(said, c.result, program.OutputBytes > limit):
		return api.CheckReport{Verdict: api.OutputLimit, Message: "the program wrote more than it may to the interactor"}
	}
	return said
}

// flooded reports whether a program of the jury that failed, but was executed, got more than the program may write.
func flooded(said api.CheckReport, jury sandbox.Result, tooMuch bool) bool {
	return said.Verdict == api.InternalError && jury.ExecError == 0 && tooMuch
}

// finalSaid returns the interactor's result, regardless of how much input it had left to read.
func (c *Conversation) finalSaid(program sandbox.Result) api.CheckReport {
	p := c.interactor.Protocol
	if c.witness.isHung(program) {
		fault := errors.New("kept the program waiting until its wall limit; raise that limit if it needs so long")
		return failed(c.what, p, fault, c.ending())
	}
	if c.result.Stop == sandbox.StopCancelled {
		return late(c.what, p, c.result, c.delay, c.runner.limits.WallTime, c.ending())
	}
	said := c.said
	c.said.Next = nil // the caller closes it
	return said
}

// late is the report of a program of the jury that did not end in time after the contestant's, when it had waited for its
// CPU for delay. One that was busy most of that time, or waited for its CPU, has exhausted it: it may still have had to
// read what the contestant's program wrote.
func late(what string, p api.Protocol, r sandbox.Result, delay, wall time.Duration, e ending) api.CheckReport {
	said := failed(what, p, fmt.Errorf("did not end within %s after the program, the value of limits.jury.wall_time",
		wall), e)
	busy := r.CPUTime
	if r.Waited != nil {
		busy += *r.Waited - delay
	}
	said.Exhausted = busy > wall/2
	return said
}

func (c *Conversation) ending() ending {
	e, _ := readEnding(c.box, c.result) // of an interactor that is at fault whatever it says
	return e
}

// closeEnds closes all ends but the one that is drained: while judged has it, the interactor gets no SIGPIPE.
func (c *Conversation) closeEnds() {
	e := &c.ends
	closeFiles(&e.stdout, &e.theirStdin, &e.theirStdout, &c.theirAlive)
	if c.relay != nil {
		closeFiles(&e.stdin)
	}
}

// closeFiles closes those that are open.
func closeFiles(files ...**os.File) {
	for _, f := range files {
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
	if c.decided != nil {
		c.cancel(context.Canceled)
		<-c.decided
	}
	closeFiles(&c.ends.stdin, &c.said.Next)
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
