package measure

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"judged/internal/base/job"
	"judged/internal/base/units"
	"judged/internal/sandbox"
	"judged/internal/timing/evidence"
	"judged/internal/timing/stats"
)

// Request is one test of one program.
type Request struct {
	Name    string
	Args    []string
	Files   []sandbox.File
	Input   func(sandbox.Slot) (*sandbox.Input, error) // for runs there, asked for by every run; nil is empty
	Limits  job.Limits                                 // complete: no member is zero
	Repeats job.Repeats
	Head    units.Bytes
	// Place finds where to run once more what is to be confirmed; nil is here.
	Place func(ctx context.Context, wish stats.Placement) (Place, error)
	// Ready is waited for when the program is loaded, before it is let go; nil
	// is ready. An error ends the test.
	Ready func() error
	// Check compares the output of a run that came to its end; nil accepts.
	Check func(ctx context.Context, output *os.File) (job.CheckReport, error)
	// Ran learns of every run as soon as it has ended; nil is nobody.
	Ran func(job.Run)
}

// Place is a worker for one run, until it is released.
type Place struct {
	Worker  *Worker
	Release func()
	// Deviation runs reference kernels there, a few milliseconds, and returns how much
	// longer they took than they usually do, as a ratio; below 0 is shorter. 0 is
	// within the guard band.
	Deviation func(ctx context.Context) float64
}

// test is a request at work.
type test struct {
	Request
	rule stats.Rule // of all its runs: the guard may be learned anew meanwhile
	seed maphash.Seed
}

// tidyAfter is from when on a run is long enough to prepare the next one
// meanwhile.
const tidyAfter = 2 * time.Millisecond

// outcome is one run with everything that is told of it.
type outcome struct {
	run     job.Run
	verdict job.Verdict
	result  sandbox.Result
	check   *job.CheckReport
	saved   time.Duration // CPU time that it would have taken more at the planned frequency
	noisy   bool          // it counts although noise explains it
	digest  uint64        // of stdout, for comparing runs of one test
	stdout  *string
	stderr  *string
}

// Test runs the test until its rule has decided. The error is not nil only if
// judged itself could not do its work, ctx ended, or noise kept it from deciding
// (NoiseError); of that the report says what is known.
func (s *Worker) Test(ctx context.Context, q Request) (job.TestReport, error) {
	t := test{Request: q, rule: s.rule(q), seed: maphash.MakeSeed()}
	return t.repeat(func(wish wish) (outcome, error) { return s.placed(ctx, t, wish) })
}

// wish is what is asked of the next run.
type wish struct {
	stats.Placement
	near bool          // the limit is near: look at the place before and after
	rest time.Duration // how long to wait for the neighbours to rest
}

// repeat makes runs until the rule has decided.
func (t test) repeat(run func(wish) (outcome, error)) (job.TestReport, error) {
	var all []outcome
	var kept []stats.Run
	var d stats.Decision
	var n noise
	for {
		o, err := run(wish{
			Placement: n.place(d.Next),
			near:      slices.ContainsFunc(kept, func(r stats.Run) bool { return t.rule.Near(r.CPUTime) }),
			rest:      n.rest,
		})
		if err != nil {
			return job.TestReport{}, err
		}
		o.run.Kept, err = t.keeps(&o, &n)
		all = append(all, o)
		if t.Ran != nil {
			t.Ran(o.run)
		}
		if err != nil {
			return undecided(t.Request, all, err), err
		}
		if o.run.Kept {
			kept = append(kept, o.counted())
		}
		if o.result.ExecError != 0 {
			return assemble(t.Request, all, stats.Decision{}, t.rule), nil
		}
		d = t.rule.Decide(kept)
		if d.Done || settled(o, t.rule, len(kept)) {
			return assemble(t.Request, all, d, t.rule), nil
		}
	}
}

// placed is one run where it is wished to be. Near the limit the place is looked
// at before and after: what lengthens CPU time by a neighbour's use of a cache
// leaves no other trace.
func (s *Worker) placed(ctx context.Context, t test, w wish) (outcome, error) {
	if t.Place == nil || w.Placement == (stats.Placement{}) {
		s.awaitRest(ctx, w.rest)
		return s.once(ctx, t)
	}
	at, err := t.Place(ctx, w.Placement)
	if err != nil {
		return outcome{}, fmt.Errorf("find a place for test %q: %w", t.Name, err)
	}
	defer at.Release()
	at.Worker.awaitRest(ctx, w.rest)
	var before, after float64
	if w.near {
		before = at.Deviation(ctx)
	}
	o, err := at.Worker.once(ctx, t)
	if err != nil {
		return outcome{}, err
	}
	if w.near && before == 0 {
		after = at.Deviation(ctx)
	}
	if before != 0 || after != 0 {
		o.run.Disturbed = append(o.run.Disturbed, job.CauseCanary)
		evidence.Deviated(&o.run.Explained, o.run.CPUTime, max(before, after), *at.Worker.thresholds.Load())
	}
	return o, nil
}

// counted is the run as the rule sees it. What noise explains of one that counts all the same
// is doubted no further.
func (o outcome) counted() stats.Run {
	if o.noisy {
		return stats.Run{CPUTime: o.run.CPUTime}
	}
	return stats.Run{CPUTime: o.run.CPUTime, Explained: o.run.Explained.CPUTime}
}

// settled reports whether more runs cannot change anything although the rule
// on times would like some: a finding that ranks above the time limit, with at least
// one run that counts, since the report tells of those.
func settled(o outcome, rule stats.Rule, n int) bool {
	above := o.verdict == job.SecurityViolation || o.verdict == job.MemoryLimit
	return above && n >= max(rule.Min, 1)
}

