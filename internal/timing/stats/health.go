package stats

import (
	"slices"
	"time"
)

// State is the health of a slot according to one workload.
type State string

// The states, in the order in which they follow each other.
const (
	Learning State = "learning" // there is no baseline yet
	Steady   State = "steady"   // the times are those of the baseline
	Suspect  State = "suspect"  // the chart has signalled; the next readings decide and are taken immediately
	Shifted  State = "shifted"  // the times have left the guard band
)

// Health is the history of one workload on one slot, stored as JSON. The zero value has no baseline and learns one.
type Health struct {
	State    State           `json:"state"`
	Shift    Shift           `json:"shift,omitempty"` // of a suspect or shifted slot
	Baseline Baseline        `json:"baseline"`
	CUSUM    CUSUM           `json:"cusum"`
	EWMA     EWMA            `json:"ewma_sigma"`           // direction of a suspect or shifted slot
	Learned  []time.Duration `json:"learned_ns,omitempty"` // while learning
	Within   int             `json:"within,omitempty"`     // readings within the guard band: deciding ones, or if shifted consecutive ones
	Beyond   int             `json:"beyond,omitempty"`     // deciding readings beyond it in the direction of Shift
}

// Chart detects that a slot has changed. It has two stages, because a chart that detects a small shift early gives
// false alarms: a signal makes a slot suspect, and then the size of the shift decides. A shift within the guard band
// has no consequence.
type Chart struct {
	Learn         int     // readings for the baseline
	Slack, Signal float64 // k and h of the CUSUM in sigma
	Weight        float64 // lambda of the EWMA
	Confirm, Of   int     // a signal is confirmed if Confirm of Of readings are beyond the guard band
	Recover       int     // consecutive readings within the guard band after which a slot is steady again
}

// DefaultChart returns a chart with one false signal in 465 readings of a normal distribution, which signals a shift of
// one sigma after 10.4 readings (Montgomery, table 9.3). If six of ten readings are beyond the guard band, so is their
// median.
func DefaultChart() Chart {
	return Chart{Learn: 50, Slack: 0.5, Signal: 5, Weight: 0.2, Confirm: 6, Of: 10, Recover: 20}
}

// Next returns the health after one more reading, the time of an undisturbed run.
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
		// The reading that caused the signal does not count either: it was selected for being far away.
		h.CUSUM = CUSUM{}
	}
	return h
}

// decide counts a deciding reading. It decides as soon as further readings cannot change the result.
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

// steady returns the health with the same baseline and a new chart.
func (h Health) steady() Health {
	return Health{State: Steady, Baseline: h.Baseline, EWMA: h.EWMA}
}
