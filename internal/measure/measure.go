package measure

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"slices"
	"strings"
	"time"

	"judged/internal/evidence"
	"judged/internal/job"
	"judged/internal/sandbox"
	"judged/internal/stats"
	"judged/internal/units"
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
	Check func(ctx context.Context, output io.Reader) (job.CheckReport, error)
}

// Place is a stand for one run, until it is released.
type Place struct {
	Stand   *Stand
	Release func()
	// Deviates runs reference kernels there, a few milliseconds, and reports
	// whether they took another time than they usually do.
	Deviates func(ctx context.Context) bool
}

// test is a request at work.
type test struct {
	Request
	rule stats.Rule // of all its runs: the guard may be learned anew meanwhile
	seed maphash.Seed
}

// discardBudget is how many disturbed runs of a test are repeated at most.
const discardBudget = 3

// tidyAfter is from when on a run is long enough to prepare the next one
// meanwhile.
const tidyAfter = 2 * time.Millisecond

// outcome is one run with everything that is told of it.
type outcome struct {
	run     job.Run
	verdict job.Verdict
	result  sandbox.Result
	check   *job.CheckReport
	tooFast bool   // the CPU was, for longer than a moment
	digest  uint64 // of stdout, for comparing runs of one test
	stdout  *string
	stderr  *string
}

// Test runs the test until its rule has decided. The error is not nil only if
// judged itself could not do its work or ctx ended.
func (s *Stand) Test(ctx context.Context, q Request) (job.TestReport, error) {
	t := test{Request: q, rule: s.rule(q), seed: maphash.MakeSeed()}
	var all []outcome
	var clean []time.Duration
	var d stats.Decision
	budget := discardBudget
	for {
		near := slices.ContainsFunc(clean, t.rule.Near)
		o, err := s.placed(ctx, t, d.Next, near)
		if err != nil {
			return job.TestReport{}, err
		}
		over := o.run.CPUTime > q.Limits.CPUTime()
		// A given number of runs is a measurement: all of them count.
		o.run.Kept = proves(o, over) || budget == 0 || fixed(t.rule)
		if o.run.Kept {
			clean = append(clean, o.run.CPUTime)
		} else {
			budget--
		}
		all = append(all, o)
		if o.result.ExecError != 0 {
			return assemble(q, all, stats.Decision{}, t.rule), nil
		}
		d = t.rule.Decide(clean)
		if d.Done || settled(o, t.rule, len(clean)) {
			return assemble(q, all, d, t.rule), nil
		}
	}
}

// proves reports whether a run says something about the program. Noise only
// lengthens: a disturbed run within the limit proves as much as a clean one, and
// one over it nothing. A CPU that was too fast shortens: there it is a run within
// the limit that proves nothing.
func proves(o outcome, over bool) bool {
	switch {
	case len(o.run.Disturbed) == 0:
		return true
	case over:
		return o.tooFast && onlyCause(o.run.Disturbed, job.CauseFrequency)
	}
	return !o.tooFast
}

func onlyCause(all []job.Cause, c job.Cause) bool { return len(all) == 1 && all[0] == c }

// placed is one run where it is wished to be. Near the limit the place is looked
// at before and after: what lengthens CPU time by a neighbour's use of a cache
// leaves no other trace.
func (s *Stand) placed(ctx context.Context, t test, wish stats.Placement, near bool) (outcome, error) {
	if t.Place == nil || wish == (stats.Placement{}) {
		return s.once(ctx, t)
	}
	at, err := t.Place(ctx, wish)
	if err != nil {
		return outcome{}, fmt.Errorf("find a place for test %q: %w", t.Name, err)
	}
	defer at.Release()
	deviates := near && at.Deviates(ctx)
	o, err := at.Stand.once(ctx, t)
	if err != nil {
		return outcome{}, err
	}
	if deviates || near && at.Deviates(ctx) {
		o.run.Disturbed = append(o.run.Disturbed, job.CauseCanary)
	}
	return o, nil
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
func (s *Stand) once(ctx context.Context, t test) (outcome, error) {
	box, err := s.take()
	if err != nil {
		return outcome{}, err
	}
	defer s.discard(box)
	spec, err := s.spec(t)
	if err != nil {
		return outcome{}, err
	}
	if err := box.Load(spec); err != nil {
		return outcome{}, err
	}
	if t.Ready != nil {
		if err := t.Ready(); err != nil {
			return outcome{}, err
		}
	}
	before := s.reader.Snapshot()
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
	o.tooFast = slices.Contains(o.run.Disturbed, job.CauseFrequency) && evidence.TooFast(o.run.Evidence, *s.thresholds.Load())
	o.run.Overhead = box.Overhead()
	return o, nil
}

func (s *Stand) spec(t test) (spec sandbox.Spec, err error) {
	spec = sandbox.Spec{
		Args: t.Args, Files: t.Files,
		Limits: sandbox.Limits{CPUTime: KillAt(t.Limits.CPUTime(), t.rule.Band()), WallTime: t.Limits.WallTime(), Memory: t.Limits.Memory,
			Output: t.Limits.Output, Stack: t.Limits.Stack, Processes: t.Limits.Processes},
	}
	if t.Input != nil {
		spec.Input, err = t.Input(s.slot)
	}
	return spec, err
}

// describe is the run as the report tells it.
func (s *Stand) describe(r sandbox.Result, before, after evidence.Snapshot) job.Run {
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
	e := evidence.Between(before, after, f)
	return job.Run{
		CPUTime: r.CPUTime, UserTime: r.UserTime, SystemTime: r.SystemTime, WallTime: r.WallTime, MemoryPeak: r.MemoryPeak,
		CPUs: s.slot.CPUs.String(), NUMANode: s.slot.Node,
		Disturbed: evidence.Causes(e, f, *s.thresholds.Load()), Evidence: e, Reading: evidence.Cost(before, after),
	}
}

// Observation is a run of this stand as something to learn thresholds from.
func (s *Stand) Observation(r job.Run) evidence.Observation {
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
	output, err := box.Stdout().Reader()
	if err != nil {
		return err
	}
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
