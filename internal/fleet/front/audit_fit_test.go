package front

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// exact returns pairs whose log ratios are the differences of the effects, with noise of both signs.
func exact(effects map[string]float64, noise float64, joined ...[2]string) []pair {
	var pairs []pair
	for i := range 40 {
		for _, j := range joined {
			pairs = append(pairs, pair{zero.Add(time.Duration(i) * time.Hour), j[0], j[1],
				effects[j[1]] - effects[j[0]] + noise*float64(1-2*(i%2))})
		}
	}
	return pairs
}

func effectsOf(f pairFit) map[string]float64 {
	all := map[string]float64{}
	for _, h := range f.Hosts {
		all[h.Name] = h.Effect
	}
	return all
}

func TestFitPairs(t *testing.T) {
	effects := map[string]float64{"a": 0, "b": 0.03, "c": -0.002, "d": 0.1, "e": 0}
	triangle := [][2]string{{"a", "b"}, {"b", "c"}, {"c", "a"}}
	wild := exact(effects, 0.001, triangle...)
	for i := range wild {
		if i%30 == 0 { // of a and b
			wild[i].LogRatio += 2
		}
	}
	tests := []struct {
		name  string
		pairs []pair
		want  map[string]float64
		close float64
	}{
		{"none", nil, map[string]float64{}, 0},
		{"a host with itself", []pair{{zero, "a", "a", 1}}, map[string]float64{}, 0},
		{"triangle", exact(effects, 0.001, triangle...), map[string]float64{"a": 0, "b": 0.03, "c": -0.002}, 1e-9},
		{"chain", exact(effects, 0.001, [2]string{"a", "b"}, [2]string{"b", "c"}),
			map[string]float64{"a": 0, "b": 0.03, "c": -0.002}, 1e-9},
		{"not joined", exact(effects, 0.001, append(triangle, [2]string{"d", "e"})...),
			map[string]float64{"a": 0, "b": 0.03, "c": -0.002}, 1e-9},
		{"wild pairs", wild, map[string]float64{"a": 0, "b": 0.03, "c": -0.002}, 0.001},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := effectsOf(fitPairs(tt.pairs))
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateApprox(0, tt.close)); diff != "" {
				t.Errorf("effects (-want +got):\n%s", diff)
			}
		})
	}
}

// TestStandardErrors compares the errors with the differences between estimated and true effects.
func TestStandardErrors(t *testing.T) {
	squares, n := 0.0, 0.0
	p := metal(20_000, 0.02)
	p.spread, p.disturbed = 0, 0
	for seed := range uint64(100) {
		f := newFleet(p, 0, seed)
		for hour := range 24 {
			f.hour(zero.Add(time.Duration(hour) * time.Hour))
		}
		for _, h := range fitPairs(f.pairs).Hosts {
			squares += math.Pow(h.Effect/h.StandardError, 2)
			n++
		}
	}
	if z := math.Sqrt(squares / n); z < 0.9 || z > 1.15 {
		t.Errorf("the effects of equal hosts are %.3f standard errors wide, want about 1", z)
	}
}

func TestSpread(t *testing.T) {
	for _, spread := range []float64{0.003, 0.01} {
		sum := 0.0
		p := metal(20_000, 0.05)
		p.spread = spread
		for seed := range uint64(50) {
			f := newFleet(p, 0, seed)
			f.hour(zero)
			for hour := range 24 {
				f.hour(zero.Add(time.Duration(hour) * time.Hour))
			}
			sum += fitPairs(f.pairs).Spread / 50
		}
		if math.Abs(sum/spread-1) > 0.2 {
			t.Errorf("measured spread %.4f of hosts with %.4f", sum, spread)
		}
	}
}

