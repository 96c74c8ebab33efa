package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/poll"
	"judged/internal/host/slots"
	"judged/internal/jobs/blobs"
	"judged/internal/timing/stats"
)

var one = []slots.Slot{first}

// lasting returns a run that takes d and then ends with a verdict, or ends with its context.
func lasting(d time.Duration) func(context.Context, func(api.TestReport)) (api.Report, error) {
	return func(ctx context.Context, _ func(api.TestReport)) (api.Report, error) {
		poll.Sleep(ctx, d)
		return api.Report{Verdict: api.Accepted}, ctx.Err()
	}
}

// failing returns a run that fails.
func failing(err error) func(context.Context, func(api.TestReport)) (api.Report, error) {
	return func(context.Context, func(api.TestReport)) (api.Report, error) {
		return api.Report{Verdict: api.WrongAnswer}, err
	}
}

// TestLifeOfAJob checks every step in order. The slot is free before the report is stored, and no lease is extended
// afterwards.
func TestLifeOfAJob(t *testing.T) {
	bubble(t, one, func(w *world) {
		w.work("a", func(x *api.Work) { x.Report.StartedAt = x.Report.CreatedAt.Add(time.Minute) })
		w.judge = lasting(9 * time.Second)
		w.run()
		w.pass(time.Minute)
		w.saw("0 take a for 0 of pool", "0 judge /blobs/a on 0", "5 extend a", "9 finish a AC on host 0 true",
			"9 observe AC", "9 done a done AC contest, waited 1m0s", "9 tidy 0", "9 attempt done", "9 leave 0")
		w.idle()
		w.logged()
	})
}

// TestReportNamesTheProblem checks that a report has the version of the problem that judged.
func TestReportNamesTheProblem(t *testing.T) {
	bubble(t, one, func(w *world) {
		w.work("a", func(x *api.Work) { x.Job.Problem, x.Job.ProblemVersion = "sum", "v1" })
		w.judge = lasting(time.Second)
		w.run()
		w.pass(time.Minute)
		w.mu.Lock()
		defer w.mu.Unlock()
		if !slices.Contains(w.calls, "1 with problem sum v1") {
			t.Errorf("the report names no problem: %q", w.calls)
		}
	})
}

// TestNextJobNeedNotWait checks that the next job starts before the report of the previous one is stored.
func TestNextJobNeedNotWait(t *testing.T) {
	bubble(t, one, func(w *world) {
		w.work("a", nil)
		w.work("b", nil)
		w.failNext("finish", errAway)
		w.run()
		w.pass(500 * time.Millisecond)
		w.saw("0 take a for 0 of pool", "0 judge /blobs/a on 0", "0 finish a AC on host 0 true",
			"0 take b for 0 of pool", "0 judge /blobs/b on 0", "0 finish b AC on host 0 true", "0 observe AC",
			"0 done b done AC contest, waited 0s", "0 tidy 0", "0 attempt done", "0 leave 0")
	})
}

// TestEmit checks that every test is emitted except for the last one, which the report follows immediately.
func TestEmit(t *testing.T) {
	for name, tt := range map[string]struct {
		stop     api.Stop
		verdicts []api.Verdict
		want     []string
	}{
		"all pass": {api.StopFirstFailure, []api.Verdict{api.Accepted, api.Accepted, api.Accepted},
			[]string{"0 emit a 1 AC", "0 emit a 2 AC"}},
		"the second fails": {api.StopFirstFailure, []api.Verdict{api.Accepted, api.WrongAnswer},
			[]string{"0 emit a 1 AC"}},
		"all are run": {api.StopNever, []api.Verdict{api.WrongAnswer, api.WrongAnswer, api.WrongAnswer},
			[]string{"0 emit a 1 WA", "0 emit a 2 WA"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, one, func(w *world) {
				w.work("a", func(x *api.Work) { x.Job.Stop = tt.stop })
				w.judge = func(_ context.Context, decided func(api.TestReport)) (api.Report, error) {
					for _, v := range tt.verdicts {
						decided(api.TestReport{Verdict: v})
					}
					return api.Report{Verdict: api.Accepted}, nil
				}
				w.failNext("emit", errAway)
				w.run()
				var got []string
				for _, c := range w.calls {
					if len(c) > 6 && c[2:6] == "emit" {
						got = append(got, c)
					}
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("-want +got\n%s", diff)
				}
				w.logged(
					`level=WARN msg="cannot report a test; the report will have it" job=a error="connection refused: ` +
						api.ErrUnavailable.Error() + `"`)
			})
		})
	}
}

