package slots

import (
	"context"
	"maps"
	"slices"
	"time"

	"judged/internal/api"
)

// The states of a slot, as operators see them.
const (
	Idle        = "idle"
	Busy        = "busy"        // leased
	Draining    = "draining"    // leased; will not be leased again when it comes back
	Drained     = "drained"     // out of use because the operator drained it, or the host is unfit
	Quarantined = "quarantined" // out of use because its CPUs are slower or noisier than they should be
)

// States lists all states.
func States() []string { return []string{Idle, Busy, Draining, Drained, Quarantined} }

// Causes lists all causes, the one first that Status shows of several.
func Causes() []api.HoldCause {
	return []api.HoldCause{api.HoldQuarantine, api.HoldOperator, api.HoldUnfitHost}
}

// Hold is what keeps a slot out of use until it is lifted.
type Hold struct {
	Cause  api.HoldCause
	Reason string // for people
}

// place is one slot in its present state.
type place struct {
	slot  Slot
	holds map[api.HoldCause]string // reasons
	since time.Time                // of the state that Status shows

	leased  bool
	outside bool                    // leased while out of use, for an examination: not shown as leased
	end     context.CancelCauseFunc // of the examination that has it; nil if none has

	resting  bool // leased, but its holder waits in the queue or runs elsewhere
	silenced int  // runs of neighbours that need quiet
}

// works reports whether a program may be running on it.
func (p *place) works() bool { return p.leased && !p.resting }

// inUse reports whether jobs get the slot.
func (p *place) inUse() bool { return len(p.holds) == 0 }

// idle reports whether a job can have the slot now.
func (p *place) idle() bool { return p.inUse() && !p.leased }

// before reports whether p is the better choice of two that fit: it is not being
// examined, or it was idle for longer.
func (p *place) before(o *place) bool {
	if (p.end == nil) != (o.end == nil) {
		return p.end == nil
	}
	return p.since.Before(o.since)
}

// state is what Status shows.
func (p *place) state() string {
	_, quarantined := p.holds[api.HoldQuarantine]
	switch {
	case p.inUse() && p.leased:
		return Busy
	case p.inUse():
		return Idle
	case p.leased && !p.outside:
		return Draining
	case quarantined:
		return Quarantined
	}
	return Drained
}

// hold is the one that Status shows; the zero value without holds.
func (p *place) hold() Hold {
	for _, c := range Causes() {
		if reason, ok := p.holds[c]; ok {
			return Hold{c, reason}
		}
	}
	return Hold{}
}

// change makes a change and notes the time if the state that Status shows changed.
func (p *place) change(now time.Time, how func()) {
	before := p.state()
	how()
	if p.inUse() {
		p.outside = false
	}
	if p.state() != before {
		p.since = now
	}
}

func (p *place) lease(end context.CancelCauseFunc) {
	p.leased, p.outside, p.end = true, !p.inUse(), end
}

func (p *place) release() {
	p.leased, p.outside, p.end = false, false, nil
}

// lift removes the holds of these causes.
func (p *place) lift(causes []api.HoldCause) {
	maps.DeleteFunc(p.holds, func(c api.HoldCause, _ string) bool { return slices.Contains(causes, c) })
}
