package bench

import (
	"context"
	"math/rand/v2"
	"time"

	"judged/internal/api"
	"judged/internal/sandbox/initproc"
)

// Flip is one verdict on a program whose own time is known: the time that it takes alone in the slot.
type Flip struct {
	Round     int           `json:"round"`
	Program   string        `json:"program"`     // cpu-bound, memory-bound
	Theta     float64       `json:"limit_ratio"` // intended ratio of the program's time to the limit
	OwnBefore float64       `json:"own_before"`  // actual ratios, shortly before and after
	OwnAfter  float64       `json:"own_after"`
	Load      string        `json:"load"`   // of the neighbours
	Method    string        `json:"method"` // free, pinned, judged, judged-quiet
	Verdict   api.Verdict   `json:"verdict"`
	CPUTime   time.Duration `json:"cpu_time_ns"` // deciding time
	Runs      int           `json:"runs"`        // runs for the verdict
	// both verdicts are right: at a ratio of 1, and if the own time crossed the limit
	Either bool `json:"either"`
	Wrong  bool `json:"wrong"`
	// Uncalibrated means that the program had its intended time neither before nor after. Far from the limit any
	// verdict is right, so this one does not count.
	Uncalibrated bool `json:"uncalibrated,omitempty"`
}

// counts reports whether the verdict says something about the method.
func (f Flip) counts() bool { return !f.Either && !f.Uncalibrated }

// The methods that are compared.
const (
	byFree   = "free"   // one run where the scheduler places it
	byPinned = "pinned" // one run on an ordinary CPU
	byJudged = "judged" // in a slot, by the rule confirm, next to a load that cannot be stopped
	// the same next to a load that is work of other slots: it stops while a run over the limit is confirmed
	byQuiet = "judged-quiet"
)

// dose is the amount of measurement.
type dose struct {
	limit  time.Duration
	thetas []float64
	loads  []string // of the neighbours, "" for idle ones
	kinds  []string
	sets   int // maximum number of sets of reference kernels from which the guard band is learned
}

func fullDose(scale float64) dose {
	limit := time.Duration(scale * float64(500*time.Millisecond)).Round(time.Millisecond)
	return dose{
		limit:  max(limit, 20*time.Millisecond), // the guard band is at least 5 ms wide
		thetas: []float64{0.90, 0.95, 0.98, 1.00, 1.02, 1.05, 1.10},
		loads:  append([]string{""}, initproc.Loads()...),
		kinds:  []string{"cpu-bound", "memory-bound"},
		sets:   80, // enough even if three of four readings are disturbed
	}
}

// Flips counts wrong time verdicts near the limit.
func Flips(ctx context.Context, o ExperimentOptions) (ExperimentResult, error) {
	return flips(ctx, o, fullDose(o.Scale))
}

func flips(ctx context.Context, o ExperimentOptions, d dose) (ExperimentResult, error) {
	if o.N == 0 {
		o.N = 20
	}
	l := &lab{ctx: ctx, ExperimentOptions: o, result: ExperimentResult{Name: "flips", Scale: o.Scale,
		Result: Result{Title: "Wrong time verdicts near the limit", N: o.N, Seed: o.Seed}}}
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
	if len(l.eng.Neighbours()) == 0 {
		l.leave("load", "there is no CPU besides the slot's to be loaded")
		d.loads = []string{""}
	}
	subjects, err := l.subjects(d)
	if err != nil {
		return err
	}
	w, err := l.watch(d.sets)
	if err != nil {
		return err
	}
	defer w.canary.Close()
	for round := range l.N {
		r := rand.New(rand.NewPCG(l.Seed, uint64(round)+1))
		for _, i := range r.Perm(len(d.loads)) {
			b := batch{lab: l, dose: d, round: round + 1, load: d.loads[i], subjects: subjects, watch: w}
			if err := b.run(r); err != nil && l.ctx.Err() != nil && len(l.result.Flips) > 0 {
				l.result.Partial = true
				return l.tellAll(d)
			} else if err != nil {
				return err
			}
		}
	}
	return l.tellAll(d)
}

// tellAll adds the tables and the chart of the complete batches.
func (l *lab) tellAll(d dose) error {
	l.tellFlips(d)
	return l.tellHost()
}
