package slots

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"judged/internal/api"

	"github.com/google/go-cmp/cmp"
)

const patience = time.Second

// loan is the result of a Borrow and its time.
type loan struct {
	lease *Lease
	err   error
	after time.Duration
}

// borrow calls Borrow in the background and returns when the request is queued.
func borrow(ctx context.Context, l *Lease, w Wish) <-chan loan {
	got, start := make(chan loan, 1), time.Now()
	go func() {
		lease, err := l.Borrow(ctx, w, patience)
		got <- loan{lease, err, time.Since(start)}
	}()
	synctest.Wait()
	return got
}

// lease leases the given slot, which must be idle.
func lease(t *testing.T, pool *Pool, cpus string) *Lease {
	t.Helper()
	l, err := pool.LeaseOf(t.Context(), set(t, cpus))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// examine leases the given slot as an examination does that does not end when it is interrupted.
func examine(t *testing.T, pool *Pool, cpus string) *Lease {
	t.Helper()
	l, err := pool.await(t.Context(), pool.enqueue(&waiter{only: pool.find(set(t, cpus)), end: func(error) {},
		wishes: []Wish{{}}}))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// granted is the expected loan in the tables below.
type granted struct {
	CPUs   string
	Quiet  bool
	Waited bool // until patience had passed
}

func tell(t *testing.T, l loan) granted {
	t.Helper()
	if l.err != nil {
		t.Fatal(l.err)
	}
	return granted{l.lease.Slot().CPUs.String(), l.lease.quiet, l.after >= patience}
}

func TestBorrow(t *testing.T) {
	both := Wish{Quiet: true, OtherCore: true}
	for name, tt := range map[string]struct {
		slots string
		busy  []string // slots of others; slot 1 borrows
		out   []string // drained slots
		wish  Wish
		want  granted
	}{
		"nothing": {"1@0 2@0", []string{"2"}, nil, Wish{}, granted{"1", false, false}},
		"quiet":   {"1@0 2@0", nil, nil, Wish{Quiet: true}, granted{"1", true, false}},
		"quiet on another node": {"1@0 2@1", []string{"2"}, nil, Wish{Quiet: true},
			granted{"1", true, false}},
		"no quiet": {"1@0 2@0", []string{"2"}, nil, Wish{Quiet: true},
			granted{"1", false, true}},
		"another core": {"1@0 2@0", nil, nil, Wish{OtherCore: true}, granted{"2", false, false}},
		"another core, all busy": {"1@0 2@0", []string{"2"}, nil, Wish{OtherCore: true},
			granted{"1", false, true}},
		"another core on a host of one": {"1@0", nil, nil, both, granted{"1", true, false}},
		"another core, all drained":     {"1@0 2@0 3@0", nil, []string{"2", "3"}, both, granted{"1", true, false}},
		"both, the own slot rests":      {"1@0 2@0", nil, nil, both, granted{"2", true, false}},
		"both, on the quiet node": {"1@0 2@0 3@1 4@1 5@2", []string{"4"}, nil, both,
			granted{"2", true, false}},
		"both, away from the noise":     {"1@0 2@0 3@0 4@1", []string{"3"}, nil, both, granted{"4", true, false}},
		"own quiet before another core": {"1@0 2@1 3@1", []string{"2"}, nil, both, granted{"1", true, true}},
		"another core before nothing":   {"1@0 2@0 3@0", []string{"3"}, nil, both, granted{"2", false, true}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pool := NewPool(parseSlots(t, tt.slots), time.Now)
				for _, cpus := range tt.out {
					if err := pool.Hold(set(t, cpus), Hold{api.HoldOperator, "test"}); err != nil {
						t.Fatal(err)
					}
				}
				own := lease(t, pool, "1")
				for _, cpus := range tt.busy {
					defer lease(t, pool, cpus).Release()
				}
				got := <-borrow(t.Context(), own, tt.wish)
				if diff := cmp.Diff(tt.want, tell(t, got)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				got.lease.Release()
				if err := own.Resume(t.Context()); err != nil {
					t.Error(err)
				}
				own.Release()
				for _, s := range pool.places {
					if s.silenced != 0 || s.resting {
						t.Errorf("slot %s is left with hush %d, resting %v", s.slot.CPUs, s.silenced, s.resting)
					}
				}
			})
		})
	}
}

