package jobs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/testkit"
)

func testOrder(t *testing.T, b backend) {
	s := b.open(t, nil)
	var want []string
	for _, p := range api.Priorities() {
		for i := range 3 {
			want = append(want, fmt.Sprint(p, i))
		}
	}
	for i := range 3 {
		for _, p := range slices.Backward(api.Priorities()) {
			s.clock.advance(time.Minute)
			s.put(fmt.Sprint(p, i), func(j *api.Job) { j.Priority = p })
		}
	}
	s.clock.advance(time.Minute)
	s.put("elsewhere", func(j *api.Job) { j.Pool = "other" })
	depth, oldest, err := s.Waiting(s.ctx())
	if diff := cmp.Diff(Depths{"other": {api.Practice: 1},
		"default": {api.Contest: 3, api.Practice: 3, api.Rejudge: 3,
			api.Background: 3}}, depth); diff != "" || err != nil {
		t.Errorf("depth: %v\n%s", err, diff)
	}
	if n := depth.Total(); n != 13 {
		t.Errorf("%d jobs in all pools, want 13", n)
	}
	created := func(id string) time.Time { return s.get(id).Report.CreatedAt }
	first := map[api.Priority]time.Time{}
	for _, p := range api.Priorities() {
		first[p] = created(fmt.Sprint(p, 0))
	}
	if diff := cmp.Diff(first, oldest); diff != "" {
		t.Errorf("oldest (-want +got):\n%s", diff)
	}
	// A job does not wait while it runs, but during its delay. A returned job keeps its position.
	w := s.take()
	if depth, oldest, err := s.Waiting(s.ctx()); err != nil || depth.Total() != 12 ||
		!oldest[api.Contest].Equal(created("contest1")) {
		t.Errorf("while a job runs: %v, %v, %v", depth, oldest, err)
	}
	s.must(s.Return(s.ctx(), w.Lease, api.Returned{Uncounted: true, Delay: time.Minute}))
	if depth, oldest, err := s.Waiting(s.ctx()); err != nil || depth.Total() != 13 ||
		!oldest[api.Contest].Equal(first[api.Contest]) {
		t.Errorf("while a job has a delay: %v, %v, %v", depth, oldest, err)
	}
	s.clock.advance(time.Minute)
	var got []string
	for range want {
		got = append(got, s.take().ID)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	s.idle(api.Want{})
}

// testManyTakers checks that many takers in two processes take every job once.
func testManyTakers(t *testing.T, b backend) {
	const jobs, takers = 200, 16
	s := b.open(t, nil)
	stores := []*Store{s.Store, s.again().Store}
	ctx, cancel := context.WithCancel(s.ctx())
	defer cancel()
	var mu sync.Mutex
	taken := map[string]int{}
	var work sync.WaitGroup
	for i := range takers {
		work.Go(func() {
			for {
				w, err := stores[i%2].Take(ctx, api.Want{})
				if err != nil {
					if !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
					return
				}
				if err := stores[i%2].Finish(s.ctx(), w.Lease, sampleReport(api.Accepted)); err != nil {
					t.Error(err)
				}
				mu.Lock()
				if taken[w.ID]++; len(taken) == jobs {
					cancel()
				}
				mu.Unlock()
			}
		})
	}
	for i := range jobs {
		if _, _, err := stores[i/2%2].Put(s.ctx(), Submission{ID: fmt.Sprint("job", i), Job: sampleJob()}); err != nil {
			t.Fatal(err)
		}
	}
	work.Wait()
	for id, n := range taken {
		if n != 1 {
			t.Errorf("job %s was taken %d times", id, n)
		}
	}
	if len(taken) != jobs {
		t.Errorf("%d jobs of %d were taken", len(taken), jobs)
	}
}

// testCancelledTake checks that a take that is cancelled either returns the job or leaves it queued. A lease without a
// holder would delay the job until it expires.
func testCancelledTake(t *testing.T, b backend) {
	s := b.open(t, nil)
	s.put("a", nil)
	taken := 0
	for range 200 {
		ctx, cancel := context.WithTimeout(s.ctx(), rand.N(2*time.Millisecond))
		w, err := s.Take(ctx, api.Want{})
		cancel()
		state := s.get("a").Report.State
		switch {
		case err == nil:
			taken++
			s.must(s.Return(s.ctx(), w.Lease, api.Returned{Uncounted: true}))
		case !errors.Is(err, context.DeadlineExceeded) || state != api.Queued:
			t.Fatalf("take: %v, and the job is %s", err, state)
		}
	}
	t.Logf("%d of 200 were taken", taken)
}

// testFrozenClock checks that jobs can be taken at the instant at which they are stored, and that leases expire exactly
// at their deadline, because clocks of virtual machines may stop for a while.
func testFrozenClock(t *testing.T, b backend) {
	var now atomic.Int64
	now.Store(time.Now().UnixNano())
	s := b.open(t, func(o *Options) { o.Now = func() time.Time { return time.Unix(0, now.Load()) } })
	s.put("a", nil)
	w := s.take()
	now.Add(int64(s.opts.Lease) - 1)
	s.idle(api.Want{})
	now.Add(1)
	if again := s.take(); again.Attempt != w.Attempt+1 {
		t.Errorf("took %+v", again)
	}
}

// testStrictOrder checks that while jobs are stored, no taker gets a job if a more urgent one was stored before its
// call and is still queued. Each of the other takers may have taken one of those without having reported it yet. With a
// single taker the order is exact.
func testStrictOrder(t *testing.T, b backend) {
	for _, takers := range []int{1, 4} {
		t.Run(fmt.Sprint(takers, " takers"), func(t *testing.T) { strictOrder(t, b, takers) })
	}
}

func strictOrder(t *testing.T, b backend, takers int) {
	const jobs = 120
	s := b.open(t, nil)
	var mu sync.Mutex // guards the variables below
	waiting := map[string]int{}
	var work sync.WaitGroup
	for range takers {
		work.Go(func() {
			for range jobs / takers {
				mu.Lock()
				before := maps.Clone(waiting)
				mu.Unlock()
				w, err := s.Take(s.ctx(), api.Want{})
				if err != nil {
					t.Error(err)
					return
				}
				mine, passed := slices.Index(api.Priorities(), w.Report.Priority), []string(nil)
				mu.Lock()
				delete(waiting, w.ID)
				for id, p := range before {
					if _, still := waiting[id]; still && p < mine {
						passed = append(passed, id)
					}
				}
				mu.Unlock()
				if len(passed) >= takers {
					t.Errorf("%s of priority %d was taken before %v", w.ID, mine, passed)
				}
			}
		})
	}
	for i := range jobs {
		p := rand.IntN(len(api.Priorities()))
		id := fmt.Sprint("job", i)
		mu.Lock() // otherwise its taker could report it first
		s.put(id, func(j *api.Job) { j.Priority = api.Priorities()[p] })
		waiting[id] = p
		mu.Unlock()
	}
	work.Wait()
}

// awaitCount waits until no count of the queue is running.
func (b *bench) awaitCount() {
	b.t.Helper()
	b.capacity.mu.Lock()
	running := b.capacity.running
	b.capacity.mu.Unlock()
	if running != nil {
		<-running.done
	}
}

// testRoom checks that the limit is exact when many submit at the same time, and that each job that is taken makes room
// for one.
func testRoom(t *testing.T, b backend) {
	const bound = 10
	s := b.open(t, func(o *Options) { o.MaxWaiting = bound })
	var mu sync.Mutex
	stored, refused := 0, 0
	var work sync.WaitGroup
	for i := range 5 * bound {
		work.Go(func() {
			_, created, err := s.Put(s.ctx(), Submission{ID: fmt.Sprint("job", i), Job: sampleJob()})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case created && err == nil:
				stored++
			case errors.Is(err, ErrFull):
				refused++
			default:
				t.Errorf("put: created %v, %v", created, err)
			}
		})
	}
	work.Wait()
	if stored != bound || refused != 4*bound {
		t.Errorf("%d were stored and %d refused; the bound is %d", stored, refused, bound)
	}
	// From now on, the rows are counted again only after a job has left the queue.
	s.capacity.mu.Lock()
	s.capacity.counted = time.Now().Add(time.Hour)
	s.capacity.mu.Unlock()
	s.want(s.Room(s.ctx()), ErrFull)
	s.capacity.jobLeft() // counted again, still full
	s.want(s.Room(s.ctx()), ErrFull)
	s.take()
	s.must(s.Room(s.ctx()))
	s.put("more", nil)
	s.want(s.Room(s.ctx()), ErrFull)
	s.SetMaxWaiting(bound + 1)
	s.must(s.Room(s.ctx()))
	s.SetMaxWaiting(bound)
	s.capacity.mu.Lock()
	s.capacity.counted = time.Now().Add(time.Hour)
	s.capacity.mu.Unlock()
	s.want(s.Room(s.ctx()), ErrFull)
	_, err := s.Cancel(s.ctx(), "more")
	s.must(err)
	s.put("most", nil)

	// Jobs that other processes put are counted after a while. SQLite has one process.
	other := s.again()
	other.SetMaxWaiting(0)
	s.SetMaxWaiting(bound + 1)
	other.put("theirs", nil)
	// A count stays valid for longer if the last one was slow, and this test may be.
	for age, want := range map[time.Duration]bool{-time.Hour: false, 2 * countAge: s.driver.listen != nil} {
		s.capacity.mu.Lock()
		s.capacity.known, s.capacity.counted, s.capacity.took = bound, time.Now().Add(-age), 0
		s.capacity.mu.Unlock()
		s.must(s.Room(s.ctx())) // starts a count and does not wait for it
		s.awaitCount()
		if err := s.Room(s.ctx()); errors.Is(err, ErrFull) != want {
			t.Errorf("counted %v ago: %v, want full %t", age, err, want)
		}
	}

	// Audits do not count; puts in progress do.
	if created, err := s.PutAudit(s.ctx(), Audit{ID: "audit", Original: "most", Pool: defaultPool},
		sampleJob()); !created ||
		err != nil {
		t.Fatalf("put an audit: %t, %v", created, err)
	}
	s.SetMaxWaiting(bound + 2)
	for flying, want := range []error{nil, ErrFull} {
		s.capacity.mu.Lock()
		s.capacity.flying, s.capacity.counted = flying, time.Time{}
		s.capacity.mu.Unlock()
		if err := s.Room(s.ctx()); !errors.Is(err, want) {
			t.Errorf("%d on their way: %v, want %v", flying, err, want)
		}
	}
}

