package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/testkit"
)

// takes takes and finishes n jobs, and returns their IDs without the part after the dash.
func (b *bench) takes(n int) string {
	b.t.Helper()
	var ids []string
	for range n {
		w := b.take()
		b.finish(w.Lease, api.Accepted)
		kind, _, _ := strings.Cut(w.ID, "-")
		ids = append(ids, kind)
	}
	return strings.Join(ids, " ")
}

// puts puts n jobs of a tenant.
func (b *bench) puts(tenant string, n int, edit func(*api.Job)) {
	b.t.Helper()
	for i := range n {
		b.putOf(tenant, fmt.Sprintf("%s-%d-%d", cmpOr(tenant, "none"), i, time.Now().UnixNano()), edit)
	}
}

func weights(o *Options) {
	o.Tenants = []config.Tenant{{Name: "a", Weight: 1}, {Name: "b", Weight: 3}}
}

// testTurns checks the order in which the jobs of tenants are taken.
func testTurns(t *testing.T, be backend) {
	background := func(j *api.Job) { j.Priority = api.Background }
	for _, tt := range []struct {
		name string
		do   func(b *bench)
		want string
	}{
		{"one tenant is first come, first served", func(b *bench) { b.puts("a", 3, nil) }, "a a a"},
		{"none is one", func(b *bench) { b.puts("", 3, nil); b.puts("c", 2, nil) }, "none c none c none"},
		{"equal weights take turns", func(b *bench) { b.puts("a", 4, nil); b.puts("c", 3, nil) }, "a c a c a c a"},
		{"a weight of 3", func(b *bench) { b.puts("a", 4, nil); b.puts("b", 9, nil) }, "a b b b a b b b a b b b a"},
		{"no advantage from idle time", func(b *bench) {
			b.puts("a", 20, nil)
			b.takes(10)
			b.puts("c", 5, nil)
		}, "c a c a c a c a c a"},
		{"no debt from idle slots", func(b *bench) {
			b.puts("a", 10, nil)
			b.takes(10)
			b.puts("c", 2, nil)
			b.puts("a", 2, nil)
		}, "c c a a"},
		{"a tenant that waits for each job has its share", func(b *bench) {
			b.puts("b", 9, nil)
			for range 3 {
				b.puts("a", 1, nil)
				for !strings.HasPrefix(b.takes(1), "a") {
				}
			}
		}, "b b"},
		{"priorities first", func(b *bench) { b.puts("a", 2, background); b.puts("c", 2, nil) }, "c c a a"},
		{"after a restart", func(b *bench) {
			b.puts("a", 6, nil)
			b.takes(3)
			*b = *b.again()
			b.puts("c", 2, nil)
			b.puts("a", 1, nil)
		}, "a c a c a a"},
		{"jobs without a tenant after a restart", func(b *bench) {
			b.puts("", 4, nil)
			b.takes(1)
			*b = *b.again()
			b.puts("c", 2, nil)
			b.puts("", 1, nil)
		}, "none c none c none none"},
		{"next to another process", func(b *bench) {
			b.puts("a", 6, nil)
			other := b.again()
			b.takes(3)
			_, err := other.countQueue(b.ctx())
			b.must(err)
			other.puts("c", 2, nil)
			other.puts("a", 1, nil)
		}, "a c a c a a"},
		{"a job that comes back", func(b *bench) {
			b.puts("a", 3, nil)
			first := b.take()
			b.puts("c", 1, nil)
			b.must(b.Return(b.ctx(), first.Lease, api.Returned{Uncounted: true}))
		}, "a c a a"},
		{"repeated submissions do not count", func(b *bench) {
			b.putOf("a", "a-1", nil)
			for range 5 {
				_, created, err := b.Put(b.of("a"), Submission{ID: "a-1", BodyDigest: "digest", Job: sampleJob()})
				if created || err != nil {
					b.t.Fatal(created, err)
				}
			}
			b.puts("a", 2, nil)
			b.puts("c", 2, nil)
		}, "a c a c a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := be.open(t, weights)
			tt.do(b)
			if got := b.takes(len(strings.Fields(tt.want))); got != tt.want {
				t.Errorf("taken %s\nwant  %s", got, tt.want)
			}
		})
	}
}