func fixed(r stats.Rule) bool { return r.Min > 0 && r.Min == r.Max }

// once is one run: a fresh sandbox, loaded, watched from both sides, checked.
func (s *Worker) once(ctx context.Context, t test) (outcome, error) {
	box, err := s.take()
	if err != nil {
		return outcome{}, err
	}
	defer s.discard(box)
	spec, err := s.spec(t)
	if err != nil {
		return outcome{}, err
	}
	var before evidence.Snapshot
	spec.Explained = func(p sandbox.Progress) sandbox.Allowance { return s.explained(before, p) }
	if err := box.Load(spec); err != nil {
		return outcome{}, err
	}
	if t.Ready != nil {
		if err := t.Ready(); err != nil {
			return outcome{}, err
		}
	}
	if ctx.Err() != nil { // a reference kernel that a job ends
		return outcome{}, context.Cause(ctx)
	}
	before = s.reader.Snapshot()
	tidy := time.AfterFunc(tidyAfter, s.Tidy)
	defer tidy.Stop()
	r, err := box.Run(ctx)
	if err != nil {
		return outcome{}, err
	}
	after := s.reader.Snapshot()
	if r.Stop == sandbox.StopCancelled {
		return outcome{}, context.Cause(ctx)
	}
	o := outcome{result: r, verdict: verdictOf(r, t.Limits)}
	if o.digest, err = digest(box.Stdout(), t.seed); err != nil {
		return outcome{}, err
	}
	if err := o.judgeOutput(ctx, t.Request, box); err != nil {
		return outcome{}, err
	}
	// Last, for the counters of a large machine may still be being read.
	o.run = s.describe(r, before, after)
	o.saved = evidence.Saved(o.run.Evidence, r.CPUTime, *s.thresholds.Load())
	o.run.Overhead = box.Overhead()
	return o, nil
}

func (s *Worker) spec(t test) (spec sandbox.Spec, err error) {
	spec = sandbox.Spec{
		Args: t.Args, Files: t.Files,
		Limits: sandbox.Limits{CPUTime: t.rule.StopAt(), WallTime: t.Limits.WallTime(), Memory: t.Limits.Memory,
			Output: t.Limits.Output, Stack: t.Limits.Stack, Processes: t.Limits.Processes},
	}
	if t.Input != nil {
		spec.Input, err = t.Input(s.slot)
	}
	return spec, err
}

// describe is the run as the report tells it.
func (s *Worker) describe(r sandbox.Result, before, after evidence.Snapshot) job.Run {
	f := evidence.Facts{
		CPUTime: r.CPUTime, WallTime: r.WallTime, RunDelay: r.RunDelay, Migrations: r.Migrations, Throttled: r.Throttled,
		VoluntarySwitches: r.VoluntarySwitches, InvoluntarySwitches: r.InvoluntarySwitches,
		MinorFaults: r.MinorFaults, MajorFaults: r.MajorFaults,
		Pressure: r.Pressure.CPU, IRQPressure: r.Pressure.IRQ,
		Refaults: r.Memory.Refaults, LimitHits: r.Memory.LimitHits, NUMAMigrations: r.Memory.NUMAMigrations,
		Width: len(s.slot.CPUs), NohzFull: s.slot.Tickless,
	}
	if r.UserTime != nil && r.SystemTime != nil {
		f.UserTime, f.SystemTime = *r.UserTime, *r.SystemTime
	}
	e, th := evidence.Between(before, after, f), *s.thresholds.Load()
	return job.Run{
		CPUTime: r.CPUTime, UserTime: r.UserTime, SystemTime: r.SystemTime, WallTime: r.WallTime, MemoryPeak: r.MemoryPeak,
		CPUs: s.slot.CPUs.String(), NUMANode: s.slot.Node,
		Disturbed: evidence.Causes(e, f, th), Explained: evidence.Explain(e, f, th), Evidence: e, Reading: evidence.Cost(before, after),
	}
}

// Observation is a run of this worker as something to learn thresholds from.
func (s *Worker) Observation(r job.Run) evidence.Observation {
	f := evidence.Facts{CPUTime: r.CPUTime, WallTime: r.WallTime, Width: len(s.slot.CPUs), NohzFull: s.slot.Tickless}
	if r.UserTime != nil && r.SystemTime != nil {
		f.UserTime, f.SystemTime = *r.UserTime, *r.SystemTime
	}
	return evidence.Observation{Evidence: r.Evidence, Facts: f}
}

// judgeOutput asks the checker about a run that came to its end, and quotes what
// was asked for.
func (o *outcome) judgeOutput(ctx context.Context, q Request, box *sandbox.Sandbox) error {
	if q.Head > 0 {
		var err error
		if o.stdout, err = head(box.Stdout(), q.Head); err != nil {
			return err
		}
		if o.stderr, err = head(box.Stderr(), q.Head); err != nil {
			return err
		}
	}
	ended := o.verdict == "" || (o.verdict == job.TimeLimit && o.result.Stop == sandbox.StopNone && o.result.Code == 0 && o.result.Signal == 0)
	if !ended || q.Check == nil {
		if o.verdict == "" {
			o.verdict = job.Accepted
		}
		return nil
	}
	output, err := box.Stdout().Open()
	if err != nil {
		return err
	}
	defer output.Close()
	c, err := q.Check(ctx, output)
	if err != nil {
		return fmt.Errorf("check output of test %q: %w", q.Name, err)
	}
	o.check = &c
	if o.verdict == "" {
		o.verdict = c.Verdict
	}
	return nil
}

// digest tells outputs apart within this process.
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

// head is the start of a stream as valid UTF-8.
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
	text := strings.ToValidUTF8(string(b[:m]), "\uFFFD")
	return &text, nil
}
