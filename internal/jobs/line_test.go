package jobs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"judged/internal/api"
)

// testOldQueue checks that the queue of an earlier version survives: waiting, running and delayed jobs.
func testOldQueue(t *testing.T, b backend) {
	o := b.fresh(t)
	clock := &clock{}
	o.Now = clock.now
	adds := func(step string) bool { return strings.Contains(step, "ADD COLUMN parked") }
	old, err := open(t.Context(), o, migrations[:slices.IndexFunc(migrations, adds)])
	if err != nil {
		t.Fatal(err)
	}
	body, err := packJSON(sampleJob())
	if err != nil {
		t.Fatal(err)
	}
	now := clock.now()
	for _, j := range []struct {
		id    string
		state int
		due   time.Time
	}{{"delayed", queued, now.Add(time.Hour)}, {"running", running, now.Add(time.Minute)}, {"waiting", queued, now}} {
		if _, err := old.exec(t.Context(), "old", `INSERT INTO jobs (id, digest, state, priority, pool, width, attempt, due, created, labels, job)
VALUES (?1, '', ?2, 1, 'default', 1, ?6, ?3, ?4, '', ?5)`, j.id, j.state, j.due.UnixNano(), now.UnixNano(), body, j.state); err != nil {
			t.Fatal(err)
		}
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	s := reopen(t, o, clock)
	for _, step := range []struct {
		after time.Duration
		id    string
	}{{0, "waiting"}, {time.Minute + time.Second, "running"}, {time.Hour, "delayed"}} {
		clock.advance(step.after)
		w := s.take()
		if w.ID != step.id {
			t.Errorf("took %q, want %q", w.ID, step.id)
		}
		s.finish(w.Lease, api.Accepted)
		s.idle(api.Want{})
	}
}

// testBackInLine checks that jobs that one taker cannot take do not hide jobs that others return.
func testBackInLine(t *testing.T, b backend) {
	s := b.open(t, nil)
	other := s.again()
	for n := range 4 {
		s.put(fmt.Sprint(n), func(j *api.Job) { j.CPUs = []int{4, 1, 1, 1}[n] })
	}
	first, second := s.take(), s.take()
	s.must(s.Return(s.ctx(), first.Lease, api.Returned{Uncounted: true}))
	if w := s.take(); w.ID != "1" {
		t.Errorf("took %q, want the job that came back first", w.ID)
	}
	s.must(other.Return(s.ctx(), second.Lease, api.Returned{Uncounted: true}))
	var got []string
	for range 2 {
		got = append(got, s.take().ID)
	}
	slices.Sort(got)
	if want := []string{"2", "3"}; !slices.Equal(got, want) {
		t.Errorf("took %q, want %q", got, want)
	}
	w, err := s.Take(s.ctx(), api.Want{Host: "wide", Width: 4})
	if err != nil || w.ID != "0" {
		t.Errorf("a wide slot took %q, %v", w.ID, err)
	}
}

// testLateExtend checks that a lease that expired and was extended before another host took the job is valid again.
func testLateExtend(t *testing.T, b backend) {
	s := b.open(t, func(o *Options) { o.Lease = time.Minute })
	s.put("1", nil)
	w := s.take()
	s.clock.advance(time.Minute + time.Second)
	if _, err := s.unpark(s.ctx()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Extend(s.ctx(), w.Lease); err != nil {
		t.Fatal(err)
	}
	s.idle(api.Want{})
	s.clock.advance(2 * time.Minute)
	if again := s.take(); again.ID != "1" || again.Attempt != 2 {
		t.Errorf("took %+v after the lease was lost again", again.Lease)
	}
}

// testPutDuringCount checks that a count of the queue does not delay a Put that can be accepted without it.
func testPutDuringCount(t *testing.T, b backend) {
	s := b.open(t, func(o *Options) { o.MaxWaiting = 10 })
	s.put("1", nil)
	s.capacity.mu.Lock()
	s.capacity.running = &counting{done: make(chan struct{})}
	s.capacity.counted = time.Now().Add(-time.Hour)
	s.capacity.mu.Unlock()
	ctx, cancel := context.WithTimeout(s.ctx(), time.Minute)
	defer cancel()
	if _, created, err := s.Put(ctx, Submission{ID: "2", Job: sampleJob()}); !created || err != nil {
		t.Errorf("put during a count: %t, %v", created, err)
	}
	// A Put that would exceed the limit waits for the count.
	s.SetMaxWaiting(2)
	short, cancel := context.WithTimeout(s.ctx(), 50*time.Millisecond)
	defer cancel()
	_, _, err := s.Put(short, Submission{ID: "3", Job: sampleJob()})
	s.want(err, context.DeadlineExceeded)
}