// testWakeUps checks that changes in the same process and, with PostgreSQL, in another one wake waiting takers and
// readers without a poll.
func testWakeUps(t *testing.T, b backend) {
	s := b.open(t, func(o *Options) { o.poll = time.Hour })
	other := s
	if s.driver.listen != nil {
		other = s.again()
		// The listener starts some time after Open.
		testkit.WaitFor(t, time.Minute, "the stores to listen", func() bool {
			var n int
			s.must(
				s.read.QueryRow(
					`SELECT COUNT(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN %' AND datname = current_database()`).Scan(&n))
			return n == 2
		})
		// The clock readings of the two processes differ.
		other.setClock(other.now().Add(time.Second), other.opts.elapsed())
	}
	for i, from := range []*bench{s, other} {
		got := make(chan string, 2)
		for range 2 {
			go func() {
				w, err := s.Take(s.ctx(), api.Want{})
				if err != nil {
					t.Error(err)
				}
				got <- w.ID
			}()
		}
		ids := []string{fmt.Sprint("a", i), fmt.Sprint("b", i)}
		for _, id := range ids {
			from.put(id, nil)
		}
		taken := []string{<-got, <-got}
		slices.Sort(taken)
		if diff := cmp.Diff(ids, taken); diff != "" {
			t.Errorf("took (-want +got):\n%s", diff)
		}
	}
	done := make(chan api.Report, 1)
	go func() {
		rep, err := s.Wait(t.Context(), "a1") // would return the report at a deadline
		if err != nil {
			t.Error(err)
		}
		done <- rep
	}()
	s.waitForWatcher("a1")
	other.finish(other.get("a1").Lease, api.Accepted)
	select {
	case rep := <-done:
		if rep.Verdict != api.Accepted {
			t.Errorf("waited for %+v", rep)
		}
	case <-time.After(time.Minute):
		t.Fatal("a reader that waits for a report is not woken")
	}
	ctx, cancel := context.WithTimeout(s.ctx(), 10*time.Millisecond)
	defer cancel()
	if rep, err := s.Wait(ctx, "b1"); err != nil || rep.State != api.Running {
		t.Errorf("waiting ended with %+v, %v", rep, err)
	}
	// A returned job wakes its watchers and a taker.
	running, lost := s.get("b1").Lease, make(chan error, 1)
	go func() { lost <- s.Lost(s.ctx(), running) }()
	s.waitForWatcher("b1")
	taken := make(chan string, 1)
	go func() {
		w, err := s.Take(s.ctx(), api.Want{})
		if err != nil {
			t.Error(err)
		}
		taken <- w.ID
	}()
	line := s.notifier.line(slotClass{defaultPool, 1, false})
	testkit.WaitFor(t, time.Minute, "the taker to be in front, without a token", func() bool {
		return len(line.front) == 1 && len(line.wake) == 0
	})
	s.must(s.Return(s.ctx(), running, api.Returned{Uncounted: true}))
	s.want(<-lost, api.ErrStale)
	if id := <-taken; id != "b1" {
		t.Errorf("took %q", id)
	}
}

