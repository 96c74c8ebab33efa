package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/testkit"
)

// follow returns a follower of the feed.
func (b *bench) follow(after FeedPosition, filter FeedFilter) *Follower {
	b.t.Helper()
	f, err := b.Follow(b.ctx(), after, filter)
	b.must(err)
	b.t.Cleanup(f.Close)
	return f
}

// readEvents returns the next n events of a follower: labels and positions.
func (b *bench) readEvents(f *Follower, n int) (labels []string, positions []FeedPosition) {
	b.t.Helper()
	ctx := b.ctx()
	for len(labels) < n {
		events, err := f.Next(ctx)
		b.must(err)
		if ctx.Err() != nil {
			b.t.Fatalf("got %q, want %d events", labels, n)
		}
		for _, e := range events {
			labels, positions = append(labels, e.Job+" "+label(e.Event)), append(positions, e.FeedPosition)
		}
	}
	return labels, positions
}

// readUntil returns the labels of the next events of a follower, up to one with the label last.
func (b *bench) readUntil(f *Follower, last string) (labels []string) {
	b.t.Helper()
	for !slices.Contains(labels, last) {
		more, _ := b.readEvents(f, 1)
		labels = append(labels, more...)
	}
	return labels
}

// readAll returns all events after a position, up to now.
func (b *bench) readAll(after FeedPosition) (labels []string, positions []FeedPosition) {
	b.t.Helper()
	newest, err := b.newestInFeed(b.ctx())
	b.must(err)
	f := b.follow(after, FeedFilter{})
	for ctx := b.ctx(); f.Position().Row < newest || f.Position().Part > 0; {
		events, err := f.Next(ctx)
		b.must(err)
		for _, e := range events {
			labels, positions = append(labels, e.Job+" "+label(e.Event)), append(positions, e.FeedPosition)
		}
	}
	return labels, positions
}

// emitted emits a test of an attempt, and waits until its event is stored.
func (b *bench) emitted(l api.Lease, n int) {
	b.t.Helper()
	b.must(b.Emit(l, n, sampleReport(api.WrongAnswer).Tests[n-1]))
	testkit.WaitFor(b.t, time.Minute, "a test event", func() bool { return len(b.get(l.ID).Report.Tests) == n })
}

// testFeed checks the events of several jobs, live and from each position, in two processes.
func testFeed(t *testing.T, b backend) {
	s := b.open(t, nil)
	other := s.again()
	live := []*Follower{s.follow(FeedNow, FeedFilter{}), other.follow(FeedNow, FeedFilter{})}
	s.put("a", nil)
	first := s.take().Lease
	s.emitted(first, 1)
	s.put("b", nil)
	second := other.take().Lease
	other.emitted(second, 1)
	other.emitted(second, 2)
	s.must(s.Return(s.ctx(), first, api.Returned{}))
	again := s.take().Lease
	s.emitted(again, 1)
	other.finish(second, api.WrongAnswer)
	_, err := s.Cancel(s.ctx(), "a")
	s.must(err)
	s.must(s.PutAuditOf(s.ctx(), "of", api.Work{Lease: second, Job: sampleJob()})) // audits are not in the feed
	s.put("c", nil)

	past := s.again() // the others have obsolete events in memory
	got, positions := past.readAll(FeedOldest)
	want := []string{"a 0+1 queued", "b 0+1 queued", "b 1+0 running on 1", "b 1+1 test 1", "b 1+2 test 2",
		"a 2+0 running on 1", "a 2+1 test 1", "b 1+1048575 done WA, 0 tests", "a 2+1048575 cancelled CX, 0 tests",
		"c 0+1 queued"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("events of the past (-want +got):\n%s", diff)
	}
	for i, p := range positions {
		got, _ := past.readAll(p)
		if diff := cmp.Diff(want[i+1:], append([]string{}, got...)); diff != "" {
			t.Errorf("resumed after event %d (-want +got):\n%s", i, diff)
		}
	}
	// Live followers also get the events of the failed attempt, or some of them.
	for i, f := range live {
		got := []*bench{s, other}[i].readUntil(f, want[len(want)-1])
		for _, w := range want {
			if !slices.Contains(got, w) {
				t.Errorf("process %d: follower lacks %q: %q", i, w, got)
			}
		}
	}
	for _, never := range []int64{1, positions[0].Row - 2, positions[len(positions)-1].Row + 1000} {
		if _, err := s.Follow(s.ctx(), FeedPosition{Row: never}, FeedFilter{}); !errors.Is(err, ErrNoPosition) {
			t.Errorf("after position %d, which never was: %v", never, err)
		}
	}
}

