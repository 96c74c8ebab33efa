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
// The mutex guards places and both lines. It is a leaf: no other lock is taken,
// nothing waits and nobody else's code runs while it is held, except now.
type Pool struct {
	now func() time.Time

	mu        sync.Mutex
	places    []*place
	waiting   []*turn // the longest first
	examiners []*turn // get what nobody in waiting takes
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
	from  *Lease // of a loan: who has it
	quiet bool   // a loan that keeps the slots beside it from being used
	done  bool   // guarded by pool.mu, as place's members are
}

// Lease waits until it is the caller's turn and a slot is idle, and takes the
// one that was idle longest. It fails only with the cause of ctx.
func (p *Pool) Lease(ctx context.Context) (*Lease, error) {
	return p.await(ctx, p.enqueue(&turn{wishes: []Wish{{}}}))
}

// Examine waits until a certain slot is free and nobody who judges wants it,
// and takes it, also where it is drained or quarantined: it stays that, to
// Snapshot and to Lease. It fails with the cause of ctx, or with ErrUnknownSlot.
func (p *Pool) Examine(ctx context.Context, cpus cpuset.Set) (*Lease, error) {
	s := p.find(cpus)
	if s == nil {
		return nil, fmt.Errorf("examine slot %q: %w", cpus, ErrUnknownSlot)
	}
	return p.await(ctx, p.enqueue(&turn{only: s, wishes: []Wish{{}}}))
}

// await is the rest of a turn: it is served or the caller gives up.
func (p *Pool) await(ctx context.Context, t *turn) (*Lease, error) {
	if ctx.Err() == nil {
		select {
		case l := <-t.served:
			return l, nil
		case <-ctx.Done():
		}
	}
	p.leave(t)
	return nil, fmt.Errorf("lease a slot: %w", context.Cause(ctx))
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

// release is Release with the pool locked. After a loan its borrower rests
// until it resumes.
func (l *Lease) release() {
	if l.done {
		return
	}
	l.done = true
	if l.quiet {
		l.pool.hush(l.place, -1)
	}
	if l.from != nil && !l.from.done {
		l.from.place.resting = true
	}
	if l.from == nil || l.from.place != l.place {
		l.place.resting = false
		l.place.apply(evRelease, "", l.pool.now())
	}
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

// Slots lists what was planned.
func (p *Pool) Slots() []Slot {
	all := make([]Slot, len(p.places))
	for i, s := range p.places {
		all[i] = s.slot
	}
	return all
}

// Waiting is how many wait for a slot or for another one, without those who
// examine.
func (p *Pool) Waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting)
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
	s := p.find(cpus)
	if s == nil {
		return fmt.Errorf("%s slot %q: %w", verb, cpus, ErrUnknownSlot)
	}
	s.apply(e, reason, p.now())
	p.serve()
	return nil
}

// find needs no lock: which places there are never changes.
func (p *Pool) find(cpus cpuset.Set) *place {
	for _, s := range p.places {
		if slices.Equal(s.slot.CPUs, cpus) {
			return s
		}
	}
	return nil
}
