package slots

import "time"

// The states of a slot, as they are told.
const (
	Idle        = "idle"
	Busy        = "busy"        // leased
	Draining    = "draining"    // leased; will not be leased again when it comes back
	Drained     = "drained"     // out of use because somebody said so
	Quarantined = "quarantined" // out of use because its CPUs are not as they should be
)

// States lists all states.
func States() []string { return []string{Idle, Busy, Draining, Drained, Quarantined} }

// phase is a state with what is to follow it: a slot that is draining becomes
// drained or quarantined. One that is leased while out of use, to be examined,
// is told as out of use all the same.
type phase uint8

const (
	idle phase = iota
	busy
	draining
	condemned // draining, then quarantined
	drained
	quarantined
	drainedExamined     // leased, as the next
	quarantinedExamined //
	phases
	never = phases // not reachable: a leased slot is not leased again, only a leased one comes back
)

type event uint8

const (
	evLease event = iota
	evRelease
	evDrain
	evUndrain
	evQuarantine
	events
)

// after is the whole life of a slot. A quarantine is stronger than a drain:
// draining a quarantined slot changes nothing. Undraining lifts both.
var after = [phases][events]phase{
	//            lease  release      drain        undrain  quarantine
	idle:        {busy, never, drained, idle, quarantined},
	busy:        {never, idle, draining, busy, condemned},
	draining:    {never, drained, draining, busy, condemned},
	condemned:   {never, quarantined, condemned, busy, condemned},
	drained:     {drainedExamined, never, drained, idle, quarantined},
	quarantined: {quarantinedExamined, never, quarantined, idle, quarantined},

	drainedExamined:     {never, drained, drainedExamined, busy, quarantinedExamined},
	quarantinedExamined: {never, quarantined, quarantinedExamined, busy, quarantinedExamined},
}

// leased reports whether somebody holds the slot.
func (p phase) leased() bool { return after[p][evRelease] != never }

// inUse reports whether jobs get the slot.
func (p phase) inUse() bool { return p == idle || p == busy }

func (p phase) String() string {
	switch p {
	case idle:
		return Idle
	case busy:
		return Busy
	case draining, condemned:
		return Draining
	case drained, drainedExamined:
		return Drained
	default:
		return Quarantined
	}
}

// place is one slot in its present state.
type place struct {
	slot   Slot
	phase  phase
	reason string    // of the drain or quarantine in force
	since  time.Time // of the state as it is told

	resting bool // leased, but its holder waits in the line or runs elsewhere
	hush    int  // so many runs beside it are to be quiet
}

// works reports whether a program may be running on it.
func (p *place) works() bool { return p.phase.leased() && !p.resting }

// apply moves the place on. The reason counts where the event put its own hold
// on the slot; without a hold there is none.
func (p *place) apply(e event, reason string, now time.Time) {
	next := after[p.phase][e]
	if next == never {
		panic("slots: " + p.slot.CPUs.String() + " is " + p.phase.String() + ": no such transition")
	}
	switch {
	case next == idle || next == busy:
		p.reason = ""
	case e == evQuarantine, e == evDrain && (next == draining || next == drained || next == drainedExamined):
		p.reason = reason
	}
	if next.String() != p.phase.String() {
		p.since = now
	}
	p.phase = next
}
