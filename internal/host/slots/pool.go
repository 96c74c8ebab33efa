package slots

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"judged/internal/api"

	"judged/internal/base/cpuset"
)

// Errors that callers distinguish.
var (
	// ErrUnknownSlot is returned for CPUs that are not exactly those of a slot.
	ErrUnknownSlot = errors.New("no slot has exactly these CPUs")
	// ErrWanted ends an examination: a job wants the slot.
	ErrWanted = errors.New("a job wants the slot")
)

// Pool leases slots to one holder each, in the order of the requests. It is safe
// for concurrent use.
//
// The mutex guards places and both queues. It is a leaf: while it is held, no other
// lock is taken, nothing waits and no foreign code runs, except now.
type Pool struct {
	now func() time.Time

	mu        sync.Mutex
	places    []*place
	waiting   []*waiter // the longest first
	examiners []*waiter // served after waiting
}

// NewPool starts with all slots idle. now is the clock of Status.Since, usually
// time.Now; it is called with the pool locked and must not use the pool.
func NewPool(planned []Slot, now func() time.Time) *Pool {
	p := &Pool{now: now}
	start := now()
	for _, s := range planned {
		p.places = append(p.places, &place{slot: s, holds: map[api.HoldCause]string{}, since: start})
	}
	return p
}

// Lease is the right to run on a slot, until Release.
type Lease struct {
	pool  *Pool
	place *place
	from  *Lease // of a loan: who has it
	quiet bool   // a loan that keeps its neighbours from being used
	done  bool   // guarded by pool.mu, as place's members are
}

// Lease waits until it is the caller's turn and a slot is idle, and takes the
// one that was idle longest; it ends an examination that has one. It fails only
// with the cause of ctx.
func (p *Pool) Lease(ctx context.Context) (*Lease, error) {
	return p.await(ctx, p.enqueue(&waiter{wishes: []Wish{{}}}))
}

// Await waits until Lease would get a slot, and returns it: the one that was
// idle longest, or else one that is being examined. It takes nothing, so a later
// Lease may be of another slot. It fails only with the cause of
// ctx.
func (p *Pool) Await(ctx context.Context) (Slot, error) {
	l, err := p.await(ctx, p.enqueue(&waiter{look: true, wishes: []Wish{{}}}))
	if err != nil {
		return Slot{}, err
	}
	return l.Slot(), nil
}

// Examine waits until a certain slot is free and no job wants it, and works on
// it, even if it is out of use: for Snapshot and Lease it stays so. When a job wants
// the slot the context of the work ends with ErrWanted, and the job gets the slot
// as soon as the work returns. It fails with the error
// of the work, the cause of ctx, ErrUnknownSlot, or with context.DeadlineExceeded
// when the slot was not free within the patience.
func (p *Pool) Examine(ctx context.Context, cpus cpuset.Set, patience time.Duration,
	work func(context.Context) error) error {
	s := p.find(cpus)
	if s == nil {
		return fmt.Errorf("examine slot %q: %w", cpus, ErrUnknownSlot)
	}
	working, end := context.WithCancelCause(ctx)
	defer end(nil)
	waiting, stop := context.WithTimeout(ctx, patience)
	defer stop()
	lease, err := p.await(waiting, p.enqueue(&waiter{only: s, end: end, wishes: []Wish{{}}}))
	if err != nil {
		return err
	}
	defer lease.Release()
	return work(working)
}

// await waits until the waiter is served or the caller gives up.
func (p *Pool) await(ctx context.Context, t *waiter) (*Lease, error) {
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

// Release gives the slot back: to the next waiter, or out of use if it was
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
		l.pool.silence(l.place, -1)
	}
	if l.from != nil && !l.from.done {
		l.from.place.resting = true
	}
	if l.from == nil || l.from.place != l.place {
		l.place.resting = false
		l.place.change(l.pool.now(), l.place.release)
	}
	l.pool.serve()
}

// Hold takes a slot out of use, at once or when its holder releases it. It does
// not wait for that. A hold replaces an earlier one of the same cause.
func (p *Pool) Hold(cpus cpuset.Set, h Hold) error {
	return p.change("hold", cpus, func(s *place) { s.holds[h.Cause] = h.Reason })
}

// Lift removes the holds of these causes; without causes, all. The slot is in use
// again when it has no hold.
func (p *Pool) Lift(cpus cpuset.Set, causes ...api.HoldCause) error {
	if len(causes) == 0 {
		causes = Causes()
	}
	return p.change("lift the holds of", cpus, func(s *place) { s.lift(causes) })
}

// Slots lists what was planned.
func (p *Pool) Slots() []Slot {
	all := make([]Slot, len(p.places))
	for i, s := range p.places {
		all[i] = s.slot
	}
	return all
}

// Waiting is how many callers wait for a slot, without examinations.
func (p *Pool) Waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting)
}

// Snapshot is all slots at one moment, in the order of the plan.
func (p *Pool) Snapshot() []api.SlotStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]api.SlotStatus, 0, len(p.places))
	for _, s := range p.places {
		h := s.hold()
		all = append(all, api.SlotStatus{
			CPUs: s.slot.CPUs.String(), Node: s.slot.Node,
			State: s.state(), Cause: h.Cause, Reason: h.Reason, Since: s.since,
		})
	}
	return all
}

func (p *Pool) change(verb string, cpus cpuset.Set, how func(*place)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.find(cpus)
	if s == nil {
		return fmt.Errorf("%s slot %q: %w", verb, cpus, ErrUnknownSlot)
	}
	s.change(p.now(), func() { how(s) })
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
