package slots

import (
	"context"
	"maps"
	"slices"
	"time"

	"judged/internal/api"
)

// The states of a slot.
const (
	Idle        = "idle"
	Busy        = "busy"        // leased
	Draining    = "draining"    // leased, and out of use after its release
	Drained     = "drained"     // out of use because it was drained by the operator, or the host is not ready
	Quarantined = "quarantined" // out of use because its CPUs are slower or noisier than expected
)

// States returns all states.
func States() []string { return []string{Idle, Busy, Draining, Drained, Quarantined} }

// Causes returns all causes. If a slot has several, Status shows the first of them.
func Causes() []api.HoldCause {
	return []api.HoldCause{api.HoldQuarantine, api.HoldOperator, api.HoldUnfitHost}
}

// Hold keeps a slot out of use until it is lifted.
type Hold struct {
	Cause  api.HoldCause
	Reason string // for people
}

// place is a slot and its current state.
type place struct {
	slot  Slot
	holds map[api.HoldCause]string // reasons by cause
	since time.Time                // start of the state that Status shows

	leased  bool
	outside bool                    // leased for an examination while out of use; not shown as leased
	end     context.CancelCauseFunc // cancels the examination that has the slot; nil if none has

	resting  bool // leased, but the holder waits in the queue or uses another slot
	silenced int  // number of neighbours' runs that need quiet
}

// works reports whether a program may be running on the slot.
func (p *place) works() bool { return p.leased && !p.resting }

// inUse reports whether jobs can get the slot.
func (p *place) inUse() bool { return len(p.holds) == 0 }

// idle reports whether a job can get the slot now.
func (p *place) idle() bool { return p.inUse() && !p.leased }

// before reports whether p is a better choice than o: it is not being examined, or was idle for longer.
func (p *place) before(o *place) bool {
	if (p.end == nil) != (o.end == nil) {
		return p.end == nil
	}
	return p.since.Before(o.since)
}

// state returns the state that Status shows.
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

// hold returns the hold that Status shows, or the zero Hold.
func (p *place) hold() Hold {
	for _, c := range Causes() {
		if reason, ok := p.holds[c]; ok {
			return Hold{c, reason}
		}
	}
	return Hold{}
}

// change calls how, and updates the time if the state that Status shows changes.
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

// lift removes the holds with the given causes.
func (p *place) lift(causes []api.HoldCause) {
	maps.DeleteFunc(p.holds, func(c api.HoldCause, _ string) bool { return slices.Contains(causes, c) })
}
