package dispatch

import (
	"context"
	"slices"
	"time"

	"judged/internal/engine/measure"
	"judged/internal/timing/stats"
)

// Chart has the latest readings of one kernel on one slot, oldest first, and the baseline that they are compared with.
type Chart struct {
	Kernel   string
	State    stats.State
	Shift    stats.Shift
	Baseline stats.Baseline
	Points   []ChartPoint
}

// Point is one reading. A disturbed one does not change the state of the slot.
type ChartPoint struct {
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
func (s *slotHealth) plot(r measure.Reading, at time.Time) {
	points := append(s.points[r.Kernel], ChartPoint{at, r.CPUTime, disturbedReading(r)})
	s.points[r.Kernel] = points[max(0, len(points)-chartPoints):]
	s.unsaved[r.Kernel]++
}

// saveChartsEvery is how many readings of a chart may be lost when judged ends: each chart is up to 30 kB.
const saveChartsEvery = 10

// storedPoint is a Point as it is stored: Unix time in milliseconds, CPU time in nanoseconds, and 1 if it is disturbed.
type storedPoint [3]int64

func (m *Monitor) chartKey(s *slotHealth, kernel string) []string {
	return append(m.key("chart"), s.slot.CPUs.String(), kernel)
}

// saveChart saves a chart if enough of its readings are not saved.
func (m *Monitor) saveChart(s *slotHealth, kernel string) {
	if s.unsaved[kernel] < saveChartsEvery {
		return
	}
	s.unsaved[kernel] = 0
	stored := make([]storedPoint, len(s.points[kernel]))
	for i, p := range s.points[kernel] {
		stored[i] = storedPoint{p.At.UnixMilli(), int64(p.CPUTime), 0}
		if p.Disturbed {
			stored[i][2] = 1
		}
	}
	m.save("readings of slot "+s.slot.CPUs.String(), stored, m.chartKey(s, kernel))
}

// restoreChart loads the readings of a chart.
func (m *Monitor) restoreChart(ctx context.Context, s *slotHealth, kernel string) error {
	var stored []storedPoint
	if _, err := m.o.Store.Value(ctx, &stored, m.chartKey(s, kernel)...); err != nil {
		return err
	}
	points := make([]ChartPoint, len(stored))
	for i, p := range stored {
		points[i] = ChartPoint{time.UnixMilli(p[0]), time.Duration(p[1]), p[2] != 0}
	}
	s.points[kernel] = points
	return nil
}
