package dispatch

import (
	"fmt"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/host/slots"
)

// hostInterval is how often the settings of the host are checked.
const hostInterval = 10 * time.Second

// checkHost returns slots to use that were unfit and are fit again. A slot whose settings have changed is read
// immediately: another frequency affects its times.
func (m *Monitor) checkHost() {
	failed := strings.Join(m.o.Doctor().FailedIDs(), ",")
	for _, slot := range m.o.Pool.Slots() {
		fit := m.o.Engine.Fit(slot.CPUs)
		if fit == nil {
			m.logError(m.o.Pool.Lift(slot.CPUs, api.HoldUnfitHost))
		}
		m.noteSettings(slot, fmt.Sprint(m.o.Engine.Turbo(slot.CPUs).Value, fit, failed))
	}
}

func (m *Monitor) noteSettings(slot slots.Slot, settings string) {
	m.health.Lock()
	defer m.health.Unlock()
	s := m.slot(slot.CPUs.String())
	if s == nil {
		return
	}
	if s.settings != "" && s.settings != settings {
		s.readNow()
	}
	s.settings = settings
}

// decide quarantines a slot or ends its quarantine. The caller must hold m.health.
func (m *Monitor) decide(s *slotHealth) {
	trouble, cpus := s.trouble(), s.slot.CPUs.String()
	spared := trouble != "" && s.quarantine == "" && s.shifted() == "" && m.lastInUse(s)
	switch {
	case spared && !s.warned:
		m.o.Log.Warn("slot disturbed too often; it stays in use because it is the last one",
			"cpus", cpus, "reason", trouble)
	case spared:
	case trouble != "" && s.quarantine == "":
		m.o.Log.Warn("slot quarantined; it returns to use when its canaries recover", "cpus", cpus, "reason", trouble)
		s.quarantine = trouble
		m.logError(m.o.Pool.Hold(s.slot.CPUs, slots.Hold{Cause: api.HoldQuarantine, Reason: trouble}))
	case trouble == "" && s.quarantine != "":
		m.o.Log.Info("quarantine ended", "cpus", cpus, "reason", s.quarantine)
		s.release()
		m.logError(m.o.Pool.Lift(s.slot.CPUs, api.HoldQuarantine))
	}
	s.warned = spared
}

// lastInUse reports whether no other slot is in use.
func (m *Monitor) lastInUse(s *slotHealth) bool {
	for _, o := range m.o.Pool.Snapshot() {
		if o.CPUs != s.slot.CPUs.String() && (o.State == slots.Idle || o.State == slots.Busy) {
			return false
		}
	}
	return true
}