// TestCache: slots that share a last-level cache across nodes are neighbours.
func TestCache(t *testing.T) {
	shared := parseSlots(t, "1@0 2@1 3@2")
	shared[0].Cache = set(t, "1-2")
	var got [][]bool
	for _, s := range shared {
		got = append(got, []bool{s.Interferes(shared[0]), s.Interferes(shared[1]), s.Interferes(shared[2])})
	}
	if diff := cmp.Diff([][]bool{{true, true, false}, {false, true, false}, {false, false, true}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	pool := NewPool(shared, time.Now)
	for _, s := range pool.places[:2] {
		if n := len(pool.neighbours(s)); n != 1 {
			t.Errorf("%d neighbours of %s, want 1: it counts for both", n, s.slot.CPUs)
		}
	}
}

// TestQuietKeepsQuiet: while a slot is held in quiet, its neighbours are not leased for jobs or examinations,
// but other slots are.
func TestQuietKeepsQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := NewPool(parseSlots(t, "1@0 2@0 3@1"), time.Now)
		own := lease(t, pool, "1")
		got := <-borrow(t.Context(), own, Wish{Quiet: true})
		first := mustLease(t, pool)
		if cpus := first.Slot().CPUs.String(); cpus != "3" {
			t.Errorf("slot %s, a neighbour of a quiet one, was leased", cpus)
		}
		served := make(chan string, 2)
		go func() {
			err := pool.Examine(t.Context(), set(t, "2"), time.Hour, func(context.Context) error {
				served <- "examiner"
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		go func() {
			if l, err := pool.Lease(t.Context()); err == nil {
				served <- l.Slot().CPUs.String()
				l.Release()
			}
		}()
		synctest.Wait()
		if len(served) > 0 {
			t.Errorf("%s was served in the quiet", <-served)
		}
		got.lease.Release()
		if diff := cmp.Diff([]string{"2", "examiner"}, []string{<-served, <-served}); diff != "" {
			t.Errorf("after the quiet (-want +got):\n%s", diff)
		}
		first.Release()
		own.Release()
	})
}

// TestWishIsNotPassedBy: while a borrower waits for quiet, its slot's neighbours are not leased to later
// callers, until its patience has passed.
func TestWishIsNotPassedBy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := NewPool(parseSlots(t, "1@0 2@0 3@0"), time.Now)
		own, other := lease(t, pool, "1"), lease(t, pool, "2")
		waiting := borrow(t.Context(), own, Wish{Quiet: true})
		ctx, cancel := context.WithTimeout(t.Context(), patience/2)
		defer cancel()
		if l, err := pool.Lease(ctx); err == nil {
			t.Errorf("slot %s was leased before the wish", l.Slot().CPUs)
		}
		other.Release()
		if diff := cmp.Diff(granted{"1", true, false}, tell(t, <-waiting)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestTwoWishes: two borrowers each hold what the other needs. Both rest while they wait, so they get quiet in
// turn; the second resumes after the first.
func TestTwoWishes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := NewPool(parseSlots(t, "1@0 2@0"), time.Now)
		one, two := lease(t, pool, "1"), lease(t, pool, "2")
		wish := Wish{Quiet: true, OtherCore: true}
		first := borrow(t.Context(), one, wish)
		time.Sleep(patience / 2) // its patience passes first
		second := borrow(t.Context(), two, wish)
		got := <-first
		if diff := cmp.Diff(granted{"1", true, true}, tell(t, got)); diff != "" {
			t.Errorf("first (-want +got):\n%s", diff)
		}
		time.Sleep(10 * patience)
		synctest.Wait()
		if len(second) > 0 {
			t.Fatal("the second works in the quiet of the first")
		}
		got.lease.Release()
		got = <-second
		if diff := cmp.Diff(granted{"2", true, true}, tell(t, got)); diff != "" {
			t.Errorf("second (-want +got):\n%s", diff)
		}
		resumed := make(chan error, 1)
		go func() { resumed <- one.Resume(t.Context()) }()
		synctest.Wait()
		if len(resumed) > 0 {
			t.Error("the first works on in the quiet of the second")
		}
		got.lease.Release()
		if err := errors.Join(<-resumed, two.Resume(t.Context())); err != nil {
			t.Error(err)
		}
	})
}

// TestBorrowerGivesUp: if a borrower is cancelled, the next waiter gets the slot.
func TestBorrowerGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := NewPool(parseSlots(t, "1@0 2@0 3@0"), time.Now)
		own, other := lease(t, pool, "1"), lease(t, pool, "2")
		ctx, cancel := context.WithCancelCause(t.Context())
		waiting := borrow(ctx, own, Wish{Quiet: true})
		cause := errors.New("the job was cancelled")
		cancel(cause)
		if got := <-waiting; !errors.Is(got.err, cause) {
			t.Errorf("error %v, want the cause", got.err)
		}
		if cpus := mustLease(t, pool).Slot().CPUs.String(); cpus != "3" {
			t.Errorf("slot %s was leased, want 3", cpus)
		}
		own.Release()
		other.Release()
	})
}

