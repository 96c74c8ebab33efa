package stats

import (
	"slices"
	"time"

	"judged/internal/api"
)

// sample holds the times of the runs and the limit that they are compared with.
type sample struct {
	sorted []time.Duration
	limit  time.Duration
	guard  time.Duration
	beyond int // runs over the limit by more than the guard band, without time that noise explains
	far    int // runs so far over the limit that one is enough, without time that noise explains
}

// sample sorts the times. It uses the buffer sorted.
func (r Rule) sample(sorted []time.Duration, runs []Run) sample {
	s := sample{limit: r.Limit, guard: r.Band()}
	far := max(r.far(), s.limit+s.guard) // with an extreme guard the band ends beyond far
	for _, run := range runs {
		sorted = append(sorted, run.CPUTime)
		if run.unexplained() > s.limit+s.guard {
			s.beyond++
		}
		if run.unexplained() > far {
			s.far++
		}
	}
	slices.Sort(sorted)
	s.sorted = sorted
	return s
}

// above returns the number of times larger than bound.
func (s sample) above(bound time.Duration) int {
	n := 0
	for _, x := range s.sorted {
		if x > bound {
			n++
		}
	}
	return n
}

func (s sample) over() int   { return s.above(s.limit) }
func (s sample) within() int { return len(s.sorted) - s.over() }

func (s sample) at(statistic string) time.Duration {
	switch statistic {
	case StatMedian:
		return middle(s.sorted)
	case StatSecondMin:
		return s.sorted[1]
	default:
		return s.sorted[0]
	}
}

// confidence returns how reliable a decision by value is.
func (s sample) confidence(value time.Duration) api.Confidence {
	n := len(s.sorted)
	spread := s.sorted[n-1] - s.sorted[0]
	switch {
	case s.within() > 0 && s.over() > 0, s.inBand(value):
		return api.Borderline
	case n == 1:
		return api.OneRun
	case spread > noisySpread && float64(spread) > noisyRatio*float64(middle(s.sorted)):
		return api.Noisy
	default:
		return api.Stable
	}
}

// inBand reports whether value is in the guard band.
func (s sample) inBand(value time.Duration) bool {
	return value > s.limit-s.guard && value <= s.limit+s.guard
}