// testForwardedTurns checks that a job for another pool gets its turn there.
func testForwardedTurns(t *testing.T, be backend) {
	b := be.open(t, nil)
	metal := func(j *api.Job) { j.Pool = "metal" }
	b.puts("a", 9, nil)
	for range 8 {
		b.finish(b.take().Lease, api.Accepted)
	}
	last := b.take()
	b.puts("c", 4, metal)
	b.must(b.Forward(b.ctx(), b.get(last.ID), sampleReport(api.TimeLimit), "metal", api.Screening{}))
	var got []string
	for range 5 {
		w, err := b.Take(b.ctx(), api.Want{Pool: "metal"})
		b.must(err)
		got = append(got, w.ID[:1])
	}
	if diff := cmp.Diff([]string{"a", "c", "c", "c", "c"}, got); diff != "" {
		t.Errorf("order in the other pool (-want +got):\n%s", diff)
	}
}

// testLateTurn checks that a job can be taken without a search of the whole queue if it is stored after a job with a
// later turn was taken.
func testLateTurn(t *testing.T, be backend) {
	b := be.open(t, nil)
	late := Submission{ID: "late", Job: sampleJob()}
	turn := b.turns.assign(late.flow())
	b.puts("c", 1, nil)
	b.puts("", 5, nil)
	b.takes(4)
	low := b.notifier.line(slotClass{pool: defaultPool, width: 1})
	low.low.mu.Lock()
	low.low.whole = time.Now().Add(time.Hour) // prevents searches of the whole queue
	low.low.mu.Unlock()
	_, args, err := b.newRow(late, turn)
	b.must(err)
	_, err = b.insertLabelled(b.ctx(), late, args, nil)
	b.must(err)
	b.settle(late.flow(), turn, true)
	if got := b.takes(1); got != "late" {
		t.Errorf("took %s, want the job that was late", got)
	}
}

// TestManyPracticeJobs measures how long other tenants wait while one has many jobs: a contest job for at most one job
// per slot, and practice jobs for their share.
func TestManyPracticeJobs(t *testing.T) {
	const slots = 4
	many := 100_000
	if testing.Short() {
		many = 2_000
	}
	b := sqliteBackend().open(t, weights)
	b.puts("a", 1, nil)
	if _, err := b.write.ExecContext(b.ctx(), `INSERT INTO jobs (id, digest, state, priority, pool, width, due, created,
	labels, job, tenant, turn)
SELECT 'a-' || n, '', 0, priority, pool, width, due, created, labels, job, tenant, n * ?1 FROM jobs,
	(WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?2) SELECT n FROM numbers)`,
		turnStep, many); err != nil {
		t.Fatal(err)
	}
	_, err := b.countQueue(b.ctx())
	b.must(err)

	var mu sync.Mutex // guards taken
	var taken []string
	var work sync.WaitGroup
	ctx, stop := context.WithCancel(b.ctx())
	defer stop()
	for range slots {
		work.Go(func() {
			for ctx.Err() == nil {
				w, err := b.Take(ctx, api.Want{})
				if err == nil {
					mu.Lock()
					taken = append(taken, w.ID)
					mu.Unlock()
					err = b.Finish(b.ctx(), w.Lease, sampleReport(api.Accepted))
				}
				if err != nil && !errors.Is(err, ctx.Err()) {
					t.Error(err)
					return
				}
			}
		})
	}
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(taken)
	}
	testkit.WaitFor(t, time.Minute, "busy slots", func() bool { return count() > 2*slots })
	most := 0
	for n := range 20 {
		id := fmt.Sprint("contest", n)
		b.putOf("b", id, func(j *api.Job) { j.Priority = api.Contest })
		testkit.WaitFor(t, time.Minute, id, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return slices.Contains(taken, id)
		})
		var passed int // the feed has the order of transactions; taken may be in another one
		b.must(b.read.QueryRow(`WITH own AS (SELECT position, number FROM feed
	WHERE job = (SELECT seq FROM jobs WHERE id = ?1))
SELECT COUNT(*) FROM feed WHERE number = 1 << 20 AND position > (SELECT position FROM own WHERE number = 1)
	AND position < (SELECT position FROM own WHERE number = 1 << 20)`, id).Scan(&passed))
		most = max(most, passed)
	}
	t.Logf("a contest job waits for at most %d jobs of another tenant with %d slots", most, slots)
	if most > slots {
		t.Errorf("a contest job waited for %d jobs, want at most one per slot", most)
	}

	stop()
	work.Wait()
	const practice = 60
	b.puts("b", practice, nil)
	passed := 0
	for left := practice; left > 0; {
		if b.takes(1) == "b" {
			left--
		} else {
			passed++
		}
	}
	t.Logf("%d practice jobs of weight 3 wait for %d of weight 1", practice, passed)
	if passed > practice/3+1 {
		t.Errorf("%d jobs of weight 3 waited for %d of weight 1", practice, passed)
	}
}

