package measure

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/sandbox/initproc"
	"judged/internal/testkit"
)

func TestMain(m *testing.M) {
	if initproc.IsInit() {
		initproc.Main()
	}
	os.Exit(testkit.Run(m))
}

// TestKernelFailure checks that the error names the cause with figures, and that effects of other programs count as noise.
func TestKernelFailure(t *testing.T) {
	limits := api.Limits{CPUTimeMS: 10_000, Memory: 128 << 20}
	waited, others, stolen, throttled, code := 28500*time.Millisecond, 27*time.Second, 1500*time.Millisecond, int64(7),
		func(n int) *api.Exit { return &api.Exit{Code: &n} }
	crowded := []api.Run{{CPUTime: 1200 * time.Millisecond, WallTime: 30 * time.Second,
		Evidence: api.Evidence{RunDelay: &waited, ForeignTime: &others, StealTime: &stolen, Throttled: &throttled}}}
	const around = "it waited 28.500 s for the CPU, other programs used it for 27.000 s, the hypervisor took 1.500 s, a " +
		"quota stopped it 7 times"
	for _, tt := range []struct {
		name  string
		test  api.TestReport
		noise bool
		want  string
	}{
		{"wall limit", api.TestReport{Verdict: api.WallTimeLimit, Runs: crowded}, true,
			"disturbed by noise: stopped after 30.000 s with 1.200 s of CPU time; " + around},
		{"asleep", api.TestReport{Verdict: api.IdlenessLimit, Runs: []api.Run{{WallTime: 30 * time.Second}}}, true,
			"disturbed by noise: stopped after 30.000 s with 0 s of CPU time; what else used the CPU is unknown"},
		{"CPU limit", api.TestReport{Verdict: api.TimeLimit, Runs: crowded}, true,
			"disturbed by noise: stopped at 10.000 s of CPU time, many times what it needs; " + around},
		{"no verdict", api.TestReport{Verdict: api.InternalError, Message: "steal", Runs: crowded}, true,
			"disturbed by noise: steal; " + around},
		{"killed", api.TestReport{Verdict: api.RuntimeError, Exit: &api.Exit{Signal: "SIGKILL"}}, true,
			"disturbed by noise: killed from outside; the host may be out of memory, see the kernel log"},
		{"memory", api.TestReport{Verdict: api.MemoryLimit, Exit: &api.Exit{Signal: "SIGKILL"}}, false,
			"needs more memory than its limit of 128MiB"},
		{"wrong", api.TestReport{Verdict: api.RuntimeError, Exit: code(initproc.ExitWrong)}, false,
			"computed a wrong result: the processor, the memory or the judged binary is damaged"},
		{"unusable", api.TestReport{Verdict: api.RuntimeError, Exit: code(initproc.ExitUnusable)}, false,
			"cannot start: too little memory, or a damaged judged binary"},
		{"forbidden", api.TestReport{Verdict: api.SecurityViolation}, false,
			"verdict SV: judged's own program does not work in the sandbox"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := kernelFailure(tt.test, limits)
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" || errors.Is(err, ErrNoise) != tt.noise {
				t.Errorf("noise %v, want %v (-want +got):\n%s", errors.Is(err, ErrNoise), tt.noise, diff)
			}
		})
	}
}

// TestNoisyKernelIsRepeated checks that a run is repeated only because of noise.
func TestNoisyKernelIsRepeated(t *testing.T) {
	noise, damage := fmt.Errorf("%w: others", ErrNoise), errors.New("damage")
	for _, tt := range []struct {
		name string
		runs []error // of each run; the last one is used for all further runs
		want int     // number of runs
		err  error
	}{
		{"quiet", []error{nil}, 1, nil},
		{"noise once", []error{noise, nil}, 2, nil},
		{"noise", []error{noise}, kernelTries, ErrNoise},
		{"damage", []error{damage}, 1, damage},
		{"noise, then damage", []error{noise, damage}, 2, damage},
	} {
		n := 0
		_, err := undisturbed(func() (Reading, error) {
			n++
			return Reading{}, tt.runs[min(n, len(tt.runs))-1]
		})
		if n != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%s: %d runs, error %v, want %d and %v", tt.name, n, err, tt.want, tt.err)
		}
	}
}