// TestFailures checks what happens to a job that judged fails to judge. The slot pauses for a second, so that a failure
// of the host does not go through all waiting jobs.
func TestFailures(t *testing.T) {
	broken := errors.New("no memory")
	for name, tt := range map[string]struct {
		change func(w *world, x *api.Work)
		want   []string // without the second job
	}{
		"an error of judged": {func(w *world, _ *api.Work) { w.judge = failing(broken) },
			[]string{"0 judge /blobs/a on 0", "0 return a for 1s, excused false", "1 tidy 0", "1 attempt returned",
				"1 leave 0"}},
		"again": {func(w *world, x *api.Work) { w.judge, x.Attempt = failing(broken), 3 },
			[]string{"0 judge /blobs/a on 0", "0 return a for 4s, excused false", "1 tidy 0", "1 attempt returned",
				"1 leave 0"}},
		"often": {func(w *world, x *api.Work) { w.judge, x.Attempt = failing(broken), 1000 },
			[]string{"0 judge /blobs/a on 0", "0 return a for 1m0s, excused false", "1 tidy 0", "1 attempt returned",
				"1 leave 0"}},
		"in the last attempt": {func(w *world, x *api.Work) { w.judge, x.Last = failing(broken), true },
			[]string{"0 judge /blobs/a on 0", "0 finish a IE on host 0 true", "0 observe IE",
				"0 done a done IE contest, waited 0s", "0 tidy 0", "0 attempt exhausted", "0 leave 0"}},
		"one attempt too many": {func(w *world, x *api.Work) { x.Last, x.Exhausted = true, true },
			[]string{"0 finish a IE on host 0 true", "0 observe IE", "0 done a done IE contest, waited 0s", "0 tidy 0",
				"0 attempt exhausted", "0 leave 0"}},
		"its files are not here": {func(w *world, x *api.Work) { x.Last = true; w.failNext("blob", broken) },
			[]string{"0 return a for 1s, excused true", "1 tidy 0", "1 attempt returned", "1 leave 0"}},
		"a file is nowhere": {func(w *world, x *api.Work) { x.Last = true; w.failNext("blob", blobs.ErrNotFound) },
			[]string{"0 return a for 1s, excused true",
				`0 because it waits for a file: find file "program": no such blob`, "1 tidy 0", "1 attempt returned",
				"1 leave 0"}},
		"no host can judge it: unknown checker": {func(_ *world, x *api.Work) {
			x.Job.Checker = &api.Checker{Kind: "frob"}
		},
			[]string{"0 finish a IE on host 0 true", "0 observe IE", "0 done a done IE contest, waited 0s", "0 tidy 0",
				"0 attempt done", "0 leave 0"}},
		"no host can judge it: no tests": {func(_ *world, x *api.Work) { x.Job.Tests = nil },
			[]string{"0 finish a IE on host 0 true", "0 observe IE", "0 done a done IE contest, waited 0s", "0 tidy 0",
				"0 attempt done", "0 leave 0"}},
		"no host can judge it: a group without a test": {func(_ *world, x *api.Work) {
			x.Job.Scheme = &api.Scheme{Root: &api.Group{}}
		},
			[]string{"0 finish a IE on host 0 true", "0 observe IE", "0 done a done IE contest, waited 0s", "0 tidy 0",
				"0 attempt done", "0 leave 0"}},
		"the slot is not fit": {func(w *world, _ *api.Work) { w.unfit = broken },
			[]string{"0 return a for 1s, excused true", "1 attempt returned"}},
		"the report is refused": {func(w *world, _ *api.Work) { w.failNext("finish", broken) },
			[]string{"0 judge /blobs/a on 0", "0 finish a AC on host 0 true", "0 return a for 1s, excused false",
				"1 tidy 0", "1 attempt returned", "1 leave 0"}},
		"the database is away": {func(w *world, _ *api.Work) { w.failNext("finish", errAway, errAway) },
			[]string{"0 judge /blobs/a on 0", "0 finish a AC on host 0 true", "1 finish a AC on host 0 true",
				"3 finish a AC on host 0 true", "3 observe AC",
				"3 done a done AC contest, waited 0s", "3 tidy 0", "3 attempt done", "3 leave 0"}},
		"also to return it": {func(w *world, _ *api.Work) {
			w.judge = failing(broken)
			w.failNext("return", errAway)
		},
			[]string{"0 judge /blobs/a on 0", "0 return a for 1s, excused false", "1 return a for 1s, excused false",
				"2 tidy 0", "2 attempt returned", "2 leave 0"}},
		"another attempt has it": {func(w *world, _ *api.Work) { w.failNext("finish", api.ErrStale) },
			[]string{"0 judge /blobs/a on 0", "0 finish a AC on host 0 true", "0 tidy 0", "0 attempt stale",
				"0 leave 0"}},
		"it was cancelled": {func(w *world, _ *api.Work) { w.failNext("finish", api.ErrFinal) },
			[]string{"0 judge /blobs/a on 0", "0 finish a AC on host 0 true", "0 tidy 0", "0 attempt cancelled",
				"0 leave 0"}},
		"it was deleted": {func(w *world, _ *api.Work) { w.failNext("finish", api.ErrNotFound) },
			[]string{"0 judge /blobs/a on 0", "0 finish a AC on host 0 true", "0 tidy 0", "0 attempt cancelled",
				"0 leave 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, one, func(w *world) {
				w.work("a", func(x *api.Work) { tt.change(w, x) })
				w.run()
				w.pass(3 * time.Second)
				w.saw(append([]string{"0 take a for 0 of pool"}, tt.want...)...)
				w.idle()
			})
		})
	}
}

