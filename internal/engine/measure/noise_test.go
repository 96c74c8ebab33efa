package measure

import (
	"errors"
	"math"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/job"
	"judged/internal/sandbox"
	"judged/internal/timing/stats"
)

// by makes a cause explain a part of an outcome, in milliseconds.
func by(o outcome, c job.Cause, ms int) outcome {
	d := time.Duration(ms) * time.Millisecond
	o.run.Explained.Add(c, d, d)
	return o
}

// stoppedAtWall is a run at the end of its wall time, explained by noise or not.
func stoppedAtWall(v job.Verdict, explained bool) outcome {
	o := ran(30, v, false)
	o.result, o.wall = sandbox.Result{Stop: sandbox.StopWall}, 3010*time.Millisecond
	if explained {
		o.run.Explained.Add(job.CauseForeign, 0, 11*time.Millisecond)
	}
	return o
}

func gained(o outcome, ms int) outcome {
	o.gain = time.Duration(ms) * time.Millisecond
	return o
}

// differing are runs over a limit of 1 s that a cause explains, and that differ as if it had lengthened them.
func differing(c job.Cause) []outcome {
	var runs []outcome
	for _, ms := range []int{1060, 1090, 1030, 1085, 1055} {
		runs = append(runs, by(ran(ms, job.TimeLimit, false), c, 100))
	}
	return runs
}

// agreeing are runs over a limit of 1 s that a cause explains, although they do not differ as if it had lengthened them.
func agreeing(c job.Cause) []outcome {
	var runs []outcome
	for _, ms := range []int{1050, 1053, 1051} {
		runs = append(runs, by(ran(ms, job.TimeLimit, false), c, 100))
	}
	return runs
}

