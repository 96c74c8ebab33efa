package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestAwaitIdle: the starts of languages are measured only while no slot judges.
func TestAwaitIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &Engine{}
		begin := time.Now()
		e.awaitIdle(t.Context())
		e.judging.Add(1)
		time.AfterFunc(10*time.Second, func() { e.judging.Add(-1) })
		if e.awaitIdle(t.Context()); time.Since(begin) < 10*time.Second {
			t.Errorf("waited for %s, want until the slot is idle", time.Since(begin))
		}
		e.judging.Add(1)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		e.awaitIdle(ctx)
	})
}
