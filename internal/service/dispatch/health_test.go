package dispatch

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/engine/measure"
	"judged/internal/sandbox/initproc"
	"judged/internal/timing/stats"
)

func newSlot(virtual bool) *slotHealth {
	return &slotHealth{kernels: []string{initproc.KernelALU, initproc.KernelL3, initproc.KernelSyscall},
		health: map[string]kernelHealth{}, virtual: virtual}
}

// newHealth adds n readings of every kernel; those of one kernel take factor times as long.
func newHealth(s *slotHealth, n int, kernel string, factor float64, disturbed ...api.Cause) {
	for range n {
		for _, k := range s.kernels {
			t := 50 * time.Millisecond
			if k == kernel {
				t = time.Duration(factor * float64(t))
			}
			s.add(measure.Reading{Kernel: k, CPUTime: t, Run: api.Run{Disturbed: disturbed}})
		}
	}
}

// TestAdd checks what a reading changes. A disturbed reading changes only the deviation that operators see.
func TestAdd(t *testing.T) {
	s := newSlot(false)
	newHealth(s, stats.DefaultChart().Learn, "", 0)
	learned := s.health[initproc.KernelALU]
	deviating := learned
	deviating.Deviation = 0.5
	for name, tt := range map[string]struct {
		disturbed []api.Cause
		want      kernelHealth
	}{
		"disturbed": {[]api.Cause{api.CauseWait}, deviating},
		"busy neighbours": {[]api.Cause{api.CauseNeighbours},
			kernelHealth{stats.DefaultChart().Next(learned.Health, 75*time.Millisecond), 0.5}},
	} {
		s.health[initproc.KernelALU] = learned
		s.runs = history{}
		before, after := s.add(measure.Reading{Kernel: initproc.KernelALU, CPUTime: 75 * time.Millisecond,
			Run: api.Run{Disturbed: tt.disturbed}})
		if diff := cmp.Diff([]kernelHealth{learned, tt.want, tt.want},
			[]kernelHealth{before, after, s.health[initproc.KernelALU]}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff([]bool{name == "disturbed"}, s.runs.disturbed); diff != "" {
			t.Errorf("%s: disturbed (-want +got):\n%s", name, diff)
		}
	}
}

func TestTrouble(t *testing.T) {
	for name, tt := range map[string]struct {
		virtual   bool
		kernel    string
		factor    float64
		disturbed []api.Cause
		want      string
	}{
		"steady": {false, initproc.KernelALU, 1, nil, ""},
		"slower": {false, initproc.KernelALU, 1.1, nil, "canary alu is 10.0 % slower than its baseline"},
		"slower, virtual": {true, initproc.KernelSyscall, 1.25, nil,
			"canary syscall is 25.0 % slower than its baseline"},
		"slower within the guard": {false, initproc.KernelALU, 1.004, nil, ""},
		"slower while disturbed": {false, initproc.KernelALU, 1.1, []api.Cause{api.CauseWait},
			"50 of its last 50 runs were disturbed"},
		"turbo": {false, initproc.KernelALU, 0.8, nil,
			"canary alu is 20.0 % faster than its baseline: turbo is on"},
		"faster, but not the core": {false, initproc.KernelSyscall, 0.8, nil, ""},
		"a neighbour in the cache": {false, initproc.KernelL3, 1.5, nil,
			"canary l3 is 50.0 % slower than its baseline"},
		"a neighbour, virtual": {true, initproc.KernelL3, 1.5, nil, ""},
		"a neighbour left":     {true, initproc.KernelL3, 0.5, nil, ""},
		"the core itself, neighbour": {true, initproc.KernelALU, 1.1, nil,
			"canary alu is 10.0 % slower than its baseline"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSlot(tt.virtual)
			newHealth(s, stats.DefaultChart().Learn, "", 0)
			newHealth(s, 20, tt.kernel, tt.factor, tt.disturbed...)
			if got := s.trouble(); got != tt.want {
				t.Errorf("trouble %q, want %q", got, tt.want)
			}
			s.quarantine = tt.want
			newHealth(s, stats.DefaultChart().Recover-1, "", 0)
			if got := s.trouble(); tt.want != "" && tt.disturbed == nil && got == "" {
				t.Error("one reading too early it is well again")
			}
			newHealth(s, 1, "", 0)
			if got := s.trouble(); got != "" {
				t.Errorf("trouble %q after good readings", got)
			}
		})
	}
}

