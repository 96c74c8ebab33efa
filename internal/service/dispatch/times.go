package dispatch

import (
	"slices"
	"time"

	"judged/internal/api"
	"judged/internal/engine/measure"
	"judged/internal/host/slots"
)

// Times returns how long this host needs for the kernels that neighbours do not affect: the median over the baselines
// of its slots, except for slots that were taken out of use. It has no kernels until all baselines are learned, which
// takes about a minute for each slot, without jobs. It is nil if no canaries are read.
func (m *Monitor) Times() *api.KernelTimes {
	if m.o.Interval <= 0 {
		return nil
	}
	out := map[string]bool{}
	for _, o := range m.o.Pool.Snapshot() {
		out[o.CPUs] = o.State == slots.Drained
	}
	m.health.Lock()
	defer m.health.Unlock()
	var all []*api.KernelTimes
	for _, s := range m.slots {
		if out[s.slot.CPUs.String()] {
			continue
		}
		one := &api.KernelTimes{CPUTime: map[string]time.Duration{}}
		for _, kernel := range measure.OwnKernels() {
			switch h := s.health[kernel]; {
			case h.learned():
				one.CPUTime[kernel] = h.Baseline.Center
			case slices.Contains(s.kernels, kernel):
				return &api.KernelTimes{Program: m.o.Canary.Digest()}
			}
		}
		all = append(all, one)
	}
	return &api.KernelTimes{Program: m.o.Canary.Digest(), CPUTime: api.MedianTimes(all)}
}
