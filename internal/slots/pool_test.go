package slots

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// clock tells a later second every time it is asked.
func clock() func() time.Time {
	var n atomic.Int64
	return func() time.Time { return at(n.Add(1) - 1) }
}

func at(second int64) time.Time { return time.Unix(second, 0).UTC() }

// TestStates walks a slot through every event in every state.
func TestStates(t *testing.T) {
	type step struct {
		do     string // lease, examine, release, drain, undrain or quarantine
		state  string
		reason string
	}
	tests := []struct {
		name  string
		steps []step
	}{
		{"work", []step{{"lease", Busy, ""}, {"release", Idle, ""}, {"lease", Busy, ""}}},
		{"drain idle", []step{{"drain", Drained, "d1"}, {"drain", Drained, "d2"}, {"undrain", Idle, ""}, {"lease", Busy, ""}}},
		{"drain busy", []step{{"lease", Busy, ""}, {"drain", Draining, "d2"}, {"drain", Draining, "d3"}, {"release", Drained, "d3"}, {"undrain", Idle, ""}}},
		{"undrain before it is drained", []step{{"lease", Busy, ""}, {"drain", Draining, "d2"}, {"undrain", Busy, ""}, {"release", Idle, ""}}},
		{"undrain what is in use", []step{{"undrain", Idle, ""}, {"lease", Busy, ""}, {"undrain", Busy, ""}}},
		{"quarantine idle", []step{{"quarantine", Quarantined, "q1"}, {"quarantine", Quarantined, "q2"}, {"undrain", Idle, ""}}},
		{"quarantine busy", []step{{"lease", Busy, ""}, {"quarantine", Draining, "q2"}, {"quarantine", Draining, "q3"}, {"release", Quarantined, "q3"}}},
		{"quarantine drained", []step{{"drain", Drained, "d1"}, {"quarantine", Quarantined, "q2"}}},
		{"quarantine draining", []step{{"lease", Busy, ""}, {"drain", Draining, "d2"}, {"quarantine", Draining, "q3"}, {"release", Quarantined, "q3"}}},
		{"a drain does not weaken a quarantine", []step{{"quarantine", Quarantined, "q1"}, {"drain", Quarantined, "q1"}}},
		{"nor one to come", []step{{"lease", Busy, ""}, {"quarantine", Draining, "q2"}, {"drain", Draining, "q2"}, {"release", Quarantined, "q2"}}},
		{"examine idle", []step{{"examine", Busy, ""}, {"release", Idle, ""}}},
		{"examine drained", []step{{"drain", Drained, "d1"}, {"examine", Drained, "d1"}, {"drain", Drained, "d3"}, {"release", Drained, "d3"}}},
		{"examine quarantined", []step{{"quarantine", Quarantined, "q1"}, {"examine", Quarantined, "q1"}, {"quarantine", Quarantined, "q3"},
			{"drain", Quarantined, "q3"}, {"release", Quarantined, "q3"}}},
		{"quarantine while it is examined", []step{{"drain", Drained, "d1"}, {"examine", Drained, "d1"}, {"quarantine", Quarantined, "q3"}, {"release", Quarantined, "q3"}}},
		{"undrain while it is examined", []step{{"quarantine", Quarantined, "q1"}, {"examine", Quarantined, "q1"}, {"undrain", Busy, ""}, {"release", Idle, ""}}},
		{"lift a quarantine to come", []step{{"lease", Busy, ""}, {"quarantine", Draining, "q2"}, {"undrain", Busy, ""}, {"release", Idle, ""}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pool := NewPool(parseSlots(t, "2-3@1"), clock())
			cpus := set(t, "2-3")
			var lease *Lease
			want := Status{CPUs: "2-3", Node: 1, State: Idle, Since: at(0)}
			for i, s := range tt.steps {
				var err error
				switch s.do {
				case "lease":
					lease, err = pool.Lease(t.Context())
				case "examine":
					lease, err = pool.Examine(t.Context(), cpus)
				case "release":
					lease.Release()
				case "drain":
					err = pool.Drain(cpus, fmt.Sprintf("d%d", i+1))
				case "undrain":
					err = pool.Undrain(cpus)
				case "quarantine":
					err = pool.Quarantine(cpus, fmt.Sprintf("q%d", i+1))
				}
				if err != nil {
					t.Fatal(err)
				}
				if s.state != want.State {
					want.Since = at(int64(i + 1)) // every step asks the clock once
				}
				want.State, want.Reason = s.state, s.reason
				if diff := cmp.Diff([]Status{want}, pool.Snapshot()); diff != "" {
					t.Fatalf("after step %d, %s (-want +got):\n%s", i+1, s.do, diff)
				}
			}
		})
	}
}

