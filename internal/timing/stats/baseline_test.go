package stats

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// roughly compares floats to nine digits: they are products of rounded ones.
var roughly = cmpopts.EquateApprox(1e-9, 0)

func TestLearnBaseline(t *testing.T) {
	tail := make([]time.Duration, 20) // 18 times 100 ms, two of 120
	for i := range tail {
		tail[i] = 100 * ms
	}
	tail[3], tail[7] = 120*ms, 120*ms
	tests := []struct {
		name string
		in   []time.Duration
		want Baseline
	}{
		{"none", nil, Baseline{}},
		{"one", millis(100), Baseline{100 * ms, 0.001, 0.005}},
		{"equal", millis(100, 100, 100), Baseline{100 * ms, 0.001, 0.005}},
		{"three sigma", millis(98, 99, 100, 101, 102), Baseline{100 * ms, 0.014826, 3 * 0.014826}},
		{"wild ones are in the tail only", tail, Baseline{100 * ms, 0.001, 0.2}},
		{"nothing measured", make([]time.Duration, 3), Baseline{1, 0.001, 0.005}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, LearnBaseline(tt.in), roughly); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestBaselineIsRobust checks that with a fifth of the times far off, the baseline is that of the others. A mean would
// be 20 % off, and a standard deviation 40 %.
func TestBaselineIsRobust(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 826))
	var times []time.Duration
	for i := range 1000 {
		f := math.Exp(0.01 * r.NormFloat64())
		if i%5 == 0 {
			f *= 2
		}
		times = append(times, time.Duration(f*float64(100*ms)))
	}
	b := LearnBaseline(times)
	if math.Abs(b.Deviation(100*ms)) > 0.005 || b.Sigma < 0.009 || b.Sigma > 0.02 {
		t.Errorf("true center 100 ms, sigma 0.01: %+v", b)
	}
}

func TestBeyond(t *testing.T) {
	b := Baseline{Center: 1000, Sigma: 0.01, Guard: 0.05}
	for in, want := range map[time.Duration]Shift{949: Faster, 951: NoShift, 1000: NoShift, 1049: NoShift, 1051: Slower,
		0: Faster} {
		if got := b.Beyond(in); got != want {
			t.Errorf("%d: got %q, want %q", in, got, want)
		}
	}
}