func (b *bench) waitForWatcher(id string) {
	testkit.WaitFor(b.t, time.Minute, "a watcher", func() bool {
		b.notifier.mu.Lock()
		defer b.notifier.mu.Unlock()
		return b.notifier.jobs[id] != nil
	})
}

// testPolling checks that polls find changes by other processes, and leases and delays that expire, if there are no
// notifications.
func testPolling(t *testing.T, b backend) {
	s := b.open(t, func(o *Options) { o.poll = 10 * time.Millisecond })
	s.driver.notify = func(string) {}
	other := s.again()
	other.driver.notify = func(string) {}
	for what, change := range map[string]func(api.Work){
		"lease": func(api.Work) { s.clock.advance(time.Hour) },
		"delay": func(w api.Work) {
			s.must(other.Return(s.ctx(), w.Lease, api.Returned{Delay: time.Minute, Uncounted: true}))
			s.clock.advance(2 * time.Minute)
		},
		"put": func(w api.Work) { other.put("put", nil) },
	} {
		other.put(what+"-first", nil)
		w := s.take()
		got := make(chan api.Work, 1)
		go func() {
			w, err := s.Take(s.ctx(), api.Want{})
			if err != nil {
				t.Error(err)
			}
			got <- w
		}()
		change(w)
		next := <-got
		if next.ID != w.ID && next.ID != "put" {
			t.Errorf("%s: took %s", what, next.ID)
		}
		s.finish(next.Lease, api.Accepted)
		if next.ID != w.ID {
			s.finish(w.Lease, api.Accepted)
		}
	}
}
