// Package poll caches values that are read again when they are older than a given age. Concurrent callers share
// one read, and no lock is held while reading. It also has a sleep and periodic loops that a context ends.
package poll

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// Value is a cached value. The zero Value has not been read yet. It is safe for concurrent use.
type Value[T any] struct {
	reads singleflight.Group

	mu     sync.Mutex // guards the fields below
	value  T
	known  bool
	at     time.Time
	forgot int // number of calls of Forget
}

// Get returns the value, and reads it first if it is older than age. A failed read leaves the value unchanged.
// The read continues when ctx is done, because other callers may wait for it.
func (v *Value[T]) Get(ctx context.Context, now func() time.Time, age time.Duration,
	read func(context.Context) (T, error)) (T, error) {
	v.mu.Lock()
	value, fresh, forgot := v.value, v.known && now().Sub(v.at) < age, v.forgot
	v.mu.Unlock()
	if fresh {
		return value, nil
	}
	done := v.reads.DoChan("", func() (any, error) {
		value, err := read(context.WithoutCancel(ctx))
		v.mu.Lock()
		defer v.mu.Unlock()
		if err == nil && v.forgot == forgot {
			v.value, v.known, v.at = value, true, now()
		}
		return value, err
	})
	select {
	case r := <-done:
		value, _ := r.Val.(T) // T may be an interface type, and the value nil
		return value, r.Err
	case <-ctx.Done():
		return value, ctx.Err()
	}
}

// Last returns the last value that was read, and whether there is one.
func (v *Value[T]) Last() (T, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.value, v.known
}

// Forget makes the next Get read the value again, even if a read is in progress.
func (v *Value[T]) Forget() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.at = time.Time{}
	v.forgot++
	v.reads.Forget("")
}

// Sleep waits for d, or until ctx is done.
func Sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// Every is a loop that runs once in each period until ctx is done, the first time after a period. A period that passes
// during a run starts the next one at once.
func Every(ctx context.Context, period time.Duration) func(yield func() bool) {
	return func(yield func() bool) {
		tick := time.NewTicker(period)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if !yield() {
				return
			}
		}
	}
}

// NowAndEvery is Every with the first run at once, even if ctx is done.
func NowAndEvery(ctx context.Context, period time.Duration) func(yield func() bool) {
	return func(yield func() bool) {
		if yield() {
			Every(ctx, period)(yield)
		}
	}
}
