package measure

import (
	"syscall"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/sandbox"

	"github.com/google/go-cmp/cmp"
)

// TestFirstFailed checks that the deciding instance need not be the one that is reported first.
func TestFirstFailed(t *testing.T) {
	limits := api.Limits{CPUTimeMS: 1000, WallTimeMS: 2000, Memory: 1 << 20, Output: 1 << 10}
	fine := sandbox.Result{}
	crashed, failed := sandbox.Result{Signal: syscall.SIGSEGV}, sandbox.Result{Code: 1}
	stopped, waited := sandbox.Result{Stop: sandbox.StopCPU, CPUTime: 2 * time.Second},
		sandbox.Result{Stop: sandbox.StopWall, Idle: true}
	ended, closed := sandbox.Result{Stop: sandbox.StopCancelled}, sandbox.Result{Signal: syscall.SIGPIPE}
	slow := sandbox.Result{CPUTime: 1200 * time.Millisecond}
	for _, tt := range []struct {
		name    string
		results []sandbox.Result
		ended   []int
		want    int
	}{
		{"all are fine", []sandbox.Result{fine, fine}, []int{1, 0}, -1},
		{"the kernel's order", []sandbox.Result{failed, crashed}, []int{1, 0}, 1},
		{"one crashes because judged stopped another", []sandbox.Result{failed, stopped}, []int{0, 1}, 1},
		{"both are stopped", []sandbox.Result{waited, waited}, []int{1, 0}, 1},
		{"judged ended the others", []sandbox.Result{ended, crashed, ended}, []int{0, 1, 2}, 1},
		{"the manager had closed its pipe", []sandbox.Result{closed, fine}, []int{0, 1}, -1},
		{"beyond its CPU time, which counts", []sandbox.Result{slow, fine}, []int{0, 1}, -1},
		{"not executed", []sandbox.Result{fine, {ExecError: syscall.ENOENT}}, []int{0}, 1},
	} {
		if got := firstFailed(tt.results, tt.ended, limits); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

// TestJoinedWaits checks how long the instances waited: the result of the one that failed has the time that all of them
// waited while it ran, and each has its own run delay.
func TestJoinedWaits(t *testing.T) {
	const ms = time.Millisecond
	one := func(cpu, waited, delay time.Duration) sandbox.Result {
		return sandbox.Result{CPUTime: cpu, Waited: new(waited), RunDelay: new(delay)}
	}
	for _, tt := range []struct {
		name          string
		results       []sandbox.Result
		failed        int
		waited, delay *time.Duration
	}{
		{"the one that failed waits", []sandbox.Result{one(10*ms, 895*ms, 900*ms), one(5*ms, 890*ms, 0)}, 0,
			new(895 * ms), new(895 * ms)},
		{"one waits after the other", []sandbox.Result{one(700*ms, 16_000*ms, 16_000*ms),
			one(70*ms, 18_500*ms, 2500*ms)}, 1, new(18_500 * ms), new(15_930 * ms)},
		{"one starts after the other has waited", []sandbox.Result{one(700*ms, 16_000*ms, 16_000*ms), one(0, 0, 0)}, 1,
			new(time.Duration(0)), new(16_000 * ms)},
		{"they wait for each other", []sandbox.Result{one(300*ms, 0, 200*ms), one(200*ms, 0, 300*ms)}, 0,
			new(time.Duration(0)), new(time.Duration(0))},
		{"unknown", []sandbox.Result{{CPUTime: ms}, {CPUTime: ms}}, 0, nil, nil},
		{"nothing failed", []sandbox.Result{one(ms, ms, ms), one(ms, ms, ms)}, -1, nil, nil},
	} {
		r := (&instances{results: tt.results, failed: tt.failed}).joined()
		if diff := cmp.Diff([2]*time.Duration{tt.waited, tt.delay}, [2]*time.Duration{r.Waited, r.RunDelay}); diff != "" {
			t.Errorf("%s: -want +got\n%s", tt.name, diff)
		}
	}
}
