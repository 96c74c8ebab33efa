package jury

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"judged/internal/api"
	"judged/internal/base/linux"
	"judged/internal/base/units"
	"judged/internal/sandbox"
)

// Communication is one run of a manager of the Contest Management System (CMS) with several instances of a
// contestant's program. Two named pipes connect the manager to each instance; only the manager can open them. Call
// Close after use.
type Communication struct {
	juryRun
	instances []instance
	wall      time.Duration // wall limit of the manager
	input     *os.File
	fifos     []string // toManager and toInstance of each instance
	opens     *linux.Opens
	watching  sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	atWall atWall
	opened map[int]bool // indices of fifos that the manager has opened
	failed error        // from watching the pipes
}

// instance is the manager's side of an instance of the program.
type instance struct {
	stdin, stdout *os.File // pipe ends of the program
	witness       witness
	opened        chan struct{} // closed when the manager has opened both pipes
	ended         bool          // the instance was started and has ended
}

// CMS uses these names.
func toManager(i int) string  { return fmt.Sprintf("u%d_to_m", i) }
func toInstance(i int) string { return fmt.Sprintf("m_to_u%d", i) }

// managerArgs returns the arguments of a manager.
func managerArgs(instances int, args []string) (all []string) {
	for i := range instances {
		all = append(all, "/box/"+toManager(i), "/box/"+toInstance(i))
	}
	return append(all, args...)
}

// Communicate loads a manager for one run of each instance of a program. wall is the wall limit of each instance.
func (r *Runner) Communicate(m Interactor, t Case, wall time.Duration) (_ *Communication, err error) {
	c := &Communication{juryRun: juryRun{runner: r, what: m.Program.Called(managerName)},
		instances: make([]instance, m.Instances), opened: map[int]bool{}}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	if c.input, err = t.Input.View(); err != nil {
		return nil, err
	}
	if err := c.acquire(); err != nil {
		return nil, err
	}
	for i := range c.instances {
		c.fifos = append(c.fifos, toManager(i), toInstance(i))
	}
	limits := r.limits
	// The instances may run one after the other. Finish limits the manager's own time.
	limits.WallTime += time.Duration(m.Instances) * wallFactor * wall
	c.wall = limits.WallTime
	if err := c.box.Load(sandbox.Spec{
		Args: r.command(m.Program, managerArgs(m.Instances, m.Program.Args)), Files: m.Program.Files, Stdin: c.input,
		Open: []sandbox.OpenFile{{Name: managerInput, File: c.input},
			{File: c.theirAlive}}, FIFOs: c.fifos, Limits: limits, Explained: sandbox.WaitingExplains,
	}); err != nil {
		return nil, err
	}
	return c, c.openPipes()
}

// managerInput is the name of the test's input in the manager's sandbox. The input is also the manager's stdin.
const managerInput = "work/input.txt"

func (c *Communication) openPipes() (err error) {
	for i := range c.instances {
		in := &c.instances[i]
		if in.stdin, err = c.box.OpenFIFO(toInstance(i), os.O_RDONLY); err != nil {
			return err
		}
		if in.stdout, err = c.box.OpenFIFO(toManager(i), os.O_WRONLY); err != nil {
			return err
		}
		if err = linux.SetPipeSize(in.stdin, answerPipe); err != nil {
			return err
		}
		in.opened = make(chan struct{})
	}
	c.opens, err = c.box.WatchFIFOs(c.fifos)
	return err
}

// Stdin and Stdout return the pipe ends of an instance of the program.
func (c *Communication) Stdin(i int) *os.File  { return c.instances[i].stdin }
func (c *Communication) Stdout(i int) *os.File { return c.instances[i].stdout }

// Start unblocks the manager. All instances must be loaded, because Start closes the pipe ends that they inherit. Start
// calls stop shortly after the manager has rejected the programs; stop must end them.
func (c *Communication) Start(ctx context.Context, programs []*sandbox.Sandbox, stop func()) error {
	ended := make(chan struct{})
	for i, p := range programs {
		if err := c.instances[i].witness.watch(p, c.box, c.alive, ended); err != nil {
			return err
		}
	}
	c.closeEnds()
	ctx, c.cancel = context.WithCancelCause(ctx)
	c.ended, c.decided = ended, make(chan struct{})
	go func() {
		defer close(c.decided)
		c.result, c.err = c.box.Run(ctx)
		c.noteOpened() // includes pipes that the manager opened just before it ended
		close(ended)
		if c.err != nil || c.result.Stop == sandbox.StopCancelled {
			return
		}
		if c.said, c.err = c.runner.report(c.what, api.CMS, false, c.box, c.result); c.err == nil {
			stopIfRejected(c.said, stop)
		}
	}()
	c.watching.Go(func() {
		for c.opens.Wait() == nil {
			c.noteOpened()
		}
	})
	return nil
}

// noteOpened records the pipes that the manager has opened.
func (c *Communication) noteOpened() {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken, err := c.opens.Read()
	c.failed = errors.Join(c.failed, err)
	for _, n := range taken {
		c.opened[n] = true
		if i := n / 2; c.opened[2*i] && c.opened[2*i+1] {
			close(c.instances[i].opened)
		}
	}
}

func (c *Communication) watchError() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// Await waits until the manager has opened both pipes of an instance. As in CMS, the instance may start only then.
// Await returns false if the manager ends first or ctx is done.
func (c *Communication) Await(ctx context.Context, i int) bool {
	opened := c.instances[i].opened
	select {
	case <-opened:
		return true
	case <-ctx.Done():
		return false
	case <-c.ended:
	}
	select {
	case <-opened:
		return true
	default:
		return false
	}
}

