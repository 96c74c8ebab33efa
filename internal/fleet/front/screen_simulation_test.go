package front

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/testkit"
)

// world generates random submissions: their time in the deciding pool, and the ratio of the time in the screening pool
// to it. The screening pool is slower on average, and the ratio differs by program.
type world struct {
	r      *rand.Rand
	spread float64 // of the logarithm of the ratio
	shift  float64 // change of the mean of the logarithm
}

const (
	simulatedLimit = time.Second
	slower         = 1.15
	// Times range from a fiftieth of the limit to eight limits, log-uniformly.
	shortest, longest = 1.0 / 50, 8.0
)

// submission returns a submission with a time between two fractions of the limit.
func (w *world) submission(from, to float64) (screening, deciding api.Report) {
	metal := from * math.Pow(to/from, w.r.Float64())
	cloud := metal * slower * math.Exp(w.shift+w.spread*w.r.NormFloat64())
	return w.judged(cloud), w.judged(metal)
}

// judged returns the report for a time. A run ends at 1.2 times the limit.
func (w *world) judged(part float64) api.Report {
	v := api.Accepted
	if part > 1 {
		v = api.TimeLimit
	}
	cpu := time.Duration(min(part, 1.2) * float64(simulatedLimit))
	return api.Report{Verdict: v, Tests: []api.TestReport{{Name: "1", Verdict: v, CPUTime: &cpu}}}
}

// learn returns the smallest logarithm of n ratios.
func (w *world) learn(n int) float64 {
	smallest := math.Inf(1)
	for found := 0; found < n; {
		if log, ok := smallestLogRatio(w.submission(shortest, longest)); ok {
			smallest = min(smallest, log)
			found++
		}
	}
	return smallest
}

func rule(smallest float64) screenRule {
	return screenRule{api.Limits{CPUTimeMS: simulatedLimit.Milliseconds(), WallTimeMS: 10_000}, math.Exp(smallest)}
}

// refuted returns the fraction of all accepted submissions that the deciding pool would end at the limit. Only times
// just above the limit can be, so most are drawn there and weighted.
func (w *world) refuted(smallest float64, n int) float64 {
	count := func(from, to float64) (accepted, refuted float64) {
		decide := rule(smallest)
		for range n {
			screening, deciding := w.submission(from, to)
			if screening.Verdict == api.Accepted && decide.Doubt(screening) == "" {
				accepted++
				if deciding.Verdict == api.TimeLimit {
					refuted++
				}
			}
		}
		part := math.Log(to/from) / math.Log(longest/shortest) / float64(n)
		return accepted * part, refuted * part
	}
	accepted, _ := count(shortest, 1)
	_, refuted := count(1, 2)
	return refuted / accepted
}

// TestRefutedAccepts learns from as many ratios as contests need, and decides with them.
func TestRefutedAccepts(t *testing.T) {
	testkit.Need(t, testkit.Time) // a simulation of two million submissions
	const repetitions, draws = 60, 10_000
	for _, spread := range []float64{0.03, 0.05} {
		sum := 0.0
		for seed := range uint64(repetitions) {
			w := &world{r: rand.New(rand.NewPCG(11, seed)), spread: spread}
			sum += w.refuted(w.learn(enoughForContests), draws)
		}
		rate := sum / repetitions
		t.Logf("spread %v: %.2g of the accepts refuted", spread, rate)
		if rate > 1e-6 {
			t.Errorf("spread %v: %.2g of the accepts are refuted, want at most 1e-6", spread, rate)
		}
	}
}

// closes simulates checks of a pool, and returns the number after which it is closed, or 0 for never. drift is the
// change of the mean ratio per check.
func (w *world) closes(learned int, checks int, drift float64) (n int, refuted bool) {
	smallest := w.learn(learned)
	now := smallest
	var newer []float64
	for n := 1; n <= checks; {
		w.shift += drift
		screening, deciding := w.submission(shortest, longest)
		if screening.Verdict != api.Accepted || rule(now).Doubt(screening) != "" {
			continue
		}
		n++
		if overTime(deciding.Verdict) {
			return n, true
		}
		log, ok := smallestLogRatio(screening, deciding)
		if !ok {
			continue
		}
		now = min(now, log)
		newer = append(newer, log)
		if drifted(learned, smallest, newer[max(0, len(newer)-newest):]) {
			return n, false
		}
	}
	return 0, false
}

// TestDriftCloses checks that the screen closes when the screening pool slowly becomes faster by a tenth, and that
// without drift it stays open.
func TestDriftCloses(t *testing.T) {
	const spread = 0.05
	for _, learned := range []int{enough, enoughForContests} {
		wrongly, latest := 0, 0
		for seed := range uint64(15) {
			w := &world{r: rand.New(rand.NewPCG(12, seed)), spread: spread}
			if n, _ := w.closes(learned, 4000, 0); n > 0 {
				wrongly++
			}
			w = &world{r: rand.New(rand.NewPCG(13, seed)), spread: spread}
			n, _ := w.closes(learned, 4000, -0.1/1000)
			if n == 0 {
				t.Errorf("%d pairs, seed %d: the drift is not seen", learned, seed)
			}
			latest = max(latest, n)
		}
		t.Logf("%d pairs: closed after at most %d checks; %d closed without drift", learned, latest, wrongly)
		if wrongly > 0 {
			t.Errorf("%d pairs: %d of 15 closed without drift", learned, wrongly)
		}
		// A drift of 20 % would take 2000 draws, half of which are checks.
		if latest > 1500 {
			t.Errorf("%d pairs: closed after %d checks", learned, latest)
		}
	}
}
