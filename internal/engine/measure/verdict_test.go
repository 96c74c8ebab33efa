package measure

import (
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/job"
	"judged/internal/base/units"
	"judged/internal/sandbox"
	"judged/internal/timing/stats"
)

func limits() job.Limits {
	return job.Limits{CPUTimeMS: 1000, WallTimeMS: 3000, Memory: 64 << 20, Output: 1 << 20, Stack: 8 << 20,
		Processes: 16}
}

// A run that was several things at once is what the contract ranks first:
// counters before the wait status.
func TestVerdictOf(t *testing.T) {
	peak := func(b units.Bytes) *units.Bytes { return &b }
	tests := []struct {
		name string
		run  sandbox.Result
		want job.Verdict
	}{
		{"clean", sandbox.Result{CPUTime: time.Second, MemoryPeak: peak(64 << 20), OutputBytes: 1 << 20}, ""},
		{"exit code", sandbox.Result{Code: 3}, job.RuntimeError},
		{"signal", sandbox.Result{Signal: syscall.SIGSEGV}, job.RuntimeError},
		{"its own SIGKILL", sandbox.Result{Signal: syscall.SIGKILL}, job.RuntimeError},
		{"not executable", sandbox.Result{ExecError: syscall.ENOEXEC}, job.NotExecutable},
		{"what the host lacks", sandbox.Result{ExecError: syscall.ENOENT, Lacks: "python3"}, job.InternalError},
		{"what the host lacks for a script to continue", sandbox.Result{Code: 127, Lacks: "python3"}, job.InternalError},
		{"one nanosecond over", sandbox.Result{CPUTime: time.Second + 1}, job.TimeLimit},
		{"killed for time", sandbox.Result{Stop: sandbox.StopCPU, CPUTime: 1100 * time.Millisecond,
			Signal: syscall.SIGKILL}, job.TimeLimit},
		{"out of memory looks like SIGKILL", sandbox.Result{OOMKills: 1, Signal: syscall.SIGKILL}, job.MemoryLimit},
		{"a child was out of memory", sandbox.Result{OOMKills: 1}, job.MemoryLimit},
		{"peak over the limit", sandbox.Result{MemoryPeak: peak(64<<20 + 1)}, job.MemoryLimit},
		{"memory before time", sandbox.Result{OOMKills: 1, CPUTime: 2 * time.Second}, job.MemoryLimit},
		{"forbidden call before memory", sandbox.Result{Signal: syscall.SIGSYS, OOMKills: 1}, job.SecurityViolation},
		{"asleep at the wall limit", sandbox.Result{Stop: sandbox.StopWall, Idle: true, Signal: syscall.SIGKILL},
			job.IdlenessLimit},
		{"busy at the wall limit", sandbox.Result{Stop: sandbox.StopWall, Signal: syscall.SIGKILL}, job.WallTimeLimit},
		{"time before the wall limit", sandbox.Result{Stop: sandbox.StopWall, CPUTime: 1001 * time.Millisecond},
			job.TimeLimit},
		{"too much output", sandbox.Result{OutputBytes: 1<<20 + 1, Signal: syscall.SIGXFSZ}, job.OutputLimit},
		{"too much output, signal ignored", sandbox.Result{OutputBytes: 1<<20 + 1}, job.OutputLimit},
		{"SIGXFSZ for another file", sandbox.Result{Signal: syscall.SIGXFSZ}, job.RuntimeError},
		{"cancelled", sandbox.Result{Stop: sandbox.StopCancelled, Signal: syscall.SIGKILL, OOMKills: 1}, job.Cancelled},
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
		want *job.Exit
	}{
		"code":           {sandbox.Result{Code: 3}, &job.Exit{Code: &code}},
		"signal":         {sandbox.Result{Signal: syscall.SIGABRT}, &job.Exit{Signal: "SIGABRT"}},
		"real-time":      {sandbox.Result{Signal: 40}, &job.Exit{Signal: "SIGRT+8"}},
		"not executable": {sandbox.Result{ExecError: syscall.ENOENT}, nil},
	}
	for name, tt := range tests {
		if diff := cmp.Diff(tt.want, exitOf(tt.run)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// A disturbed first run does not settle a test: the report would have no times.
func TestSettled(t *testing.T) {
	for _, tt := range []struct {
		verdict job.Verdict
		least   int
		kept    int
		want    bool
	}{
		{job.MemoryLimit, 0, 0, false},
		{job.MemoryLimit, 0, 1, true},
		{job.SecurityViolation, 0, 1, true},
		{job.SecurityViolation, 3, 2, false},
		{job.SecurityViolation, 3, 3, true},
		{job.TimeLimit, 0, 1, false},
		{job.Accepted, 0, 1, false},
	} {
		if got := settled(outcome{verdict: tt.verdict}, stats.Rule{Min: tt.least}, tt.kept); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}
