package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/base/text"
	"judged/internal/base/units"
	"judged/internal/engine/jury"
	"judged/internal/sandbox"
	"judged/internal/timing/evidence"
	"judged/internal/timing/stats"
)

// Request is one test of one program.
type Request struct {
	Name  string
	Args  []string
	Env   []string // NAME=VALUE, as in sandbox.Spec
	Files []sandbox.File
	Input func(sandbox.Resources) (*sandbox.Input, error) // called before each run, for its slot; nil means empty input
	// InputFile and OutputFile are the names of files that replace stdin and stdout; "" selects stdin or stdout.
	InputFile, OutputFile string
	// StderrToStdout makes stderr the same open file as stdout.
	StderrToStdout bool
	Limits         api.Limits // no member is zero
	Repeats        api.Repeats
	Head           units.Bytes
	// Keep and Collect say what is kept of the run that decides.
	Keep    api.Keep
	Collect []string
	// Place returns a worker for a run that confirms another; nil means this worker.
	Place func(ctx context.Context, p stats.Placement) (Place, error)
	// Ready, if not nil, is called after a program is loaded and before it starts. An error ends the test.
	Ready func() error
	// Check compares the output of a finished run; nil accepts it.
	Check func(ctx context.Context, output *os.File) (api.CheckReport, error)
	// Missing is the verdict of a run that has not created OutputFile; "" is WA.
	Missing api.Verdict
	// Converse, if not nil, loads an interactor that communicates with a run and judges it. Check then checks what the
	// interactor has written, if anything.
	Converse func() (*jury.Conversation, error)
	// Communicate, if not nil, loads a manager that communicates with Instances concurrent runs of the program and
	// judges them.
	Communicate func() (*jury.Communication, error)
	Instances   int
	// Ran, if not nil, is called after each run.
	Ran func()
	// More means that another test follows: the next sandbox is then prepared while this test runs, however short it
	// is.
	More bool
}

// Place is a worker that is reserved for one run. Call Release after the run.
type Place struct {
	Worker  *Worker
	Release func()
	// Deviation runs reference kernels on the worker, which takes a few milliseconds, and returns the ratio by which
	// they took longer than usual. It is 0 within the guard band, and negative if they were faster.
	Deviation func(ctx context.Context) float64
}

// tidyAfter is the duration of the last run from which the next sandbox is prepared during a run. After a shorter run,
// the report comes first.
const tidyAfter = 2 * time.Millisecond

// outcome is one run and its results.
type outcome struct {
	run      api.Run
	verdict  api.Verdict
	result   sandbox.Result
	check    *api.CheckReport
	checking *check        // check of its output, until awaitCheck
	talked   bool          // ran with an interactor; its exit status is racy once the interactor has ended
	wall     time.Duration // wall time to which its limit applies
	delay    time.Duration // time that the program of the jury waited for a CPU until the end of the run
	gain     time.Duration // CPU time that it saved because the CPU was faster than planned
	waited   time.Duration // waiting time for busy neighbours before the start
	digest   uint64        // hash of stdout, to compare the runs of a test
	stdout   *string
	stderr   *string
	kept     []api.KeptOutput
	// transcript of the conversation, if requested
	transcript *api.Transcript
}

// Test runs the test until its rule has decided. It returns an error only if judged fails, ctx ends, or noise prevents
// a decision. In the last case it is a *NoiseError, and the report has what is known.
func (w *Worker) Test(ctx context.Context, q Request) (api.TestReport, error) {
	r := <-w.Start(ctx, q)
	return r.Report, r.Err
}

// Result is the result of Test.
type Result struct {
	Report api.TestReport
	Err    error
}

// Start is like Test, but returns when the last run has ended, while its output may still be being checked. The channel
// then receives the result; it already has it if nothing needs to be checked.
func (w *Worker) Start(ctx context.Context, q Request) <-chan Result {
	result := make(chan Result, 1)
	t := test{Request: q, rule: w.rule(q), seed: maphash.MakeSeed()}
	runs, err := t.makeRuns(func(n nextRun) (outcome, error) { return w.runPlaced(ctx, t, n) })
	switch {
	case err != nil:
		result <- Result{Err: err}
	case runs.isChecked():
		report, err := runs.report()
		result <- Result{report, err}
	default:
		go func() {
			report, err := runs.report()
			result <- Result{report, err}
		}()
	}
	return result
}

