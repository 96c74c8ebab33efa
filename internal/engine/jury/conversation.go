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

// Interactor is a program of the jury that communicates with the contestant's program.
type Interactor struct {
	Protocol   api.Protocol
	Program    Program
	Transcript bool // record the conversation
	Instances  int  // number of instances of the program; protocol CMS only
}

// answerPipe is the number of bytes that an interactor can write before the contestant's program reads. It has the
// value of Kattis' problemtools, so that a program that sends many queries at once deadlocks no earlier than there.
const answerPipe = 1 << 20

// wallFactor is the maximum wall time of a contestant's program as a multiple of its wall limit, for excess that noise
// explains.
const wallFactor = 10

// maxWait is how long a program of the jury may wait for a CPU, as a multiple of its wall limit.
const maxWait = wallFactor - 1

// Conversation is one run of an interactor with one run of a contestant's program. Two pipes connect the programs
// directly, or through a relay if the conversation is recorded. Call Close after use.
type Conversation struct {
	juryRun
	interactor Interactor
	multiPass  bool
	open       []*os.File // input and answer
	ends       ends
	relay      *relay // records a transcript; may be nil
	witness    witness
	check      CheckFunc // called once; nil afterwards, or if there is no checker
}

// CheckFunc runs a checker on the output file of an interactor that uses testlib.
type CheckFunc func(ctx context.Context, output *os.File) (api.CheckReport, error)

// ends are the pipe ends of both programs.
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

// Converse loads an interactor for one run of a program. wall is the wall limit of that run.
func (r *Runner) Converse(i Interactor, t Case, wall time.Duration) (_ *Conversation, err error) {
	c := &Conversation{juryRun: juryRun{runner: r, what: i.Program.Called(interactorName)}, interactor: i,
		multiPass: t.MultiPass}
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
	if err := c.acquire(); err != nil {
		return nil, err
	}
	limits := r.limits
	limits.WallTime += wallFactor * wall // Finish limits the interactor's own time
	return c, c.box.Load(sandbox.Spec{
		Args: r.command(i.Program, interactorArgs(i.Protocol, i.Program.Args)), Files: i.Program.Files,
		Stdin: c.ends.theirStdin, Stdout: c.ends.theirStdout,
		Open: []sandbox.OpenFile{{Name: "input", File: c.open[0]}, {Name: "answer", File: c.open[1]},
			{File: c.theirAlive}},
		Folder: feedbackName, FolderFrom: t.Feedback, Limits: limits, Explained: sandbox.WaitingExplains,
	})
}

// Stdin and Stdout return the pipe ends of the contestant's program.
func (c *Conversation) Stdin() *os.File  { return c.ends.stdin }
func (c *Conversation) Stdout() *os.File { return c.ends.stdout }

// Start unblocks the interactor. The program must be loaded; the caller starts it next. If check is not nil, it decides
// about a program that the interactor accepts. If the interactor ends first and it or check rejects the program, Start
// calls stop shortly after; stop must end the program.
func (c *Conversation) Start(ctx context.Context, program *sandbox.Sandbox, check CheckFunc, stop func()) (err error) {
	ended := make(chan struct{})
	if err = c.witness.watch(program, c.box, c.alive, ended); err != nil {
		return err
	}
	c.closeEnds()
	outer := ctx
	ctx, c.cancel = context.WithCancelCause(ctx)
	c.ended, c.decided, c.check = ended, make(chan struct{}), check
	if c.relay != nil {
		c.relay.start(c.discard)
	}
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

// decide reads the interactor's result after it has ended. If the interactor ended first, decide also runs the
// checker.
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

// runCheck replaces an accepting result of the interactor with the checker's, if there is a checker.
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
		c.said = api.FailedCheck(api.JuryFault, "the interactor accepted but wrote no output file for the checker; "+
			"it must write the file named by its second argument")
		return nil
	}
	defer output.Close()
	if err := output.Chmod(0o444); err != nil {
		return err
	}
	if c.said, err = check(ctx, output); err != nil {
		return fmt.Errorf("check output of the interactor: %w", err)
	}
	return nil
}

// openOutput opens the output file of an interactor that uses testlib. It returns nil if the file does not exist.
func (c *Conversation) openOutput() (*os.File, error) {
	return c.box.OpenFile(feedbackName + "/" + toutName)
}

