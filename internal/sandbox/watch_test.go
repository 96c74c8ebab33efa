package sandbox

import (
	"context"
	"slices"
	"testing"
	"time"

	"judged/internal/base/cpuset"
	"judged/internal/testkit"
)

// TestNextWake expects the earliest moment at which a limit can be reached.
func TestNextWake(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name             string
		cpus             int
		wall             time.Duration
		left, at, markAt time.Duration // at and markAt are relative to the start
		want             time.Duration // relative to the start
	}{
		{"CPU time, from the start", 1, 1000 * ms, 100 * ms, 0, 0, 100 * ms},
		{"of two CPUs at once", 2, 1000 * ms, 100 * ms, 0, 0, 50 * ms},
		{"what is left, from when it was so much", 2, 1000 * ms, 60 * ms, 30 * ms, 0, 60 * ms},
		{"late in the wall time", 1, 120 * ms, 100 * ms, 0, 0, 90 * ms},
		{"after that the wall time", 1, 120 * ms, 195 * ms, 91 * ms, 91 * ms, 120 * ms},
		{"over", 1, 1000 * ms, -3 * ms, 107 * ms, 0, 104 * ms},
	} {
		w := watch{s: &Sandbox{slot: Resources{CPUs: firstCPUs(tt.cpus)}, limits: Limits{WallTime: tt.wall}},
			markAt: tt.markAt}
		if got := w.nextWake(tt.left, tt.at); got != tt.want {
			t.Errorf("%s: %v after the start, want %v", tt.name, got, tt.want)
		}
	}
}

func firstCPUs(n int) cpuset.Set {
	var cpus cpuset.Set
	for cpu := range n {
		cpus = cpus.Union(cpuset.New(cpu))
	}
	return cpus
}

// TestLeft checks that readings that may be one tick per CPU old are not treated as exact.
func TestLeft(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name       string
		cpus       int
		nohzFull   bool
		used, want time.Duration // of 100 ms
	}{
		{"far from the limit", 1, false, 30 * ms, 60 * ms},
		{"of two CPUs", 2, false, 30 * ms, 50 * ms},
		{"where readings are exact", 1, false, 90 * ms, 10 * ms},
		{"where they are not yet", 2, false, 79 * ms, 1 * ms},
		{"exact at every look, without ticks", 2, true, 30 * ms, 70 * ms},
		{"beyond", 1, false, 103 * ms, -3 * ms},
	} {
		w := watch{s: &Sandbox{slot: Resources{CPUs: firstCPUs(tt.cpus), NohzFull: tt.nohzFull},
			limits: Limits{CPUTime: 100 * ms}}}
		if got := w.left(tt.used); got != tt.want {
			t.Errorf("%s: %v left, want %v", tt.name, got, tt.want)
		}
	}
}

// TestFirstLook: a run whose times noise may explain is examined once before it can reach a limit.
func TestFirstLook(t *testing.T) {
	const ms = time.Millisecond
	s := &Sandbox{slot: Resources{CPUs: firstCPUs(1)}, limits: Limits{WallTime: 1000 * ms},
		explained: func(Progress) Allowance { return Allowance{} }}
	w := watch{s: s}
	got := []time.Duration{w.nextWake(500*ms, 0)}
	w.asked = true
	got = append(got, w.nextWake(500*ms, 0))
	s.explained, w.asked = nil, false
	got = append(got, w.nextWake(500*ms, 0))
	if want := []time.Duration{100 * ms, 500 * ms, 500 * ms}; !slices.Equal(got, want) {
		t.Errorf("looks at %v, want %v: with noise, once it was asked, and where noise explains nothing", got, want)
	}
}

