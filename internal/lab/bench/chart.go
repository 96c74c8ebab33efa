package bench

import (
	"cmp"
	"math"
	"slices"
)

// Chart is a chart of lanes over one axis.
type Chart struct {
	Title    string
	Subtitle string
	Axis     string // what is measured, with its unit
	Source   string // host, and how to reproduce it
	Lanes    []Lane
	Marks    []Mark // values that all lanes are compared with
	// Solid and Hollow are the names of solid and hollow dots; "" means a clean and a disturbed run.
	Solid, Hollow string
	Tick          string // name of the red tick; "" means median
}

// Mark is a value with a name, drawn through all lanes.
type Mark struct {
	Value float64
	Name  string
}

// Lane is the runs of one placement.
type Lane struct {
	Name string
	Note string // at the end of the lane, such as the spread
	Dots []Dot
	// Interval, if not nil, is drawn as a bar, with the tick at its center instead of at the median of the dots.
	Interval *Interval
}

// Interval is an estimate with its error.
type Interval struct{ Low, Center, High float64 }

// Dot is one run.
type Dot struct {
	Value  float64 // in the unit of the axis
	Hollow bool    // a disturbed run, or what the chart defines
	Name   string  // "" means its number in the lane
}

// The dimensions of a chart, in pixels.
const (
	width      = 960
	letter     = 7.6 // approximate, of the widest names
	margin     = 20
	right      = 210 // space for the notes
	axisRight  = float64(width - right)
	top        = 76
	laneHeight = 46
	bottom     = 84
	foot       = 14
	jitter     = 12 // maximum distance of dots from the middle of their lane
)

// offset spreads dots over the height of a lane, so that equal ones do not hide each other. It is deterministic: the
// same number gives the same position.
func offset(n int) float64 {
	const golden = 0.6180339887498949
	_, fraction := math.Modf(float64(n) * golden)
	return (2*fraction - 1) * jitter
}

func median(dots []Dot) (float64, bool) {
	if len(dots) == 0 {
		return 0, false
	}
	sorted := slices.SortedFunc(slices.Values(dots), func(a, b Dot) int { return cmp.Compare(a.Value, b.Value) })
	n := len(sorted)
	return (sorted[(n-1)/2].Value + sorted[n/2].Value) / 2, true
}