// TestSlotRests checks that the next job waits after judged has failed.
func TestSlotRests(t *testing.T) {
	for name, change := range map[string]func(w *world){
		"a run fails":         func(w *world) { w.judge = failing(errors.New("no memory")) },
		"the slot is not fit": func(w *world) { w.unfit = errors.New("turbo is on") },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, one, func(w *world) {
				change(w)
				w.work("a", nil)
				w.work("b", nil)
				w.run()
				w.pass(999 * time.Millisecond)
				if n := w.waiting(); n != 1 {
					t.Errorf("%d jobs wait, want 1", n)
				}
				w.pass(time.Millisecond)
				if n := w.waiting(); n != 0 {
					t.Errorf("%d jobs wait, want none", n)
				}
			})
		})
	}
}

// TestMessages checks that operators see each failure once in the log.
func TestMessages(t *testing.T) {
	away := errAway.Error()
	bubble(t, one, func(w *world) {
		w.failNext("take", errAway, errAway, errAway)
		w.failNext("finish", errAway, errAway, errAway)
		w.work("a", nil)
		w.run()
		w.pass(20 * time.Second)
		w.logged(fmt.Sprintf(`level=ERROR msg="cannot take jobs; retrying" error=%q`, away),
			`level=INFO msg="jobs are taken again"`,
			fmt.Sprintf(`level=ERROR msg="cannot store a report; retrying" job=a error=%q`, away),
			`level=INFO msg="the source of jobs is available again" job=a`)

		w.judge = failing(errors.New("no memory"))
		w.failNext("return", errors.New("no disk"))
		w.work("b", nil)
		w.pass(10 * time.Second)
		w.logged(`level=ERROR msg="an attempt at a job failed; it will be repeated" job=b attempt=1 error="no memory"`,
			`level=WARN msg="cannot return a job; it will be attempted again when its lease expires" job=b error="no disk"`)

		w.failNext("return", api.ErrStale) // another attempt has it: no error
		w.work("c", nil)
		w.pass(10 * time.Second)
		w.logged(`level=ERROR msg="an attempt at a job failed; it will be repeated" job=c attempt=1 error="no memory"`)

		w.work("d", func(x *api.Work) { x.Last, x.Report.Attempt = true, 3 })
		w.pass(10 * time.Second)
		w.logged(`level=ERROR msg="giving up a job" job=d attempts=3 error="no memory"`)
		if got := w.reports()[len(w.reports())-1].Message; got != "no memory" {
			t.Errorf("message %q", got)
		}
	})
}

