package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/host/slots"
	"judged/internal/jobs"
	"judged/internal/timing/stats"
)

// Restore loads what was learned, before any job runs: a quarantined slot stays out of use.
func (m *Monitor) Restore(ctx context.Context) error {
	if err := m.restoreDrains(ctx); err != nil || m.o.Interval <= 0 {
		return err
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

// drain is the decision of an operator about a slot.
type drain struct {
	Drained bool   `json:"drained"`
	Reason  string `json:"reason,omitempty"`
}

func (m *Monitor) drainKey(cpus cpuset.Set) []string {
	return []string{jobs.OperatorValues, "slot-drained", m.host, cpus.String()}
}

// saveDrain stores the decision of an operator, which is in force already.
func (m *Monitor) saveDrain(cpus cpuset.Set, d drain) {
	if err := m.o.Store.SetValue(context.Background(), d, m.drainKey(cpus)...); err != nil {
		m.o.Log.Warn("cannot save whether a slot is drained; do it again after a restart of judged", "cpus", cpus.String(),
			"drained", d.Drained, "error", err)
	}
}

// restoreDrains takes the slots out of use that an operator has drained.
func (m *Monitor) restoreDrains(ctx context.Context) error {
	for _, slot := range m.o.Pool.Slots() {
		var d drain
		if _, err := m.o.Store.Value(ctx, &d, m.drainKey(slot.CPUs)...); err != nil {
			return fmt.Errorf("load whether slot %s is drained: %w", slot.CPUs, err)
		}
		if !d.Drained {
			continue
		}
		m.o.Log.Warn("a slot is still drained; judged undrain puts it back into use", "cpus", slot.CPUs.String(), "reason",
			d.Reason)
		if err := m.o.Pool.Hold(slot.CPUs, slots.Hold{Cause: api.HoldOperator, Reason: d.Reason}); err != nil {
			return err
		}
	}
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
