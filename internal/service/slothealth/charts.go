package slothealth

import (
	"slices"
	"time"

	"judged/internal/timing/canary"
	"judged/internal/timing/stats"
)

// Chart has the readings of one kernel on one slot since judged was started, oldest first, and the baseline that they
// are compared with.
type Chart struct {
	Kernel   string
	State    stats.State
	Shift    stats.Shift
	Baseline stats.Baseline
	Points   []Point
}

// Point is one reading. A disturbed one does not change the state of the slot.
type Point struct {
	At        time.Time
	CPUTime   time.Duration
	Disturbed bool
}

// chartPoints limits the readings of a chart: half a day of one a minute.
const chartPoints = 720

// Charts returns the charts of the slot with these CPUs, a kernel list. It returns nothing for an unknown slot, or if
// canaries are off.
func (m *Monitor) Charts(cpus string) []Chart {
	m.health.Lock()
	defer m.health.Unlock()
	s := m.slot(cpus)
	if s == nil {
		return nil
	}
	var all []Chart
	for _, kernel := range s.kernels {
		h := s.health[kernel]
		all = append(all, Chart{Kernel: kernel, State: h.State, Shift: h.Shift, Baseline: h.Baseline,
			Points: slices.Clone(s.points[kernel])})
	}
	return all
}

// plot adds a reading to its chart.
func (s *slotHealth) plot(r canary.Reading, at time.Time) {
	if s.points == nil {
		s.points = map[string][]Point{}
	}
	points := append(s.points[r.Kernel], Point{at, r.CPUTime, disturbedReading(r)})
	s.points[r.Kernel] = points[max(0, len(points)-chartPoints):]
}
