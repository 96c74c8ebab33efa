package httpapi

import (
	"context"
	"sync"
	"time"
)

// gate answers "is the queue full" without asking the queue for every job: it
// counts what was put since it last asked. It errs towards full, and asks again
// before it says so.
type gate struct {
	depth func(context.Context) (int, error)
	most  int
	now   func() time.Time

	// mu guards what follows; it is held while the queue is asked, so that of
	// many submissions at once only one asks.
	mu    sync.Mutex
	known int
	asked time.Time
}

// gateAge is how long an answer of the queue is believed.
const gateAge = time.Second

func (g *gate) full(ctx context.Context) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.known < g.most && !g.asked.IsZero() && g.now().Sub(g.asked) < gateAge {
		return false, nil
	}
	depth, err := g.depth(ctx)
	if err != nil {
		return false, err
	}
	g.known, g.asked = depth, g.now()
	return depth >= g.most, nil
}

func (g *gate) put() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.known++
}
