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
	o.result = sandbox.Result{Stop: sandbox.StopWall, Explained: explained}
	return o
}

func gained(o outcome, ms int) outcome {
	o.gain = time.Duration(ms) * time.Millisecond
	return o
}

// TestRepeat holds the loop of a test against runs that it is given one after the
// other; the last one stands for all that follow.
func TestRepeat(t *testing.T) {
	quiet, both := stats.Placement{Quiet: true}, stats.Placement{Quiet: true, OtherCore: true}
	within, over, far := ran(900, job.Accepted, false), ran(1050, job.TimeLimit, false), ran(1300, job.TimeLimit, false)
	notExecutable := ran(0, job.NotExecutable, false)
	notExecutable.result.ExecError = syscall.ENOEXEC
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
		{"noise explains all runs", job.Repeats{}, []outcome{by(over, job.CauseSteal, 50)},
			result{job.InternalError, []bool{false, false, false, false}, "", true},
			[]stats.Placement{{}, quiet, both, both}},
		{"noise explains all runs, under single", job.Repeats{Policy: job.Single},
			[]outcome{by(over, job.CauseSteal, 50)},
			result{job.InternalError, []bool{false, false, false, false}, "", true},
			[]stats.Placement{{}, quiet, both, both}},
		{"neighbours explain all runs", job.Repeats{}, []outcome{by(over, job.CauseNeighbours, 100)},
			result{job.TimeLimit, []bool{false, false, false, false, false, false, true, true}, job.Noisy, false},
			[]stats.Placement{{}, quiet, both, both, both, both, both, both}},
		{"reference kernels explain all runs", job.Repeats{}, []outcome{by(over, job.CauseCanary, 100)},
			result{job.TimeLimit, []bool{false, false, false, false, false, false, true, true}, job.Noisy, false},
			[]stats.Placement{{}, quiet, both, both, both, both, both, both}},
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
			var reported []job.Run
			q.Ran = func(r job.Run) { reported = append(reported, r) }
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
			if diff := cmp.Diff(r.Runs, reported); diff != "" {
				t.Errorf("runs that Ran was called with (-report +got):\n%s", diff)
			}
		})
	}
}

// TestIdleWaits: a run waits for the neighbours after one that they may have lengthened, a
// bounded number of times.
func TestIdleWaits(t *testing.T) {
	q := Request{Limits: job.Limits{CPUTimeMS: 1000}, Repeats: job.Repeats{Policy: job.Confirm}}
	busy, over := by(ran(1050, job.TimeLimit, false), job.CauseNeighbours, 100), ran(1050, job.TimeLimit, false)
	var waits []time.Duration
	_, err := test{Request: q, rule: new(Worker).rule(q)}.repeat(func(n nextRun) (outcome, error) {
		waits = append(waits, n.idleWait)
		if len(waits) == 2 {
			return over, nil
		}
		return busy, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	one := maxIdleWait
	if diff := cmp.Diff([]time.Duration{0, one, 0, one, one, one, one, one}, waits); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
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

// TestIdleWaitsAreBounded: where noise keeps on explaining the time, no more than maxIdleWaits runs wait.
func TestIdleWaitsAreBounded(t *testing.T) {
	q := Request{Limits: job.Limits{CPUTimeMS: 1000}}
	busy := by(ran(1050, job.TimeLimit, false), job.CauseNeighbours, 10)
	d := discards{}
	for n := range 2 * maxIdleWaits {
		if _, err := (test{Request: q, rule: new(Worker).rule(q)}).keep(&busy, &d); err != nil {
			t.Fatal(err)
		}
		if want := n < maxIdleWaits; (d.idleWait == maxIdleWait) != want {
			t.Errorf("run %d waits for %s, want it to wait: %v", n+2, d.idleWait, want)
		}
	}
}

// TestNoIdleWaitForWallTime: waiting for idle neighbours helps runs over the limit on CPU time only.
func TestNoIdleWaitForWallTime(t *testing.T) {
	q := Request{Limits: job.Limits{CPUTimeMS: 1000}}
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

// TestNoiseErrorNamesTheCause is what an operator reads.
func TestNoiseErrorNamesTheCause(t *testing.T) {
	e := NoiseError{Test: "2", Verdict: job.WallTimeLimit, CPUs: "1", Runs: 4}
	e.Explained.Add(job.CauseForeign, 3*time.Millisecond, 3050*time.Millisecond)
	e.Explained.Add(job.CauseSteal, 0, 20*time.Millisecond)
	const want = `decide test "2": noise explains the WTL of 4 runs on CPU 1 (foreign up to 3.05s, steal up to 20ms); run judged doctor, and judge it again when the host is quiet`
	if got := e.Error(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
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
			for _, e := range job.Catalogue() {
				if e.SelfMade == "" {
					continue
				}
				marked := ran(slow, job.TimeLimit, false, e.Cause)
				if got := accepted(t, policy, p, marked); math.Abs(got-plain) > 1e-9 {
					t.Errorf("%s, %d ms, marked with %s: accepted with probability %.3f, want %.3f", policy, slow,
						e.Cause, got, plain)
				}
			}
			if got := accepted(t, policy, p, by(ran(slow, job.TimeLimit, false), job.CauseForeign,
				400)); got < plain+0.1 {
				t.Errorf("%s, %d ms, explained by others: accepted with probability %.3f, want more than %.3f: this "+
					"test cannot fail", policy, slow, got, plain)
			}
		}
	}
}

// accepted is the probability that a program is accepted of which a run is fast with
// probability p, and slow else.
func accepted(t *testing.T, policy job.Policy, p float64, slow outcome) float64 {
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
			return slow, nil
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
