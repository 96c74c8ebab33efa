package judge_test

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/engine"
	"judged/internal/engine/judge"
	"judged/internal/engine/measure"
	"judged/internal/engine/problem"
	"judged/internal/sandbox"
	"judged/internal/testkit"
	"judged/internal/timing/evidence"
	"judged/internal/timing/stats"
)

// places has two workers that record their calls.
type places struct {
	home, other *measure.Worker
	deviation   func(call int) float64

	asked           []stats.Placement
	calls, released int
}

func (p *places) place(_ context.Context, at stats.Placement) (measure.Place, error) {
	p.asked = append(p.asked, at)
	worker := p.home
	if at.OtherCore {
		worker = p.other
	}
	return measure.Place{Worker: worker, Release: func() { p.released++ },
		Deviation: func(context.Context) float64 { p.calls++; return p.deviation(p.calls - 1) }}, nil
}

// otherWorker returns a worker on CPU 0, which is not part of a slot on any machine.
func otherWorker(t *testing.T, eng *engine.Engine) *measure.Worker {
	t.Helper()
	slot, err := eng.UnplannedSlot(cpuset.New(0), cpuset.New(eng.Slots()[0].Node))
	if err != nil {
		t.Fatal(err)
	}
	worker, err := eng.WorkerOn(slot)
	if err != nil {
		t.Fatal(err)
	}
	return worker
}

// unmoved returns thresholds with which no run is disturbed, regardless of other work on the machine: all thresholds,
// also those added later, are out of reach.
func unmoved() evidence.Thresholds {
	var th evidence.Thresholds
	raise(reflect.ValueOf(&th).Elem())
	return th
}

// outOfReach is 275 s in nanoseconds. As ticks of 10 ms it still fits into a time.Duration.
const outOfReach = 1 << 38

func raise(v reflect.Value) {
	switch {
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			raise(v.Field(i))
		}
	case v.CanInt():
		v.SetInt(outOfReach)
	default:
		v.SetFloat(outOfReach)
	}
}

// spinning returns a program that reads its input to the end and uses 2 ms of CPU time, or more on a busy machine. It
// counts from its own start: its process has used CPU time before, for the set-up, which is not billed.
func spinning(t *testing.T) string {
	t.Helper()
	source := filepath.Join(t.TempDir(), "spin.c")
	text := `#include <stdio.h>
#include <time.h>
int main(void)
{
	clock_t start = clock();

	while (getchar() != EOF)
		;
	while (clock() - start < 2 * (CLOCKS_PER_SEC / 1000))
		;
	return 0;
}
`
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return testkit.CompileC(t, source, true)
}

func TestPlaces(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	eng := openEngine(t, 1)
	p := places{home: eng.Worker(eng.Slots()[0]), other: otherWorker(t, eng)}
	p.home.SetThresholds(unmoved())
	p.other.SetThresholds(unmoved())
	here, there := eng.Slots()[0].CPUs.String(), "0"
	quiet, both := stats.Placement{Quiet: true}, stats.Placement{Quiet: true, OtherCore: true}
	program := spinning(t)
	// The guard band decides what is near the limit, not the duration of a run on this machine.
	wide, none := stats.Guard{Floor: time.Hour}, stats.Guard{}

	// run is a short form of a run.
	type run struct {
		CPUs   string
		Kept   bool
		Canary bool
	}
	for name, tt := range map[string]struct {
		guard     stats.Guard
		limitMS   int64
		deviation func(int) float64
		asked     []stats.Placement
		runs      []run
		calls     int
	}{
		"clearly over": {none, 1, nil, []stats.Placement{quiet, both, both},
			[]run{{here, true, false}, {here, true, false}, {there, true, false}, {there, true, false}}, 0},
		"within": {none, 10_000, nil, nil, []run{{here, true, false}, {here, true, false}, {here, true, false},
			{here, true, false}}, 0},
		"near, and nothing to see": {wide, 1, func(int) float64 { return 0 }, []stats.Placement{quiet, both, both},
			[]run{{here, true, false}, {here, true, false}, {there, true, false}, {there, true, false}}, 6},
		// One percent does not explain a run of twice the limit.
		"near, seen before": {wide, 1, func(int) float64 { return 0.01 }, []stats.Placement{quiet, both, both},
			[]run{{here, true, false}, {here, true, true}, {there, true, true}, {there, true, true}}, 3},
		"near, seen after the first": {wide, 1, func(call int) float64 { return 0.01 * float64(call%2) },
			[]stats.Placement{quiet, both, both},
			[]run{{here, true, false}, {here, true, true}, {there, true, true}, {there, true, true}}, 6},
	} {
		t.Run(name, func(t *testing.T) {
			p.deviation, p.asked, p.calls, p.released = tt.deviation, nil, 0, 0
			p.home.SetGuard(tt.guard)
			p.other.SetGuard(tt.guard)
			input := filepath.Join(t.TempDir(), "in")
			if err := os.WriteFile(input, []byte("1\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			task := judge.Task{Args: []string{"./program"}, Tests: []problem.Test{{Name: "1", Input: input}},
				Place: p.place, Files: []sandbox.File{{Name: "program", Path: program, Exec: true}},
				Repeats: api.Repeats{Policy: api.Confirm, Min: 4, Max: 5},
				Limits: api.Limits{CPUTimeMS: tt.limitMS, WallTimeMS: 30_000, Memory: 64 << 20, Output: 1 << 20,
					Stack: 8 << 20, Processes: 1}}
			r, err := judge.Run(t.Context(), p.home, task, func(api.TestReport) {})
			if err != nil {
				t.Fatal(err)
			}
			var got []run
			for _, x := range r.Tests[0].Runs {
				got = append(got, run{x.CPUs, x.Kept, slices.Contains(x.Disturbed, api.CauseCanary)})
			}
			if diff := cmp.Diff(tt.runs, got); diff != "" {
				t.Errorf("runs (-want +got):\n%s\n%s", diff, tell(r))
			}
			if diff := cmp.Diff(tt.asked, p.asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
			if p.calls != tt.calls || p.released != len(tt.asked) {
				t.Errorf("the place was looked at %d times and released %d times, want %d and %d", p.calls, p.released,
					tt.calls, len(tt.asked))
			}
		})
	}
	if err := eng.Close(); err != nil {
		t.Error(err)
	}
}