// TestExaminerComesLast: jobs have priority over examinations, in any order of arrival.
func TestExaminerComesLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := NewPool(parseSlots(t, "1@0"), time.Now)
		holder := mustLease(t, pool)
		served := make(chan string, 2)
		go func() { l := examine(t, pool, "1"); served <- "examiner"; l.Release() }()
		synctest.Wait()
		go func() { l := mustLease(t, pool); served <- "job"; l.Release() }()
		synctest.Wait()
		holder.Release()
		if diff := cmp.Diff([]string{"job", "examiner"}, []string{<-served, <-served}); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestBorrowConcurrently: concurrent jobs that borrow, examinations and drains. A slot never has two holders,
// no neighbour of a quiet slot is busy, and all calls return.
func TestBorrowConcurrently(t *testing.T) {
	pool := NewPool(parseSlots(t, "1@0 2@0 3@0 4@1"), time.Now)
	var workers, quiet [5]atomic.Int32
	work := func(l *Lease) {
		id := l.Slot().CPUs[0]
		if n := workers[id].Add(1); n != 1 {
			t.Errorf("slot %d has %d runs", id, n)
		}
		for o := 1; o <= 3; o++ {
			if o != id && id <= 3 && quiet[o].Load() > 0 {
				t.Errorf("slot %d is busy, and its neighbour %d is quiet", id, o)
			}
		}
		workers[id].Add(-1)
	}
	var jobs sync.WaitGroup
	for seed := range 6 {
		jobs.Go(func() {
			r := rand.New(rand.NewPCG(uint64(seed), 3))
			for range 200 {
				l := mustLease(t, pool)
				work(l)
				got, err := l.Borrow(t.Context(), Wish{Quiet: r.IntN(2) == 0, OtherCore: r.IntN(2) == 0},
					time.Duration(r.IntN(300))*time.Microsecond)
				if err != nil {
					t.Error(err)
					break
				}
				if id := got.Slot().CPUs[0]; got.quiet {
					quiet[id].Add(1)
					work(got)
					quiet[id].Add(-1)
				} else {
					work(got)
				}
				got.Release()
				if err := l.Resume(t.Context()); err != nil {
					t.Error(err)
				}
				work(l)
				l.Release()
			}
		})
	}
	jobs.Go(func() {
		for i := range 200 {
			cpus := set(t, string(rune('1'+i%4)))
			err := pool.Examine(t.Context(), cpus, time.Hour, func(context.Context) error {
				work(&Lease{place: pool.find(cpus)})
				return nil
			})
			if err := errors.Join(err, pool.Hold(cpus, Hold{api.HoldQuarantine, "test"}), pool.Lift(cpus)); err != nil {
				t.Error(err)
			}
		}
	})
	jobs.Wait()
	for _, s := range pool.places {
		if !s.idle() || s.silenced != 0 || s.resting {
			t.Errorf("slot %s is left %s with hush %d, resting %v", s.slot.CPUs, s.state(), s.silenced, s.resting)
		}
	}
}

// TestQuietAfterResume: after a loan the slot of the borrower is busy, so its neighbours do not get quiet at
// once.
func TestQuietAfterResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := NewPool(parseSlots(t, "1@0 2@0"), time.Now)
		one := lease(t, pool, "1")
		got := <-borrow(t.Context(), one, Wish{Quiet: true})
		got.lease.Release()
		if err := one.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		two := lease(t, pool, "2")
		loan := <-borrow(t.Context(), two, Wish{Quiet: true})
		if tell(t, loan).Quiet {
			t.Error("quiet was granted to a neighbour of a busy slot")
		}
		loan.lease.Release()
		two.Release()
		one.Release()
	})
}

// TestBusyAfterBorrowing: if the borrower gives up or another holder gets the resting slot, the slot is busy,
// and its neighbours wait for quiet.
func TestBusyAfterBorrowing(t *testing.T) {
	for name, occupy := range map[string]func(*testing.T, *Pool, *Lease){
		"a borrower that gave up": func(t *testing.T, _ *Pool, one *Lease) {
			ctx, cancel := context.WithCancel(t.Context())
			waiting := borrow(ctx, one, Wish{Quiet: true})
			cancel()
			<-waiting
		},
		"a holder after one that rested": func(t *testing.T, pool *Pool, one *Lease) {
			(<-borrow(t.Context(), one, Wish{OtherCore: true})).lease.Release()
			one.Release()
			lease(t, pool, "1")
		},
		"a holder after one whose loan lasted longer": func(t *testing.T, pool *Pool, one *Lease) {
			loan := (<-borrow(t.Context(), one, Wish{OtherCore: true})).lease
			one.Release()
			lease(t, pool, "1")
			loan.Release()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pool := NewPool(parseSlots(t, "1@0 2@0 3@1"), time.Now)
				one, two := lease(t, pool, "1"), lease(t, pool, "2")
				occupy(t, pool, one)
				if loan := <-borrow(t.Context(), two, Wish{Quiet: true}); tell(t, loan).Quiet {
					t.Error("quiet was granted to a neighbour of a busy slot")
				}
			})
		})
	}
}
