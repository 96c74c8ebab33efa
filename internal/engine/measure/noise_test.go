package measure

import (
	"errors"
	"math"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/sandbox"
	"judged/internal/timing/stats"
)

// by adds an explanation by a cause to an outcome, in milliseconds.
func by(o outcome, c api.Cause, ms int) outcome {
	d := time.Duration(ms) * time.Millisecond
	o.run.Explained.Add(c, d, d)
	return o
}

// stoppedAtWall returns a run that was stopped at its wall time, explained by noise or not.
func stoppedAtWall(v api.Verdict, explained bool) outcome {
	o := ran(30, v, false)
	o.result, o.wall = sandbox.Result{Stop: sandbox.StopWall}, 3010*time.Millisecond
	if explained {
		o.run.Explained.Add(api.CauseForeign, 0, 11*time.Millisecond)
	}
	return o
}

func gained(o outcome, ms int) outcome {
	o.gain = time.Duration(ms) * time.Millisecond
	return o
}

// rejected is a run whose interactor ended first.
func rejected(o outcome) outcome { return talked(o, api.WrongAnswer) }

func talked(o outcome, v api.Verdict) outcome {
	o.talked, o.check = true, &api.CheckReport{Verdict: v, FirstExit: api.ExitInteractor}
	return o
}

// differing returns runs over a limit of 1 s that a cause explains, and that differ as if it had lengthened them.
func differing(c api.Cause) []outcome {
	var runs []outcome
	for _, ms := range []int{1060, 1090, 1030, 1085, 1055} {
		runs = append(runs, by(ran(ms, api.TimeLimit, false), c, 100))
	}
	return runs
}

// agreeing returns runs over a limit of 1 s that a cause explains, but that do not differ as if it had lengthened them.
func agreeing(c api.Cause) []outcome {
	var runs []outcome
	for _, ms := range []int{1050, 1053, 1051} {
		runs = append(runs, by(ran(ms, api.TimeLimit, false), c, 100))
	}
	return runs
}