// TestTakeIsRetried checks that Take is retried with increasing pauses while the queue fails, for any reason.
func TestTakeIsRetried(t *testing.T) {
	for name, err := range map[string]error{"away": errAway, "refused": api.ErrRefused} {
		t.Run(name, func(t *testing.T) {
			bubble(t, one, func(w *world) {
				w.failNext("take", err, err, err, err, err)
				w.work("a", nil)
				w.run()
				w.pass((1+2+4+8+8)*time.Second - time.Millisecond)
				w.saw()
				w.pass(time.Millisecond)
				if n := w.waiting(); n != 0 {
					t.Errorf("%d jobs wait, want none", n)
				}
			})
		})
	}
}

// TestUndeliverable checks that an attempt whose report is never accepted ends with its lease, and that the slot judges
// other jobs meanwhile.
func TestUndeliverable(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"cancelled": {api.ErrFinal, "attempt cancelled"}, "taken by another attempt": {api.ErrStale, "attempt stale"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, one, func(w *world) {
				w.finish = func(id string) error {
					if id == "a" {
						return errAway
					}
					return nil
				}
				w.work("a", nil)
				w.work("b", nil)
				w.run()
				w.pass(time.Second)
				if got := w.reports(); len(got) != 1 || got[0].ID != "b" {
					t.Errorf("reports %+v, want that of the other job", got)
				}
				w.failNext("extend", tt.err)
				w.pass(heartbeat + maxRetryDelay)
				if got := w.count(tt.want); got != 1 {
					t.Errorf("%q %d times, want once", tt.want, got)
				}
				sent := w.count("finish a")
				w.pass(time.Hour)
				if again := w.count("finish a") - sent; again != 0 {
					t.Errorf("the report was sent %d times more after the lease was lost", again)
				}
			})
		})
	}
}

// TestExhausted checks that the report of a job during which judged itself ended says so.
func TestExhausted(t *testing.T) {
	bubble(t, one, func(w *world) {
		w.work("a", func(x *api.Work) { x.Last, x.Exhausted, x.Report.Attempt = true, true, 4 })
		w.run()
		const want = "judged ended 3 times in the middle of this job; look into its log, and submit the job again"
		if r := w.reports(); len(r) != 1 || r[0].Message != want || r[0].Fault != api.JudgedFault {
			t.Errorf("done %+v, want message %q and fault judged", r, want)
		}
	})
}

