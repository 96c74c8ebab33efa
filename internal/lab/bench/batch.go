package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"judged/internal/api"
	"judged/internal/engine/judge"
	"judged/internal/engine/measure"
	"judged/internal/timing/stats"
)

// batch judges every exam once next to one load, between two measurements of the programs' own times.
type batch struct {
	*lab
	dose     dose
	round    int
	load     string
	subjects []*subject
	watch    *watch

	crowd *Crowd // running load; nil while it is stopped
}

// exam is a program, the time that it should take, and the method that judges it.
type exam struct {
	Flip
	subject   *subject
	placement Placement
	task      judge.Task
}

// run adds the batch's verdicts to the result, in random order.
func (b *batch) run(r *rand.Rand) error {
	for _, s := range b.subjects {
		if err := b.sharpen(s, b.dose.limit); err != nil {
			return err
		}
	}
	exams, err := b.exams()
	if err != nil {
		return err
	}
	r.Shuffle(len(exams), func(i, j int) { exams[i], exams[j] = exams[j], exams[i] })
	if err := errors.Join(b.judgeAll(exams), b.stopLoad()); err != nil {
		return err
	}
	for _, s := range b.subjects {
		if err := b.weigh(s, b.dose.limit); err != nil {
			return err
		}
	}
	for _, x := range exams {
		b.result.Flips = append(b.result.Flips, x.settled())
	}
	return nil
}

// exams returns the combinations of subjects, distances from the limit and methods.
func (b *batch) exams() ([]exam, error) {
	var exams []exam
	for _, s := range b.subjects {
		for _, theta := range b.dose.thetas {
			task, err := program(s.binary, strconv.Itoa(s.units(theta*float64(b.dose.limit))))
			if err != nil {
				return nil, err
			}
			task.Limits.CPUTimeMS = b.dose.limit.Milliseconds()
			f := Flip{Round: b.round, Program: s.kind, Theta: theta, OwnBefore: theta * s.own, Load: b.load}
			exams = append(exams, b.methods(exam{Flip: f, subject: s, task: task})...)
		}
	}
	return exams, nil
}

// methods returns an exam for each method that is possible on the host. Method judged is that of the daemon, which
// reads the slot's kernels around runs near the limit.
func (b *batch) methods(x exam) []exam {
	single, confirm := api.Repeats{Min: 1, Max: 1, Policy: api.Single}, api.Repeats{Policy: api.Confirm}
	var exams []exam
	for _, m := range []struct {
		method, placement string
		repeats           api.Repeats
		place             func(context.Context, stats.Placement) (measure.Place, error)
	}{
		{byFree, Free, single, nil}, {byPinned, Pinned, single, nil},
		{byJudged, Slot, confirm, b.watch.place}, {byQuiet, Slot, confirm, b.quiet},
	} {
		p, ok := b.site.Placement(m.placement)
		if !ok {
			continue
		}
		x.Method, x.placement, x.task.Repeats, x.task.Place = m.method, p, m.repeats, m.place
		exams = append(exams, x)
	}
	return exams
}

// judgeAll judges every exam next to the load and fills in its result.
func (b *batch) judgeAll(exams []exam) error {
	for i := range exams {
		x := &exams[i]
		b.Seen(len(b.result.Flips)+i, b.N*len(b.dose.loads)*len(exams),
			fmt.Sprintf("%s %.2f %s %s", x.Program, x.Theta, b.load, x.Method))
		if err := b.resume(); err != nil {
			return err
		}
		t, err := b.site.Judge(b.ctx, x.placement, x.task)
		if err != nil {
			return err
		}
		if err := x.judged(t); err != nil {
			return err
		}
	}
	return nil
}

// quiet returns the slot with idle neighbours.
func (b *batch) quiet(ctx context.Context, wish stats.Placement) (measure.Place, error) {
	if wish.Quiet {
		if err := b.stopLoad(); err != nil {
			return measure.Place{}, err
		}
	}
	return b.watch.place(ctx, wish)
}

// resume starts the load again after rest.
func (b *batch) resume() (err error) {
	if b.crowd == nil {
		b.crowd, err = b.site.Crowd(b.ctx, b.load)
	}
	return err
}

func (b *batch) stopLoad() error {
	if b.crowd == nil {
		return nil
	}
	err := b.crowd.Stop()
	b.crowd = nil
	return err
}

// judged fills in the result of an exam.
func (f *Flip) judged(t api.TestReport) error {
	f.Verdict, f.Runs = t.Verdict, len(t.Runs)
	if t.Verdict == api.InternalError { // noise prevented a decision
		return nil
	}
	if t.Verdict != api.Accepted && t.Verdict != api.TimeLimit || t.CPUTime == nil {
		return fmt.Errorf("judge %s at %.2f of the limit: verdict %s; only AC and TLE can be", f.Program, f.Theta,
			t.Verdict)
	}
	f.CPUTime = *t.CPUTime
	return nil
}

// calibratedTo is how far from its distance a program may be. The tested distances are 2 % to 10 % from the limit.
const calibratedTo = 0.05

func offBy(own, theta float64) float64 { return math.Abs(own/theta - 1) }

// settled returns the flip after comparing the verdict with the program's own times before and after.
func (x exam) settled() Flip {
	f := x.Flip
	f.OwnAfter = f.Theta * x.subject.own
	least, most := min(f.OwnBefore, f.OwnAfter), max(f.OwnBefore, f.OwnAfter)
	f.Either = f.Verdict == api.InternalError || f.Theta == 1 || least <= 1 && most > 1
	f.Wrong = !f.Either && (f.Verdict == api.TimeLimit) != (least > 1)
	f.Uncalibrated = min(offBy(f.OwnBefore, f.Theta), offBy(f.OwnAfter, f.Theta)) > calibratedTo
	return f
}