// TestRepeat holds the loop of a test against runs that it is given one after the
// other; the last one stands for all that follow.
func TestRepeat(t *testing.T) {
	quiet, both := stats.Placement{Quiet: true}, stats.Placement{Quiet: true, OtherCore: true}
	within, over, far := ran(900, job.Accepted, false), ran(1050, job.TimeLimit, false), ran(1300, job.TimeLimit, false)
	notExecutable := ran(0, job.NotExecutable, false)
	notExecutable.result.ExecError = syscall.ENOEXEC
	delayed := stoppedAtWall(job.IdlenessLimit, false)
	delayed.delay = 11 * time.Millisecond
	type result struct {
		Verdict    job.Verdict
		Kept       []bool
		Confidence job.Confidence
		Noise      bool
	}
	for _, tt := range []struct {
		name    string
		repeats job.Repeats
		runs    []outcome
		want    result
		placed  []stats.Placement
	}{
		{"within", job.Repeats{}, []outcome{within}, result{job.Accepted, []bool{true}, job.OneRun, false},
			[]stats.Placement{{}}},
		{"far over, one run is enough", job.Repeats{}, []outcome{far},
			result{job.TimeLimit, []bool{true}, job.OneRun, false}, []stats.Placement{{}}},
		{"over, twice", job.Repeats{}, []outcome{over}, result{job.TimeLimit, []bool{true, true}, job.Stable, false},
			[]stats.Placement{{}, quiet}},
		{"noise explains the first", job.Repeats{}, []outcome{by(over, job.CauseForeign, 50), within},
			result{job.Accepted, []bool{false, true}, job.OneRun, false}, []stats.Placement{{}, quiet}},
		{"noise explains a part of it", job.Repeats{}, []outcome{by(over, job.CauseForeign, 20)},
			result{job.TimeLimit, []bool{true, true}, job.Stable, false}, []stats.Placement{{}, quiet}},
		{"far over, if noise added nothing", job.Repeats{}, []outcome{by(far, job.CauseForeign, 40)},
			result{job.TimeLimit, []bool{true, true}, job.Stable, false}, []stats.Placement{{}, quiet}},
		{"far over, and still over without what noise explains", job.Repeats{}, []outcome{by(ran(1600, job.TimeLimit, false),
			job.CauseNeighbours, 300)}, result{job.TimeLimit, []bool{true}, job.OneRun, false}, []stats.Placement{{}}},
		{"noise explains all runs, which differ", job.Repeats{}, differing(job.CauseForeign),
			result{job.InternalError, []bool{false, false, false, false, false}, "", true},
			[]stats.Placement{{}, quiet, both, both, both}},
		{"neighbours explain all runs, which differ", job.Repeats{}, differing(job.CauseNeighbours),
			result{job.InternalError, []bool{false, false, false, false, false}, "", true},
			[]stats.Placement{{}, quiet, both, both, both}},
		{"reference kernels explain all runs, which differ", job.Repeats{}, differing(job.CauseCanary),
			result{job.InternalError, []bool{false, false, false, false, false}, "", true},
			[]stats.Placement{{}, quiet, both, both, both}},
		{"noise explains all runs, which agree", job.Repeats{}, agreeing(job.CauseForeign),
			result{job.TimeLimit, []bool{true, true, true}, job.Stable, false}, []stats.Placement{{}, quiet, both}},
		{"neighbours explain all runs, which agree", job.Repeats{}, agreeing(job.CauseNeighbours),
			result{job.TimeLimit, []bool{true, true, true}, job.Stable, false}, []stats.Placement{{}, quiet, both}},
		{"under single, they agree", job.Repeats{Policy: job.Single}, agreeing(job.CauseForeign),
			result{job.TimeLimit, []bool{true, true, true}, job.Stable, false}, []stats.Placement{{}, quiet, both}},
		{"under single, they differ", job.Repeats{Policy: job.Single}, differing(job.CauseForeign),
			result{job.InternalError, []bool{false, false, false, false}, "", true},
			[]stats.Placement{{}, quiet, both, both}},
		{"under min, they agree", job.Repeats{Policy: job.Minimum}, agreeing(job.CauseForeign),
			result{job.TimeLimit, []bool{true, true, true}, job.Stable, false}, []stats.Placement{{}, quiet, both}},
		{"stolen time was measured and may be the same in every run", job.Repeats{}, agreeing(job.CauseSteal),
			result{job.InternalError, []bool{false, false, false, false, false}, "", true},
			[]stats.Placement{{}, quiet, both, both, both}},
		{"a slower CPU was measured, and is the same in every run", job.Repeats{}, agreeing(job.CauseFrequency),
			result{job.InternalError, []bool{false, false, false, false, false}, "", true},
			[]stats.Placement{{}, quiet, both, both, both}},
		{"one within the limit outweighs all that agree", job.Repeats{Min: 2, Max: 5}, append([]outcome{within},
			agreeing(job.CauseForeign)...),
			result{job.Accepted, []bool{true, false, false, false, false, false, false, false}, job.Noisy, false},
			[]stats.Placement{{}, {}, quiet, both, both, both, both, both}},
		{"neighbours and others together", job.Repeats{},
			[]outcome{by(by(over, job.CauseNeighbours, 30), job.CauseForeign, 30), within},
			result{job.Accepted, []bool{false, true}, job.OneRun, false}, []stats.Placement{{}, quiet}},
		{"the wall time, explained", job.Repeats{}, []outcome{stoppedAtWall(job.WallTimeLimit, true), within},
			result{job.Accepted, []bool{false, true}, job.OneRun, false}, []stats.Placement{{}, quiet}},
		{"the wall time, always explained", job.Repeats{}, []outcome{stoppedAtWall(job.IdlenessLimit, true)},
			result{job.InternalError, []bool{false, false, false, false}, "", true},
			[]stats.Placement{{}, quiet, both, both}},
		{"the wall time, its own", job.Repeats{}, []outcome{stoppedAtWall(job.IdlenessLimit, false)},
			result{job.IdlenessLimit, []bool{true}, job.OneRun, false}, []stats.Placement{{}}},
		{"the wall time, explained but for a part", job.Repeats{}, []outcome{by(stoppedAtWall(job.WallTimeLimit, false),
			job.CauseSteal, 10)}, result{job.WallTimeLimit, []bool{true}, job.OneRun, false}, []stats.Placement{{}}},
		{"the wall time, while the jury's program waited", job.Repeats{}, []outcome{delayed, within},
			result{job.Accepted, []bool{false, true}, job.OneRun, false}, []stats.Placement{{}, quiet}},
		{"a CPU that was too fast", job.Repeats{}, []outcome{gained(within, 101), over},
			result{job.TimeLimit, []bool{false, true, true}, job.Stable, false}, []stats.Placement{{}, quiet, quiet}},
		{"a CPU that was a little too fast", job.Repeats{}, []outcome{gained(within, 100)},
			result{job.Accepted, []bool{true}, job.OneRun, false}, []stats.Placement{{}}},
		{"more memory than allowed ranks above the time", job.Repeats{},
			[]outcome{by(ran(1050, job.MemoryLimit, false), job.CauseForeign, 100)},
			result{job.MemoryLimit, []bool{true}, job.OneRun, false}, []stats.Placement{{}}},
		{"a measurement takes every run", job.Repeats{Min: 2, Max: 2}, []outcome{by(over, job.CauseForeign, 100)},
			result{job.TimeLimit, []bool{true, true}, job.Stable, false}, []stats.Placement{{}, {}}},
		{"what cannot be executed is not tried again", job.Repeats{Min: 3, Max: 3}, []outcome{notExecutable},
			result{job.NotExecutable, []bool{true}, "", false}, []stats.Placement{{}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &Worker{}
			q := Request{Name: "1", Args: []string{"./p"}, Limits: job.Limits{CPUTimeMS: 1000, WallTimeMS: 3000},
				Repeats: tt.repeats}
			var placed []stats.Placement
			reported := 0
			q.Ran = func() { reported++ }
			r, err := test{Request: q, rule: s.rule(q)}.repeat(func(n nextRun) (outcome, error) {
				placed = append(placed, n.Placement)
				return tt.runs[min(len(placed), len(tt.runs))-1], nil
			})
			if noise := new(NoiseError); errors.As(err, &noise) {
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

// TestIdleWaits: a run waits for the neighbours after one that they may have lengthened, as long as that one took, until a
// wait was in vain.
func TestIdleWaits(t *testing.T) {
	const ms = time.Millisecond
	q := Request{Limits: job.Limits{CPUTimeMS: 1000}, Repeats: job.Repeats{Policy: job.Confirm}}
	for _, tt := range []struct {
		name         string
		wall, waited time.Duration // of each run, and before it
		want         []time.Duration
	}{
		{"a wait in vain is the last one", 300 * ms, 300 * ms, []time.Duration{0, 300 * ms, 0, 0, 0}},
		{"neighbours that become idle", 300 * ms, 30 * ms, []time.Duration{0, 300 * ms, 300 * ms, 300 * ms, 300 * ms}},
		{"all waits together", 900 * ms, 400 * ms, []time.Duration{0, 900 * ms, 600 * ms, 200 * ms, 0}},
		{"long runs", 5 * time.Second, time.Second, []time.Duration{0, time.Second, 0, 0, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var waits []time.Duration
			busy := differing(job.CauseNeighbours)
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

// TestNearLimit: reference kernels run with a run once one that counts was near the limit.
func TestNearLimit(t *testing.T) {
	q := Request{Limits: job.Limits{CPUTimeMS: 1000}, Repeats: job.Repeats{Min: 4, Max: 5}}
	runs := []outcome{by(ran(1001, job.TimeLimit, false), job.CauseSteal, 1), ran(1100, job.TimeLimit, false),
		ran(1020, job.TimeLimit, false), ran(900, job.Accepted, false)}
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

// TestNoIdleWaitForWallTime: waiting for idle neighbours helps runs over the limit on CPU time only.
func TestNoIdleWaitForWallTime(t *testing.T) {
	q := Request{Limits: job.Limits{CPUTimeMS: 1000, WallTimeMS: 3000}}
	n := 0
	_, err := test{Request: q, rule: new(Worker).rule(q)}.repeat(func(next nextRun) (outcome, error) {
		if n++; next.idleWait != 0 {
			t.Errorf("run %d waits for %s", n, next.idleWait)
		}
		if n > 1 {
			return ran(900, job.Accepted, false), nil
		}
		return by(stoppedAtWall(job.WallTimeLimit, true), job.CauseNeighbours, 100), nil
	})
	if err != nil || n != 2 {
		t.Errorf("%d runs, error %v", n, err)
	}
}

// TestNoiseErrorNamesTheCause is what an operator reads: the causes in the unit of the limit, and no other.
func TestNoiseErrorNamesTheCause(t *testing.T) {
	const ms = time.Millisecond
	last := ran(1050, job.TimeLimit, false)
	last.run.CPUs = "1"
	last.run.Explained.Add(job.CauseForeign, 30500*time.Microsecond, 780*ms)
	last.run.Explained.Add(job.CauseThrottle, 0, 20*ms)
	q := Request{Name: "2", Limits: job.Limits{CPUTimeMS: 1030, WallTimeMS: 3000}}
	all := []outcome{last, last, last, last}
	got := []string{newNoiseError(q, all).Error()}
	all[3].verdict = job.WallTimeLimit
	got = append(got, newNoiseError(q, all).Error())
	all[3].run.Explained, all[3].delay = job.Explained{}, 7*ms
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

// TestNobodyBuysARepeat computes how probable it is that a program is accepted that is
// fast with probability p and marks its slow runs: with every cause that a program can
// produce by itself it must be what it is without. Every sequence of fast and slow runs
// is weighed, so nothing is left to chance.
func TestNobodyBuysARepeat(t *testing.T) {
	const p = 0.3
	for _, policy := range []job.Policy{job.Confirm, job.Single, job.Minimum} {
		for _, slow := range []int{1001, 1050, 1300} {
			plain := accepted(t, policy, p, ran(slow, job.TimeLimit, false))
			if policy == job.Single && math.Abs(plain-p) > 1e-9 {
				t.Errorf("single accepts with probability %.3f, want %.3f", plain, p)
			}
			for _, more := range []int{0, 90} { // slow runs that agree, and such that differ as if noise had lengthened them
				of := func(causes ...job.Cause) float64 {
					return accepted(t, policy, p, ran(slow, job.TimeLimit, false, causes...),
						ran(slow+more, job.TimeLimit, false, causes...))
				}
				for _, e := range job.Catalogue() {
					if e.SelfMade == "" {
						continue
					}
					if got, plain := of(e.Cause), of(); math.Abs(got-plain) > 1e-9 {
						t.Errorf("%s, %d and %d ms, marked with %s: accepted with probability %.3f, want %.3f", policy, slow,
							slow+more, e.Cause, got, plain)
					}
				}
			}
			differ := by(ran(slow, job.TimeLimit, false), job.CauseForeign, 500)
			if got := accepted(t, policy, p, differ, by(ran(slow+90, job.TimeLimit, false), job.CauseForeign,
				500)); got < plain+0.1 {
				t.Errorf("%s, %d ms, explained by others: accepted with probability %.3f, want more than %.3f: this "+
					"test cannot fail", policy, slow, got, plain)
			}
		}
	}
}

// accepted is the probability that a program is accepted of which a run is fast with
// probability p, and one of the slow ones in turn else.
func accepted(t *testing.T, policy job.Policy, p float64, slow ...outcome) float64 {
	q := Request{Name: "1", Args: []string{"./p"}, Limits: job.Limits{CPUTimeMS: 1000, WallTimeMS: 3000},
		Repeats: job.Repeats{Policy: policy}}
	undecided := errors.New("more runs than are given")
	var weigh func(given []bool) float64
	weigh = func(given []bool) float64 {
		n := 0
		r, err := test{Request: q, rule: new(Worker).rule(q)}.repeat(func(nextRun) (outcome, error) {
			if n++; n > len(given) {
				return outcome{}, undecided
			}
			if given[n-1] {
				return ran(500, job.Accepted, false), nil
			}
			return slow[n%len(slow)], nil
		})
		switch {
		case errors.Is(err, undecided):
			with := func(fast bool) float64 { return weigh(append(given[:len(given):len(given)], fast)) }
			return p*with(true) + (1-p)*with(false)
		case err == nil && r.Verdict == job.Accepted:
			return 1
		}
		return 0
	}
	return weigh(nil)
}

// repeat makes runs until the rule has decided, and waits for the check of the last one.
func (t test) repeat(run func(nextRun) (outcome, error)) (job.TestReport, error) {
	runs, err := t.makeRuns(run)
	if err != nil {
		return job.TestReport{}, err
	}
	return runs.report()
}