// TestDecide: the limit that a run reached first stops it, also if judged looks long after that.
func TestDecide(t *testing.T) {
	const ms = time.Millisecond
	type decision struct {
		Stop Stop
		Late bool
	}
	for _, tt := range []struct {
		name          string
		cpus          int
		limits        Limits
		used, elapsed time.Duration
		want          decision
	}{
		{"within both", 1, Limits{CPUTime: 100 * ms, WallTime: 300 * ms}, 99 * ms, 299 * ms, decision{}},
		{"CPU time", 1, Limits{CPUTime: 100 * ms, WallTime: 300 * ms}, 100 * ms, 101 * ms, decision{StopCPU, false}},
		{"wall time", 1, Limits{CPUTime: 100 * ms, WallTime: 300 * ms}, 99 * ms, 300 * ms, decision{StopWall, false}},
		{"both, and either can be first", 1, Limits{CPUTime: 100 * ms, WallTime: 300 * ms}, 301 * ms, 301 * ms,
			decision{StopCPU, false}},
		{"both at once", 1, Limits{CPUTime: 100 * ms, WallTime: 100 * ms}, 101 * ms, 101 * ms, decision{StopCPU, false}},
		{"both, but wall time was first", 1, Limits{CPUTime: 5000 * ms, WallTime: 500 * ms}, 6000 * ms, 6001 * ms,
			decision{StopWall, true}},
		{"both on two CPUs, but wall time was first", 2, Limits{CPUTime: 5000 * ms, WallTime: 2400 * ms}, 6000 * ms,
			3100 * ms, decision{StopWall, true}},
		{"both on two CPUs, and either can be first", 2, Limits{CPUTime: 5000 * ms, WallTime: 2500 * ms}, 6000 * ms,
			3100 * ms, decision{StopCPU, false}},
	} {
		w := watch{s: &Sandbox{slot: Resources{CPUs: firstCPUs(tt.cpus)}, limits: tt.limits}}
		w.decide(tt.used, tt.used, tt.elapsed)
		if got := (decision{w.stop, w.late}); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// TestTimeIsCurrent reads the CPU time of a program that spins. On a nohz_full CPU, which the kernel accounts once a
// second, a reading still contains all the time since the one before it. Elsewhere, others use the CPU too.
func TestTimeIsCurrent(t *testing.T) {
	l := newLab(t, nil)
	s, err := l.Prepare(l.slot)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	spec := Spec{Args: []string{"./act", "spin"}, Files: []File{{Name: "act", Path: act(t), Exec: true}},
		Limits: limits()}
	// The first look is after a tenth of it. In the emulator, a reading can take seconds.
	spec.Limits.WallTime = 30 * time.Second
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	readings, lacking := 0, 0
	spec.Explained = func(Progress) Allowance {
		defer cancel()
		w := watch{s: s}
		for ; readings < 5; readings++ {
			begin := time.Now()
			before := usedTime(t, &w)
			start := time.Now()
			testkit.WaitFor(t, time.Minute, "200 ms to pass", func() bool {
				return time.Since(start) > 200*time.Millisecond
			})
			passed := time.Since(start)
			grown := usedTime(t, &w) - before
			if most := time.Since(begin) + maxTick; grown > most {
				t.Errorf("%v of CPU time in %v", grown, most)
			}
			if l.slot.NohzFull && float64(grown) < 0.9*float64(passed) {
				t.Logf("only %v of CPU time in %v", grown, passed)
				lacking++
			}
		}
		return Allowance{}
	}
	if err := s.Load(spec); err != nil {
		t.Fatal(err)
	}
	// A kernel thread can use the CPU during one of the readings, and the emulator charges it for other CPUs' turns.
	if r, err := s.Run(ctx); err != nil || lacking > 2 || r.Stop != StopCancelled || readings != 5 {
		t.Errorf("%d readings, %d of them lacking, stop %v, %v", readings, lacking, r.Stop, err)
	}
}

func usedTime(t *testing.T, w *watch) time.Duration {
	t.Helper()
	own, _, err := w.used()
	if err != nil {
		t.Fatal(err)
	}
	return own
}
