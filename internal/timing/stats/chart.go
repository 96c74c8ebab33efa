package stats

import "math"

// Shift is the direction in which times have moved.
type Shift string

// The directions. Charts take standardized times: larger is slower.
const (
	NoShift Shift = ""
	Slower  Shift = "slower"
	Faster  Shift = "faster"
)

// CUSUM is the state of a two-sided cumulative sum chart: the sums by which recent values were above and below their
// mean, in standard deviations. It detects small shifts that persist. The zero value is a new chart (Page 1954,
// Continuous inspection schemes; in this tabular form in Montgomery, Introduction to Statistical Quality Control,
// section 9.1).
type CUSUM struct {
	Above float64 `json:"above_sigma"`
	Below float64 `json:"below_sigma"`
}

// Next adds the value z, in standard deviations from the mean. The slack k is half of the shift to be detected.
func (c CUSUM) Next(z, k float64) CUSUM {
	return CUSUM{Above: max(0, c.Above+z-k), Below: max(0, c.Below-z-k)}
}

// Signal returns the direction of a sum that is beyond h, if any.
func (c CUSUM) Signal(h float64) Shift {
	return signal(c.Above, c.Below, h)
}

// EWMA is the state of a chart of the exponentially weighted moving average, in standard deviations from the mean. It
// shows the size of a shift. The zero value is a new chart (Roberts 1959, Control chart tests based on geometric moving
// averages; Montgomery, section 9.2).
type EWMA float64

// Next adds the value z, in standard deviations, with the weight lambda.
func (e EWMA) Next(z, lambda float64) EWMA {
	return EWMA(lambda*z + (1-lambda)*float64(e))
}

// Signal returns the direction of a shift if the average is more than width standard deviations of the average from the
// mean. The standard deviation is the asymptotic one, as in Lucas and Saccucci 1990 (Exponentially weighted moving
// average control schemes): a new chart is a little less likely to signal.
func (e EWMA) Signal(lambda, width float64) Shift {
	return signal(float64(e), -float64(e), width*math.Sqrt(lambda/(2-lambda)))
}

func signal(above, below, limit float64) Shift {
	switch {
	case above > limit && above >= below:
		return Slower
	case below > limit:
		return Faster
	}
	return NoShift
}