// TestLeaseLost checks that a run ends as soon as its job has another attempt, was cancelled or is gone, and that
// nothing more happens to that job.
func TestLeaseLost(t *testing.T) {
	for name, tt := range map[string]struct {
		lose func(w *world)
		want []string
	}{
		"to another attempt": {func(w *world) { w.lost["a"] <- api.ErrStale },
			[]string{"3 tidy 0", "3 attempt stale", "3 leave 0"}},
		"cancelled": {func(w *world) { w.lost["a"] <- api.ErrFinal },
			[]string{"3 tidy 0", "3 attempt cancelled", "3 leave 0"}},
		"deleted": {func(w *world) { w.lost["a"] <- api.ErrNotFound },
			[]string{"3 tidy 0", "3 attempt cancelled", "3 leave 0"}},
		"found when extending": {func(w *world) { w.failNext("extend", api.ErrStale) },
			[]string{"5 extend a", "5 tidy 0", "5 attempt stale", "5 leave 0"}},
		"nobody knows for a while": {func(w *world) { w.failNext("extend", errAway); w.lost["a"] <- errAway },
			[]string{"5 extend a", "10 extend a", "15 extend a", "18 finish a AC on host 0 true", "18 observe AC",
				"18 done a done AC contest, waited 0s", "18 tidy 0", "18 attempt done", "18 leave 0"}},
		"and then": {func(w *world) {
			w.lost["a"] <- errAway
			go func() { w.lost["a"] <- api.ErrStale }()
		}, []string{"4 tidy 0", "4 attempt stale", "4 leave 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, one, func(w *world) {
				w.work("a", nil)
				w.judge = lasting(18 * time.Second)
				w.run()
				w.pass(3 * time.Second)
				tt.lose(w)
				w.pass(time.Minute)
				w.saw(append([]string{"0 take a for 0 of pool", "0 judge /blobs/a on 0"}, tt.want...)...)
				w.idle()
			})
		})
	}
}

// TestReturnedJobIsNotExtended checks that the lease of a returned job is not extended while the slot pauses: another
// host may have it.
func TestReturnedJobIsNotExtended(t *testing.T) {
	bubble(t, one, func(w *world) {
		w.work("a", nil)
		w.judge = func(context.Context, func(api.TestReport)) (api.Report, error) {
			time.Sleep(heartbeat - time.Second/2)
			return api.Report{}, errors.New("no memory")
		}
		w.run()
		w.pass(time.Minute)
		w.saw("0 take a for 0 of pool", "0 judge /blobs/a on 0", "4.5 return a for 1s, excused false", "5.5 tidy 0",
			"5.5 attempt returned", "5.5 leave 0")
	})
}

// TestNothingIsLeftOfAnAttempt checks that an attempt ends only after its tasks, because the database is closed then,
// and that it ends the context of the run.
func TestNothingIsLeftOfAnAttempt(t *testing.T) {
	bubble(t, one, func(w *world) {
		w.work("a", nil)
		var ran context.Context
		w.judge = func(ctx context.Context, decided func(api.TestReport)) (api.Report, error) {
			ran = ctx
			return lasting(heartbeat+time.Second)(ctx, decided)
		}
		w.extend = func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(time.Minute)
			return ctx.Err()
		}
		drain, _ := w.run()
		begin := time.Now()
		drain()
		if d, want := time.Since(begin), heartbeat+time.Second+time.Minute; d != want {
			t.Errorf("it ended after %v, want %v", d, want)
		}
		if ran.Err() == nil {
			t.Error("the context of the run is kept")
		}
		w.logged()
	})
}

// TestTaskFindsPlaces checks that a run in the middle of a job may move to another slot.
func TestTaskFindsPlaces(t *testing.T) {
	bubble(t, []slots.Slot{first, second}, func(w *world) {
		w.work("a", nil)
		w.judge = func(ctx context.Context, _ func(api.TestReport)) (api.Report, error) {
			place, err := w.task.Place(ctx, stats.Placement{OtherCore: true})
			w.must(err)
			w.note("deviation %g", place.Deviation(ctx))
			place.Release()
			return api.Report{Verdict: api.Accepted}, nil
		}
		w.run()
		w.saw("0 take a for 0 of pool", "0 judge /blobs/a on 0", "0 deviation 1.5", "0 tidy 1",
			"0 finish a AC on host 0 true", "0 observe AC",
			"0 done a done AC contest, waited 0s", "0 tidy 0", "0 attempt done", "0 leave 0")
	})
}

