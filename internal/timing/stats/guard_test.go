package stats

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// relative returns n times, most of them as usual and the others longer by more; if noisy, alternately 1 % longer and
// shorter.
func relative(n, longer int, more float64, noisy bool) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = 1
		switch {
		case i < longer:
			xs[i] += more
		case noisy && i%2 == 0:
			xs[i] += 0.01
		case noisy:
			xs[i] -= 0.01
		}
	}
	return xs
}

func TestLearnGuard(t *testing.T) {
	before := DefaultGuard()
	learned := func(ratio float64) Guard { return Guard{Ratio: ratio, Floor: 5 * ms, Learned: true} }
	for name, tt := range map[string]struct {
		times []float64
		want  Guard
	}{
		"nothing":                   {nil, before},
		"one too few":               {relative(92, 20, 0.05, false), before},
		"enough":                    {relative(93, 20, 0.05, false), learned(0.05)},
		"a quiet pool":              {relative(200, 0, 0, false), before},
		"quieter than is believed":  {relative(200, 20, 0.015, false), before},
		"three sigma":               {relative(200, 0, 0, true), learned(3 * madToSigma * 0.01)},
		"four of a hundred":         {relative(200, 8, 0.5, false), before},
		"six of a hundred":          {relative(200, 12, 0.08, false), learned(0.08)},
		"wider than helps":          {relative(200, 20, 0.5, false), learned(0.10)},
		"shorter ones are no noise": {relative(200, 20, -0.5, false), before},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, before.Learn(tt.times), roughly); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestBand(t *testing.T) {
	g := DefaultGuard()
	got := map[time.Duration]time.Duration{}
	want := map[time.Duration]time.Duration{-1: 0, 0: 0, 1: 5 * ms, 250 * ms: 5 * ms, time.Second: 20 * ms,
		math.MaxInt64: 0, math.MaxInt64 - 3: 3}
	for limit := range want {
		got[limit] = Rule{Limit: limit, Guard: g}.Band()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("around each limit (-want +got):\n%s", diff)
	}
	if got := (Rule{Limit: time.Second, Guard: Guard{Ratio: math.NaN(), Floor: -1}}).Band(); got != 0 {
		t.Errorf("a guard that makes no sense is %v wide, want none", got)
	}
}