// runPlaced runs a test once with the placement that the rule requests. Near the limit, reference kernels run before
// and after: a neighbour's use of a shared cache lengthens CPU time and leaves no other trace.
func (w *Worker) runPlaced(ctx context.Context, t test, n nextRun) (outcome, error) {
	if t.Place == nil || n.Placement == (stats.Placement{}) {
		waited := w.awaitIdleNeighbours(ctx, n.idleWait)
		o, err := w.runOnce(ctx, t)
		o.waited = waited
		return o, err
	}
	at, err := t.Place(ctx, n.Placement)
	if err != nil {
		return outcome{}, fmt.Errorf("find a place for test %q: %w", t.Name, err)
	}
	defer at.Release()
	waited := at.Worker.awaitIdleNeighbours(ctx, n.idleWait)
	var before, after float64
	if n.nearLimit {
		before = at.Deviation(ctx)
	}
	o, err := at.Worker.runOnce(ctx, t)
	if err != nil {
		return outcome{}, err
	}
	o.waited = waited
	if n.nearLimit && before == 0 {
		after = at.Deviation(ctx)
	}
	if before != 0 || after != 0 {
		o.run.Disturbed = append(o.run.Disturbed, api.CauseCanary)
		evidence.ExplainDeviation(&o.run.Explained, o.run.CPUTime, max(before, after), *at.Worker.thresholds.Load())
	}
	return o, nil
}

// runOnce runs a test in a fresh sandbox, reads the counters of the slot before and after, and checks the output.
func (w *Worker) runOnce(ctx context.Context, t test) (outcome, error) {
	if t.Communicate != nil {
		return w.runInstances(ctx, t)
	}
	box, err := w.acquire()
	if err != nil {
		return outcome{}, err
	}
	defer w.discard(box)
	spec, err := w.spec(t)
	if err != nil {
		return outcome{}, err
	}
	var before evidence.Snapshot
	spec.Explained = func(p sandbox.Progress) sandbox.Allowance { return w.explained(&before, p) }
	var talk *jury.Conversation
	if t.Converse != nil {
		if talk, err = t.Converse(); err != nil {
			return outcome{}, err
		}
		defer talk.Close()
		joinConversation(&spec, talk)
	}
	if err := box.Load(spec); err != nil {
		return outcome{}, err
	}
	if t.Ready != nil {
		if err := t.Ready(); err != nil {
			return outcome{}, err
		}
	}
	if ctx.Err() != nil { // a job cancels a reference kernel
		return outcome{}, context.Cause(ctx)
	}
	runCtx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if talk != nil {
		if err := talk.Start(ctx, box, t.Check, func() { stop(errDecided) }); err != nil {
			return outcome{}, err
		}
	}
	before = w.reader.Snapshot()
	if t.More {
		w.Tidy()
	} else {
		defer time.AfterFunc(tidyAfter, w.Tidy).Stop()
	}
	r, err := box.Run(runCtx)
	if err != nil {
		return outcome{}, err
	}
	after := w.reader.SnapshotAfter(before)
	if r.Stop == sandbox.StopCancelled && ctx.Err() != nil {
		return outcome{}, context.Cause(ctx)
	}
	o := outcome{result: r, wall: r.WallTime, verdict: verdictOf(r, t.Limits)}
	if o.digest, err = digest(box.Answer(), t.seed); err != nil {
		return outcome{}, err
	}
	if err := o.copyOutput(t.Request, box); err != nil {
		return outcome{}, err
	}
	if talk != nil {
		o.delay = talk.Delay()
		err = o.judgeTalk(ctx, t.Request, talk)
	} else {
		err = o.judgeOutput(ctx, t.Request, box)
	}
	if err != nil {
		return outcome{}, err
	}
	// This comes last: on a large machine the counters may still be read in the background.
	o.run = w.describe(r, before, after)
	o.gain = evidence.FrequencyGain(o.run.Evidence, r.CPUTime, *w.thresholds.Load())
	o.run.Overhead = box.Overhead()
	return o, nil
}

func (w *Worker) spec(t test) (spec sandbox.Spec, err error) {
	spec = sandbox.Spec{
		Args: t.Args, Env: t.Env, Files: t.Files, InputFile: t.InputFile, OutputFile: t.OutputFile,
		StderrToStdout: t.StderrToStdout,
		Limits: sandbox.Limits{CPUTime: t.rule.StopAt(), WallTime: t.Limits.WallTime(), Memory: t.Limits.Memory,
			Output: t.Limits.Output, Stack: t.Limits.Stack, Processes: t.Limits.Processes},
	}
	if t.Input != nil {
		spec.Input, err = t.Input(w.slot)
	}
	return spec, err
}

// describe returns the run's part of the report.
func (w *Worker) describe(r sandbox.Result, before, after evidence.Snapshot) api.Run {
	f := w.facts(r.CPUTime, r.WallTime, r.UserTime, r.SystemTime)
	f.RunDelay, f.Waited, f.Migrations, f.Throttled = r.RunDelay, r.Waited, r.Migrations, r.Throttled
	f.VoluntarySwitches, f.InvoluntarySwitches = r.VoluntarySwitches, r.InvoluntarySwitches
	f.MinorFaults, f.MajorFaults = r.MinorFaults, r.MajorFaults
	f.Pressure, f.IRQPressure = r.Pressure.CPU, r.Pressure.IRQ
	f.Refaults, f.LimitHits, f.NUMAMigrations = r.Memory.Refaults, r.Memory.LimitHits, r.Memory.NUMAMigrations
	e, th := evidence.Between(before, after, f), *w.thresholds.Load()
	return api.Run{
		CPUTime: r.CPUTime, UserTime: r.UserTime, SystemTime: r.SystemTime, WallTime: r.WallTime,
		MemoryPeak: r.MemoryPeak,
		CPUs:       w.slot.CPUs.String(), NUMANode: w.slot.Node,
		Disturbed: evidence.Causes(e, f, th), Explained: evidence.Explain(e, f, th), Evidence: e,
		Reading: evidence.Cost(before, after),
	}
}

