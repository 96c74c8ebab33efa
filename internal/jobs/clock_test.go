package jobs

import (
	"testing"
	"time"

	"judged/internal/api"
)

// steppedClock is a clock whose time can be set. Its monotonic reading is unaffected.
type steppedClock struct {
	clock
	step time.Duration
}

func (c *steppedClock) now() time.Time { return c.clock.now().Add(c.step) }

// testClocks checks that setting the clock of a host does not cost an attempt, and that hosts with different clocks
// agree.
func testClocks(t *testing.T, b backend) {
	start := time.Now()
	for _, step := range []time.Duration{5 * time.Minute, -5 * time.Minute} {
		c := &steppedClock{}
		s := b.open(t, func(o *Options) {
			o.Now, o.elapsed = c.now, func() time.Duration { return c.clock.now().Sub(start) }
		})
		s.clock = &c.clock
		s.put("1", nil)
		s.put("2", nil)
		w := s.take()
		before := s.Now()
		c.step = step
		for range 3 {
			s.must(s.readClock(s.ctx()))
		}
		if moved := s.Now().Sub(before).Abs(); moved > s.opts.Lease {
			t.Errorf("the clock of the host was set by %v, and that of the store moved by %v", step, moved)
		}
		if next := s.take(); next.ID != "2" {
			t.Errorf("after a step of %v took %q, which somebody has", step, next.ID)
		}
		until, err := s.Extend(s.ctx(), w.Lease)
		if left := until.Sub(s.Now()); err != nil || left > s.opts.Lease || left < s.opts.Lease/2 {
			t.Errorf("after a step of %v the lease was extended to %v from now, %v", step, left, err)
		}
		if s.driver.listen == nil {
			continue // SQLite has one process
		}
		other := reopen(t, Options{URL: s.o.URL, Now: func() time.Time { return time.Now().Add(-step) }}, &clock{})
		other.idle(api.Want{})
		if apart := s.Now().Sub(other.Now()).Abs(); apart > time.Minute {
			t.Errorf("two processes are %v apart", apart)
		}
		other.put("theirs", nil)
		if next := s.take(); next.ID != "theirs" {
			t.Errorf("took %q, want the job that another process has put", next.ID)
		}
		s.clock.advance(2 * s.opts.Lease) // the other clocks in this test are real; only this one has advanced
		s.must(s.readClock(s.ctx()))
		other.idle(api.Want{})
		s.finish(w.Lease, api.Accepted)
	}
}