// testBatchTurns checks that the jobs of a batch take turns with other jobs, also if some of them are stored already.
func testBatchTurns(t *testing.T, be backend) {
	b := be.open(t, weights)
	b.puts("a", 4, nil)
	for range 2 {
		var list []Packed
		for n := range 4 {
			p, err := b.Pack(b.of("c"), Submission{ID: fmt.Sprint("c-", n), BodyDigest: "digest", Job: sampleJob()})
			b.must(err)
			list = append(list, p)
		}
		_, err := b.PutAll(b.of("c"), list)
		b.must(err)
	}
	b.putOf("c", "last", nil)
	if got, want := b.takes(9), "a c a c a c a c last"; got != want {
		t.Errorf("taken %s\nwant  %s", got, want)
	}
}

// TestLows checks that a search does not hide jobs that were added while it ran.
func TestLows(t *testing.T) {
	found := row{id: "found", priority: 1, turn: 10, seq: 5}
	for _, tt := range []struct {
		name  string
		came  []position // with priority 1
		alone bool
		want  positions
	}{
		{"nothing came", nil, false, positions{1: {10, 5}}},
		{"no other process stores jobs", nil, true, positions{0: endOfLine, 1: {10, 5}}},
		{"a later one came", []position{{turn: 11}}, false, positions{1: {10, 5}}},
		{"earlier ones came", []position{{turn: 4}, {turn: 3, seq: 2}, {turn: 3, seq: 7}}, true,
			positions{0: endOfLine, 1: {3, 2}}},
	} {
		var l lows
		s := l.begin(0, false)
		for _, place := range tt.came {
			l.back(1, place)
		}
		if l.record(s, found, tt.alone) != noSearch || l.from != tt.want {
			t.Errorf("%s: searches begin at %v, want %v", tt.name, l.from, tt.want)
		}
	}
}

// TestWholeQueueLater checks that if a search of the whole queue takes long, a search that finds nothing in part of the
// queue is followed by a later search of the whole.
func TestWholeQueueLater(t *testing.T) {
	for _, tt := range []struct {
		name string
		from positions
		took time.Duration
		ago  time.Duration
		want func(time.Duration) bool
	}{
		{"all was searched", positions{}, time.Second, 0, func(d time.Duration) bool { return d == noSearch }},
		{"quick", positions{1: {turn: 1}}, time.Millisecond, 0, func(d time.Duration) bool { return d == 0 }},
		{"slow, and long ago", positions{1: {turn: 1}}, time.Second, time.Minute,
			func(d time.Duration) bool { return d == 0 }},
		{"slow", positions{1: {turn: 1}}, time.Hour, 0,
			func(d time.Duration) bool { return d > time.Hour && d <= wholeShare*time.Hour }},
	} {
		l := lows{whole: time.Now().Add(-tt.ago), took: tt.took}
		if tt.from == (positions{}) {
			l.took = 0
		}
		if got := l.record(search{from: tt.from, start: time.Now()}, row{}, false); !tt.want(got) {
			t.Errorf("%s: after %s", tt.name, got)
		}
	}
}
