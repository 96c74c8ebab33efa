package bench

import (
	"fmt"
	"slices"
	"time"

	"judged/internal/base/units"
	"judged/internal/timing/stats"
)

// Comparison is by how much longer runs take in B than in A: an estimate of the shift of the CPU time, the interval
// that contains the true shift, and the probability of a difference at least as large if there were none.
type Comparison struct {
	A          string        `json:"a"`
	B          string        `json:"b"`
	MedianA    time.Duration `json:"median_a_ns"`
	MedianB    time.Duration `json:"median_b_ns"`
	Shift      time.Duration `json:"shift_ns"` // Hodges and Lehmann
	ShiftLow   time.Duration `json:"shift_low_ns"`
	ShiftHigh  time.Duration `json:"shift_high_ns"`
	Ratio      float64       `json:"ratio"` // of B to A
	RatioLow   float64       `json:"ratio_low"`
	RatioHigh  float64       `json:"ratio_high"`
	Confidence float64       `json:"confidence"`
	P          float64       `json:"p"` // Mann and Whitney, two-sided
}

// CompareFrom is the minimum number of runs of each placement for a comparison.
const CompareFrom = 4

// Compare compares two cases. The error names the missing runs.
func Compare(cases []Outcome, a, b string) (*Comparison, error) {
	x, y := cpuTimes(cases, a), cpuTimes(cases, b)
	c, ok := stats.Compare(x, y)
	if !ok {
		return nil, fmt.Errorf("compare %s with %s: %d and %d runs; measure both at least %d times", a, b, len(x),
			len(y), CompareFrom)
	}
	return &Comparison{A: a, B: b, MedianA: stats.Describe(x).Median, MedianB: stats.Describe(y).Median,
		Shift: c.Shift, ShiftLow: c.ShiftLow, ShiftHigh: c.ShiftHigh,
		Ratio: c.Ratio, RatioLow: c.RatioLow, RatioHigh: c.RatioHigh, Confidence: c.Confidence, P: c.P}, nil
}

func cpuTimes(cases []Outcome, name string) []time.Duration {
	i := slices.IndexFunc(cases, func(o Outcome) bool { return o.Case == name })
	if i < 0 {
		return nil
	}
	var times []time.Duration
	for _, r := range cases[i].Runs {
		times = append(times, r.CPUTime)
	}
	return times
}

// significant is the customary threshold of P.
const significant = 0.05

// String returns the comparison as text for people.
func (c *Comparison) String() string {
	told := "no difference shown"
	switch {
	case c.P < significant && c.Shift > 0:
		told = c.B + " takes longer"
	case c.P < significant && c.Shift < 0:
		told = c.B + " takes less"
	}
	return fmt.Sprintf("%s - %s: CPU time %s, %.1f %% interval %s .. %s; ratio %.4f, %.4f .. %.4f; p = %.2g: %s",
		c.B, c.A, units.Duration(c.Shift), 100*c.Confidence, units.Duration(c.ShiftLow), units.Duration(c.ShiftHigh),
		c.Ratio, c.RatioLow, c.RatioHigh, c.P, told)
}