// TestExtendFails checks that a failed extension is logged and the run continues.
func TestExtendFails(t *testing.T) {
	bubble(t, one, func(w *world) {
		w.work("a", nil)
		w.judge = lasting(2*heartbeat - time.Second)
		w.failNext("extend", errAway)
		w.run()
		w.pass(time.Minute)
		w.logged(
			fmt.Sprintf(
				`level=WARN msg="cannot extend the lease on a job; another attempt may start, and one report is stored" job=a error=%q`,
				errAway.Error()))
		if len(w.reports()) != 1 {
			t.Errorf("%d jobs are done, want 1", len(w.reports()))
		}
	})
}

// TestDrain checks that running jobs are finished, and no others are taken.
func TestDrain(t *testing.T) {
	bubble(t, []slots.Slot{first, second}, func(w *world) {
		w.work("a", nil)
		w.judge = lasting(18 * time.Second)
		drain, _ := w.run()
		begin := time.Now()
		drain()
		if d := time.Since(begin); d != 18*time.Second {
			t.Errorf("the drain took %v, want 18 s", d)
		}
		w.work("b", nil)
		w.pass(time.Minute)
		w.saw("0 take a for 0 of pool", "0 judge /blobs/a on 0", "5 extend a", "10 extend a", "15 extend a",
			"18 finish a AC on host 0 true",
			"18 observe AC", "18 done a done AC contest, waited 0s", "18 tidy 0", "18 attempt done", "18 leave 0")
		w.logged()
	})
}

// TestDrainWithoutASlot checks that a dispatcher that waits for a slot or a database ends immediately.
func TestDrainWithoutASlot(t *testing.T) {
	for name, change := range map[string]func(w *world){
		"no slot": func(w *world) {
			w.work("a", nil)
			w.must(w.pool.Hold(first.CPUs, slots.Hold{Cause: api.HoldOperator}))
		},
		"no job": func(*world) {},
		"no database": func(w *world) {
			for range 100 {
				w.failNext("take", errAway)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, one, func(w *world) {
				change(w)
				drain, _ := w.run()
				w.pass(1500 * time.Millisecond)
				begin := time.Now()
				drain()
				if d := time.Since(begin); d > 0 {
					t.Errorf("the drain took %v", d)
				}
				w.saw()
			})
		})
	}
}

// TestTakenWhileDrained checks that a job taken at the last moment is returned.
func TestTakenWhileDrained(t *testing.T) {
	bubble(t, one, func(w *world) {
		ctx, stop := context.WithCancel(w.Context())
		w.onTake = stop
		w.work("a", nil)
		w.d.Run(ctx, w.Context())
		w.saw("0 take a for 0 of pool", "0 return a for 0s, excused true", "0 attempt returned")
		w.idle()
	})
}

// TestAbort checks that running jobs are returned immediately and may start anywhere.
func TestAbort(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(w *world)
		want   []string
	}{
		"a run": {func(w *world) { w.judge = lasting(time.Hour) },
			[]string{"1.5 return a for 0s, excused true", "1.5 tidy 0", "1.5 attempt returned", "1.5 leave 0"}},
		"a report that cannot be stored": {func(w *world) {
			w.failNext("finish", errAway, errAway, errAway, errAway, errAway)
		},
			[]string{"0 finish a AC on host 0 true", "1 finish a AC on host 0 true", "1.5 finish a AC on host 0 true",
				"1.5 return a for 1s, excused false", "1.5 tidy 0", "1.5 attempt returned", "1.5 leave 0"}},
		"a slot that rests": {func(w *world) {
			w.judge = failing(
				errors.New("no memory"))
			w.failNext("return", errAway)
		},
			[]string{"0 return a for 1s, excused false", "1 return a for 1s, excused false", "1.5 tidy 0",
				"1.5 attempt returned", "1.5 leave 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, one, func(w *world) {
				tt.change(w)
				w.work("a", nil)
				_, abort := w.run()
				w.pass(1500 * time.Millisecond)
				abort()
				w.saw(append([]string{"0 take a for 0 of pool", "0 judge /blobs/a on 0"}, tt.want...)...)
			})
		})
	}
}