// TestRepeat runs the loop of a test with given runs; the last one is repeated.
func TestRepeat(t *testing.T) {
	quiet, both := stats.Placement{Quiet: true}, stats.Placement{Quiet: true, OtherCore: true}
	within, over, far := ran(900, api.Accepted, false), ran(1050, api.TimeLimit, false), ran(1300, api.TimeLimit, false)
	notExecutable := ran(0, api.NotExecutable, false)
	notExecutable.result.ExecError = syscall.ENOEXEC
	delayed := stoppedAtWall(api.IdlenessLimit, false)
	delayed.delay = 11 * time.Millisecond
	type result struct {
		Verdict    api.Verdict
		Kept       []bool
		Confidence api.Confidence
		Noise      bool
	}
	for _, tt := range []struct {
		name    string
		repeats api.Repeats
		runs    []outcome
		want    result
		placed  []stats.Placement
	}{
		{"within", api.Repeats{}, []outcome{within}, result{api.Accepted, []bool{true}, api.OneRun, false},
			[]stats.Placement{{}}},
		{"far over, one run is enough", api.Repeats{}, []outcome{far},
			result{api.TimeLimit, []bool{true}, api.OneRun, false}, []stats.Placement{{}}},
		{"over, twice", api.Repeats{}, []outcome{over}, result{api.TimeLimit, []bool{true, true}, api.Stable, false},
			[]stats.Placement{{}, quiet}},
		{"noise explains the first", api.Repeats{}, []outcome{by(over, api.CauseForeign, 50), within},
			result{api.Accepted, []bool{false, true}, api.OneRun, false}, []stats.Placement{{}, quiet}},
		{"noise explains a part of it", api.Repeats{}, []outcome{by(over, api.CauseForeign, 20)},
			result{api.TimeLimit, []bool{true, true}, api.Stable, false}, []stats.Placement{{}, quiet}},
		{"far over, if noise added nothing", api.Repeats{}, []outcome{by(far, api.CauseForeign, 40)},
			result{api.TimeLimit, []bool{true, true}, api.Stable, false}, []stats.Placement{{}, quiet}},
		{"far over, and still over without what noise explains", api.Repeats{}, []outcome{by(ran(1600, api.TimeLimit,
			false),
			api.CauseNeighbours, 300)}, result{api.TimeLimit, []bool{true}, api.OneRun, false}, []stats.Placement{{}}},
		{"noise explains all runs, which differ", api.Repeats{}, differing(api.CauseForeign),
			result{api.InternalError, []bool{false, false, false, false, false}, "", true},
			[]stats.Placement{{}, quiet, both, both, both}},
		{"neighbours explain all runs, which differ", api.Repeats{}, differing(api.CauseNeighbours),
			result{api.InternalError, []bool{false, false, false, false, false}, "", true},
			[]stats.Placement{{}, quiet, both, both, both}},
		{"reference kernels explain all runs, which differ", api.Repeats{}, differing(api.CauseCanary),
			result{api.InternalError, []bool{false, false, false, false, false}, "", true},
			[]stats.Placement{{}, quiet, both, both, both}},
		{"noise explains all runs, which agree", api.Repeats{}, agreeing(api.CauseForeign),
			result{api.TimeLimit, []bool{true, true, true}, api.Stable, false}, []stats.Placement{{}, quiet, both}},
		{"neighbours explain all runs, which agree", api.Repeats{}, agreeing(api.CauseNeighbours),
			result{api.TimeLimit, []bool{true, true, true}, api.Stable, false}, []stats.Placement{{}, quiet, both}},
		{"under single, they agree", api.Repeats{Policy: api.Single}, agreeing(api.CauseForeign),
			result{api.TimeLimit, []bool{true, true, true}, api.Stable, false}, []stats.Placement{{}, quiet, both}},
		{"under single, they differ", api.Repeats{Policy: api.Single}, differing(api.CauseForeign),
			result{api.InternalError, []bool{false, false, false, false}, "", true},
			[]stats.Placement{{}, quiet, both, both}},
		{"under min, they agree", api.Repeats{Policy: api.Minimum}, agreeing(api.CauseForeign),
			result{api.TimeLimit, []bool{true, true, true}, api.Stable, false}, []stats.Placement{{}, quiet, both}},
		{"stolen time was measured and may be the same in every run", api.Repeats{}, agreeing(api.CauseSteal),
			result{api.InternalError, []bool{false, false, false, false, false}, "", true},
			[]stats.Placement{{}, quiet, both, both, both}},
		{"a slower CPU was measured, and is the same in every run", api.Repeats{}, agreeing(api.CauseFrequency),
			result{api.InternalError, []bool{false, false, false, false, false}, "", true},
			[]stats.Placement{{}, quiet, both, both, both}},
		{"one within the limit outweighs all that agree", api.Repeats{Min: 2, Max: 5}, append([]outcome{within},
			agreeing(api.CauseForeign)...),
			result{api.Accepted, []bool{true, false, false, false, false, false, false, false}, api.Noisy, false},
			[]stats.Placement{{}, {}, quiet, both, both, both, both, both}},
		{"neighbours and others together", api.Repeats{},
			[]outcome{by(by(over, api.CauseNeighbours, 30), api.CauseForeign, 30), within},
			result{api.Accepted, []bool{false, true}, api.OneRun, false}, []stats.Placement{{}, quiet}},
		{"the wall time, explained", api.Repeats{}, []outcome{stoppedAtWall(api.WallTimeLimit, true), within},
			result{api.Accepted, []bool{false, true}, api.OneRun, false}, []stats.Placement{{}, quiet}},
		{"the wall time, always explained", api.Repeats{}, []outcome{stoppedAtWall(api.IdlenessLimit, true)},
			result{api.InternalError, []bool{false, false, false, false}, "", true},
			[]stats.Placement{{}, quiet, both, both}},
		{"the wall time, its own", api.Repeats{}, []outcome{stoppedAtWall(api.IdlenessLimit, false)},
			result{api.IdlenessLimit, []bool{true}, api.OneRun, false}, []stats.Placement{{}}},
		{"the wall time, explained but for a part", api.Repeats{}, []outcome{by(stoppedAtWall(api.WallTimeLimit, false),
			api.CauseSteal, 10)}, result{api.WallTimeLimit, []bool{true}, api.OneRun, false}, []stats.Placement{{}}},
		{"the wall time, while the jury's program waited", api.Repeats{}, []outcome{delayed, within},
			result{api.Accepted, []bool{false, true}, api.OneRun, false}, []stats.Placement{{}, quiet}},
		{"a CPU that was too fast", api.Repeats{}, []outcome{gained(within, 101), over},
			result{api.TimeLimit, []bool{false, true, true}, api.Stable, false}, []stats.Placement{{}, quiet, quiet}},
		{"a CPU that was a little too fast", api.Repeats{}, []outcome{gained(within, 100)},
			result{api.Accepted, []bool{true}, api.OneRun, false}, []stats.Placement{{}}},
		{"more memory than allowed ranks above the time", api.Repeats{},
			[]outcome{by(ran(1050, api.MemoryLimit, false), api.CauseForeign, 100)},
			result{api.MemoryLimit, []bool{true}, api.OneRun, false}, []stats.Placement{{}}},
		{"a program that was rejected first, with any time", api.Repeats{}, []outcome{rejected(ran(1050, api.WrongAnswer,
			false)), within}, result{api.WrongAnswer, []bool{true}, api.OneRun, false}, []stats.Placement{{}}},
		{"a program that was rejected first, on a CPU that was too fast", api.Repeats{},
			[]outcome{rejected(gained(ran(900, api.WrongAnswer, false), 101)), within},
			result{api.WrongAnswer, []bool{true}, api.OneRun, false}, []stats.Placement{{}}},
		{"a program that was accepted first, and too slow", api.Repeats{}, []outcome{talked(over, api.Accepted)},
			result{api.TimeLimit, []bool{true, true}, api.Stable, false}, []stats.Placement{{}, quiet}},
		{"a measurement takes every run", api.Repeats{Min: 2, Max: 2}, []outcome{by(over, api.CauseForeign, 100)},
			result{api.TimeLimit, []bool{true, true}, api.Stable, false}, []stats.Placement{{}, {}}},
		{"a measurement replaces a run that noise stopped", api.Repeats{Min: 2, Max: 2},
			[]outcome{stoppedAtWall(api.WallTimeLimit, true), within},
			result{api.Accepted, []bool{false, true, true}, api.Stable, false}, []stats.Placement{{}, {}, {}}},
		{"a measurement of which noise stops each run", api.Repeats{Min: 2, Max: 2},
			[]outcome{stoppedAtWall(api.IdlenessLimit, true)},
			result{api.InternalError, []bool{false, false, false, false, false}, "", true},
			[]stats.Placement{{}, {}, {}, {}, {}}},
		{"a measurement of a run that waits", api.Repeats{Min: 2, Max: 2},
			[]outcome{within, stoppedAtWall(api.IdlenessLimit, false)},
			result{api.IdlenessLimit, []bool{true, true}, api.Noisy, false}, []stats.Placement{{}, {}}},
		{"what cannot be executed is not tried again", api.Repeats{Min: 3, Max: 3}, []outcome{notExecutable},
			result{api.NotExecutable, []bool{true}, "", false}, []stats.Placement{{}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &Worker{}
			q := Request{Name: "1", Args: []string{"./p"}, Limits: api.Limits{CPUTimeMS: 1000, WallTimeMS: 3000},
				Repeats: tt.repeats}
			var placed []stats.Placement
			reported := 0
			q.Ran = func() { reported++ }
			r, err := test{Request: q, rule: s.rule(q)}.repeat(func(n nextRun) (outcome, error) {
				placed = append(placed, n.Placement)
				return tt.runs[min(len(placed), len(tt.runs))-1], nil
			})
			if noise, ok := errors.AsType[*NoiseError](err); ok {
				if noise.Runs != len(r.Runs) || r.Message != err.Error() {
					t.Errorf("error of %d runs, reported %d with message %q", noise.Runs, len(r.Runs), r.Message)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			got := result{Verdict: r.Verdict, Noise: err != nil}
			if r.Timing != nil {
				got.Confidence = r.Timing.Confidence
			}
			for _, x := range r.Runs {
				got.Kept = append(got.Kept, x.Kept)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.placed, placed); diff != "" {
				t.Errorf("placed (-want +got):\n%s", diff)
			}
			if reported != len(r.Runs) {
				t.Errorf("Ran was called %d times, for %d runs", reported, len(r.Runs))
			}
		})
	}
}

// TestIdleWaits checks that a run waits for the neighbours after one that they may have lengthened, for as long as that
// one took, until a wait was in vain.
func TestIdleWaits(t *testing.T) {
	const ms = time.Millisecond
	q := Request{Limits: api.Limits{CPUTimeMS: 1000}, Repeats: api.Repeats{Policy: api.Confirm}}
	for _, tt := range []struct {
		name         string
		wall, waited time.Duration // wall time of each run, and waiting time before it
		want         []time.Duration
	}{
		{"a wait in vain is the last one", 300 * ms, 300 * ms, []time.Duration{0, 300 * ms, 0, 0, 0}},
		{"neighbours that become idle", 300 * ms, 30 * ms, []time.Duration{0, 300 * ms, 300 * ms, 300 * ms, 300 * ms}},
		{"all waits together", 900 * ms, 400 * ms, []time.Duration{0, 900 * ms, 600 * ms, 200 * ms, 0}},
		{"long runs", 5 * time.Second, time.Second, []time.Duration{0, time.Second, 0, 0, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var waits []time.Duration
			busy := differing(api.CauseNeighbours)
			_, err := test{Request: q, rule: new(Worker).rule(q)}.repeat(func(n nextRun) (outcome, error) {
				o := busy[len(waits)]
				o.run.WallTime, o.waited = tt.wall, min(tt.waited, n.idleWait)
				waits = append(waits, n.idleWait)
				return o, nil
			})
			if !errors.As(err, new(*NoiseError)) {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, waits); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestNearLimit checks that reference kernels run with a run once a counted run was near the limit.
func TestNearLimit(t *testing.T) {
	q := Request{Limits: api.Limits{CPUTimeMS: 1000}, Repeats: api.Repeats{Min: 4, Max: 5}}
	runs := []outcome{by(ran(1001, api.TimeLimit, false), api.CauseSteal, 1), ran(1100, api.TimeLimit, false),
		ran(1020, api.TimeLimit, false), ran(900, api.Accepted, false)}
	var near []bool
	_, err := test{Request: q, rule: new(Worker).rule(q)}.repeat(func(n nextRun) (outcome, error) {
		near = append(near, n.nearLimit)
		return runs[min(len(near), len(runs))-1], nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]bool{false, false, false, true, true}, near); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNoIdleWaitForWallTime checks that only runs over the limit of CPU time wait for idle neighbours.
func TestNoIdleWaitForWallTime(t *testing.T) {
	q := Request{Limits: api.Limits{CPUTimeMS: 1000, WallTimeMS: 3000}}
	n := 0
	_, err := test{Request: q, rule: new(Worker).rule(q)}.repeat(func(next nextRun) (outcome, error) {
		if n++; next.idleWait != 0 {
			t.Errorf("run %d waits for %s", n, next.idleWait)
		}
		if n > 1 {
			return ran(900, api.Accepted, false), nil
		}
		return by(stoppedAtWall(api.WallTimeLimit, true), api.CauseNeighbours, 100), nil
	})
	if err != nil || n != 2 {
		t.Errorf("%d runs, error %v", n, err)
	}
}

// TestNoiseErrorNamesTheCause checks that the error lists only the causes in the unit of the limit.
func TestNoiseErrorNamesTheCause(t *testing.T) {
	const ms = time.Millisecond
	last := ran(1050, api.TimeLimit, false)
	last.run.CPUs = "1"
	last.run.Explained.Add(api.CauseForeign, 30500*time.Microsecond, 780*ms)
	last.run.Explained.Add(api.CauseThrottle, 0, 20*ms)
	q := Request{Name: "2", Limits: api.Limits{CPUTimeMS: 1030, WallTimeMS: 3000}}
	all := []outcome{last, last, last, last}
	got := []string{newNoiseError(q, all).Error()}
	all[3].verdict = api.WallTimeLimit
	got = append(got, newNoiseError(q, all).Error())
	all[3].run.Explained, all[3].delay = api.Explained{}, 7*ms
	got = append(got, newNoiseError(q, all).Error())
	const next = "; run judged doctor, and judge it again when the host is quiet"
	want := []string{
		`decide test "2": noise explains the TLE of 4 runs on CPU 1 ` +
			`(foreign up to 30.5 ms of CPU time)` + next,
		`decide test "2": noise explains the WTL of 4 runs on CPU 1 ` +
			`(foreign up to 780.0 ms of wall time, throttle up to 20.0 ms of wall time)` + next,
		`decide test "2": noise explains the WTL of 4 runs on CPU 1 ` +
			`(the program of the jury waited 7.0 ms for a CPU)` + next,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNobodyBuysARepeat computes the probability that a program is accepted that is fast with probability p and marks
// its slow runs. With any cause that a program can produce by itself, the probability must be the same as without.
// Every sequence of fast and slow runs is weighed, so the result is exact.
func TestNobodyBuysARepeat(t *testing.T) {
	const p = 0.3
	for _, policy := range []api.Policy{api.Confirm, api.Single, api.Minimum} {
		for _, slow := range []int{1001, 1050, 1300} {
			plain := accepted(t, policy, p, ran(slow, api.TimeLimit, false))
			if policy == api.Single && math.Abs(plain-p) > 1e-9 {
				t.Errorf("single accepts with probability %.3f, want %.3f", plain, p)
			}
			for _, more := range []int{0,
				90} { // slow runs that agree, and runs that differ as if noise had lengthened them
				of := func(causes ...api.Cause) float64 {
					return accepted(t, policy, p, ran(slow, api.TimeLimit, false, causes...),
						ran(slow+more, api.TimeLimit, false, causes...))
				}
				for _, e := range api.Catalogue() {
					if e.SelfMade == "" {
						continue
					}
					if got, plain := of(e.Cause), of(); math.Abs(got-plain) > 1e-9 {
						t.Errorf("%s, %d and %d ms, marked with %s: accepted with probability %.3f, want %.3f", policy,
							slow,
							slow+more, e.Cause, got, plain)
					}
				}
			}
			differ := by(ran(slow, api.TimeLimit, false), api.CauseForeign, 500)
			if got := accepted(t, policy, p, differ, by(ran(slow+90, api.TimeLimit, false), api.CauseForeign,
				500)); got < plain+0.1 {
				t.Errorf("%s, %d ms, explained by others: accepted with probability %.3f, want more than %.3f: this "+
					"test cannot fail", policy, slow, got, plain)
			}
		}
	}
}

// accepted returns the probability that a program is accepted whose runs are fast with probability p, and otherwise one
// of the slow runs in turn.
func accepted(t *testing.T, policy api.Policy, p float64, slow ...outcome) float64 {
	q := Request{Name: "1", Args: []string{"./p"}, Limits: api.Limits{CPUTimeMS: 1000, WallTimeMS: 3000},
		Repeats: api.Repeats{Policy: policy}}
	undecided := errors.New("more runs than are given")
	var weigh func(given []bool) float64
	weigh = func(given []bool) float64 {
		n := 0
		r, err := test{Request: q, rule: new(Worker).rule(q)}.repeat(func(nextRun) (outcome, error) {
			if n++; n > len(given) {
				return outcome{}, undecided
			}
			if given[n-1] {
				return ran(500, api.Accepted, false), nil
			}
			return slow[n%len(slow)], nil
		})
		switch {
		case errors.Is(err, undecided):
			with := func(fast bool) float64 { return weigh(append(given[:len(given):len(given)], fast)) }
			return p*with(true) + (1-p)*with(false)
		case err == nil && r.Verdict == api.Accepted:
			return 1
		}
		return 0
	}
	return weigh(nil)
}

// repeat makes runs until the rule has decided, and waits for the check of the last one.
func (t test) repeat(run func(nextRun) (outcome, error)) (api.TestReport, error) {
	runs, err := t.makeRuns(run)
	if err != nil {
		return api.TestReport{}, err
	}
	return runs.report()
}