func TestUnknownSlot(t *testing.T) {
	pool := NewPool(parseSlots(t, "2-3@0 4-5@0"), clock())
	before := pool.Snapshot()
	for _, cpus := range []string{"", "2", "2-5", "6"} {
		for _, err := range []error{pool.Drain(set(t, cpus), "r"), pool.Undrain(set(t, cpus)), pool.Quarantine(set(t, cpus), "r"), examine(t, pool, cpus)} {
			if !errors.Is(err, ErrUnknownSlot) {
				t.Errorf("CPUs %q: error %v, want ErrUnknownSlot", cpus, err)
			}
		}
	}
	if got, want := pool.Drain(set(t, "2"), "r").Error(), `drain slot "2": no slot has exactly these CPUs`; got != want {
		t.Errorf("error %q, want %q", got, want)
	}
	if diff := cmp.Diff(before, pool.Snapshot()); diff != "" {
		t.Errorf("refused changes changed the pool (-want +got):\n%s", diff)
	}
}

func examine(t *testing.T, pool *Pool, cpus string) error {
	_, err := pool.Examine(t.Context(), set(t, cpus))
	return err
}

// TestLongestIdle: slots take turns.
func TestLongestIdle(t *testing.T) {
	pool := NewPool(parseSlots(t, "1@0 2@0 3@0"), clock())
	var got []string
	for range 7 {
		l := mustLease(t, pool)
		got = append(got, l.Slot().CPUs.String())
		l.Release()
	}
	if diff := cmp.Diff([]string{"1", "2", "3", "1", "2", "3", "1"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReleaseTwice(t *testing.T) {
	pool := NewPool(parseSlots(t, "1@0"), clock())
	first := mustLease(t, pool)
	first.Release()
	second := mustLease(t, pool)
	first.Release()
	if got := pool.Snapshot()[0].State; got != Busy {
		t.Errorf("state %q after a stale release, want busy", got)
	}
	second.Release()
}

func mustLease(t *testing.T, pool *Pool) *Lease {
	t.Helper()
	l, err := pool.Lease(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestInOrder: those who wait are served in the order in which they came, and
// one who gives up does not hold up the others.
func TestInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := NewPool(parseSlots(t, "1@0"), time.Now)
		holder := mustLease(t, pool)

		gaveUp := errors.New("gave up")
		impatient, giveUp := context.WithCancelCause(t.Context())
		served := make(chan string, 10)
		for i := range 5 {
			ctx := t.Context()
			if i == 2 {
				ctx = impatient
			}
			go func() {
				l, err := pool.Lease(ctx)
				if err != nil {
					served <- fmt.Sprintf("%d: %v", i, err)
					return
				}
				served <- fmt.Sprint(i)
				l.Release()
			}()
			synctest.Wait() // it has its place in the line before the next one comes
		}
		giveUp(gaveUp)
		synctest.Wait()
		holder.Release()
		synctest.Wait()
		close(served)

		var got []string
		for s := range served {
			got = append(got, s)
		}
		if diff := cmp.Diff([]string{"2: lease a slot: gave up", "0", "1", "3", "4"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if got := pool.Snapshot()[0].State; got != Idle {
			t.Errorf("state %q in the end, want idle", got)
		}
	})
}

// TestWaitsWhileDrained: a pool out of use keeps its line, and an undrain serves it.
func TestWaitsWhileDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := NewPool(parseSlots(t, "1@0"), time.Now)
		if err := pool.Drain(set(t, "1"), "maintenance"); err != nil {
			t.Fatal(err)
		}
		var leased atomic.Bool
		go func() {
			if l, err := pool.Lease(t.Context()); err == nil {
				leased.Store(true)
				l.Release()
			}
		}()
		synctest.Wait()
		if leased.Load() {
			t.Error("a drained slot was leased")
		}
		if err := pool.Undrain(set(t, "1")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !leased.Load() {
			t.Error("the slot was not leased after the undrain")
		}
	})
}

// TestServedAndCancelled: whoever is served and gives up in the same moment
// passes the slot on.
func TestServedAndCancelled(t *testing.T) {
	pool := NewPool(parseSlots(t, "1@0"), clock())
	holder := mustLease(t, pool)
	plain := func() *turn { return pool.enqueue(&turn{wishes: []Wish{{}}}) }
	leaving, staying := plain(), plain()
	holder.Release()
	pool.leave(leaving)
	select {
	case l := <-staying.served:
		l.Release()
	default:
		t.Error("the next in line was not served")
	}
	if got := pool.Snapshot()[0].State; got != Idle {
		t.Errorf("state %q in the end, want idle", got)
	}
}

func TestLeaseOfTheCancelled(t *testing.T) {
	pool := NewPool(parseSlots(t, "1@0"), clock())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := pool.Lease(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	if got := pool.Snapshot()[0].State; got != Idle {
		t.Errorf("state %q, want idle", got)
	}
}

// TestConcurrent: many who lease, one who drains and undrains; nobody ever
// shares a slot, and in the end every slot is free.
func TestConcurrent(t *testing.T) {
	pool := NewPool(parseSlots(t, "1@0 2@0 3@0"), time.Now)
	var holders [4]atomic.Int32
	var work, trouble sync.WaitGroup
	stop := make(chan struct{})

	for seed := range 8 {
		work.Go(func() {
			r := rand.New(rand.NewPCG(uint64(seed), 7))
			for range 300 {
				ctx, cancel := context.WithCancel(t.Context())
				if r.IntN(4) == 0 {
					go cancel()
				}
				if l, err := pool.Lease(ctx); err == nil {
					id := l.Slot().CPUs[0]
					if n := holders[id].Add(1); n != 1 {
						t.Errorf("slot %d has %d holders", id, n)
					}
					holders[id].Add(-1)
					l.Release()
				}
				cancel()
			}
		})
	}
	trouble.Go(func() {
		r := rand.New(rand.NewPCG(8, 9))
		for {
			cpus := set(t, fmt.Sprint(1+r.IntN(3)))
			hold := pool.Drain
			if r.IntN(2) == 0 {
				hold = pool.Quarantine
			}
			if err := errors.Join(hold(cpus, "test"), pool.Undrain(cpus)); err != nil {
				t.Error(err)
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	work.Wait()
	close(stop)
	trouble.Wait()

	for _, s := range pool.Snapshot() {
		if s.State != Idle {
			t.Errorf("slot %s is %s in the end, want idle", s.CPUs, s.State)
		}
	}
}

// TestStatesAreListed: metrics need every state that can be told.
func TestStatesAreListed(t *testing.T) {
	told := map[string]bool{}
	for p := range phases {
		told[p.String()] = true
	}
	listed := map[string]bool{}
	for _, s := range States() {
		listed[s] = true
	}
	if diff := cmp.Diff(told, listed); diff != "" {
		t.Errorf("told and listed states (-want +got):\n%s", diff)
	}
}

func BenchmarkLease(b *testing.B) {
	pool := NewPool([]Slot{{CPUs: []int{1}}}, time.Now)
	for b.Loop() {
		l, err := pool.Lease(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		l.Release()
	}
}