// AtLimit records that an instance has reached a limit and has not been killed yet, as with a Conversation.
func (c *Communication) AtLimit(i int, excess, explained time.Duration) {
	if excess >= 0 {
		c.mu.Lock()
		if !c.atWall.shows(i, explained < excess) {
			excess = -1
		}
		c.mu.Unlock()
	}
	c.instances[i].witness.atLimit(excess, explained)
}

// atWall is the instances at their wall limits. The last one before any is killed shows what the manager was doing;
// after that, the manager continues. While noise explains the time of an instance, it is not killed, and is at its
// limit again later.
type atWall struct {
	last   *int // that showed it; nil before any
	killed bool // whether an instance has exceeded its limit by more than noise explains
}

// shows reports whether an instance that is at its wall limit shows what the manager was doing. killed is whether it
// exceeds the limit by more than noise explains.
func (a *atWall) shows(i int, killed bool) bool {
	if a.killed {
		return false
	}
	a.last, a.killed = &i, killed
	return true
}

// Ended records that a started instance has ended. From then on, what the manager writes to it is discarded.
func (c *Communication) Ended(i int) {
	in := &c.instances[i]
	in.ended = true
	c.drain.running.Go(func() {
		c.drain.from(in.stdin, c.runner.limits.Output, func() { c.cancel(errUnread) })
	})
}

// isHung reports whether the failed instance waited for the manager until its wall limit.
func (c *Communication) isHung(programs []sandbox.Result, failed int) bool {
	c.mu.Lock()
	last := c.atWall.last
	c.mu.Unlock()
	return failed >= 0 && last != nil && c.instances[*last].witness.isHung(programs[failed])
}

// errFailed is the cancellation cause for a manager that is no longer needed.
var errFailed = errors.New("an instance of the program failed")

// Finish waits for the manager. All instances must have ended. Instances that did not start have an empty result.
// failed is the first instance that failed by itself, or negative. If that instance ended before the manager, Finish
// cancels the manager, and Said has no verdict.
func (c *Communication) Finish(ctx context.Context, programs []sandbox.Result, failed int, limit units.Bytes) (said Said,
	err error) {
	if said.First, err = c.managerFirst(programs, failed); err != nil {
		return Said{}, err
	}
	hung := c.isHung(programs, failed)
	c.delay = c.Delay()
	if failed >= 0 && !said.First {
		c.cancel(errFailed)
	} else {
		go c.cancelLate()
	}
	<-c.decided
	switch {
	case c.err != nil || c.watchError() != nil:
		return Said{}, errors.Join(c.err, c.watchError())
	case ctx.Err() != nil:
		return Said{}, context.Cause(ctx)
	case failed >= 0 && !said.First && !hung:
		return said, nil
	}
	c.drain.running.Wait()
	final, err := c.finalSaid(hung)
	if err != nil {
		return Said{}, err
	}
	tooMuch := slices.ContainsFunc(programs, func(r sandbox.Result) bool { return r.OutputBytes > limit })
	said.CheckReport = c.report(final, managerName, said.First, tooMuch)
	return said, nil
}

// managerFirst reports whether the manager ended before the failed instance, or, if none failed, before any instance
// that ran.
func (c *Communication) managerFirst(programs []sandbox.Result, failed int) (bool, error) {
	for i := range c.instances {
		in := &c.instances[i]
		if !in.ended || failed >= 0 && i != failed {
			continue
		}
		if first, err := in.witness.juryFirst(programs[i]); err != nil || first {
			return first, err
		}
	}
	return false, nil
}

// finalSaid returns the manager's result, regardless of input that the manager has not read.
func (c *Communication) finalSaid(hung bool) (api.CheckReport, error) {
	e, err := readEnding(c.box, c.result)
	switch {
	case err != nil:
		return api.CheckReport{}, err
	case hung:
		return failed(c.what, api.CMS, errors.New("kept the program waiting until its wall limit; raise that limit if "+
			"the manager needs more time"), e), nil
	case c.result.Stop == sandbox.StopCancelled:
		return late(c.what, api.CMS, c.result, c.delay, c.runner.limits.WallTime, e), nil
	case c.result.Stop == sandbox.StopWall:
		fault := fmt.Errorf("did not end within %s; does it open all pipes that it waits for?", c.wall)
		if w := c.result.Waited; w != nil && c.result.WallTime-*w < c.runner.limits.WallTime {
			fault = starved(fault, *w)
		}
		return failed(c.what, api.CMS, fault, e), nil
	}
	if c.said.Verdict != api.InternalError && !c.hasOpened() {
		// No instance was started, so the score does not depend on the program.
		return failed(c.what, api.CMS,
			errors.New("gave a score without opening the pipes of any instance, so the program did not run"), e), nil
	}
	return c.said, nil
}

// hasOpened reports whether the manager has opened both pipes of any instance.
func (c *Communication) hasOpened() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.instances {
		if c.opened[2*i] && c.opened[2*i+1] {
			return true
		}
	}
	return false
}

// closeEnds closes the pipe ends that judged does not drain.
func (c *Communication) closeEnds() {
	closeFiles(&c.theirAlive, &c.input)
	for i := range c.instances {
		closeFiles(&c.instances[i].stdout)
	}
}

// Close stops the manager and releases all resources, in any state. No instance may be waiting in Await.
func (c *Communication) Close() {
	c.closeEnds()
	c.stop()
	for i := range c.instances {
		closeFiles(&c.instances[i].stdin)
		c.instances[i].witness.close()
	}
	if c.opens != nil {
		c.opens.Close()
		c.watching.Wait()
	}
	c.release()
}
