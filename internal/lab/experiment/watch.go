package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"judged/internal/engine/measure"
	"judged/internal/sandbox/initproc"
	"judged/internal/timing/canary"
	"judged/internal/timing/stats"
)

// watch is what the daemon knows of a slot before it judges there.
type watch struct {
	canary *canary.Canary
	worker *measure.Worker
	clean  map[string][]time.Duration // of undisturbed reference kernels
	noisy  []error                    // of those that met noise each time they were run
}

// mostNoisy is how many kernels may meet noise before judged learns no more: a
// kernel that is kept from its CPU takes minutes.
const mostNoisy = 3

// watch reads reference kernels in the slot with idle neighbours, until there
// are enough of them for the guard band and to look at the slot around runs near
// the limit, but so many sets at most.
func (l *lab) watch(most int) (*watch, error) {
	c, err := canary.New(l.eng.Topology())
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

// noise are the kernels that the guard is learned from.
func (l *lab) noise() []string { return canary.Noise(l.eng.Virtual()) }

func (w *watch) read(ctx context.Context, kernel string) error {
	defer w.worker.Tidy()
	r, err := w.canary.Read(ctx, w.worker, kernel)
	return w.take(kernel, r, err)
}

// take keeps a reading that is undisturbed. Noise is no error of the experiment.
func (w *watch) take(kernel string, r canary.Reading, err error) error {
	switch {
	case errors.Is(err, canary.ErrNoise):
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

// usual reports whether it is known what a kernel takes here.
func (w *watch) usual(kernel string) bool { return len(w.clean[kernel]) >= stats.DefaultChart().Learn }

// place is the slot once more: it has no other core here, and no say in what
// runs next to it.
func (w *watch) place(context.Context, stats.Placement) (measure.Place, error) {
	return measure.Place{Worker: w.worker, Release: w.worker.Tidy, Deviation: w.deviation}, nil
}

// deviation is by how much the first short kernel beyond its guard band took longer.
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

// setGuard has the flips judged by what the kernels have shown.
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

// relative are times by what their kernel usually takes.
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