// TestSlotGone checks that a job does not wait for its slot if the slot goes out of use while the job is taken.
func TestSlotGone(t *testing.T) {
	gone := func(w *world) { w.must(w.pool.Hold(first.CPUs, slots.Hold{Cause: api.HoldOperator})) }
	for name, tt := range map[string]struct {
		slots []slots.Slot
		want  []string
	}{
		"another one is free": {[]slots.Slot{first, second},
			[]string{"0 take a for 0 of pool", "0 return a for 0s, excused true", "0 attempt returned"}},
		"it was the only one": {one, []string{"0 take a for 0 of pool", "1 return a for 0s, excused true",
			"1 attempt returned"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, tt.slots, func(w *world) {
				w.onTake = func() { gone(w) }
				w.work("a", nil)
				w.run()
				w.pass(5 * time.Second)
				w.saw(tt.want...)
				w.onTake = nil
				w.must(w.pool.Lift(first.CPUs))
				w.idle()
				w.work("b", nil)
				w.pass(time.Second)
				if len(w.reports()) != 1 {
					t.Errorf("%d jobs are done afterwards, want 1", len(w.reports()))
				}
			})
		})
	}
}

// TestEverySlotIsUsed checks that jobs run concurrently, each on its own slot.
func TestEverySlotIsUsed(t *testing.T) {
	bubble(t, []slots.Slot{first, second}, func(w *world) {
		for _, id := range []string{"a", "b", "c"} {
			w.work(id, nil)
		}
		var n atomic.Int64
		w.judge = func(ctx context.Context, decided func(api.TestReport)) (api.Report, error) {
			return lasting(time.Duration(n.Add(1))*time.Second)(ctx, decided)
		}
		w.run()
		slices.Sort(w.calls)
		w.saw("0 judge /blobs/a on 0", "0 judge /blobs/b on 1", "0 take a for 0 of pool", "0 take b for 1 of pool")
		w.pass(6 * time.Second)
		if len(w.reports()) != 3 {
			t.Errorf("%d jobs are done, want 3", len(w.reports()))
		}
	})
}

// TestPlace checks that a loan serves as the place of a run, and how it ends.
func TestPlace(t *testing.T) {
	bubble(t, []slots.Slot{first, second}, func(w *world) {
		lease, err := w.pool.Lease(w.Context())
		w.must(err)
		place, err := Place(w.Context(), w.d.o.Engine, w.d.o.Health, lease, stats.Placement{OtherCore: true})
		w.must(err)
		if got := w.pool.Snapshot()[1].State; got != slots.Busy {
			t.Errorf("the other slot is %s, want busy", got)
		}
		if got := place.Deviation(w.Context()); got != 1.5 {
			t.Errorf("deviation %g, want that of the other slot", got)
		}
		place.Release()
		w.saw("0 tidy 1")
		if got := w.pool.Snapshot()[1].State; got != slots.Idle {
			t.Errorf("the other slot is %s, want idle", got)
		}
		// The job runs on its own slot again, so no run next to it is quiet.
		neighbour, err := w.pool.Lease(w.Context())
		w.must(err)
		ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
		defer cancel()
		if _, err := neighbour.Borrow(ctx, slots.Wish{Quiet: true}, time.Hour); err == nil {
			t.Error("a neighbour found quiet next to a job that works")
		}
		lease.Release()
		neighbour.Release()
		ended, end := context.WithCancelCause(w.Context())
		end(api.ErrStale)
		if _, err := Place(ended, w.d.o.Engine, w.d.o.Health, lease, stats.Placement{}); !errors.Is(err, api.ErrStale) {
			t.Errorf("placed after the end: %v", err)
		}
	})
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}
