package slots

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"judged/internal/api"
	"judged/internal/base/cpuset"

	"github.com/google/go-cmp/cmp"
)

// examined starts an examination that runs until it is interrupted, and returns when it has the slot.
func examined(t *testing.T, pool *Pool, cpus string) <-chan error {
	ended := make(chan error, 1)
	go func() {
		ended <- pool.Examine(t.Context(), set(t, cpus), time.Hour, func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})
	}()
	synctest.Wait()
	return ended
}

// TestJobEndsExamination: a job that needs a slot interrupts an examination of it and gets the slot at once.
func TestJobEndsExamination(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := NewPool(parseSlots(t, "1@0"), time.Now)
		ended, start := examined(t, pool, "1"), time.Now()
		l := mustLease(t, pool)
		if waited := time.Since(start); waited != 0 {
			t.Errorf("the job waited %s for the slot", waited)
		}
		if err := <-ended; err != ErrWanted {
			t.Errorf("the examination ended with %v, want ErrWanted", err)
		}
		l.Release()
		if got := pool.Snapshot()[0].State; got != Idle {
			t.Errorf("state %q in the end, want idle", got)
		}
	})
}

// TestWhatEndsAnExamination: only callers that the examination blocks interrupt it.
func TestWhatEndsAnExamination(t *testing.T) {
	tests := []struct {
		name  string
		slots string
		held  api.HoldCause                                           // of the examined slot 1, or none
		busy  string                                                  // the first of these slots is the job's own
		do    func(ctx context.Context, pool *Pool, own *Lease) error // own is the lease of the busy slot
		want  bool
	}{
		{"a job without another slot", "1@0 2@1", "", "2", leaseOne, true},
		{"a job with another slot", "1@0 2@1", "", "", leaseOne, false},
		{"a job that the slot is not for", "1@0 2@1", api.HoldQuarantine, "2", leaseOne, false},
		{"a job for the slot", "1@0 2@1", "", "", leaseOf("1"), true},
		{"a job for another slot", "1@0 2@1", "", "2", leaseOf("2"), false},
		{"a look", "1@0 2@1", "", "2", func(ctx context.Context, p *Pool, _ *Lease) error {
			_,
				err := p.Await(ctx)
			return err
		}, false},
		{"a run that needs quiet neighbours", "1@0 2@0", "", "2", borrowWish(Wish{Quiet: true}), true},
		{"one that needs a quiet neighbour that is out of use", "1@0 2@0", api.HoldQuarantine, "2",
			borrowWish(Wish{Quiet: true}), true},
		{"one that needs quiet elsewhere", "1@0 2@1", "", "2", borrowWish(Wish{Quiet: true}), false},
		{"one that waits for quiet elsewhere", "1@0 2@1 3@1", "", "2 3", borrowWish(Wish{Quiet: true}), false},
		{"one that needs another core than a slot out of use", "1@0 2@1 3@2", api.HoldQuarantine, "2 3",
			borrowWish(Wish{OtherCore: true}), false},
		{"one that needs another core", "1@0 2@1", "", "2", borrowWish(Wish{OtherCore: true}), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pool := NewPool(parseSlots(t, tt.slots), time.Now)
				var own *Lease
				for i, cpus := range strings.Fields(tt.busy) {
					if l := lease(t, pool, cpus); i == 0 {
						own = l
					}
				}
				if tt.held != "" {
					if err := pool.Hold(set(t, "1"), Hold{tt.held, "test"}); err != nil {
						t.Fatal(err)
					}
				}
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				exam, stop := make(chan error, 1), make(chan struct{})
				go func() {
					exam <- pool.Examine(t.Context(), set(t, "1"), time.Hour, func(ctx context.Context) error {
						select {
						case <-ctx.Done():
						case <-stop:
						}
						return context.Cause(ctx)
					})
				}()
				synctest.Wait()
				go func() { done <- tt.do(ctx, pool, own) }()
				synctest.Wait()
				close(stop)
				if got := errors.Is(<-exam, ErrWanted); got != tt.want {
					t.Errorf("the examination was ended: %v, want %v", got, tt.want)
				}
				cancel()
				<-done
			})
		})
	}
}

func leaseOne(ctx context.Context, p *Pool, _ *Lease) error {
	_, err := p.Lease(ctx)
	return err
}

func leaseOf(cpus string) func(context.Context, *Pool, *Lease) error {
	return func(ctx context.Context, p *Pool, _ *Lease) error {
		id, err := cpuset.Parse(cpus)
		if err == nil {
			_, err = p.LeaseOf(ctx, id)
		}
		return err
	}
}

func borrowWish(w Wish) func(context.Context, *Pool, *Lease) error {
	return func(ctx context.Context, _ *Pool, own *Lease) error {
		_, err := own.Borrow(ctx, w, time.Hour)
		return err
	}
}

// TestAwait: it returns when a job could get a slot, and leases none.
func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := NewPool(parseSlots(t, "1@0 2@0"), time.Now)
		other := lease(t, pool, "2")
		var log []string
		looking := func(what string) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if s, err := pool.Await(ctx); err == nil {
				log = append(log, what+" "+s.CPUs.String())
			}
		}
		looking("idle")
		ended := examined(t, pool, "1")
		looking("examined")
		other.Release()
		looking("examined, the other one idle")
		other = lease(t, pool, "2")
		l := mustLease(t, pool)
		<-ended
		looking("busy")
		l.Release()
		looking("idle again")
		if err := pool.Hold(set(t, "1"), Hold{api.HoldOperator, "test"}); err != nil {
			t.Fatal(err)
		}
		looking("drained")
		ended = examined(t, pool, "1")
		looking("drained and examined")
		if err := pool.Lift(set(t, "1")); err != nil {
			t.Fatal(err)
		}
		mustLease(t, pool).Release()
		<-ended
		if diff := cmp.Diff([]string{"idle 1", "examined 1", "examined, the other one idle 2", "idle again 1"},
			log); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestExamineIsPatient: Examine fails after its patience.
func TestExamineIsPatient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := NewPool(parseSlots(t, "1@0"), time.Now)
		l := mustLease(t, pool)
		err := pool.Examine(t.Context(), set(t, "1"), time.Second, func(context.Context) error { return nil })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want context.DeadlineExceeded", err)
		}
		l.Release()
	})
}
