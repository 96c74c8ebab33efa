package stats

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRelative(t *testing.T) {
	if got := Relative([]time.Duration{5}); got != nil {
		t.Errorf("one time: %v", got)
	}
	// Each is 10 % from the mean. The variance of two times is that of their distances times two.
	got := Relative([]time.Duration{90, 110})
	for i, want := range []float64{1 - 0.1*math.Sqrt2, 1 + 0.1*math.Sqrt2} {
		if math.Abs(got[i]-want) > 1e-12 {
			t.Errorf("time %d: %v, want %v", i, got[i], want)
		}
	}
}

// TestDoubtIsCalibrated judges programs with known usual times by one run each, and compares the number of wrong
// verdicts with the expected one.
func TestDoubtIsCalibrated(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	noise := func() float64 { return math.Exp(0.02 * random.NormFloat64()) }
	var programs [][]float64
	for range 200 {
		base := 0.5 + random.Float64()
		var times []time.Duration
		for range 4 {
			times = append(times, time.Duration(base*noise()*float64(time.Second)))
		}
		programs = append(programs, Relative(times))
	}
	var all []Decided
	wrong := 0
	verdicts := 4000
	if testing.Short() {
		verdicts = 1000
	}
	for range verdicts {
		usual := 0.9 + 0.2*random.Float64()
		d := Decided{Value: time.Duration(usual * noise() * float64(time.Second)), Limit: time.Second, Statistic: StatSingle,
			Runs: 1}
		d.Over = d.Value > d.Limit
		if d.Over != (usual > 1) {
			wrong++
		}
		all = append(all, d)
	}
	got, ok := DoubtOf(all, programs)
	if !ok || math.Abs(got.Expected.Value-float64(wrong)) > 4*math.Sqrt(float64(wrong)) {
		t.Errorf("expected %+v of %d wrong verdicts", got.Expected, wrong)
	}
	if i := got.Expected; !(i.Low < i.Value && i.Value < i.High && i.High < 2*i.Low) {
		t.Errorf("interval %+v", i)
	}
	if got.Any.Value < 0.999 || got.Against.Value < 0.4*got.Expected.Value || got.Against.Value > 0.6*got.Expected.Value {
		t.Errorf("any %+v, against %+v of %+v", got.Any, got.Against, got.Expected)
	}
}

func TestDoubt(t *testing.T) {
	var programs [][]float64
	for range DoubtPrograms {
		programs = append(programs, []float64{0.98, 1.02, 0.98, 1.02})
	}
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	all := []Decided{
		{ms(990), ms(1000), StatSingle, 1, false},    // the usual time is 971 or 1010 ms
		{ms(970), ms(1000), StatSingle, 1, false},    // 951 or 990 ms
		{ms(1030), ms(1000), StatSingle, 1, true},    // 1010 or 1051 ms
		{ms(1010), ms(1000), StatSecondMin, 2, true}, // over only if both draws are 0.98
		{ms(0), ms(1000), StatSingle, 1, false},
	}
	got, ok := DoubtOf(all, programs)
	if !ok {
		t.Fatal("nothing is said")
	}
	if diff := cmp.Diff([]float64{0, 0, 0}, []float64{got.Each[1], got.Each[2], got.Each[4]}); diff != "" {
		t.Errorf("certain verdicts (-want +got):\n%s", diff)
	}
	if math.Abs(got.Each[0]-0.5) > 0.1 || math.Abs(got.Each[3]-0.75) > 0.1 {
		t.Errorf("uncertain verdicts %v", got.Each)
	}
	if _, ok := DoubtOf(all, programs[1:]); ok {
		t.Error("too few programs")
	}
	again, _ := DoubtOf(all, programs)
	if diff := cmp.Diff(got, again); diff != "" {
		t.Errorf("another result for the same arguments:\n%s", diff)
	}
}
