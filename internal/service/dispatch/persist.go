package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"judged/internal/timing/stats"
)

// Restore loads what was learned, before any job runs: a quarantined slot stays out of use.
func (m *Monitor) Restore(ctx context.Context) error {
	if m.o.Interval <= 0 {
		return nil
	}
	m.health.Lock()
	defer m.health.Unlock()
	for _, slot := range m.o.Pool.Slots() {
		s := &slotHealth{slot: slot, kernels: m.o.Canary.Kernels(slot.CPUs), health: map[string]kernelHealth{},
			points: map[string][]ChartPoint{}, unsaved: map[string]int{}, virtual: m.o.Engine.Virtual(), due: time.Now()}
		for _, kernel := range s.kernels {
			var h kernelHealth
			if _, err := m.o.Store.Value(ctx, &h, m.healthKey(s, kernel)...); err != nil {
				return fmt.Errorf("load health of slot %s: %w", slot.CPUs, err)
			}
			s.health[kernel] = h
			if err := m.restoreChart(ctx, s, kernel); err != nil {
				return fmt.Errorf("load readings of slot %s: %w", slot.CPUs, err)
			}
		}
		m.slots = append(m.slots, s)
		m.decide(s)
	}
	// Values that are not in the store stay unchanged: at first all of them, and some if an older version has saved
	// them.
	th, g := m.o.Engine.Thresholds(), stats.DefaultGuard()
	if _, err := m.o.Store.Value(ctx, &th, m.key("thresholds")...); err != nil {
		return fmt.Errorf("load thresholds of evidence: %w", err)
	}
	if _, err := m.o.Store.Value(ctx, &g, m.key("guard")...); err != nil {
		return fmt.Errorf("load guard band: %w", err)
	}
	m.setThresholds(th)
	m.setGuard(g)
	return nil
}

// key returns the name of a value of this host. It differs for a new version of the canary, which starts from scratch.
func (m *Monitor) key(kind string) []string { return []string{kind, m.host, m.o.Canary.Digest()} }

func (m *Monitor) healthKey(s *slotHealth, kernel string) []string {
	return append(m.key("canary"), s.slot.CPUs.String(), kernel)
}

// unsaved is a value that must be stored.
type unsaved struct {
	what  string // name for log messages
	value json.RawMessage
	key   []string
}

func (m *Monitor) saveHealth(s *slotHealth, kernel string) {
	m.save("health of slot "+s.slot.CPUs.String(), s.health[kernel], m.healthKey(s, kernel))
}

// save makes the next flush store the current value. The caller must hold m.health.
func (m *Monitor) save(what string, v any, key []string) {
	value, err := json.Marshal(v)
	if err != nil {
		m.logUnsaved(what, err)
		return
	}
	m.unsaved = append(m.unsaved, unsaved{what, value, key})
}

// flush stores the saved values in the order of the calls of save. The caller must not hold m.health: no job waits for
// the store.
func (m *Monitor) flush(ctx context.Context) {
	m.saving.Lock()
	defer m.saving.Unlock()
	m.health.Lock()
	all := m.unsaved
	m.unsaved = nil
	m.health.Unlock()
	for _, u := range all {
		if err := m.o.Store.SetValue(ctx, u.value, u.key...); err != nil {
			m.logUnsaved(u.what, err)
		}
	}
}

func (m *Monitor) logUnsaved(what string, err error) {
	m.o.Log.Warn("cannot save "+what+"; it is learned again after a restart", "error", err)
}