func testFeedFilters(t *testing.T, b backend) {
	s := b.open(t, nil)
	team := func(n string) func(*api.Job) { return func(j *api.Job) { j.Labels = map[string]string{"team": n} } }
	s.put("a", team("1"))
	s.put("b", team("2"))
	for range 2 {
		s.finish(s.take().Lease, api.Accepted)
	}
	s.put("bare", func(j *api.Job) { j.Labels = nil })
	s.put("a2", team("1"))
	for _, c := range []struct {
		name   string
		filter FeedFilter
		want   []string
	}{
		{"label", FeedFilter{Label: map[string]string{"team": "2"}}, []string{"b 0+1 queued", "b 1+0 running on 1",
			"b 1+1 test 1", "b 1+2 test 2", "b 1+1048575 done AC, 0 tests"}},
		{"types", FeedFilter{Types: []api.EventType{api.EventQueued, api.EventDone}}, []string{"a 0+1 queued",
			"b 0+1 queued", "a 1+1048575 done AC, 0 tests", "b 1+1048575 done AC, 0 tests", "bare 0+1 queued",
			"a2 0+1 queued"}},
		{"both", FeedFilter{Label: map[string]string{"team": "1"}, Types: []api.EventType{api.EventQueued}},
			[]string{"a 0+1 queued", "a2 0+1 queued"}},
	} {
		got, _ := s.readEvents(s.follow(FeedOldest, c.filter), len(c.want))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	of := func(tenant string) context.Context { return WithTenant(s.ctx(), tenant) }
	_, _, err := s.Put(of("x"), Submission{ID: "x", Job: api.Job{Program: *file(1)}})
	s.must(err)
	_, _, err = s.Put(of("y"), Submission{ID: "y", Job: sampleJob()})
	s.must(err)
	tenant, err := s.Follow(of("x"), FeedOldest, FeedFilter{})
	s.must(err)
	t.Cleanup(tenant.Close)
	events, err := tenant.Next(s.ctx())
	s.must(err)
	if len(events) != 1 || events[0].Job != "x" || events[0].Tenant != "x" || len(events[0].Labels) > 0 {
		t.Errorf("tenant x reads %+v", events)
	}
	// A follower without matching events also advances.
	none := s.follow(FeedOldest, FeedFilter{Label: map[string]string{"team": "3"}})
	newest, err := s.newestInFeed(s.ctx())
	s.must(err)
	ctx, cancel := context.WithCancel(s.ctx())
	go func() {
		defer cancel()
		testkit.WaitFor(t, time.Minute, "the reader", func() bool { _, _, end := s.feed.state(); return end >= newest })
	}()
	if events, err := none.Next(ctx); len(events) != 0 || err != nil {
		t.Errorf("no label matches: %v, %v", events, err)
	}
}

// testFeedOfTheEnd checks that each test of a report has one event before the final one, also if the job ended before
// its events were stored, and that an applied rejudging yields another final event.
func testFeedOfTheEnd(t *testing.T, b backend) {
	s := b.open(t, nil)
	s.put("a", nil)
	l := s.take().Lease
	s.emitted(l, 1)
	s.finish(l, api.WrongAnswer)
	// As if it had been stored by a transaction that began before the end.
	_, err := s.write.Exec(s.driver.sql(`INSERT INTO feed (job, number) SELECT seq, ?1 FROM jobs WHERE id = 'a'`),
		number(1, 2))
	s.must(err)
	want := []string{"a 0+1 queued", "a 1+0 running on 1", "a 1+1 test 1", "a 1+2 test 2",
		"a 1+1048575 done WA, 0 tests"}
	got, positions := s.readAll(FeedOldest)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	f := s.follow(positions[len(positions)-1], FeedFilter{})
	_, err = s.write.Exec(`UPDATE jobs SET finished = finished + 1, verdict = 'AC' WHERE id = 'a'`)
	s.must(err)
	got, _ = s.readEvents(f, 1)
	if diff := cmp.Diff([]string{"a 1+1048575 done AC, 0 tests"}, got); diff != "" {
		t.Errorf("events of a rejudging (-want +got):\n%s", diff)
	}
}

// testFeedIsKept checks that the sweep deletes events that are too old, that the others can be read from each position,
// and that the last position remains.
func testFeedIsKept(t *testing.T, b backend) {
	s := b.open(t, func(o *Options) { o.MaxJobs = 2 })
	s.put("old", nil)
	s.finish(s.take().Lease, api.Accepted)
	s.put("waits", nil)
	_, positions := s.readAll(FeedOldest)
	s.clock.advance(feedAge / 2)
	for i := range 2 {
		s.put(fmt.Sprint("new", i), func(j *api.Job) { j.Priority = api.Contest })
		s.finish(s.take().Lease, api.Accepted)
	}
	want, kept := s.readAll(positions[len(positions)-1])
	slow := s.follow(positions[0], FeedFilter{})
	_, err := s.Sweep(s.ctx()) // deletes old, which exceeds MaxJobs
	s.must(err)
	for i, p := range positions[:2] {
		if _, err := s.Follow(s.ctx(), p, FeedFilter{}); !errors.Is(err, ErrNoPosition) {
			t.Errorf("resumed after event %d of a deleted job: %v", i, err)
		}
	}
	if _, err := slow.Next(s.ctx()); !errors.Is(err, ErrNoPosition) {
		t.Errorf("a follower that is behind what is kept: %v", err)
	}
	for i, p := range kept {
		got, _ := s.readAll(p)
		if diff := cmp.Diff(want[i+1:], append([]string{}, got...)); diff != "" {
			t.Errorf("resumed after event %d that is kept (-want +got):\n%s", i, diff)
		}
	}
	if got, _ := s.readAll(FeedOldest); !cmp.Equal(got[len(got)-len(want):], want) {
		t.Errorf("the oldest events are %q, want all of %q", got, want)
	}
	s.clock.advance(feedAge)
	_, err = s.Sweep(s.ctx())
	s.must(err)
	if got, _ := s.readAll(kept[len(kept)-1]); len(got) > 0 {
		t.Errorf("after the last event: %q", got)
	}
	if _, err := s.Follow(s.ctx(), kept[0], FeedFilter{}); !errors.Is(err, ErrNoPosition) {
		t.Errorf("resumed after an event that is too old: %v", err)
	}
}

// testFeedAfterRejudging checks that applying a rejudging of an old job, whose copy gets the old times, does not make
// recent events of other jobs too old.
func testFeedAfterRejudging(t *testing.T, b backend) {
	s := b.open(t, nil)
	s.put("old", nil)
	s.judgeAll(map[string]api.Verdict{"old": api.WrongAnswer})
	s.clock.advance(2 * feedAge)
	s.put("recent", nil)
	_, positions := s.readAll(FeedOldest)
	s.judgeAll(map[string]api.Verdict{"recent": api.Accepted})
	s.rejudging("set", map[string]api.Verdict{"old": api.WrongAnswer})
	s.judgeAll(map[string]api.Verdict{"old": api.Accepted}) // its copy
	s.must(s.ApplyRejudging(s.ctx(), "set"))
	want, _ := s.readAll(positions[len(positions)-1])
	_, err := s.Sweep(s.ctx())
	s.must(err)
	if got, _ := s.readAll(positions[len(positions)-1]); len(want) < 7 || !cmp.Equal(got, want) {
		t.Errorf("after the sweep: %q, want %q", got, want)
	}
	s.clock.advance(2 * feedAge)
	_, err = s.Sweep(s.ctx())
	s.must(err)
	if _, err := s.Follow(s.ctx(), positions[0], FeedFilter{}); !errors.Is(err, ErrNoPosition) {
		t.Errorf("resumed after an event that is too old: %v", err)
	}
}

// testFeedIsSwept checks that neither positions of deleted jobs nor jobs that wait for long keep the sweep from events
// that are too old, and that the events before a recent deletion stay.
func testFeedIsSwept(t *testing.T, b backend) {
	fill := func(s *bench, from string) {
		t.Helper()
		_, err := s.write.Exec(fmt.Sprintf(`INSERT INTO feed (job, number) WITH RECURSIVE n (i) AS
(SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT f.job, f.number FROM n, (%s LIMIT 1) AS f`, feedWindow+10, from))
		s.must(err)
	}
	for name, block := range map[string]func(*bench){
		"deleted": func(s *bench) {
			s.put("gone", func(j *api.Job) { j.Priority = api.Contest })
			s.finish(s.take().Lease, api.Accepted)
			s.must(s.Delete(s.ctx(), "gone"))
			fill(s, `SELECT job, number FROM feed WHERE job = 0 ORDER BY position DESC`)
		},
		"waiting": func(s *bench) {
			s.put("waits", func(j *api.Job) { j.Pool = "away" })
			fill(s, `SELECT job, number FROM feed ORDER BY position DESC`)
			s.put("old", func(j *api.Job) { j.Priority = api.Contest })
			s.finish(s.take().Lease, api.Accepted)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := b.open(t, nil)
			s.put("first", nil)
			_, positions := s.readAll(FeedOldest)
			block(s)
			_, err := s.Sweep(s.ctx())
			s.must(err)
			if _, err := s.Follow(s.ctx(), positions[0], FeedFilter{}); err != nil {
				t.Errorf("resumed before what is recent: %v", err)
			}
			s.clock.advance(2 * feedAge)
			s.must(s.deleteAndPut())
			_, err = s.Sweep(s.ctx())
			s.must(err)
			if _, err := s.Follow(s.ctx(), positions[0], FeedFilter{}); !errors.Is(err, ErrNoPosition) {
				t.Errorf("resumed after an event that is too old: %v", err)
			}
			rows := 0
			s.must(s.read.QueryRow(`SELECT COUNT(*) FROM feed`).Scan(&rows))
			if rows > 20 {
				t.Errorf("%d rows are left", rows)
			}
		})
	}
}

