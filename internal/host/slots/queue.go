package slots

import (
	"context"
	"slices"
	"time"
)

// Wish is a requirement on the slot of a run.
type Wish struct {
	Quiet     bool // no neighbour of the slot is busy, now and while it is held
	OtherCore bool // not the slot that the caller has
}

// waiter is a caller in a queue.
type waiter struct {
	look   bool                    // takes nothing
	only   *place                  // of an examination: its slot
	end    context.CancelCauseFunc // of an examination: ends its work
	from   *Lease                  // of a borrower: its own lease
	wishes []Wish                  // acceptable slots, the best first
	served chan *Lease             // buffered, so that serving never blocks
}

// Borrow waits for a slot for one run of the job that has l. Until then l rests: a
// slot whose holder waits here is not busy, so two borrowers that wait for each
// other's quiet both get it, one after the other. After patience any slot that is
// free will do, in the last resort l's own; so it fails only with the cause of ctx.
// While it waits for quiet, the neighbours of l are not leased again.
//
// The loan ends with its Release, and l must not be used before Resume.
func (l *Lease) Borrow(ctx context.Context, w Wish, patience time.Duration) (*Lease, error) {
	if w.OtherCore && !l.pool.othersInUse(l.place) {
		w.OtherCore = false // there is no other slot to wait for
	}
	t := l.pool.enqueue(&waiter{from: l, wishes: []Wish{w}})
	timer := time.AfterFunc(patience, func() {
		l.pool.content(t, []Wish{w, {Quiet: w.Quiet}, {OtherCore: w.OtherCore}, {}})
	})
	defer timer.Stop()
	return l.pool.await(ctx, t)
}

// Resume waits, after a loan, until l's own slot may be busy again: a neighbour
// may have got the quiet that the loan left there.
func (l *Lease) Resume(ctx context.Context) error {
	own, err := l.pool.await(ctx, l.pool.enqueue(&waiter{from: l, wishes: []Wish{{}}}))
	if err != nil {
		return err
	}
	// Not by Release, after which a borrower rests.
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	own.done = true
	return nil
}

// silence changes the count of the neighbours of a slot that is held in quiet.
func (p *Pool) silence(s *place, n int) {
	for _, o := range p.neighbours(s) {
		o.silenced += n
	}
}

// neighbours are the other slots that interfere with s.
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

// enqueue adds a waiter to the end of its queue; it may be served at once.
func (p *Pool) enqueue(t *waiter) *waiter {
	p.mu.Lock()
	defer p.mu.Unlock()
	t.served = make(chan *Lease, 1)
	if t.only != nil {
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

// content lowers the requirements of a waiter.
func (p *Pool) content(t *waiter, wishes []Wish) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t.wishes = wishes
	p.serve()
}

// leave removes a waiter. If it was served a moment before, the next waiter gets
// the lease.
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

// serve gives slots to waiters in order, examinations last. It is called with the
// pool locked after every change that can free a slot or add a waiter. A waiter
// that cannot be served does not block those behind it, except for quiet: they do
// not get its idle neighbours, or it would wait forever.
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

// interrupt ends the examinations that waiters wait for. One job may end several of
// them.
func (p *Pool) interrupt() {
	for _, s := range p.places {
		if s.end != nil && slices.ContainsFunc(p.waiting, func(t *waiter) bool { return p.wants(t, s) }) {
			s.end(ErrWanted)
		}
	}
}

// wants reports whether a waiter would be served if the examination of s ended.
func (p *Pool) wants(t *waiter, s *place) bool {
	if t.from == nil {
		return s.inUse()
	}
	w := t.wishes[0]
	return w.OtherCore && s.inUse() || w.Quiet && slices.Contains(p.neighbours(t.from.place), s)
}

// grant serves a waiter with the best of its wishes that can be met.
func (p *Pool) grant(t *waiter, kept []*place) bool {
	for _, w := range t.wishes {
		if s := p.choose(t, w, kept); s != nil {
			t.served <- p.give(t, s, w)
			return true
		}
	}
	return false
}

// choose takes the slot that was idle longest, and one that is being examined only
// if there is no other. That spreads work and heat over the slots.
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
	case t.only != nil && (s != t.only || s.leased):
		return false
	case t.only == nil && !own && !s.idle():
		return false
	}
	return !w.Quiet || !slices.ContainsFunc(p.neighbours(s), (*place).works)
}

// give makes the lease. A loan of the borrower's own slot only makes it busy again,
// in quiet if that was the wish.
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
