package plot

import (
	"cmp"
	"io"
	"math"
	"slices"
	"strconv"
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
	top        = 76
	laneHeight = 46
	bottom     = 84
	foot       = 14
	jitter     = 12 // maximum distance of dots from the middle of their lane
)

// WriteSVG writes the chart as a complete document.
func (c Chart) WriteSVG(w io.Writer) error {
	_, err := io.WriteString(w, c.layout().svg())
	return err
}

// drawing is a chart with positions in pixels.
type drawing struct {
	Title, Subtitle, Axis, Source string
	Solid, Hollow, Tick           string
	Width, Height, Foot           int
	AxisLeft, AxisRight, AxisDown float64
	Grid, Marks                   []mark
	Lanes                         []drawnLane
}

type mark struct {
	X    float64
	Text string
}

type drawnLane struct {
	Name, Note          string
	Top, Middle, Height float64
	Striped             bool
	Dots                []drawnDot
	Median              *mark // nil without dots
	MedianUp, MedianLow float64
	Bar                 *[2]float64 // from x to x
}

type drawnDot struct {
	X, Y   float64
	Hollow bool
	Text   string
}

func (c Chart) layout() drawing {
	height := top + laneHeight*len(c.Lanes) + bottom
	s := c.scale()
	d := drawing{Title: c.Title, Subtitle: c.Subtitle, Axis: c.Axis, Source: c.Source, Foot: height - foot,
		Solid: cmp.Or(c.Solid, "clean run"), Hollow: cmp.Or(c.Hollow, "disturbed run"),
		Tick: cmp.Or(c.Tick, "median"), Width: width, Height: height,
		AxisLeft: s.left, AxisRight: width - right, AxisDown: float64(height - bottom)}
	for _, v := range s.ticks {
		d.Grid = append(d.Grid, mark{s.x(v), strconv.FormatFloat(v, 'f', s.digits, 64)})
	}
	for _, m := range c.Marks {
		d.Marks = append(d.Marks, mark{s.x(m.Value), m.Name})
	}
	for i, lane := range c.Lanes {
		d.Lanes = append(d.Lanes, lane.layout(i, s))
	}
	return d
}

func (l Lane) layout(i int, s scale) drawnLane {
	up := float64(top + laneHeight*i)
	d := drawnLane{Name: l.Name, Note: l.Note, Top: up, Middle: up + laneHeight/2, Height: laneHeight,
		Striped:  i%2 == 0,
		MedianUp: up + 5, MedianLow: up + laneHeight - 5}
	for n, dot := range l.Dots {
		d.Dots = append(d.Dots, drawnDot{X: s.x(dot.Value), Y: d.Middle + offset(n), Hollow: dot.Hollow,
			Text: cmp.Or(dot.Name, "run "+strconv.Itoa(n+1)) + ": " + strconv.FormatFloat(dot.Value, 'f', s.digits+2,
				64)})
	}
	if v := l.Interval; v != nil {
		d.Median, d.Bar = &mark{X: s.x(v.Center)}, &[2]float64{s.x(v.Low), s.x(v.High)}
	} else if m, ok := median(l.Dots); ok {
		d.Median = &mark{X: s.x(m)}
	}
	return d
}

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
