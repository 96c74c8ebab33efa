package measure

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/timing/stats"
)

// TestGuard checks that the guard of a worker decides its tests, determines when runs are stopped, and is in the
// report.
func TestGuard(t *testing.T) {
	const ms = time.Millisecond
	type summary struct {
		Guard   time.Duration
		Learned bool
		Killed  time.Duration
	}
	q := Request{Limits: api.Limits{CPUTimeMS: 1000}, Repeats: api.Repeats{Policy: api.Confirm}}
	s := &Worker{}
	got := map[string]summary{}
	tell := func(name string) {
		spec, err := s.spec(test{Request: q, rule: s.rule(q)})
		if err != nil {
			t.Fatal(err)
		}
		timing := timing([]outcome{ran(1010, api.TimeLimit, true)}, stats.Decision{Done: true}, s.rule(q))
		got[name] = summary{timing.Guard, timing.GuardLearned, spec.Limits.CPUTime}
	}
	tell("default")
	s.SetGuard(stats.Guard{Ratio: 0.2, Floor: 5 * ms, Learned: true})
	tell("learned")
	s.SetGuard(stats.DefaultGuard())
	tell("back")
	want := map[string]summary{"default": {20 * ms, false, 1300 * ms}, "learned": {200 * ms, true, 1400 * ms},
		"back": {20 * ms, false, 1300 * ms}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
