package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Decided is a time that a rule has decided.
type Decided struct {
	Value     time.Duration // deciding time
	Limit     time.Duration
	Statistic string // how Value was computed from the runs
	Runs      int    // that count
	Over      bool   // the verdict
}

// Doubt is the probability that verdicts are wrong by time: the usual time of the program is on the other side of the
// limit. Each probability has an interval of 95 %.
type Doubt struct {
	Each     []float64 // of every verdict, without its interval
	Expected Interval  // number of wrong verdicts
	Against  Interval  // number of programs that are found over the limit and are not
	Any      Interval  // probability that at least one verdict is wrong
	Times    int       // from which the noise is known
	Programs int       // that these are of
}

// Interval is an estimate with the ends of its interval.
type Interval struct{ Value, Low, High float64 }

// Below DoubtFrom times of DoubtPrograms programs nothing is said about doubt: too little is known about noise.
const (
	DoubtFrom     = 40
	DoubtPrograms = 10
)

// The number of draws for each probability, and of samples of the noise for the intervals.
const (
	doubtDraws   = 200
	doubtSamples = 100
)

// Relative returns the times of one program divided by their mean. The mean follows the times, so their distances from
// it are too small; they are stretched by the factor that makes their variance right. Fewer than two times return nil.
func Relative(times []time.Duration) []float64 {
	n := float64(len(times))
	var sum float64
	for _, t := range times {
		sum += float64(t)
	}
	if n < 2 || sum <= 0 {
		return nil
	}
	var all []float64
	for _, t := range times {
		all = append(all, max(1+(float64(t)*n/sum-1)*math.Sqrt(n/(n-1)), 0.01))
	}
	return all
}

// DoubtOf returns the doubt about decided times, if noise has the relative times of programs (see Relative). It assumes
// that noise is equal for all programs, that runs are independent, and that nothing is known about the usual time before
// the runs: the usual time is the deciding time divided by the same statistic of as many relative times, drawn at
// random. The intervals come from drawing programs, too: with few of them the noise is uncertain. It returns false if
// there are too few times. The same arguments give the same result.
func DoubtOf(all []Decided, programs [][]float64) (Doubt, bool) {
	d := Doubt{Programs: len(programs)}
	for _, p := range programs {
		d.Times += len(p)
	}
	if d.Times < DoubtFrom || d.Programs < DoubtPrograms {
		return d, false
	}
	random := rand.New(rand.NewPCG(2, uint64(d.Times)))
	d.Each = doubts(random, all, slices.Concat(programs...))
	value := summarize(all, d.Each)
	var samples [3][]float64
	for range doubtSamples {
		var noise []float64
		for range programs {
			noise = append(noise, programs[random.IntN(len(programs))]...)
		}
		for i, x := range summarize(all, doubts(random, all, noise)) {
			samples[i] = append(samples[i], x)
		}
	}
	for i, to := range []*Interval{&d.Expected, &d.Against, &d.Any} {
		slices.Sort(samples[i])
		const tail = doubtSamples / 40
		*to = Interval{value[i], min(samples[i][tail], value[i]), max(samples[i][doubtSamples-1-tail], value[i])}
	}
	return d, true
}

// doubts returns the probability that each verdict is wrong.
func doubts(random *rand.Rand, all []Decided, noise []float64) []float64 {
	least, most := slices.Min(noise), slices.Max(noise)
	each := make([]float64, len(all))
	for i, x := range all {
		if x.Limit <= 0 || x.Value <= 0 || x.Runs < 1 {
			continue
		}
		// A usual time on the other side needs this statistic of the relative times.
		needed := float64(x.Value) / float64(x.Limit)
		if x.Over && needed > most || !x.Over && needed < least {
			continue
		}
		wrong := 0
		draws := make([]float64, x.Runs)
		for range doubtDraws {
			for j := range draws {
				draws[j] = noise[random.IntN(len(noise))]
			}
			if over := statisticOf(x.Statistic, draws) < needed; over != x.Over {
				wrong++
			}
		}
		each[i] = float64(wrong) / doubtDraws
	}
	return each
}

// statisticOf computes an order statistic. It sorts the values.
func statisticOf(name string, values []float64) float64 {
	slices.Sort(values)
	switch n := len(values); {
	case name == StatMin || n == 1:
		return values[0]
	case name == StatSecondMin:
		return values[1]
	case n%2 == 0:
		return (values[n/2-1] + values[n/2]) / 2
	default:
		return values[n/2]
	}
}

// summarize returns the expected number of wrong verdicts, of those against the program, and the probability of any.
func summarize(all []Decided, each []float64) [3]float64 {
	var expected, against float64
	right := 1.0
	for i, p := range each {
		expected += p
		if all[i].Over {
			against += p
		}
		right *= 1 - p
	}
	return [3]float64{expected, against, 1 - right}
}
