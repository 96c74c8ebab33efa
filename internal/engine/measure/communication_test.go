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

// TestJoinedWaits checks which part of the failed instance's wall time waiting for the CPU explains: the longest time
// that one of the instances waited for other programs.
func TestJoinedWaits(t *testing.T) {
	const ms = time.Millisecond
	one := func(cpu, waited time.Duration) sandbox.Result {
		return sandbox.Result{CPUTime: cpu, Waited: new(waited), RunDelay: new(waited)}
	}
	for _, tt := range []struct {
		name    string
		results []sandbox.Result
		want    *time.Duration
	}{
		{"the one that failed waits", []sandbox.Result{one(10*ms, 900*ms), one(5*ms, 0)}, new(895 * ms)},
		{"the one that it waits for does", []sandbox.Result{one(1*ms, 0), one(400*ms, 2000*ms)}, new(1999 * ms)},
		{"they wait for each other", []sandbox.Result{one(300*ms, 200*ms), one(200*ms, 300*ms)}, new(time.Duration(0))},
		{"unknown", []sandbox.Result{{CPUTime: ms}, {CPUTime: ms}}, nil},
		{"known of one", []sandbox.Result{{CPUTime: ms}, one(ms, 50*ms)}, new(49 * ms)},
	} {
		r := (&instances{results: tt.results}).joined()
		if diff := cmp.Diff([2]*time.Duration{tt.want, tt.want}, [2]*time.Duration{r.Waited, r.RunDelay}); diff != "" {
			t.Errorf("%s: -want +got\n%s", tt.name, diff)
		}
	}
}