func TestDetect(t *testing.T) {
	joined := [][2]string{{"a", "b"}, {"b", "c"}, {"c", "d"}, {"d", "a"}}
	effects := map[string]float64{"a": 0, "b": 0.04, "c": 0.001, "d": 0}
	tests := []struct {
		name     string
		pairs    []pair
		previous detection
		want     [2][]string // deviating, suspects
	}{
		{"no audits", nil, detection{}, [2][]string{{}, {}}},
		{"first time", exact(effects, 0.004, joined...), detection{}, [2][]string{{"b"}, {}}},
		{"again", exact(effects, 0.004, joined...), detection{Deviating: []string{"b"}}, [2][]string{{"b"}, {"b"}}},
		{"another one before", exact(effects, 0.004, joined...), detection{Deviating: []string{"c"}},
			[2][]string{{"b"}, {}}},
		{"which of two deviates is unknown", exact(effects, 0.004, [2]string{"a", "b"}), detection{},
			[2][]string{{}, {}}},
		{"within the threshold", exact(map[string]float64{"b": 0.009}, 0.0001, joined...), detection{},
			[2][]string{{}, {}}},
		{"too few audits", exact(effects, 0.004, joined...)[:20], detection{}, [2][]string{{}, {}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := detectHosts(zero, tt.pairs, tt.previous)
			if diff := cmp.Diff(tt.want, [2][]string{r.Deviating, r.Suspects}); diff != "" {
				t.Errorf("deviating, suspects (-want +got):\n%s%+v", diff, r)
			}
		})
	}
}

// TestThreshold checks that hosts that naturally differ more have a larger threshold.
func TestThreshold(t *testing.T) {
	p := metal(20_000, 0.05)
	p.spread = 0.01
	f := newFleet(p, 0, 1)
	for hour := range 48 {
		f.hour(zero.Add(time.Duration(hour) * time.Hour))
	}
	if r := detectHosts(zero, f.pairs, detection{}); r.Threshold < 0.02 || len(r.Deviating) > 0 {
		t.Errorf("hosts that differ by one percent: threshold %.3f, deviating %q", r.Threshold, r.Deviating)
	}
}

func TestConfirm(t *testing.T) {
	pairs := func(b, c, d float64) []pair {
		effects := map[string]float64{"b": -b, "c": -c, "d": -d}
		return exact(effects, 0.004, [2]string{"a", "b"}, [2]string{"c", "a"}, [2]string{"a", "d"})
	}
	tests := []struct {
		name   string
		pairs  []pair
		effect float64
		want   bool
	}{
		{"slower than all", pairs(0.03, 0.031, 0.029), 0.03, true},
		{"faster than all", pairs(-0.03, -0.031, -0.029), -0.03, true},
		{"slower than one", pairs(0.03, 0.005, 0.004), 0.005, false},
		{"slower than two, and less than the third", pairs(0.03, 0.03, 0.004), 0.03, true},
		{"on both sides", pairs(0.03, 0.03, -0.03), 0.03, false},
		{"equal", pairs(0.001, 0, -0.001), 0, false},
		{"no pairs", nil, 0, false},
		{"of one host only", pairs(0.03, 0.03, 0.03)[:1], 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			effect, confirmed := confirmHost("a", tt.pairs, 0.01)
			if confirmed != tt.want || math.Abs(effect-tt.effect) > 0.005 {
				t.Errorf("effect %.4f, confirmed %v; want %.4f, %v", effect, confirmed, tt.effect, tt.want)
			}
		})
	}
}

// TestFindChange slows a host down at a known time, and checks that the interval contains it and is short.
func TestFindChange(t *testing.T) {
	for _, slow := range []float64{0.02, 0.05} {
		missed, wrong, late := 0, 0, time.Duration(0)
		for seed := range uint64(50) {
			f := newFleet(metal(20_000, 0.02), slow, seed)
			for hour := -10 * 24; hour < 24; hour++ {
				f.hour(zero.Add(time.Duration(hour) * time.Hour))
			}
			fit := fitPairs(last(f.pairs, 400))
			c, found := findChange(name(0), f.pairs, fit)
			if !found || c.Earliest.After(zero) || math.Abs(c.Shift/slow-1) > 0.4 {
				missed++
				continue
			}
			late = max(late, zero.Sub(c.Earliest))
			if _, found := findChange(name(1), f.pairs, fit); found {
				wrong++
			}
		}
		t.Logf("%.0f %% slow: missed %d of 50, the interval begins up to %v before the change", 100*slow, missed, late)
		if wrong > 1 {
			t.Errorf("%d of 50 unchanged hosts changed, want at most 1", wrong)
		}
		if missed > 1 || late > 24*time.Hour {
			t.Errorf("%.0f %% slow: missed %d of 50, want at most 1; interval from %v before the change, want at most a day",
				100*slow, missed, late)
		}
	}
}
