package slots

import (
	"context"
	"slices"
	"time"
)

// Wish is a requirement on the slot for a run.
type Wish struct {
	Quiet     bool // no neighbour of the slot is busy while it is held
	OtherCore bool // a slot other than the caller's
}

// waiter is a caller in a queue.
type waiter struct {
	look   bool                    // waits without leasing
	only   *place                  // the slot that it waits for; nil: any
	end    context.CancelCauseFunc // for an examination: cancels its work
	from   *Lease                  // for a borrower: its own lease
	wishes []Wish                  // acceptable slots, best first
	served chan *Lease             // buffered, so that serve never blocks
}

// Borrow waits for a slot for one run of the job that holds l. Until then l rests: its slot is not busy, so
// that two borrowers that each need the other's slot to be quiet get it one after the other. After patience,
// Borrow accepts any free slot, in the worst case that of l, so it fails only with the cause of ctx. While it
// waits for quiet, the neighbours of l are not leased.
//
// The loan ends with its Release, and l must not be used before Resume.
func (l *Lease) Borrow(ctx context.Context, w Wish, patience time.Duration) (*Lease, error) {
	if w.OtherCore && !l.pool.othersInUse(l.place) {
		w.OtherCore = false // there is no other slot
	}
	t := l.pool.enqueue(&waiter{from: l, wishes: []Wish{w}})
	timer := time.AfterFunc(patience, func() {
		l.pool.relax(t, []Wish{w, {Quiet: w.Quiet}, {OtherCore: w.OtherCore}, {}})
	})
	defer timer.Stop()
	return l.pool.await(ctx, t)
}

// Resume waits after a loan until l's slot may be busy again, because a neighbour may now need it to be quiet.
func (l *Lease) Resume(ctx context.Context) error {
	own, err := l.pool.await(ctx, l.pool.enqueue(&waiter{from: l, wishes: []Wish{{}}}))
	if err != nil {
		return err
	}
	// Not in Release: after that a borrower still rests.
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	own.done = true
	return nil
}

// silence adds n to the counts of the neighbours of s, which is held in quiet.
func (p *Pool) silence(s *place, n int) {
	for _, o := range p.neighbours(s) {
		o.silenced += n
	}
}

// neighbours returns the other slots that interfere with s.
func (p *Pool) neighbours(s *place) []*place {
	var all []*place
	for _, o := range p.places {
		if o != s && (s.slot.Interferes(o.slot) || o.slot.Interferes(s.slot)) {
			all = append(all, o)
		}
	}
	return all
}

func (p *Pool) othersInUse(s *place) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.places, func(o *place) bool { return o != s && o.inUse() })
}

// enqueue appends a waiter to its queue. The waiter may be served at once.
func (p *Pool) enqueue(t *waiter) *waiter {
	p.mu.Lock()
	defer p.mu.Unlock()
	t.served = make(chan *Lease, 1)
	if t.end != nil {
		p.examiners = append(p.examiners, t)
	} else {
		p.waiting = append(p.waiting, t)
	}
	if t.from != nil {
		t.from.place.resting = true
	}
	p.serve()
	return t
}

// relax replaces the wishes of a waiter by weaker ones.
func (p *Pool) relax(t *waiter, wishes []Wish) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t.wishes = wishes
	p.serve()
}

// leave removes a waiter. If it has just been served, the next waiter gets the lease.
func (p *Pool) leave(t *waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case l := <-t.served:
		if l != nil {
			l.release()
		}
	default:
		gone := func(o *waiter) bool { return o == t }
		p.waiting = slices.DeleteFunc(p.waiting, gone)
		p.examiners = slices.DeleteFunc(p.examiners, gone)
	}
	if t.from != nil {
		t.from.place.resting = false
	}
	p.serve()
}

// serve assigns slots to waiters in order, examinations last. It is called with the pool locked after each
// change that can free a slot or add a waiter. A waiter that cannot be served does not block those behind it.
// If it waits for quiet, however, its idle neighbours are kept free, because otherwise it could wait forever.
func (p *Pool) serve() {
	var kept []*place
	grant := func(t *waiter) bool {
		if p.grant(t, kept) {
			return true
		}
		if t.from != nil && t.wishes[0].Quiet {
			kept = append(kept, p.neighbours(t.from.place)...)
		}
		return false
	}
	p.waiting = slices.DeleteFunc(p.waiting, grant)
	p.examiners = slices.DeleteFunc(p.examiners, grant)
	p.interrupt()
}

// interrupt cancels the examinations that block waiters. One job may cancel several of them.
func (p *Pool) interrupt() {
	for _, s := range p.places {
		if s.end != nil && slices.ContainsFunc(p.waiting, func(t *waiter) bool { return p.wants(t, s) }) {
			s.end(ErrWanted)
		}
	}
}

// wants reports whether t would be served if the examination of s ended.
func (p *Pool) wants(t *waiter, s *place) bool {
	if t.from == nil {
		return s.inUse() && (t.only == nil || t.only == s)
	}
	w := t.wishes[0]
	return w.OtherCore && s.inUse() || w.Quiet && slices.Contains(p.neighbours(t.from.place), s)
}

// grant serves a waiter with its best wish that can be met.
func (p *Pool) grant(t *waiter, kept []*place) bool {
	for _, w := range t.wishes {
		if s := p.choose(t, w, kept); s != nil {
			t.served <- p.give(t, s, w)
			return true
		}
	}
	return false
}

// choose returns the slot that was idle longest, which spreads work and heat. It returns a slot that is being
// examined only if there is no other.
func (p *Pool) choose(t *waiter, w Wish, kept []*place) *place {
	var best *place
	for _, s := range p.places {
		if p.fits(t, w, s, kept) && (best == nil || s.before(best)) {
			best = s
		}
	}
	return best
}

func (p *Pool) fits(t *waiter, w Wish, s *place, kept []*place) bool {
	own := t.from != nil && !w.OtherCore
	switch {
	case s.silenced > 0:
		return false
	case own && s != t.from.place:
		return false
	case !own && slices.Contains(kept, s):
		return false
	case t.look && s.inUse() && s.end != nil:
		return true
	case t.only != nil && s != t.only, t.end != nil && s.leased:
		return false
	case t.end == nil && !own && !s.idle():
		return false
	}
	return !w.Quiet || !slices.ContainsFunc(p.neighbours(s), (*place).works)
}

// give creates the lease. A loan of the borrower's own slot only makes the slot busy again, in quiet if the
// wish asks for it.
func (p *Pool) give(t *waiter, s *place, w Wish) *Lease {
	switch {
	case t.look:
		return &Lease{pool: p, place: s, done: true}
	case t.from != nil && s == t.from.place:
		s.resting = false
	default:
		s.change(p.now(), func() { s.lease(t.end) })
	}
	if w.Quiet {
		p.silence(s, 1)
	}
	return &Lease{pool: p, place: s, from: t.from, quiet: w.Quiet}
}
