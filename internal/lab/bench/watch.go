package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"judged/internal/engine/measure"
	"judged/internal/sandbox/initproc"
	"judged/internal/timing/stats"
)

// watch is the daemon's knowledge of a slot before it judges there.
type watch struct {
	canary *measure.Canary
	worker *measure.Worker
	clean  map[string][]time.Duration // times of undisturbed reference kernels
	noisy  []error                    // errors of kernels that noise disturbed in each run
}

// mostNoisy is the number of noisy readings after which judged stops learning: a kernel that cannot get its CPU takes
// minutes.
const mostNoisy = 3

// watch reads reference kernels in the slot with idle neighbours, until there are enough for the guard band and for
// reading the slot around runs near the limit, but at most the given number of sets.
func (l *lab) watch(most int) (*watch, error) {
	c, err := measure.NewCanary(l.eng.Topology())
	if err != nil {
		return nil, err
	}
	w := &watch{canary: c, worker: l.eng.Worker(l.eng.Slots()[0]), clean: map[string][]time.Duration{}}
	for set := 0; set < most && !w.knows(l.noise()); set++ {
		for _, kernel := range append(l.noise(), initproc.ShortKernels()...) {
			if len(w.noisy) == mostNoisy {
				break
			}
			l.Seen(0, 0, "learning what the slot is like")
			if err := w.read(l.ctx, kernel); err != nil {
				return nil, errors.Join(err, c.Close())
			}
		}
	}
	if n := len(w.noisy); n > 0 {
		l.note("%d readings of reference kernels are left out, the last because of this: %s.", n, w.noisy[n-1])
	}
	l.setGuard(w)
	return w, nil
}

// noise returns the kernels from which the guard is learned.
func (l *lab) noise() []string { return measure.NoiseKernels(l.eng.Virtual()) }

func (w *watch) read(ctx context.Context, kernel string) error {
	defer w.worker.Tidy()
	r, err := w.canary.Read(ctx, w.worker, kernel)
	return w.record(kernel, r, err)
}

// record stores an undisturbed reading. A noisy reading is not an error.
func (w *watch) record(kernel string, r measure.Reading, err error) error {
	switch {
	case errors.Is(err, measure.ErrNoise):
		w.noisy = append(w.noisy, err)
		return nil
	case err == nil && len(r.Run.Disturbed) == 0:
		w.clean[kernel] = append(w.clean[kernel], r.CPUTime)
	}
	return err
}

func (w *watch) knows(noise []string) bool {
	short := !slices.ContainsFunc(initproc.ShortKernels(), func(k string) bool { return !w.usual(k) })
	return short && len(w.relative(noise)) >= stats.GuardFrom
}

// usual reports whether the usual time of a kernel is known here.
func (w *watch) usual(kernel string) bool { return len(w.clean[kernel]) >= stats.DefaultChart().Learn }

// place returns the same slot: it has no other core here, and cannot influence what runs next to it.
func (w *watch) place(context.Context, stats.Placement) (measure.Place, error) {
	return measure.Place{Worker: w.worker, Release: w.worker.Tidy, Deviation: w.deviation}, nil
}

// deviation returns the ratio by which the first short kernel beyond its guard band took longer.
func (w *watch) deviation(ctx context.Context) float64 {
	for _, kernel := range initproc.ShortKernels() {
		if !w.usual(kernel) {
			continue
		}
		r, err := w.canary.Read(ctx, w.worker, kernel)
		if b := stats.LearnBaseline(w.clean[kernel]); err == nil && b.Beyond(r.CPUTime) != stats.NoShift {
			return b.Deviation(r.CPUTime)
		}
	}
	return 0
}

// setGuard uses the readings of the kernels to judge the flips.
func (l *lab) setGuard(w *watch) {
	relative := w.relative(l.noise())
	g := stats.DefaultGuard().Learn(relative)
	l.eng.SetGuard(g)
	l.result.Guard = &g
	how := fmt.Sprintf("which is believed of any host: %d undisturbed reference kernels showed no more noise",
		len(relative))
	switch {
	case len(relative) < stats.GuardFrom:
		how = fmt.Sprintf("which is believed of any host: %d undisturbed reference kernels are too few to learn from",
			len(relative))
	case g.Learned:
		how = fmt.Sprintf("learned from %d undisturbed reference kernels in the slot with idle neighbours",
			len(relative))
	}
	l.note("The guard band is %.1f %% of the limit, %s.", 100*g.Ratio, how)
	if slices.ContainsFunc(initproc.ShortKernels(), func(k string) bool { return !w.usual(k) }) {
		l.note("The slot was not looked at around runs near the limit: too few undisturbed readings say what it is " +
			"usually like.")
	}
}

// relative returns times divided by the usual time of their kernel.
func (w *watch) relative(kernels []string) []float64 {
	var all []float64
	for _, kernel := range kernels {
		b := stats.LearnBaseline(w.clean[kernel])
		for _, t := range w.clean[kernel] {
			all = append(all, 1+b.Deviation(t))
		}
	}
	return all
}