// Observation returns a run on this worker in the form from which thresholds are learned.
func (w *Worker) Observation(r api.Run) evidence.Observation {
	return evidence.Observation{Evidence: r.Evidence, Facts: w.facts(r.CPUTime, r.WallTime, r.UserTime, r.SystemTime)}
}

// facts returns the facts that every run has. User and system time are set only if both are known.
func (w *Worker) facts(cpu, wall time.Duration, user, system *time.Duration) evidence.Facts {
	f := evidence.Facts{CPUTime: cpu, WallTime: wall, Width: len(w.slot.CPUs), NohzFull: w.slot.Tickless}
	if user != nil && system != nil {
		f.UserTime, f.SystemTime = *user, *system
	}
	return f
}

// copyOutput copies what the report quotes of the output of a run, and what the job keeps.
func (o *outcome) copyOutput(q Request, box *sandbox.Sandbox) error {
	return errors.Join(o.quote(q, box), o.capture(q, box))
}

// quote copies the start of stdout and stderr.
func (o *outcome) quote(q Request, box *sandbox.Sandbox) (err error) {
	if q.Head == 0 {
		return nil
	}
	if o.stdout, err = head(box.Stdout(), q.Head); err != nil {
		return err
	}
	o.stderr, err = head(box.Stderr(), q.Head)
	return err
}

// judgeOutput makes the checker compare the output of a finished run. The verdict stays empty until awaitCheck.
func (o *outcome) judgeOutput(ctx context.Context, q Request, box *sandbox.Sandbox) error {
	if !o.ended() || q.Check == nil {
		if o.verdict == "" {
			o.verdict = api.Accepted
		}
		return nil
	}
	if !box.HasAnswer() {
		// Without a file nothing is checked. A checker could fail, or accept an empty answer.
		o.check = &api.CheckReport{Verdict: cmp.Or(q.Missing, api.WrongAnswer),
			Message: fmt.Sprintf("%q is missing", q.OutputFile)}
		o.verdict = cmp.Or(o.verdict, o.check.Verdict)
		return nil
	}
	output, err := box.Answer().Open()
	if err != nil {
		return err
	}
	o.startCheck(ctx, q, output)
	return nil
}

// ended reports whether the program exited by itself, even if too late.
func (o *outcome) ended() bool {
	return o.verdict == "" || (o.verdict == api.TimeLimit && o.result.Stop == sandbox.StopNone &&
		o.result.Code == 0 && o.result.Signal == 0)
}

// check is a running check.
type check struct {
	ended  chan struct{} // closed after the other fields are set
	report api.CheckReport
	err    error
}

// startCheck checks an output in the background.
func (o *outcome) startCheck(ctx context.Context, q Request, output *os.File) {
	c := &check{ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		defer output.Close()
		if c.report, c.err = q.Check(ctx, output); c.err != nil {
			c.err = fmt.Errorf("check output of test %q: %w", q.Name, c.err)
		}
		if q.OutputFile != "" && c.report.Verdict.Failed() && c.report.Verdict != api.InternalError && isEmpty(output) {
			c.report.Message = strings.TrimSpace(fmt.Sprintf("%q is empty; %s", q.OutputFile,
				c.report.Message))
		}
	}()
	o.checking = c
}

func isEmpty(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Size() == 0
}

// awaitCheck waits for the check of the run, if any, and applies its result.
func (o *outcome) awaitCheck() error {
	c := o.checking
	if c == nil {
		return nil
	}
	<-c.ended
	o.checking = nil
	if c.err != nil {
		return c.err
	}
	o.check = &c.report
	if o.verdict == "" {
		o.verdict = c.report.Verdict
	}
	return nil
}

// digest returns a hash of an output. Hashes of different processes are not comparable.
func digest(o *sandbox.Output, seed maphash.Seed) (uint64, error) {
	r, err := o.Reader()
	if err != nil {
		return 0, err
	}
	var h maphash.Hash
	h.SetSeed(seed)
	_, err = io.Copy(&h, r)
	return h.Sum64(), err
}

// head returns the start of a stream as valid UTF-8.
func head(o *sandbox.Output, n units.Bytes) (*string, error) {
	r, err := o.Reader()
	if err != nil {
		return nil, err
	}
	b := make([]byte, n)
	m, err := io.ReadFull(r, b)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	return new(text.Valid(b[:m])), nil
}
