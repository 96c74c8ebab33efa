package bench

import (
	"math"
	"unicode/utf8"
)

// scale maps values onto the axis.
type scale struct {
	left      float64 // pixels, start of the axis
	low, high float64 // the first and the last tick
	ticks     []float64
	digits    int // after the point, for labels
}

// wantedTicks is the approximate number of ticks on an axis.
const wantedTicks = 7

// scale covers all dots with round numbers, and no more: the chart is about spread, so the axis does not start at zero.
func (c Chart) scale() scale {
	low, high := math.Inf(1), math.Inf(-1)
	for _, lane := range c.Lanes {
		for _, dot := range lane.Dots {
			low, high = min(low, dot.Value), max(high, dot.Value)
		}
		if v := lane.Interval; v != nil {
			low, high = min(low, v.Low), max(high, v.High)
		}
	}
	for _, m := range c.Marks {
		low, high = min(low, m.Value), max(high, m.Value)
	}
	switch {
	case low > high: // no dots
		low, high = 0, 1
	case low == high:
		low, high = low-math.Max(math.Abs(low)/100, 1e-9), high+math.Max(math.Abs(high)/100, 1e-9)
	}
	s := roundScale(low, high)
	s.left = c.left()
	return s
}

// left returns the space for the names of the lanes, up to half of the chart.
func (c Chart) left() float64 {
	longest := 0
	for _, lane := range c.Lanes {
		longest = max(longest, utf8.RuneCountInString(lane.Name))
	}
	return min(2*margin+letter*float64(longest), width/2)
}

func roundScale(low, high float64) scale {
	step := niceStep((high - low) / wantedTicks)
	s := scale{low: math.Floor(low/step) * step, digits: max(0, int(math.Ceil(-math.Log10(step)-1e-9)))}
	// Computed from the count instead of added up: the last tick must not be lost to rounding.
	n := int(math.Ceil((high-s.low)/step - 1e-9))
	for i := range n + 1 {
		s.ticks = append(s.ticks, s.low+float64(i)*step)
	}
	s.high = s.ticks[n]
	return s
}

// niceStep returns the smallest of 1, 2, 5 times a power of ten that is not below x.
func niceStep(x float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= x*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

func (s scale) x(v float64) float64 {
	return s.left + (v-s.low)/(s.high-s.low)*(axisRight-s.left)
}
