package experiment

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"judged/internal/job"
	"judged/internal/judge"
	"judged/internal/measure"
	"judged/internal/stage"
	"judged/internal/stats"
	"judged/internal/trial"
)

// Flip is one verdict on a program whose own time is known.
type Flip struct {
	Round   int           `json:"round"`
	Program string        `json:"program"`     // cpu-bound, memory-bound
	Theta   float64       `json:"limit_ratio"` // its own time against the limit
	Load    string        `json:"load"`        // of the neighbours
	Method  string        `json:"method"`      // free, pinned, judged
	Verdict job.Verdict   `json:"verdict"`
	CPUTime time.Duration `json:"cpu_time_ns"` // that decided
	Runs    int           `json:"runs"`        // that the verdict took
	Wrong   bool          `json:"wrong"`       // never at a ratio of 1, where both verdicts are right
}

// The methods that are compared.
const (
	byFree   = "free"   // one run wherever the scheduler puts it
	byPinned = "pinned" // one run on an ordinary CPU
	byJudged = "judged" // in a slot, by the rule confirm
)

// dose is how much of it is measured.
type dose struct {
	limit  time.Duration
	thetas []float64
	loads  []string // of the neighbours, "" is none
	kinds  []string
	sets   int // of reference kernels to learn the guard band from, at most
}

func fullDose(scale float64) dose {
	limit := time.Duration(scale * float64(500*time.Millisecond)).Round(time.Millisecond)
	return dose{
		limit:  max(limit, 20*time.Millisecond), // the guard band is at least 5 ms wide
		thetas: []float64{0.90, 0.95, 0.98, 1.00, 1.02, 1.05, 1.10},
		loads:  append([]string{""}, stage.Loads()...),
		kinds:  []string{"cpu-bound", "memory-bound"},
		sets:   80, // where three of four readings are disturbed they are still enough
	}
}

// Flips counts wrong time verdicts near the limit.
func Flips(ctx context.Context, o Options) (Result, error) {
	return flips(ctx, o, fullDose(o.Scale))
}

func flips(ctx context.Context, o Options, d dose) (Result, error) {
	if o.N == 0 {
		o.N = 20
	}
	l := &lab{ctx: ctx, Options: o, result: Result{Name: "flips", Scale: o.Scale,
		Result: trial.Result{Title: "Wrong time verdicts near the limit", N: o.N, Seed: o.Seed}}}
	err := l.flips(d)
	if closed := l.close(); err == nil {
		err = closed
	}
	return l.result, err
}

func (l *lab) flips(d dose) error {
	if reason := missing("gcc"); reason != "" {
		l.leave("flips", reason)
		return nil
	}
	if err := l.settle(1); err != nil {
		return err
	}
	if len(l.court.Neighbours()) == 0 {
		l.leave("load", "there is no CPU beside the slot's to be loaded")
		d.loads = []string{""}
	}
	subjects, err := l.subjects(d)
	if err != nil {
		return err
	}
	before, err := l.ownTimes(subjects, d.limit)
	if err != nil {
		return err
	}
	w, err := l.watch(d.sets)
	if err != nil {
		return err
	}
	defer w.canary.Close()
	exams, err := l.exams(d, subjects, w)
	if err != nil {
		return err
	}
	for round := range l.N {
		if err := l.flipRound(round, d, exams); err != nil {
			return err
		}
	}
	after, err := l.ownTimes(subjects, d.limit)
	if err != nil {
		return err
	}
	l.tellFlips(d)
	l.tellDrift(subjects, before, after)
	return l.tellHost()
}

// exam is a program, how long it should take, and how it is judged.
type exam struct {
	Flip
	placement trial.Placement
	task      judge.Task
}

// exams combines the subjects with distances from the limit and methods.
func (l *lab) exams(d dose, subjects []subject, w *watch) ([]exam, error) {
	var exams []exam
	for _, s := range subjects {
		for _, theta := range d.thetas {
			task, err := program(s.binary, strconv.Itoa(s.units(theta*float64(d.limit))))
			if err != nil {
				return nil, err
			}
			task.Limits.CPUTimeMS = d.limit.Milliseconds()
			exams = append(exams, l.methods(Flip{Program: s.kind, Theta: theta}, task, w)...)
		}
	}
	return exams, nil
}

// methods are the three ways to judge a program, as far as the host has them.
// judged's is the daemon's, which looks at the slot beside runs near the limit.
func (l *lab) methods(f Flip, task judge.Task, w *watch) []exam {
	single, confirm := job.Repeats{Min: 1, Max: 1, Policy: job.Single}, job.Repeats{Policy: job.Confirm}
	var exams []exam
	for _, m := range []struct {
		method, placement string
		repeats           job.Repeats
		place             func(context.Context, stats.Placement) (measure.Place, error)
	}{{byFree, trial.Free, single, nil}, {byPinned, trial.Pinned, single, nil}, {byJudged, trial.Slot, confirm, w.place}} {
		p, ok := l.site.Placement(m.placement)
		if !ok {
			continue
		}
		f.Method, task.Repeats, task.Place = m.method, m.repeats, m.place
		exams = append(exams, exam{f, p, task})
	}
	return exams
}

// flipRound judges every exam once beside every load, in random order.
func (l *lab) flipRound(round int, d dose, exams []exam) error {
	r := rand.New(rand.NewPCG(l.Seed, uint64(round)+1))
	for _, i := range r.Perm(len(d.loads)) {
		load := d.loads[i]
		err := l.site.Beside(l.ctx, load, func(ctx context.Context) error {
			for _, j := range r.Perm(len(exams)) {
				x := exams[j]
				l.Seen(len(l.result.Flips), l.N*len(d.loads)*len(exams), fmt.Sprintf("%s %.2f %s %s", x.Program, x.Theta, load, x.Method))
				t, err := l.site.Judge(ctx, x.placement, x.task)
				if err != nil {
					return err
				}
				f := x.Flip
				f.Round, f.Load = round+1, load
				if err := f.judged(t); err != nil {
					return err
				}
				l.result.Flips = append(l.result.Flips, f)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// judged fills in what became of an exam.
func (f *Flip) judged(t job.TestReport) error {
	f.Verdict, f.Runs = t.Verdict, len(t.Runs)
	if t.Verdict != job.Accepted && t.Verdict != job.TimeLimit || t.CPUTime == nil {
		return fmt.Errorf("judge %s at %.2f of the limit: verdict %s; only AC and TLE can be", f.Program, f.Theta, t.Verdict)
	}
	f.CPUTime = *t.CPUTime
	f.Wrong = f.Theta < 1 && t.Verdict == job.TimeLimit || f.Theta > 1 && t.Verdict == job.Accepted
	return nil
}
