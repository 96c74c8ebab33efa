package httpapi

import (
	"context"
	"slices"
	"sync"
	"time"
)

// gate knows whether there is room in the queue without asking it for every job:
// it counts what was put since it last asked, and what is on its way. It errs
// towards full, and asks again before it says so. Of jobs that took no place
// here, because other daemons put them or a slot gave them back, it hears when it
// asks.
type gate struct {
	depth func(context.Context) (int, error)
	now   func() time.Time

	// mu guards what follows; it is held while the queue is asked, so that of
	// many submissions at once only one asks.
	mu    sync.Mutex
	most  int
	known int         // jobs in the queue, or more
	taken int         // places of jobs that are on their way there
	fresh []time.Time // when jobs were put that the queue may not count yet
	asked time.Time
}

const (
	// gateAge is how long an answer of the queue is believed.
	gateAge = time.Second
	// hearsay is how long the queue may take to count a job that was put. Asked
	// at once, it leaves the last job out one time in twenty.
	hearsay = 100 * time.Millisecond
)

// open reports whether there is a place.
func (g *gate) open(ctx context.Context) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.look(ctx)
}

// setMost changes how many jobs may wait.
func (g *gate) setMost(most int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.most = most
}

// take reserves a place for a job on its way into the queue, until leave. It
// reports false where there is none.
func (g *gate) take(ctx context.Context) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	ok, err := g.look(ctx)
	if ok {
		g.taken++
	}
	return ok, err
}

func (g *gate) look(ctx context.Context) (bool, error) {
	if g.known+g.taken >= g.most || g.now().Sub(g.asked) >= gateAge {
		if err := g.ask(ctx); err != nil {
			return false, err
		}
	}
	return g.known+g.taken < g.most, nil
}

// ask counts anew. The truth is between what the queue says and that with all of
// the fresh ones; what was known says where, unless jobs have left since.
func (g *gate) ask(ctx context.Context) error {
	now := g.now()
	depth, err := g.depth(ctx)
	if err != nil {
		return err
	}
	g.fresh = slices.DeleteFunc(g.fresh, func(put time.Time) bool { return now.Sub(put) > hearsay })
	g.known, g.asked = min(max(g.known, depth), depth+len(g.fresh)), now
	return nil
}

// leave gives a place back.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.taken--
}

// put counts a job that is in the queue now. Leave its place afterwards, lest it
// is counted nowhere in between.
func (g *gate) put() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.known++
	g.fresh = append(g.fresh, g.now())
}