// discard discards what the interactor writes after the program has ended, and reports whether it has written anything.
// An interactor that writes too much is killed before discard returns: the caller may close the pipe, and SIGPIPE must
// not come first.
func (c *Conversation) discard(pipe io.Reader) bool {
	return c.drain.from(pipe, c.runner.limits.Output, func() {
		c.cancel(errUnread)
		<-c.ended
	})
}

// AtLimit records that the program has reached a limit and has not been killed yet. excess is how far it is over its
// wall limit, negative if it is not, and explained is how much of that noise explains, including Delay.
func (c *Conversation) AtLimit(excess, explained time.Duration) { c.witness.atLimit(excess, explained) }

// Said is the result of a conversation.
type Said struct {
	api.CheckReport
	// First reports whether the interactor ended first.
	First bool
	// Starved reports whether the program was stopped at its wall limit because of noise. CheckReport says nothing
	// about such a program.
	Starved    bool
	Transcript *api.Transcript // nil unless Interactor.Transcript is set
}

// Finish waits for the interactor. Call it after the program has ended. Finish also waits for the checker if the
// program finished, or if the interactor ended first.
func (c *Conversation) Finish(ctx context.Context, program sandbox.Result, finished bool, limit units.Bytes) (Said, error) {
	c.delay = c.Delay()
	if c.relay == nil {
		c.drain.running.Go(func() { c.discard(c.ends.stdin) })
	}
	go c.cancelLate()
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
	said := Said{First: first, Starved: !first && c.witness.isStarved(program)}
	c.drain.running.Wait()
	if c.relay != nil {
		said.Transcript = c.relay.transcript()
	}
	if finished {
		if err := c.runCheck(ctx); err != nil {
			return Said{}, err
		}
	}
	said.CheckReport = c.report(c.finalSaid(program), interactorName, first, program.OutputBytes > limit)
	return said, nil
}

// finalSaid returns the interactor's result, regardless of input that the interactor has not read.
func (c *Conversation) finalSaid(program sandbox.Result) api.CheckReport {
	p := c.interactor.Protocol
	if c.witness.isHung(program) {
		fault := errors.New("kept the program waiting until its wall limit; raise that limit if the interactor " +
			"needs more time")
		return failed(c.what, p, fault, c.ending())
	}
	if c.result.Stop == sandbox.StopCancelled {
		return late(c.what, p, c.result, c.delay, c.runner.limits.WallTime, c.ending())
	}
	said := c.said
	c.said.Next = nil // the caller closes the folder
	return said
}

// late returns the report of a program of the jury that did not end in time after the contestant's program. delay is
// how long it had waited for a CPU before. If it was busy for most of the time, it has used up that time: it may still
// have been reading the output of the contestant's program.
func late(what string, p api.Protocol, r sandbox.Result, delay, wall time.Duration, e ending) api.CheckReport {
	fault := fmt.Errorf("did not end within %s after the program, the value of limits.jury.wall_time", wall)
	if r.Waited != nil && *r.Waited-delay >= maxWait*wall {
		return failed(what, p, starved(fault, *r.Waited-delay), e)
	}
	said := failed(what, p, fault, e)
	said.Exhausted = r.CPUTime > wall/2
	return said
}

// starved returns the fault of a program of the jury that would have kept its wall limit if it had not waited for a
// CPU.
func starved(fault error, waited time.Duration) error {
	return api.Blame(api.NoiseFault, fmt.Errorf("%w; it waited %s for a CPU; judge it again when the host is quiet",
		fault, units.Duration(waited)))
}

func (c *Conversation) ending() ending {
	e, _ := readEnding(c.box, c.result) // the interactor is at fault regardless of an error
	return e
}

// closeEnds closes all pipe ends except the one that judged drains. While judged holds that end, the interactor does
// not get SIGPIPE.
func (c *Conversation) closeEnds() {
	e := &c.ends
	closeFiles(&e.stdout, &e.theirStdin, &e.theirStdout, &c.theirAlive)
	if c.relay != nil {
		closeFiles(&e.stdin)
	}
}

// Close stops the interactor and releases all resources, in any state.
func (c *Conversation) Close() {
	c.closeEnds()
	for _, f := range c.open {
		f.Close()
	}
	c.stop()
	closeFiles(&c.ends.stdin, &c.said.Next)
	if c.relay != nil {
		c.relay.close()
	}
	c.witness.close()
	c.release()
}
