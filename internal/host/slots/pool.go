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

// Errors of a Pool.
var (
	// ErrUnknownSlot means that no slot has exactly the given CPUs.
	ErrUnknownSlot = errors.New("no slot has exactly these CPUs")
	// ErrWanted interrupts an examination because a job needs the slot.
	ErrWanted = errors.New("a job wants the slot")
)

// Pool leases each slot to one holder at a time, in the order of the requests. It is safe for concurrent use.
//
// The mutex guards places and both queues. While it is held, no other lock is taken, nothing blocks, and no
// foreign code runs except now.
type Pool struct {
	now func() time.Time

	mu        sync.Mutex
	places    []*place
	waiting   []*waiter // longest waiting first
	examiners []*waiter // served after waiting
}

// NewPool returns a pool with all slots idle. now is the clock for SlotStatus.Since, usually time.Now. It is
// called with the pool locked and must not use the pool.
func NewPool(planned []Slot, now func() time.Time) *Pool {
	p := &Pool{now: now}
	start := now()
	for _, s := range planned {
		p.places = append(p.places, &place{slot: s, holds: map[api.HoldCause]string{}, since: start})
	}
	return p
}

// Lease is the right to use a slot until Release is called.
type Lease struct {
	pool  *Pool
	place *place
	from  *Lease // for a loan: the lease of the borrower
	quiet bool   // a loan during which the neighbours must not be used
	done  bool   // guarded by pool.mu, like the members of place
}

// Lease waits until it is the caller's turn and a slot is idle. It takes the slot that was idle longest, or
// else interrupts an examination. It fails only with the cause of ctx.
func (p *Pool) Lease(ctx context.Context) (*Lease, error) {
	return p.await(ctx, p.enqueue(&waiter{wishes: []Wish{{}}}))
}

// LeaseOf is Lease for one slot.
func (p *Pool) LeaseOf(ctx context.Context, cpus cpuset.Set) (*Lease, error) {
	s := p.find(cpus)
	if s == nil {
		return nil, fmt.Errorf("lease slot %q: %w", cpus, ErrUnknownSlot)
	}
	return p.await(ctx, p.enqueue(&waiter{only: s, wishes: []Wish{{}}}))
}

// Await waits until Lease would get a slot and returns that slot: the one that was idle longest, or else one
// that is being examined. It does not reserve the slot, so a later Lease may get another one. It fails only
// with the cause of ctx.
func (p *Pool) Await(ctx context.Context) (Slot, error) {
	l, err := p.await(ctx, p.enqueue(&waiter{look: true, wishes: []Wish{{}}}))
	if err != nil {
		return Slot{}, err
	}
	return l.Slot(), nil
}

// Examine waits until a slot is free and no job needs it, and then calls work with it, even if it is out of
// use. Snapshot and Lease still treat the slot as out of use. When a job needs the slot, the context of work is
// cancelled with ErrWanted, and the job gets the slot when work returns. Examine fails with the error of work,
// the cause of ctx, ErrUnknownSlot, or context.DeadlineExceeded if the slot was not free within patience.
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

// await waits until the waiter is served or ctx is done.
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

// Slot returns the leased slot.
func (l *Lease) Slot() Slot { return l.place.slot }

// Release returns the slot to the pool. The next waiter gets it, unless it was drained or quarantined in the
// meantime. Further calls have no effect.
func (l *Lease) Release() {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	l.release()
}

// release is Release with the pool locked. After a loan the borrower rests until Resume.
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

// Hold takes a slot out of use: at once, or when it is released, without waiting for that. A hold replaces an
// earlier one with the same cause.
func (p *Pool) Hold(cpus cpuset.Set, h Hold) error {
	return p.change("hold", cpus, func(s *place) { s.holds[h.Cause] = h.Reason })
}

// Lift removes the holds with the given causes, or all holds if there are none. The slot is in use again when
// it has no hold.
func (p *Pool) Lift(cpus cpuset.Set, causes ...api.HoldCause) error {
	if len(causes) == 0 {
		causes = Causes()
	}
	return p.change("lift the holds of", cpus, func(s *place) { s.lift(causes) })
}

// Slots returns all slots of the plan.
func (p *Pool) Slots() []Slot {
	all := make([]Slot, len(p.places))
	for i, s := range p.places {
		all[i] = s.slot
	}
	return all
}

// Waiting returns the number of callers that wait for a slot, without examinations.
func (p *Pool) Waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting)
}

// Snapshot returns the status of all slots at one time, in the order of the plan.
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

// find needs no lock, because the set of places never changes.
func (p *Pool) find(cpus cpuset.Set) *place {
	for _, s := range p.places {
		if slices.Equal(s.slot.CPUs, cpus) {
			return s
		}
	}
	return nil
}
