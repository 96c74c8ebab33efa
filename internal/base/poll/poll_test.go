package poll

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// source is read by a Value. Each read takes a second and returns the number of reads.
type source struct {
	mu    sync.Mutex
	reads int
	err   error
}

func (s *source) read(ctx context.Context) (int, error) {
	s.mu.Lock()
	s.reads++
	n, err := s.reads, s.err
	s.mu.Unlock()
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	return n, err
}

const age = 10 * time.Second

func TestValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var v Value[int]
		var s source
		get := func() (int, error) { return v.Get(t.Context(), time.Now, age, s.read) }
		want := func(n int) {
			t.Helper()
			if got, err := get(); got != n || err != nil {
				t.Errorf("got %d, %v; want %d", got, err, n)
			}
		}
		if _, known := v.Last(); known {
			t.Error("a value before the first read")
		}
		var all sync.WaitGroup
		for range 9 {
			all.Go(func() { want(1) })
		}
		all.Wait()
		time.Sleep(age - time.Nanosecond)
		want(1)
		time.Sleep(time.Nanosecond)
		want(2)
		v.Forget()
		if n, known := v.Last(); n != 2 || !known {
			t.Errorf("last value %d, %t", n, known)
		}
		want(3)
		time.Sleep(age)
		s.err = errors.New("away")
		if _, err := get(); !errors.Is(err, s.err) {
			t.Errorf("got %v", err)
		}
		if n, known := v.Last(); n != 3 || !known {
			t.Errorf("value after a read that failed: %d, %t", n, known)
		}
		s.err = nil
		want(5)
	})
}

// TestForgetDuringARead checks that Get does not return a value that was read before Forget.
func TestForgetDuringARead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var v Value[int]
		var s source
		get := func() int { n, _ := v.Get(t.Context(), time.Now, age, s.read); return n }
		var early sync.WaitGroup
		early.Go(func() { get() })
		synctest.Wait()
		v.Forget()
		if n := get(); n != 2 {
			t.Errorf("got read %d after Forget, want the second", n)
		}
		early.Wait()
		if n := get(); n != 2 {
			t.Errorf("got read %d later, want the second", n)
		}
	})
}

// TestCallerWhoLeaves checks that a caller returns when its context is done, and that other callers still get
// the result.
func TestCallerWhoLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var v Value[int]
		var s source
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := v.Get(ctx, time.Now, age, s.read); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if n, err := v.Get(t.Context(), time.Now, age, s.read); n != 1 || err != nil {
			t.Errorf("got %d, %v; want the read of the caller who left", n, err)
		}
	})
}

// TestErrorAsValue checks that a Value can hold a nil interface.
func TestErrorAsValue(t *testing.T) {
	var v Value[error]
	for range 2 {
		got, err := v.Get(t.Context(), time.Now, age, func(context.Context) (error, error) { return nil, nil })
		if got != nil || err != nil {
			t.Errorf("got %v, %v", got, err)
		}
	}
}

// TestEvery counts the runs of both loops in the first three and a half periods.
func TestEvery(t *testing.T) {
	const period = time.Second
	for name, tt := range map[string]struct {
		loop func(context.Context, time.Duration) func(func() bool)
		want []time.Duration // since the start
		stop int             // ends the loop in this run; 0 for never
	}{
		"after a period":   {Every, []time.Duration{period, 2 * period, 3 * period}, 0},
		"at once":          {NowAndEvery, []time.Duration{0, period, 2 * period, 3 * period}, 0},
		"ended by a run":   {Every, []time.Duration{period, 2 * period}, 2},
		"ended by a first": {NowAndEvery, []time.Duration{0}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 7*period/2)
				defer cancel()
				start := time.Now()
				var got []time.Duration
				for range tt.loop(ctx, period) {
					got = append(got, time.Since(start))
					if len(got) == tt.stop {
						break
					}
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("runs at %v, want %v", got, tt.want)
				}
			})
		})
	}
}