// TestHistory checks that 11 disturbed runs of 50 are too many, and that a slot returns to use after 20 consecutive
// undisturbed ones.
func TestHistory(t *testing.T) {
	for name, tt := range map[string]struct {
		runs string // x means disturbed
		held bool
		want string
	}{
		"none": {"", false, ""},
		"ten":  {"xxxxxxxxxx........................................", false, ""},
		"eleven": {"x....x....x....x....x....x....x....x....x....x...x", false,
			"11 of its last 50 runs were disturbed"},
		"the first one is past":    {"x.....x....x....x....x....x....x....x....x....x...x", false, ""},
		"eleven at once":           {"xxxxxxxxxxx", false, "11 of its last 11 runs were disturbed"},
		"held, 19 are too few":     {"xxxxxxxxxxx...................", true, "11 of its last 30 runs were disturbed"},
		"held, 20 are enough":      {"xxxxxxxxxxx....................", true, ""},
		"in use, 20 change little": {"xxxxxxxxxxx....................", false, "11 of its last 31 runs were disturbed"},
	} {
		var h history
		for _, r := range tt.runs {
			h.add(r == 'x')
		}
		if got := h.trouble(tt.held); got != tt.want {
			t.Errorf("%s: trouble %q, want %q", name, got, tt.want)
		}
	}
}

// TestSchedule checks that a slot is read immediately while it has something to learn or to confirm, but not for ever,
// frequently while it is out of use, and otherwise at the interval.
func TestSchedule(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	due := func(s *slotHealth) time.Duration { s.schedule(now, interval); return s.due.Sub(now) }
	s := newSlot(false)
	if got := due(s); got != 0 {
		t.Errorf("learning: due in %s, want at once", got)
	}
	newHealth(s, stats.DefaultChart().Learn, "", 0)
	if got := due(s); got != interval || s.streak != 0 {
		t.Errorf("steady: due in %s, streak %d", got, s.streak)
	}
	if diff := cmp.Diff(s.kernels, s.nextSet()); diff != "" {
		t.Errorf("steady (-want +got):\n%s", diff)
	}
	newHealth(s, 1, initproc.KernelL3, 1.1)
	if got := due(s); got != 0 {
		t.Errorf("suspect: due in %s, want at once", got)
	}
	if diff := cmp.Diff([]string{initproc.KernelL3}, s.nextSet()); diff != "" {
		t.Errorf("suspect (-want +got):\n%s", diff)
	}
	newHealth(s, 10, initproc.KernelL3, 1.1)
	s.quarantine = s.trouble()
	if got := due(s); got != interval/quarantinePace {
		t.Errorf("quarantined: due in %s", got)
	}
	s.reset()
	for range 100 {
		if got := due(s); got != 0 {
			t.Fatalf("learning: due in %s, want at once", got)
		}
	}
	if got := due(s); got != interval {
		t.Errorf("it cannot be learned: due in %s, want the interval", got)
	}
}

func TestGivesWay(t *testing.T) {
	for _, tt := range []struct {
		name           string
		sinceJob, late time.Duration
		want           bool
	}{
		{"a job a moment ago", time.Millisecond, 0, true},
		{"no job for a while", quietTime, 0, false},
		{"never a job", time.Since(time.Time{}), 0, false},
		{"jobs all the time, nearly late", time.Millisecond, interval - 1, true},
		{"jobs all the time, late", time.Millisecond, interval, false},
	} {
		if got := givesWay(tt.sinceJob, tt.late, interval); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
