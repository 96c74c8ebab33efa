package web

import (
	"fmt"
	"math"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/base/text"
	"judged/internal/base/units"
)

// strip is the plot of the runs of one test: a line of CPU time with the limit, its guard band, and a mark for each run.
// Coordinates are in the units of its view box, which is stripWidth by stripHeight.
type strip struct {
	Text      string // the same in words
	Low, High string // times at the ends
	LimitX    float64
	BandX     float64
	BandWidth float64
	Marks     []mark
	From, To  float64 // ends of the line
}

// plotTimes is plotRuns for runs of several programs.
func plotTimes(t api.TestReport) *strip {
	s := plotRuns(t)
	if s != nil {
		s.Text = fmt.Sprintf("times of %s against the limit of %s, guard band %s", text.Count(len(t.Runs), "job"),
			units.Duration(t.Timing.Limit), units.Duration(t.Timing.Guard))
	}
	return s
}

// mark is one run. Noise may have lengthened it from ExplainedX to X.
type mark struct {
	X, Y       float64
	ExplainedX float64
	Class      string // kept, disturbed, aside
	Text       string
}

const (
	stripWidth  = 300.0
	stripHeight = 34.0
	stripMargin = 8.0
	stripLine   = 16.0 // height of the line
)

// plotRuns returns the plot of a test, or nil if it has no runs or no limit.
func plotRuns(t api.TestReport) *strip {
	runs := t.AllRuns()
	if t.Timing == nil || t.Timing.Limit <= 0 || len(runs) == 0 {
		return nil
	}
	low, high := domain(runs, *t.Timing)
	scale := func(d time.Duration) float64 {
		x := stripMargin + (stripWidth-2*stripMargin)*float64(d-low)/float64(high-low)
		return math.Round(10*min(max(x, 0), stripWidth)) / 10
	}
	limit, guard := t.Timing.Limit, t.Timing.Guard
	s := strip{Low: units.Duration(low), High: units.Duration(high), From: stripMargin, To: stripWidth - stripMargin,
		LimitX: scale(limit), BandX: scale(limit - guard)}
	s.BandWidth = math.Round(10*(scale(limit+guard)-s.BandX)) / 10
	var words []string
	for i, r := range runs {
		m := mark{X: scale(r.CPUTime), Y: stripLine, ExplainedX: scale(r.CPUTime - r.Explained.CPUTime), Class: "kept",
			Text: fmt.Sprintf("run %d: %s", i+1, units.Duration(r.CPUTime))}
		if len(r.Disturbed) > 0 {
			m.Class = "disturbed"
			m.Text += ", disturbed by " + causeList(r)
		}
		if !r.Kept {
			m.Class = "aside"
			m.Text += ", set aside"
		}
		m.Y += jitter(s.Marks, m.X)
		s.Marks = append(s.Marks, m)
		words = append(words, m.Text)
	}
	s.Text = fmt.Sprintf("CPU time of %s against the limit of %s, guard band %s: %s", text.Count(len(runs), "run"),
		units.Duration(limit), units.Duration(guard), strings.Join(words, "; "))
	return &s
}

// domain returns the times at the ends: from zero where all runs are far from the limit, otherwise around the limit.
func domain(runs []api.Run, t api.Timing) (low, high time.Duration) {
	low, high = t.Limit-t.Guard, t.Limit+t.Guard
	for _, r := range runs {
		low, high = min(low, r.CPUTime-r.Explained.CPUTime), max(high, r.CPUTime)
	}
	room := max((high-low)/10, time.Microsecond)
	low, high = low-room, high+room
	if low < t.Limit/2 {
		low = 0
	}
	return max(low, 0), high
}

// jitter returns by how much a mark is moved, so that it does not hide an earlier one.
func jitter(before []mark, x float64) float64 {
	near := 0
	for _, m := range before {
		if math.Abs(m.X-x) < 5 {
			near++
		}
	}
	if near == 0 {
		return 0
	}
	step := float64((near+1)/2) * 4
	if near%2 == 0 {
		step = -step
	}
	return min(max(step, -10), 10)
}

// causeList names what disturbed a run, with the most that each can have added.
func causeList(r api.Run) string {
	var parts []string
	for _, c := range r.Disturbed {
		text := string(c)
		for _, e := range r.Explained.Causes {
			if e.Cause == c {
				text += " (at most " + units.Duration(e.CPUTime) + ")"
			}
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}
