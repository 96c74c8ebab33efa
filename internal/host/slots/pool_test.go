package slots

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"judged/internal/api"

	"github.com/google/go-cmp/cmp"
)

// clock returns a clock that advances by a second on each call.
func clock() func() time.Time {
	var n atomic.Int64
	return func() time.Time { return at(n.Add(1) - 1) }
}

func at(second int64) time.Time { return time.Unix(second, 0).UTC() }

// TestStates applies each event in each state of a slot.
func TestStates(t *testing.T) {
	type step struct {
		do    string // lease, examine, release, lift, or the cause of a hold, with - to lift it
		state string
		hold  Hold
	}
	none := Hold{}
	hold := func(c api.HoldCause, step int) Hold { return Hold{c, fmt.Sprintf("%s %d", c, step)} }
	operator := func(step int) Hold { return hold(api.HoldOperator, step) }
	quarantine := func(step int) Hold { return hold(api.HoldQuarantine, step) }
	unfit := func(step int) Hold { return hold(api.HoldUnfitHost, step) }
	tests := []struct {
		name  string
		steps []step
	}{
		{"work", []step{{"lease", Busy, none}, {"release", Idle, none}, {"lease", Busy, none}}},
		{"drain idle", []step{{"operator", Drained, operator(1)}, {"operator", Drained, operator(2)},
			{"lift", Idle, none}, {"lease", Busy, none}}},
		{"drain busy", []step{{"lease", Busy, none}, {"operator", Draining, operator(2)},
			{"operator", Draining, operator(3)}, {"release", Drained, operator(3)}, {"lift", Idle, none}}},
		{"undrain before it is drained", []step{{"lease", Busy, none}, {"operator", Draining, operator(2)},
			{"lift", Busy, none}, {"release", Idle, none}}},
		{"undrain what is in use", []step{{"lift", Idle, none}, {"lease", Busy, none}, {"lift", Busy, none}}},
		{"quarantine idle", []step{{"quarantine", Quarantined, quarantine(1)},
			{"quarantine", Quarantined, quarantine(2)}, {"-quarantine", Idle, none}}},
		{"quarantine busy", []step{{"lease", Busy, none}, {"quarantine", Draining, quarantine(2)},
			{"release", Quarantined, quarantine(2)}}},
		{"quarantine drained", []step{{"operator", Drained, operator(1)}, {"quarantine", Quarantined, quarantine(2)},
			{"-quarantine", Drained, operator(1)}}},
		{"quarantine draining", []step{{"lease", Busy, none}, {"operator", Draining, operator(2)},
			{"quarantine", Draining, quarantine(3)}, {"release", Quarantined, quarantine(3)}}},
		{"a drain does not weaken a quarantine", []step{{"quarantine", Quarantined, quarantine(1)},
			{"operator", Quarantined, quarantine(1)}, {"-quarantine", Drained, operator(2)}}},
		{"nor one to come", []step{{"lease", Busy, none}, {"quarantine", Draining, quarantine(2)},
			{"operator", Draining, quarantine(2)}, {"release", Quarantined, quarantine(2)}}},
		{"lift all", []step{{"quarantine", Quarantined, quarantine(1)}, {"operator", Quarantined, quarantine(1)},
			{"unfit-host", Quarantined, quarantine(1)}, {"lift", Idle, none}}},
		{"a fit host does not undrain", []step{{"unfit-host", Drained, unfit(1)}, {"operator", Drained, operator(2)},
			{"-unfit-host", Drained, operator(2)}}},
		{"an unfit host does not take a drain over",
			[]step{{"operator", Drained, operator(1)}, {"unfit-host", Drained, operator(1)},
				{"-operator", Drained, unfit(2)}, {"-unfit-host", Idle, none}}},
		{"examine idle", []step{{"examine", Busy, none}, {"release", Idle, none}}},
		{"examine drained", []step{{"operator", Drained, operator(1)}, {"examine", Drained, operator(1)},
			{"operator", Drained, operator(3)}, {"release", Drained, operator(3)}}},
		{"examine quarantined", []step{{"quarantine", Quarantined, quarantine(1)},
			{"examine", Quarantined, quarantine(1)}, {"operator", Quarantined, quarantine(1)},
			{"release", Quarantined, quarantine(1)}}},
		{"quarantine while it is examined", []step{{"operator", Drained, operator(1)},
			{"examine", Drained, operator(1)}, {"quarantine", Quarantined, quarantine(3)},
			{"release", Quarantined, quarantine(3)}}},
		{"undrain while it is examined", []step{{"quarantine", Quarantined, quarantine(1)},
			{"examine", Quarantined, quarantine(1)}, {"lift", Busy, none}, {"operator", Draining, operator(4)},
			{"release", Drained, operator(4)}}},
		{"lift a quarantine to come", []step{{"lease", Busy, none}, {"quarantine", Draining, quarantine(2)},
			{"-quarantine", Busy, none}, {"release", Idle, none}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pool := NewPool(parseSlots(t, "2-3@1"), clock())
			cpus := set(t, "2-3")
			var held *Lease
			want := api.SlotStatus{CPUs: "2-3", Node: 1, State: Idle, Since: at(0)}
			for i, s := range tt.steps {
				var err error
				switch s.do {
				case "lease":
					held, err = pool.Lease(t.Context())
				case "examine":
					held = examine(t, pool, "2-3")
				case "release":
					held.Release()
				case "lift":
					err = pool.Lift(cpus)
				default:
					if lifted, ok := strings.CutPrefix(s.do, "-"); ok {
						err = pool.Lift(cpus, api.HoldCause(lifted))
					} else {
						err = pool.Hold(cpus, hold(api.HoldCause(s.do), i+1))
					}
				}
				if err != nil {
					t.Fatal(err)
				}
				if s.state != want.State {
					want.Since = at(int64(i + 1)) // each step reads the clock once
				}
				want.State, want.Cause, want.Reason = s.state, s.hold.Cause, s.hold.Reason
				if diff := cmp.Diff([]api.SlotStatus{want}, pool.Snapshot()); diff != "" {
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
		for _, err := range []error{pool.Hold(set(t, cpus), Hold{api.HoldOperator, "r"}), pool.Lift(set(t, cpus)),
			pool.Examine(t.Context(), set(t, cpus), time.Hour, nil)} {
			if !errors.Is(err, ErrUnknownSlot) {
				t.Errorf("CPUs %q: error %v, want ErrUnknownSlot", cpus, err)
			}
		}
	}
	if got, want := pool.Hold(set(t, "2"), Hold{api.HoldOperator, "r"}).Error(),
		`hold slot "2": no slot has exactly these CPUs`; got != want {
		t.Errorf("error %q, want %q", got, want)
	}
	if diff := cmp.Diff(before, pool.Snapshot()); diff != "" {
		t.Errorf("refused changes changed the pool (-want +got):\n%s", diff)
	}
}

// TestLongestIdle: slots are used in turn.
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

// TestInOrder: waiters are served in order, and a waiter that gives up does not block the others.
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
			synctest.Wait() // it is queued before the next one comes
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

// TestWaitsWhileDrained: a pool out of use keeps its queue, and an undrain serves it.
func TestWaitsWhileDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := NewPool(parseSlots(t, "1@0"), time.Now)
		if err := pool.Hold(set(t, "1"), Hold{api.HoldOperator, "maintenance"}); err != nil {
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
		if err := pool.Lift(set(t, "1")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !leased.Load() {
			t.Error("the slot was not leased after the undrain")
		}
	})
}

// TestLeaseOf: a caller that needs one slot waits for it, and not for others.
func TestLeaseOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := NewPool(parseSlots(t, "1@0 2@0"), time.Now)
		busy := lease(t, pool, "2")
		if err := pool.Hold(set(t, "2"), Hold{api.HoldOperator, "maintenance"}); err != nil {
			t.Fatal(err)
		}
		var got atomic.Pointer[Lease]
		go func() {
			l, err := pool.LeaseOf(t.Context(), set(t, "2"))
			if err != nil {
				t.Error(err)
			}
			got.Store(l)
		}()
		for _, then := range []func(){busy.Release, lease(t, pool, "1").Release} {
			synctest.Wait()
			if l := got.Load(); l != nil {
				t.Fatalf("slot %s was leased", l.Slot().CPUs)
			}
			then()
		}
		if err := pool.Lift(set(t, "2")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if l := got.Load(); l == nil || l.Slot().CPUs.String() != "2" {
			t.Errorf("leased %+v, want slot 2", l)
		}
	})
}

// TestServedAndCancelled: a waiter that is cancelled while it is served passes the slot on.
func TestServedAndCancelled(t *testing.T) {
	pool := NewPool(parseSlots(t, "1@0"), clock())
	holder := mustLease(t, pool)
	plain := func() *waiter { return pool.enqueue(&waiter{wishes: []Wish{{}}}) }
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

// TestConcurrent: many callers lease while one drains and undrains. A slot never has two holders, and all slots
// are free at the end.
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
			hold := Hold{Causes()[r.IntN(len(Causes()))], "test"}
			if err := errors.Join(pool.Hold(cpus, hold), pool.Lift(cpus)); err != nil {
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

// TestStatesAreListed: metrics need all states that Status can show.
func TestStatesAreListed(t *testing.T) {
	shown := map[string]bool{}
	for _, leased := range []bool{false, true} {
		for _, cause := range append(Causes(), "") {
			p := &place{leased: leased, holds: map[api.HoldCause]string{cause: ""}}
			if cause == "" {
				p.holds = nil
			}
			shown[p.state()] = true
		}
	}
	listed := map[string]bool{}
	for _, s := range States() {
		listed[s] = true
	}
	if diff := cmp.Diff(shown, listed); diff != "" {
		t.Errorf("shown and listed states (-want +got):\n%s", diff)
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
