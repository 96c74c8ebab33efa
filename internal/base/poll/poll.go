// Package poll holds values that are read again once they are old, and waits between two looks. Callers share one read of
// a value, and no lock is held while it lasts.
package poll

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// Value is a value that is read again once it is old. The zero Value was never read.
// It is safe for concurrent use.
type Value[T any] struct {
	reads singleflight.Group

	mu     sync.Mutex // guards the rest
	value  T
	known  bool
	at     time.Time
	forgot int // calls of Forget
}

// Get returns the value, after reading it if it is older than age. A read that
// fails changes nothing. It does not end with ctx, for which other callers may wait.
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
		value, _ := r.Val.(T) // an interface may be nil
		return value, r.Err
	case <-ctx.Done():
		return value, ctx.Err()
	}
}

// Last returns the value as it was read last, and whether it was.
func (v *Value[T]) Last() (T, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.value, v.known
}

// Forget has the next Get read the value, also if a read is under way.
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
