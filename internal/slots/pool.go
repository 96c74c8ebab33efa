package slots

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"judged/internal/cpuset"
)

// ErrUnknownSlot is returned for CPUs that are not exactly those of a slot.
var ErrUnknownSlot = errors.New("no slot has exactly these CPUs")

// Pool leases slots, one holder each, in the order in which they were asked
// for. It is safe for concurrent use.
//
// The mutex guards places and waiting. It is a leaf: no other lock is taken,
// nothing waits and nobody else's code runs while it is held, except now.
type Pool struct {
	now func() time.Time

	mu      sync.Mutex
	places  []*place
	waiting []chan *Lease // the longest first; each takes one lease, buffered
}

// Status is one slot as operators see it.
type Status struct {
	CPUs   string    `json:"cpus"` // kernel list
	Node   int       `json:"numa_node"`
	State  string    `json:"state"`            // idle, busy, draining, drained, quarantined
	Reason string    `json:"reason,omitempty"` // why it is draining, drained or quarantined
	Since  time.Time `json:"since"`            // when it came into this state
}

// NewPool starts with all slots idle. now is the clock of Status.Since, usually
// time.Now; it is called with the pool locked and must not use the pool.
func NewPool(planned []Slot, now func() time.Time) *Pool {
	p := &Pool{now: now}
	start := now()
	for _, s := range planned {
		p.places = append(p.places, &place{slot: s, since: start})
	}
	return p
}

// Lease is the right to run on a slot, until Release.
type Lease struct {
	pool  *Pool
	place *place
	done  bool // guarded by pool.mu
}

// Lease waits until it is the caller's turn and a slot is idle, and takes the
// one that was idle longest. It fails only with the cause of ctx.
func (p *Pool) Lease(ctx context.Context) (*Lease, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("lease a slot: %w", context.Cause(ctx))
	}
	turn := p.enqueue()
	select {
	case l := <-turn:
		return l, nil
	case <-ctx.Done():
		p.leave(turn)
		return nil, fmt.Errorf("lease a slot: %w", context.Cause(ctx))
	}
}

// Slot is what was leased.
func (l *Lease) Slot() Slot { return l.place.slot }

// Release gives the slot back: to the next in line, or out of use if it was
// drained or quarantined meanwhile. Releasing again does nothing.
func (l *Lease) Release() {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	l.release()
}

// release is Release with the pool locked.
func (l *Lease) release() {
	if l.done {
		return
	}
	l.done = true
	l.place.apply(evRelease, "", l.pool.now())
	l.pool.serve()
}

// Drain takes a slot out of use, at once or when its holder gives it back. It
// does not wait for that. Draining a quarantined slot changes nothing.
func (p *Pool) Drain(cpus cpuset.Set, reason string) error {
	return p.change("drain", cpus, evDrain, reason)
}

// Undrain puts a slot back to use, drained or quarantined. One in use stays as
// it is.
func (p *Pool) Undrain(cpus cpuset.Set) error {
	return p.change("undrain", cpus, evUndrain, "")
}

// Quarantine takes a slot out of use as Drain does, and says that it is because
// of the slot.
func (p *Pool) Quarantine(cpus cpuset.Set, reason string) error {
	return p.change("quarantine", cpus, evQuarantine, reason)
}

// Snapshot is all slots at one moment, in the order of the plan.
func (p *Pool) Snapshot() []Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]Status, 0, len(p.places))
	for _, s := range p.places {
		all = append(all, Status{
			CPUs: s.slot.CPUs.String(), Node: s.slot.Node,
			State: s.phase.String(), Reason: s.reason, Since: s.since,
		})
	}
	return all
}

func (p *Pool) change(verb string, cpus cpuset.Set, e event, reason string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.places {
		if slices.Equal(s.slot.CPUs, cpus) {
			s.apply(e, reason, p.now())
			p.serve()
			return nil
		}
	}
	return fmt.Errorf("%s slot %q: %w", verb, cpus, ErrUnknownSlot)
}

// enqueue takes the last turn. The one that comes first may be served at once.
func (p *Pool) enqueue() chan *Lease {
	p.mu.Lock()
	defer p.mu.Unlock()
	turn := make(chan *Lease, 1)
	p.waiting = append(p.waiting, turn)
	p.serve()
	return turn
}

// leave gives up a turn. It may have been served a moment before: then the
// lease goes on to the next.
func (p *Pool) leave(turn chan *Lease) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.waiting, turn); i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
		return
	}
	(<-turn).release()
}

// serve hands idle slots to those who wait, in order. Called with the pool
// locked after every change that can make a slot idle or somebody wait; the
// sends do not block, because every channel has room for its one lease.
func (p *Pool) serve() {
	for len(p.waiting) > 0 {
		s := p.longestIdle()
		if s == nil {
			return
		}
		s.apply(evLease, "", p.now())
		p.waiting[0] <- &Lease{pool: p, place: s}
		p.waiting = slices.Delete(p.waiting, 0, 1)
	}
}

// longestIdle spreads work over the slots: heat too, and canaries that lease
// like everybody come to all of them.
func (p *Pool) longestIdle() *place {
	var best *place
	for _, s := range p.places {
		if s.phase == idle && (best == nil || s.since.Before(best.since)) {
			best = s
		}
	}
	return best
}
