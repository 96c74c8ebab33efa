package slots

import (
	"context"
	"slices"
	"time"
)

// Wish is what is asked of the place of a run.
type Wish struct {
	Quiet     bool // no slot beside it works, before and for as long as it is held
	OtherCore bool // not the slot that the caller has
}

// turn is somebody in a line.
type turn struct {
	look   bool                    // takes nothing
	only   *place                  // of an examiner: this one
	end    context.CancelCauseFunc // of an examiner: ends its work
	from   *Lease                  // of a borrower: what it has
	wishes []Wish                  // what will do, the best first
	served chan *Lease             // has room for its one lease, so that serving never blocks
}

// Borrow waits for a place for one run of a job that has l, and which rests
// meanwhile: a slot whose holder waits here disturbs nobody, so two who wait
// for each other's quiet both get it, one after the other. After patience
// whatever can be had at once will do, at the worst l's own slot; so it fails
// only with the cause of ctx. Slots beside l are not leased anew while it waits.
//
// The loan ends with its Release, and l must not be used before Resume.
func (l *Lease) Borrow(ctx context.Context, w Wish, patience time.Duration) (*Lease, error) {
	if w.OtherCore && !l.pool.othersInUse(l.place) {
		w.OtherCore = false // not worth the patience
	}
	t := l.pool.enqueue(&turn{from: l, wishes: []Wish{w}})
	timer := time.AfterFunc(patience, func() {
		l.pool.content(t, []Wish{w, {Quiet: w.Quiet}, {OtherCore: w.OtherCore}, {}})
	})
	defer timer.Stop()
	return l.pool.await(ctx, t)
}

// Resume waits, after a loan, until l's own slot may work again: somebody
// beside it may have got the quiet that the loan left there.
func (l *Lease) Resume(ctx context.Context) error {
	own, err := l.pool.await(ctx, l.pool.enqueue(&turn{from: l, wishes: []Wish{{}}}))
	if err != nil {
		return err
	}
	// Not by Release, after which a borrower rests.
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	own.done = true
	return nil
}

// hush counts on the slots beside one that is held quietly.
func (p *Pool) hush(s *place, n int) {
	for _, o := range p.beside(s) {
		o.hush += n
	}
}

// beside are the other places that are felt on s.
func (p *Pool) beside(s *place) []*place {
	var all []*place
	for _, o := range p.places {
		if o != s && (s.slot.Beside(o.slot) || o.slot.Beside(s.slot)) {
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

// enqueue takes the last turn. The one that comes first may be served at once.
func (p *Pool) enqueue(t *turn) *turn {
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

// content lets somebody who still waits be served with less.
func (p *Pool) content(t *turn, wishes []Wish) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t.wishes = wishes
	p.serve()
}

// leave gives up a turn. It may have been served a moment before: then the
// lease goes on to the next.
func (p *Pool) leave(t *turn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case l := <-t.served:
		if l != nil {
			l.release()
		}
	default:
		gone := func(o *turn) bool { return o == t }
		p.waiting = slices.DeleteFunc(p.waiting, gone)
		p.examiners = slices.DeleteFunc(p.examiners, gone)
	}
	if t.from != nil {
		t.from.place.resting = false
	}
	p.serve()
}

// serve hands slots to those who wait, in order, examiners last. Called with
// the pool locked after every change that can make a slot free or somebody
// wait. Whoever cannot be served holds up nobody, but for a wish for quiet:
// idle slots beside it are not for those behind it, or it would wait forever.
func (p *Pool) serve() {
	var kept []*place
	grant := func(t *turn) bool {
		if p.grant(t, kept) {
			return true
		}
		if t.from != nil && t.wishes[0].Quiet {
			kept = append(kept, p.beside(t.from.place)...)
		}
		return false
	}
	p.waiting = slices.DeleteFunc(p.waiting, grant)
	p.examiners = slices.DeleteFunc(p.examiners, grant)
	p.interrupt()
}

// interrupt ends the examinations that those in line wait for. One job may end
// several of them; whoever examines does one slot at a time.
func (p *Pool) interrupt() {
	for _, s := range p.places {
		if s.end != nil && slices.ContainsFunc(p.waiting, func(t *turn) bool { return p.wants(t, s) }) {
			s.end(ErrWanted)
		}
	}
}

// wants reports whether the end of the examination of s would serve a turn.
func (p *Pool) wants(t *turn, s *place) bool {
	if t.from == nil {
		return s.inUse()
	}
	w := t.wishes[0]
	return w.OtherCore && s.inUse() || w.Quiet && slices.Contains(p.beside(t.from.place), s)
}

// grant serves a turn with the best of its wishes that can be had.
func (p *Pool) grant(t *turn, kept []*place) bool {
	for _, w := range t.wishes {
		if s := p.choose(t, w, kept); s != nil {
			t.served <- p.give(t, s, w)
			return true
		}
	}
	return false
}

// choose takes the one that was idle longest, and none that is being examined
// while there is another. That spreads work over the slots, and heat too.
func (p *Pool) choose(t *turn, w Wish, kept []*place) *place {
	var best *place
	for _, s := range p.places {
		if p.fits(t, w, s, kept) && (best == nil || s.before(best)) {
			best = s
		}
	}
	return best
}

func (p *Pool) fits(t *turn, w Wish, s *place, kept []*place) bool {
	own := t.from != nil && !w.OtherCore
	switch {
	case s.hush > 0:
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
	return !w.Quiet || !slices.ContainsFunc(p.beside(s), (*place).works)
}

// give makes the lease. A loan of one's own slot changes nothing but that it
// works again, and in quiet if that was the wish.
func (p *Pool) give(t *turn, s *place, w Wish) *Lease {
	switch {
	case t.look:
		return &Lease{pool: p, place: s, done: true}
	case t.from != nil && s == t.from.place:
		s.resting = false
	default:
		s.change(p.now(), func() { s.lease(t.end) })
	}
	if w.Quiet {
		p.hush(s, 1)
	}
	return &Lease{pool: p, place: s, from: t.from, quiet: w.Quiet}
}
