package bench

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"judged/internal/engine/measure"
	"judged/internal/sandbox/initproc"
	"judged/internal/testkit"
	"judged/internal/timing/stats"
)

// settled returns a lab with an engine with slots of one CPU.
func settled(t *testing.T) *lab {
	t.Helper()
	l := &lab{ctx: t.Context(), ExperimentOptions: experimentOptions(t)}
	t.Cleanup(func() {
		if err := l.close(); err != nil {
			t.Error(err)
		}
	})
	if err := l.settle(1); err != nil {
		t.Fatal(err)
	}
	return l
}

// TestWatch checks that only method judged asks for a place, where the short kernels are compared with their usual
// times once these are known.
func TestWatch(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	l := settled(t)
	w, err := l.watch(1)
	if err != nil {
		t.Fatal(err)
	}
	defer w.canary.Close()

	b := batch{lab: l, watch: w, load: initproc.LoadCPU}
	placed := map[string]bool{}
	for _, x := range b.methods(exam{}) {
		placed[x.Method] = x.task.Place != nil
	}
	if diff := cmp.Diff(map[string]bool{byFree: false, byPinned: false, byJudged: true, byQuiet: true},
		placed); diff != "" {
		t.Errorf("which ask for a place (-want +got):\n%s", diff)
	}
	place, err := w.place(t.Context(), stats.Placement{Quiet: true})
	if err != nil {
		t.Fatal(err)
	}
	defer place.Release()
	if got, want := place.Worker, l.eng.Worker(l.eng.Slots()[0]); got != want {
		t.Errorf("placed on %v, want the slot's worker", got.Resources().CPUs)
	}
	looks := func(n int, usual time.Duration) int {
		for _, kernel := range initproc.ShortKernels() {
			w.clean[kernel] = slices.Repeat([]time.Duration{usual}, n)
		}
		switch d := place.Deviation(t.Context()); {
		case d > 0:
			return 1
		case d < 0:
			return -1
		}
		return 0
	}
	enough := stats.DefaultChart().Learn
	got := []int{looks(enough-1, 1), looks(enough, 1), looks(enough, time.Hour)}
	if diff := cmp.Diff([]int{0, 1, -1}, got); diff != "" {
		t.Errorf("too few known, slower, faster (-want +got):\n%s", diff)
	}
}

// TestQuiet checks that the load stops only if quiet is requested, and runs again for the next exam.
func TestQuiet(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	l := settled(t)
	b := batch{lab: l, watch: &watch{worker: l.eng.Worker(l.eng.Slots()[0])}, load: initproc.LoadCPU}
	var works []bool
	look := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		works = append(works, b.crowd != nil)
	}
	look(b.resume())
	_, err := b.watch.place(t.Context(), stats.Placement{Quiet: true})
	look(err)
	_, err = b.quiet(t.Context(), stats.Placement{OtherCore: true})
	look(err)
	_, err = b.quiet(t.Context(), stats.Placement{Quiet: true})
	look(err)
	look(b.resume())
	look(b.stopLoad())
	look(b.stopLoad())
	if diff := cmp.Diff([]bool{true, true, true, false, true, false, false}, works); diff != "" {
		t.Errorf("the load works (-want +got):\n%s", diff)
	}
}

// TestRelative checks that every kernel is compared with its own times.
func TestRelative(t *testing.T) {
	const ms = time.Millisecond
	w := watch{clean: map[string][]time.Duration{"long": {100 * ms, 100 * ms, 110 * ms},
		"short": {10 * ms, 9 * ms, 10 * ms}, "other": {ms}}}
	got := w.relative([]string{"long", "short"})
	slices.Sort(got)
	if diff := cmp.Diff([]float64{0.9, 1, 1, 1, 1, 1.1}, got, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNoiseEndsNoExperiment checks that a reference kernel disturbed by noise is skipped, and that any other failure
// ends the experiment.
func TestNoiseEndsNoExperiment(t *testing.T) {
	w := &watch{clean: map[string][]time.Duration{}}
	noise, damage := fmt.Errorf("read alu: %w", measure.ErrNoise), errors.New("damage")
	got := []error{
		w.record("alu", measure.Reading{CPUTime: 1}, nil), w.record("alu", measure.Reading{}, noise),
		w.record("alu", measure.Reading{}, damage),
	}
	if diff := cmp.Diff([]error{nil, nil, damage}, got, cmpopts.EquateErrors()); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	if len(w.noisy) != 1 || len(w.clean["alu"]) != 1 {
		t.Errorf("%d readings left out, %d kept; want one of each", len(w.noisy), len(w.clean["alu"]))
	}
}