// deleteAndPut ends and deletes a job, and puts another.
func (b *bench) deleteAndPut() error {
	b.put("next", func(j *api.Job) { j.Priority = api.Contest })
	b.finish(b.take().Lease, api.Accepted)
	err := b.Delete(b.ctx(), "next")
	b.put("last", nil)
	return err
}

// testSlowFollower checks that a follower whose next events are no longer in memory gets all events, each once.
func testSlowFollower(t *testing.T, b backend) {
	s := b.open(t, nil)
	slow, fast := s.follow(FeedNow, FeedFilter{}), s.follow(FeedNow, FeedFilter{})
	const jobs = 3 * feedPage
	for i := range jobs {
		s.put(fmt.Sprint(i), nil)
	}
	want, _ := s.readEvents(fast, jobs)
	s.feed.mu.Lock()
	// There are fewer events if the store has started to listen meanwhile, which discards those in memory.
	if kept, cut := s.feed.events, len(s.feed.events)-9; cut > 0 {
		s.feed.start, s.feed.events = kept[cut-1].Row, kept[cut:]
	}
	s.feed.mu.Unlock()
	got, _ := s.readEvents(slow, jobs)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events of a slow follower (-want +got):\n%s", diff)
	}
}

// TestFeedLimits checks how many events are kept in memory, and that events of one position are kept together.
func TestFeedLimits(t *testing.T) {
	f := feed{live: true}
	large := make([]byte, feedBytes/4)
	for p := range int64(10) {
		f.append(p, []*FeedEvent{{FeedPosition{Row: p}, api.Event{}, large}, {FeedPosition: FeedPosition{Row: p}}})
	}
	events, next, _, here := f.after(5, 0)
	if len(events) != 8 || len(f.events) != 8 || next != 9 || !here || f.start != 5 || f.bytes > feedBytes {
		t.Errorf("%d events of %d up to %d, here %v, after %d, %d bytes", len(events), len(f.events), next, here, f.start,
			f.bytes)
	}
	if _, _, _, here := f.after(4, 0); here {
		t.Error("events are missing that were dropped")
	}
	f.stop()
	f.restart(0)
	for p := int64(1); p <= feedEvents+followerBatch; p++ {
		f.append(p, []*FeedEvent{{FeedPosition: FeedPosition{Row: p}}})
	}
	if len(f.events) != feedEvents || f.start != followerBatch {
		t.Errorf("%d events after %d", len(f.events), f.start)
	}
	if events, next, _, _ := f.after(1000, 0); len(events) != followerBatch || next != 1000+followerBatch {
		t.Errorf("%d events up to %d at once", len(events), next)
	}
	f.restart(0)
	for p := int64(1); p <= followerBatch+1; p++ {
		one := &FeedEvent{FeedPosition: FeedPosition{Row: p}}
		f.append(p, []*FeedEvent{one, one}[:1+p/followerBatch])
	}
	if events, next, _, _ := f.after(0, 0); len(events) != followerBatch+1 || next != followerBatch {
		t.Errorf("%d events up to %d at once, want both of the last position", len(events), next)
	}
}

// testFeedOrder commits two transactions in the reverse order of their positions. No reader may get the later one
// before the earlier one.
func testFeedOrder(t *testing.T, b backend) {
	s := b.open(t, nil)
	f := s.follow(FeedNow, FeedFilter{})
	slow, err := s.write.BeginTx(s.ctx(), nil)
	s.must(err)
	defer func() { _ = slow.Rollback() }()
	_, err = slow.Exec(`INSERT INTO jobs (id, digest, state, priority, pool, width, due, created, labels, job)
VALUES ('slow', '', 0, 1, 'p', 1, 0, 1, '', '\x007b7d')`)
	s.must(err)
	s.put("fast", nil)
	brief, cancel := context.WithTimeout(s.ctx(), 4*feedEvery)
	defer cancel()
	if _, err := s.settled(brief); err == nil {
		t.Error("positions are settled before the first transaction has ended")
	}
	if events, err := f.Next(brief); len(events) > 0 || err != nil {
		t.Errorf("before the first transaction has ended: %v, %v", events, err)
	}
	s.must(slow.Commit())
	got, _ := s.readEvents(f, 2)
	if diff := cmp.Diff([]string{"slow 0+1 queued", "fast 0+1 queued"}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
