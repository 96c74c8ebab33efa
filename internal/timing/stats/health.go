package stats

import (
	"slices"
	"time"
)

// State is what is known of the health of a slot by one workload.
type State string

// The states, in the order in which they follow each other.
const (
	Learning State = "learning" // there is no baseline yet
	Steady   State = "steady"   // the times are those of the baseline
	Suspect  State = "suspect"  // the chart has signalled: the next readings, taken at once, decide
	Shifted  State = "shifted"  // the times have moved beyond the guard band and stayed there
)

// Health is what is remembered of one workload on one slot. The zero value knows
// nothing and learns; who wants a new baseline starts with it again. It is kept
// as JSON.
type Health struct {
	State    State           `json:"state"`
	Shift    Shift           `json:"shift,omitempty"` // of a suspect or shifted slot
	Baseline Baseline        `json:"baseline"`
	CUSUM    CUSUM           `json:"cusum"`
	EWMA     EWMA            `json:"ewma_sigma"`           // for people: how far the times are from the baseline of late
	Learned  []time.Duration `json:"learned_ns,omitempty"` // while learning
	Within   int             `json:"within,omitempty"`     // readings within the guard band: of those that decide; when shifted, in a row
	Beyond   int             `json:"beyond,omitempty"`     // readings beyond it to the side of Shift, of those that decide
}

// Turbo reports a slot that is faster than it was. A workload of plain
// arithmetic is that for one reason: the processor runs above its planned
// frequency. A workload in memory may only have lost a neighbour.
func (h Health) Turbo() bool { return h.State == Shifted && h.Shift == Faster }

// Chart says when a slot is no longer what it was. It works in two stages,
// because a chart sensitive enough to find a small shift soon gives false
// alarms: a signal only makes a slot suspect, and size decides. What the
// chart finds within the guard band stays without consequence.
type Chart struct {
	Learn         int     // readings that make the baseline
	Slack, Signal float64 // k and h of the CUSUM, in sigma
	Weight        float64 // lambda of the EWMA
	Confirm, Of   int     // so many of so many readings beyond the guard band confirm a signal
	Recover       int     // readings in a row within the guard band that bring a slot back
}

// DefaultChart signals falsely once in 465 readings of a normal distribution,
// and after 10.4 of them when they have moved by one sigma (Montgomery, table
// 9.3). Six of ten beyond the guard band are a median beyond it.
func DefaultChart() Chart {
	return Chart{Learn: 50, Slack: 0.5, Signal: 5, Weight: 0.2, Confirm: 6, Of: 10, Recover: 20}
}

// Next takes in one reading: a time, of an undisturbed run. It is pure.
func (c Chart) Next(h Health, t time.Duration) Health {
	if !h.Baseline.known() {
		return c.learn(h, t)
	}
	z := h.Baseline.standard(t)
	h.EWMA = h.EWMA.Next(z, c.Weight)
	switch h.State {
	case Suspect:
		return c.decide(h, t)
	case Shifted:
		return c.recover(h, t)
	default:
		return c.watch(h, z)
	}
}

func (c Chart) learn(h Health, t time.Duration) Health {
	times := append(slices.Clone(h.Learned), t)
	if len(times) < c.Learn {
		return Health{State: Learning, Learned: times}
	}
	return Health{State: Steady, Baseline: LearnBaseline(times)}
}

func (c Chart) watch(h Health, z float64) Health {
	h.CUSUM = h.CUSUM.Next(z, c.Slack)
	if s := h.CUSUM.Signal(c.Signal); s != NoShift {
		h.State, h.Shift = Suspect, s
		// Not even the reading that made the chart signal counts: it was
		// chosen for being far away.
		h.CUSUM, h.Within, h.Beyond = CUSUM{}, 0, 0
	}
	return h
}

// decide ends as soon as the rest of the readings cannot change the outcome.
func (c Chart) decide(h Health, t time.Duration) Health {
	if h.Baseline.Beyond(t) == h.Shift {
		h.Beyond++
	} else {
		h.Within++
	}
	switch {
	case h.Beyond >= c.Confirm:
		h.State, h.Within, h.Beyond = Shifted, 0, 0
	case h.Within > c.Of-c.Confirm:
		return h.steady()
	}
	return h
}

func (c Chart) recover(h Health, t time.Duration) Health {
	if h.Baseline.Beyond(t) != NoShift {
		h.Within = 0
		return h
	}
	if h.Within++; h.Within >= c.Recover {
		return h.steady()
	}
	return h
}

// steady begins a new chart against the old baseline.
func (h Health) steady() Health {
	return Health{State: Steady, Baseline: h.Baseline, EWMA: h.EWMA}
}
