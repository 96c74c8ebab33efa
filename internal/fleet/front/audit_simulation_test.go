package front

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"judged/internal/testkit"
)

// full repeats each row as often as for the reference figures. Without it, there are only a few repetitions.
var full = flag.Bool("audit.full", false, "run all repetitions of the simulation of a fleet")

// simulatedPool is a simulated pool of hosts.
type simulatedPool struct {
	name      string
	hosts     int
	jobs      float64 // per day
	share     float64 // share that is audited
	noise     float64 // noise of a run
	disturbed float64 // fraction of the runs
	mean      float64 // mean of the time that a disturbance adds
	spread    float64 // spread of the hosts
}

func metal(jobs, share float64) simulatedPool {
	return simulatedPool{"metal", 20, jobs, share, 0.005, 0.02, 0.05, 0.003}
}

func cloud(share float64) simulatedPool {
	return simulatedPool{"cloud", 20, 20_000, share, 0.02, 0.10, 0.10, 0.005}
}

// fleet is one repetition of the simulation.
type fleet struct {
	simulatedPool
	r       *rand.Rand
	effects []float64
	slow    float64 // of host 0, from time zero on
	pairs   []pair
}

var zero = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

func name(i int) string { return fmt.Sprintf("h%02d", i) }

func newFleet(p simulatedPool, slow float64, seed uint64) *fleet {
	f := &fleet{simulatedPool: p, r: rand.New(rand.NewPCG(20260301, seed)), slow: slow}
	for range p.hosts {
		f.effects = append(f.effects, p.spread*f.r.NormFloat64())
	}
	return f
}

// run returns the logarithm of the time of one run.
func (f *fleet) run(host int, at time.Time) float64 {
	x := f.effects[host] + f.noise*f.r.NormFloat64()
	if f.r.Float64() < f.disturbed {
		x += math.Log1p(f.mean * f.r.ExpFloat64())
	}
	if host == 0 && !at.Before(zero) {
		x += math.Log1p(f.slow)
	}
	return x
}

// hour adds the audits of the hour before at.
func (f *fleet) hour(at time.Time) {
	rate := f.jobs * f.share / 24
	n := int(rate)
	if f.r.Float64() < rate-float64(n) {
		n++
	}
	for i := range n {
		a, b := f.r.IntN(f.hosts), f.r.IntN(f.hosts-1)
		if b >= a {
			b++
		}
		t := at.Add(-time.Hour + time.Hour*time.Duration(i)/time.Duration(n))
		f.pairs = append(f.pairs, pair{t, name(a), name(b), f.run(b, t) - f.run(a, t)})
	}
	f.pairs = last(f.pairs, 30*f.hosts*mostPairs)
}

// confirm simulates the second stage.
func (f *fleet) confirm(suspect string, at time.Time, threshold float64) bool {
	var host int
	if _, err := fmt.Sscanf(suspect, "h%d", &host); err != nil {
		panic(err)
	}
	var pairs []pair
	for other := range confirmHosts {
		other = (host + 1 + other) % f.hosts
		for range confirmPairs {
			pairs = append(pairs, pair{at, name(other), suspect, f.run(host, at) - f.run(other, at)})
		}
	}
	_, confirmed := confirmHost(suspect, pairs, threshold)
	return confirmed
}

// simulatedRetirement is the first host that leaves the pool, and when.
type simulatedRetirement struct {
	host  string
	after time.Duration // since time zero
	found detection
}

// watch runs the detector every hour like the daemon.
func (f *fleet) watch(before, during time.Duration) (simulatedRetirement, bool) {
	var previous detection
	for at := zero.Add(-before); at.Before(zero.Add(during)); at = at.Add(time.Hour) {
		f.hour(at)
		if at.Before(zero.Add(-2*time.Hour)) && f.slow > 0 {
			continue // TestFalseRetirements watches equal hosts
		}
		previous = detectHosts(at, f.pairs, previous)
		if len(previous.Suspects) == 1 && f.confirm(previous.Suspects[0], at, previous.Threshold) {
			return simulatedRetirement{previous.Suspects[0], at.Sub(zero), previous}, true
		}
	}
	return simulatedRetirement{}, false
}

const day = 24 * time.Hour

// TestDetection slows one of 20 hosts down, and compares the median time until it is retired with the figures of an
// earlier simulation, which used the same minimum threshold and no second stage.
func TestDetection(t *testing.T) {
	testkit.Need(t, testkit.Time) // a simulation of weeks, with a fit for each hour
	repetitions := 9
	if *full {
		repetitions = 15
	}
	tests := []struct {
		simulatedPool
		want [3]float64 // hours until a host that is 2, 3, 5 % slow is found
		full bool
	}{
		{metal(20_000, 0.01), [3]float64{36, 26, 21}, false},
		{metal(20_000, 0.02), [3]float64{18, 12, 11}, false},
		{metal(20_000, 0.05), [3]float64{7, 5, 4}, true},
		{metal(2_000, 0.05), [3]float64{71, 55, 46}, false},
		{cloud(0.02), [3]float64{math.Inf(1), math.Inf(1), 64}, true},
		{cloud(0.05), [3]float64{math.Inf(1), math.Inf(1), 28}, true},
	}
	for _, tt := range tests {
		if tt.full && !*full {
			continue
		}
		t.Run(fmt.Sprintf("%s, %.0f jobs a day, %.0f %% audited", tt.name, tt.jobs, 100*tt.share), func(t *testing.T) {
			t.Parallel()
			for i, slow := range []float64{0.02, 0.03, 0.05} {
				var hours []float64
				wrong := 0
				for n := range repetitions {
					r, found := newFleet(tt.simulatedPool, slow, uint64(n)).watch(14*day, 14*day)
					switch {
					case !found:
						hours = append(hours, math.Inf(1))
					case r.host != name(0) || r.after < 0:
						wrong++
					default:
						hours = append(hours, r.after.Hours())
					}
				}
				got := math.Inf(1)
				if len(hours) > 0 {
					got = median(hours)
				}
				t.Logf("%.0f %% slow: found after %v h (reference %v), %d wrong", 100*slow, got, tt.want[i], wrong)
				if got > tt.want[i] || wrong > 0 {
					t.Errorf("%.0f %% slow: found after %v h, want at most %v; %d wrong retirements", 100*slow, got,
						tt.want[i], wrong)
				}
			}
		})
	}
}

// TestFalseRetirements simulates months of fleets with equal hosts, and checks that at most one of them is retired.
func TestFalseRetirements(t *testing.T) {
	testkit.Need(t, testkit.Time) // a simulation of months, with a fit for each hour
	months, pools := uint64(1), []simulatedPool{metal(20_000, 0.02), metal(2_000, 0.05)}
	if *full {
		months, pools = 12, append(pools, cloud(0.02), cloud(0.05))
	}
	for _, p := range pools {
		t.Run(fmt.Sprintf("%s, %.0f jobs a day, %.0f %% audited", p.name, p.jobs, 100*p.share), func(t *testing.T) {
			t.Parallel()
			wrong := 0
			for n := range months {
				if _, found := newFleet(p, 0, 1000+n).watch(0, 30*day); found {
					wrong++
				}
			}
			t.Logf("%d in %d months", wrong, months)
			if wrong > 1 {
				t.Errorf("%d false retirements in %d fleet-months, want at most 1", wrong, months)
			}
		})
	}
}
