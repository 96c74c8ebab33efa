package measure

import (
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/units"
	"judged/internal/sandbox"
	"judged/internal/sandbox/cgroup"
	"judged/internal/timing/stats"
)

func limits() api.Limits {
	return api.Limits{CPUTimeMS: 1000, WallTimeMS: 3000, Memory: 64 << 20, Output: 1 << 20, Stack: 8 << 20,
		Processes: 16}
}

// TestVerdictOf checks that a run with several problems gets the verdict that the contract ranks first: counters before
// the wait status.
func TestVerdictOf(t *testing.T) {
	peak := func(b units.Bytes) *units.Bytes { return &b }
	tests := []struct {
		name string
		run  sandbox.Result
		want api.Verdict
	}{
		{"clean", sandbox.Result{CPUTime: time.Second, MemoryPeak: peak(64 << 20), OutputBytes: 1 << 20}, ""},
		{"exit code", sandbox.Result{Code: 3}, api.RuntimeError},
		{"signal", sandbox.Result{Signal: syscall.SIGSEGV}, api.RuntimeError},
		{"its own SIGKILL", sandbox.Result{Signal: syscall.SIGKILL}, api.RuntimeError},
		{"not executable", sandbox.Result{ExecError: syscall.ENOEXEC}, api.NotExecutable},
		{"what the host lacks", sandbox.Result{ExecError: syscall.ENOENT, Lacks: "python3"}, api.InternalError},
		{"what the host lacks for a script to continue", sandbox.Result{Code: 127, Lacks: "python3"}, api.InternalError},
		{"one nanosecond over", sandbox.Result{CPUTime: time.Second + 1}, api.TimeLimit},
		{"killed for time", sandbox.Result{Stop: sandbox.StopCPU, CPUTime: 1100 * time.Millisecond,
			Signal: syscall.SIGKILL}, api.TimeLimit},
		{"out of memory looks like SIGKILL", sandbox.Result{OOMKills: 1, Signal: syscall.SIGKILL}, api.MemoryLimit},
		{"a child was out of memory", sandbox.Result{OOMKills: 1}, api.MemoryLimit},
		{"out of memory by its own limit", sandbox.Result{OOMKills: 1, Signal: syscall.SIGKILL,
			Memory: cgroup.Memory{OOMs: new(int64(1))}}, api.MemoryLimit},
		{"the host is out of memory", sandbox.Result{OOMKills: 1, Signal: syscall.SIGKILL, MemoryPeak: peak(64 << 20),
			Memory: cgroup.Memory{OOMs: new(int64(0))}}, api.InternalError},
		{"the host is out of memory, peak over the limit", sandbox.Result{OOMKills: 1, MemoryPeak: peak(64<<20 + 1),
			Memory: cgroup.Memory{OOMs: new(int64(0))}}, api.MemoryLimit},
		{"the host had little memory", sandbox.Result{Memory: cgroup.Memory{OOMs: new(int64(0))}}, ""},
		{"peak over the limit", sandbox.Result{MemoryPeak: peak(64<<20 + 1)}, api.MemoryLimit},
		{"memory before time", sandbox.Result{OOMKills: 1, CPUTime: 2 * time.Second}, api.MemoryLimit},
		{"forbidden call before memory", sandbox.Result{Signal: syscall.SIGSYS, OOMKills: 1}, api.SecurityViolation},
		{"asleep at the wall limit", sandbox.Result{Stop: sandbox.StopWall, Idle: true, Signal: syscall.SIGKILL},
			api.IdlenessLimit},
		{"busy at the wall limit", sandbox.Result{Stop: sandbox.StopWall, Signal: syscall.SIGKILL}, api.WallTimeLimit},
		{"time before the wall limit", sandbox.Result{Stop: sandbox.StopWall, CPUTime: 1001 * time.Millisecond},
			api.TimeLimit},
		{"time after the wall limit", sandbox.Result{Stop: sandbox.StopWall, Late: true, CPUTime: 6 * time.Second},
			api.WallTimeLimit},
		{"too much output", sandbox.Result{OutputBytes: 1<<20 + 1, Signal: syscall.SIGXFSZ}, api.OutputLimit},
		{"too much output, signal ignored", sandbox.Result{OutputBytes: 1<<20 + 1}, api.OutputLimit},
		{"SIGXFSZ for another file", sandbox.Result{Signal: syscall.SIGXFSZ}, api.RuntimeError},
		{"cancelled", sandbox.Result{Stop: sandbox.StopCancelled, Signal: syscall.SIGKILL, OOMKills: 1}, api.Cancelled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := verdictOf(tt.run, limits()); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestExitOf(t *testing.T) {
	code := 3
	tests := map[string]struct {
		run  sandbox.Result
		want *api.Exit
	}{
		"code":           {sandbox.Result{Code: 3}, &api.Exit{Code: &code}},
		"signal":         {sandbox.Result{Signal: syscall.SIGABRT}, &api.Exit{Signal: "SIGABRT"}},
		"real-time":      {sandbox.Result{Signal: 40}, &api.Exit{Signal: "SIGRT+8"}},
		"not executable": {sandbox.Result{ExecError: syscall.ENOENT}, nil},
	}
	for name, tt := range tests {
		if diff := cmp.Diff(tt.want, exitOf(tt.run)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// TestSettled checks that a disturbed first run does not settle a test: the report would have no times.
func TestSettled(t *testing.T) {
	for _, tt := range []struct {
		verdict api.Verdict
		least   int
		kept    int
		want    bool
	}{
		{api.MemoryLimit, 0, 0, false},
		{api.MemoryLimit, 0, 1, true},
		{api.SecurityViolation, 0, 1, true},
		{api.SecurityViolation, 3, 2, false},
		{api.SecurityViolation, 3, 3, true},
		{api.TimeLimit, 0, 1, false},
		{api.Accepted, 0, 1, false},
	} {
		if got := settled(outcome{verdict: tt.verdict}, stats.Rule{Min: tt.least}, tt.kept); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}
