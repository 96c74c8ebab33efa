package queue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/job"
	"judged/internal/broker"
	"judged/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Run(m)) }

func openQueue(t testing.TB, dir string, o Options) (*Queue, *broker.Broker) {
	t.Helper()
	b, err := broker.Start(t.Context(), broker.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	q, err := Open(t.Context(), b, o)
	if err != nil {
		t.Fatal(err)
	}
	return q, b
}

func put(t testing.TB, q *Queue, id string, p job.Priority) {
	t.Helper()
	if err := q.Put(t.Context(), id, p); err != nil {
		t.Fatal(err)
	}
}

// visible waits until takers see so many jobs of each class. In memory a Put is
// over a moment before the consumers have heard of it; within that moment
// priorities are blind. A sum of the classes would not do: an Ack that the broker
// has not read and a Put that a consumer has not heard of cancel out.
func visible(t *testing.T, q *Queue, want map[job.Priority]int) {
	t.Helper()
	testkit.WaitFor(t, 30*time.Second, fmt.Sprint("jobs to be seen: ", want), func() bool {
		depth, err := q.Depth(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		maps.DeleteFunc(depth, func(_ job.Priority, n int) bool { return n == 0 })
		return maps.Equal(want, depth)
	})
}

// read returns when the broker has read what was said about a delivery. Ack and
// Nak do not wait for that. The broker reads the words of a class in order, so the
// answer to a later one is enough.
func read(t *testing.T, q *Queue, d *Delivery) {
	t.Helper()
	if _, err := q.broker.Conn().Request(d.msg.Reply, []byte("+WPI"), 30*time.Second); err != nil {
		t.Fatal(err)
	}
}

func take(t testing.TB, q *Queue) *Delivery {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	d, err := q.Take(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func empty(t testing.TB, q *Queue) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if d, err := q.Take(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("took %+v, error %v", d, err)
	}
}

func TestStrictPriority(t *testing.T) {
	q, _ := openQueue(t, t.TempDir(), Options{})
	var want []string
	for _, p := range job.Priorities() {
		for i := range 3 {
			want = append(want, fmt.Sprint(p, "-", i))
		}
	}
	// The least urgent first; within a class in order.
	for _, p := range slices.Backward(job.Priorities()) {
		for i := range 3 {
			put(t, q, fmt.Sprint(p, "-", i), p)
		}
	}
	visible(t, q, map[job.Priority]int{job.Contest: 3, job.Practice: 3, job.Rejudge: 3, job.Background: 3})
	var got []string
	for range want {
		d := take(t, q)
		if d.Attempt != 1 || d.Last || d.QueuedAt.IsZero() || !strings.HasPrefix(d.ID, string(d.Priority)) {
			t.Errorf("delivery %+v", d)
		}
		got = append(got, d.ID)
		if err := d.Ack(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	empty(t, q)
}

// A class that was empty is asked again as soon as something was put there, or
// given back.
func TestUrgentAfterEmpty(t *testing.T) {
	q, _ := openQueue(t, t.TempDir(), Options{})
	const rounds = 30
	for i := range 4 * rounds {
		put(t, q, fmt.Sprint("practice-", i), job.Practice)
	}
	waiting := map[job.Priority]int{job.Practice: 4 * rounds}
	visible(t, q, waiting)
	next := func(want job.Priority) *Delivery {
		t.Helper()
		d := take(t, q)
		if d.Priority != want {
			t.Fatalf("took %s, want one of %s", d.ID, want)
		}
		return d
	}
	ack := func(d *Delivery) {
		t.Helper()
		if err := d.Ack(t.Context()); err != nil {
			t.Fatal(err)
		}
		if waiting[d.Priority]--; waiting[d.Priority] == 0 {
			delete(waiting, d.Priority)
		}
	}
	for i := range rounds {
		ack(next(job.Practice)) // finds the classes above empty
		put(t, q, fmt.Sprint("contest-", i), job.Contest)
		waiting[job.Contest]++
		// Within the moment in which priorities are blind it may be either.
		d := take(t, q)
		if d.Priority == job.Practice {
			ack(d)
			visible(t, q, waiting)
			d = next(job.Contest)
		}
		if err := d.Nak(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		read(t, q, d)
		ack(next(job.Contest))
		visible(t, q, waiting)
	}
}

func TestPut(t *testing.T) {
	q, _ := openQueue(t, t.TempDir(), Options{})
	for range 3 {
		put(t, q, "a.b", job.Contest)
	}
	d := take(t, q)
	put(t, q, "a.b", job.Contest) // still in flight
	if d.ID != "a.b" {
		t.Errorf("id %q", d.ID)
	}
	empty(t, q)
	if err := d.Ack(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := d.Ack(t.Context()); err == nil {
		t.Error("second Ack: no error")
	}
	testkit.WaitFor(t, 10*time.Second, "the acknowledgement to be done", func() bool {
		info, err := q.js.Stream(t.Context(), streamName)
		return err == nil && info.CachedInfo().State.Msgs == 0
	})
	put(t, q, "a.b", job.Contest)
	if err := take(t, q).Ack(t.Context()); err != nil {
		t.Error(err)
	}
	put(t, q, "none", "")
	if d := take(t, q); d.Priority != job.Practice {
		t.Errorf("default priority %q", d.Priority)
	}
	for _, bad := range []struct {
		id string
		p  job.Priority
	}{{"", job.Contest}, {"a b", job.Contest}, {"a*", job.Contest}, {"a>", job.Contest}, {"a=b", job.Contest}, {"a", "urgent"}} {
		if err := q.Put(t.Context(), bad.id, bad.p); err == nil {
			t.Errorf("put %q with %q: no error", bad.id, bad.p)
		}
	}
}

func TestNakAndAttempts(t *testing.T) {
	q, _ := openQueue(t, t.TempDir(), Options{MaxDeliver: 3})
	put(t, q, "a", job.Rejudge)
	type seen struct {
		Attempt int
		Last    bool
	}
	var got []seen
	for range 4 {
		d := take(t, q)
		got = append(got, seen{d.Attempt, d.Last})
		if err := d.Nak(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]seen{{1, false}, {2, false}, {3, true}, {4, true}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	d := take(t, q)
	start := time.Now()
	if err := d.Nak(t.Context(), 200*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	take(t, q)
	if waited := time.Since(start); waited < 200*time.Millisecond {
		t.Errorf("delivered after %v", waited)
	}
}

// TestAckWait lets one lease run out and keeps another one alive.
func TestAckWait(t *testing.T) {
	q, _ := openQueue(t, t.TempDir(), Options{AckWait: 300 * time.Millisecond})
	put(t, q, "lost", job.Contest)
	put(t, q, "kept", job.Contest)
	if d := take(t, q); d.ID != "lost" {
		t.Fatalf("took %q", d.ID)
	}
	kept := take(t, q)
	ctx, cancel := context.WithCancel(t.Context())
	var beat sync.WaitGroup
	beat.Go(func() {
		for ctx.Err() == nil {
			if err := kept.Extend(); err != nil {
				t.Error(err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	})
	for i := 2; i <= 4; i++ {
		if d := take(t, q); d.ID != "lost" || d.Attempt != i {
			t.Errorf("took %q, attempt %d, want attempt %d of the lost one", d.ID, d.Attempt, i)
		}
	}
	cancel()
	beat.Wait()
}

// TestCancelledTakeLosesNothing cancels takes at the moment of a put.
func TestCancelledTakeLosesNothing(t *testing.T) {
	q, _ := openQueue(t, t.TempDir(), Options{AckWait: time.Hour})
	const n = 200
	got := map[string]bool{}
	for i := range n {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan *Delivery)
		go func() { d, _ := q.Take(ctx); done <- d }()
		if i%2 == 0 {
			go cancel()
		}
		put(t, q, fmt.Sprint(i), job.Priorities()[i%4])
		cancel()
		if d := <-done; d != nil {
			got[d.ID] = true
		}
	}
	for len(got) < n {
		got[take(t, q).ID] = true
	}
	empty(t, q)
}

// TestManyTakers has more takers than jobs at any moment, puts from many
// goroutines, and looks for jobs that are lost or given to two.
func TestManyTakers(t *testing.T) {
	q, _ := openQueue(t, t.TempDir(), Options{AckWait: time.Hour})
	const n = 400
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got := make(chan string)
	var takers sync.WaitGroup
	for range 8 {
		takers.Go(func() {
			for {
				d, err := q.Take(ctx)
				if err != nil {
					return
				}
				got <- d.ID
				if err := d.Ack(ctx); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for w := range 4 {
		go func() {
			for i := range n / 4 {
				if err := q.Put(ctx, fmt.Sprint(w, "-", i), job.Priorities()[(w+i)%4]); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	seen := map[string]int{}
	for range n {
		seen[<-got]++
	}
	if len(seen) != n {
		t.Errorf("%d different jobs of %d", len(seen), n)
	}
	cancel()
	takers.Wait()
}

// TestRestart holds an embedded queue to forgetting everything with its
// process, leases included: who opens it puts all unfinished jobs in again, and
// they are delivered at once.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	for range 3 {
		q, b := openQueue(t, dir, Options{AckWait: time.Hour})
		if depth, err := q.Depth(t.Context()); err != nil || depth[job.Practice] != 0 {
			t.Fatalf("depth after a restart: %v, %v", depth, err)
		}
		for i := range 500 {
			put(t, q, fmt.Sprint(i), job.Practice)
		}
		got := map[string]bool{}
		for range 500 {
			d := take(t, q)
			got[d.ID] = d.Attempt == 1
		}
		if len(got) != 500 {
			t.Errorf("%d different jobs", len(got))
		}
		for id, first := range got {
			if !first {
				t.Errorf("job %s is not delivered for the first time", id)
			}
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDepth(t *testing.T) {
	q, _ := openQueue(t, t.TempDir(), Options{})
	for i := range 4 {
		put(t, q, fmt.Sprint(i), job.Contest)
	}
	put(t, q, "x", job.Background)
	visible(t, q, map[job.Priority]int{job.Contest: 4, job.Background: 1})
	done := take(t, q)
	if err := done.Ack(t.Context()); err != nil {
		t.Fatal(err)
	}
	read(t, q, done)
	given := take(t, q)
	take(t, q)
	check := func(q *Queue, contest int) {
		t.Helper()
		want := map[job.Priority]int{job.Contest: contest, job.Practice: 0, job.Rejudge: 0, job.Background: 1}
		got, err := q.Depth(t.Context())
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("error %v (-want +got):\n%s", err, diff)
		}
	}
	check(q, 1)
	if err := given.Nak(t.Context(), time.Hour); err != nil {
		t.Fatal(err)
	}
	check(q, 2)
}

// TestNoGoroutines holds finished takes to leaving nothing behind.
func TestNoGoroutines(t *testing.T) {
	q, _ := openQueue(t, t.TempDir(), Options{})
	before := runtime.NumGoroutine()
	for i := range 50 {
		got := make(chan *Delivery)
		go func() { d, _ := q.Take(context.Background()); got <- d }()
		put(t, q, fmt.Sprint(i), job.Practice)
		if err := (<-got).Ack(t.Context()); err != nil {
			t.Fatal(err)
		}
		empty(t, q)
	}
	testkit.WaitFor(t, 10*time.Second, "goroutines to end", func() bool { return runtime.NumGoroutine() <= before+2 })
}

// BenchmarkLatency is the time from a Put's return to the return of a Take
// that was waiting.
func BenchmarkLatency(b *testing.B) {
	q, _ := openQueue(b, b.TempDir(), Options{})
	var all []time.Duration
	taken := make(chan time.Time)
	ready := make(chan struct{})
	go func() {
		for range b.N {
			ready <- struct{}{}
			d, err := q.Take(context.Background())
			now := time.Now()
			if err != nil {
				b.Error(err)
			}
			_ = d.Ack(context.Background())
			taken <- now
		}
	}()
	for i := range b.N {
		<-ready
		time.Sleep(2 * time.Millisecond) // until the taker waits
		put(b, q, fmt.Sprint(i), job.Practice)
		stored := time.Now()
		all = append(all, (<-taken).Sub(stored))
	}
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2].Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(all[len(all)*99/100].Nanoseconds()), "p99-ns")
}

// On a cluster others may publish too. What is no job is thrown away, and the
// next job is taken.
func TestMessagesThatAreNoJobs(t *testing.T) {
	q, b := openQueue(t, t.TempDir(), Options{})
	for subject, data := range map[string]string{
		"jobs.default.contest.a": "b", "jobs.default.contest.c": "", "jobs.default.practice.d": "../d", "jobs.default.practice.e": "\xff\x1b[2J",
	} {
		if _, err := b.JetStream().Publish(t.Context(), subject, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	put(t, q, "a.1", job.Practice)
	visible(t, q, map[job.Priority]int{job.Contest: 2, job.Practice: 3})
	d := take(t, q)
	if d.ID != "a.1" {
		t.Errorf("took %q", d.ID)
	}
	if err := d.Ack(t.Context()); err != nil {
		t.Fatal(err)
	}
	empty(t, q)
	visible(t, q, nil)
}
