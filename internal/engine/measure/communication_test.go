package measure

import (
	"syscall"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/sandbox"
)

// TestFirstFailed: the instance that decides is not the one that is reported first.
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
