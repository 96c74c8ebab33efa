package canary

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/job"
	"judged/internal/engine"
	"judged/internal/sandbox"
	"judged/internal/sandbox/initproc"
	"judged/internal/testkit"
)

func TestMain(m *testing.M) {
	if initproc.IsInit() {
		initproc.Main()
	}
	os.Exit(testkit.Run(m))
}

// TestFailure: the error names the cause, with figures, and what others did is
// noise.
func TestFailure(t *testing.T) {
	limits := job.Limits{CPUTimeMS: 10_000, Memory: 128 << 20}
	waited, others, stolen, throttled, code := 28500*time.Millisecond, 27*time.Second, 1500*time.Millisecond, int64(7), func(n int) *job.Exit { return &job.Exit{Code: &n} }
	crowded := []job.Run{{CPUTime: 1200 * time.Millisecond, WallTime: 30 * time.Second,
		Evidence: job.Evidence{RunDelay: &waited, ForeignTime: &others, StealTime: &stolen, Throttled: &throttled}}}
	const around = "it waited 28.500 s for the CPU, others ran there for 27.000 s, the hypervisor took 1.500 s, a quota stopped it 7 times"
	for _, tt := range []struct {
		name  string
		test  job.TestReport
		noise bool
		want  string
	}{
		{"wall limit", job.TestReport{Verdict: job.WallTimeLimit, Runs: crowded}, true, "met noise: it was stopped after 30.000 s with 1.200 s of CPU time; " + around},
		{"asleep", job.TestReport{Verdict: job.IdlenessLimit, Runs: []job.Run{{WallTime: 30 * time.Second}}}, true,
			"met noise: it was stopped after 30.000 s with 0 s of CPU time; what else had the CPU is not known here"},
		{"CPU limit", job.TestReport{Verdict: job.TimeLimit, Runs: crowded}, true, "met noise: it was stopped at 10.000 s of CPU time, a multiple of what it takes; " + around},
		{"no verdict", job.TestReport{Verdict: job.InternalError, Message: "steal", Runs: crowded}, true, "met noise: steal; " + around},
		{"killed", job.TestReport{Verdict: job.RuntimeError, Exit: &job.Exit{Signal: "SIGKILL"}}, true, "met noise: it was killed from outside; the host may be out of memory, see its log"},
		{"memory", job.TestReport{Verdict: job.MemoryLimit, Exit: &job.Exit{Signal: "SIGKILL"}}, false, "it needs more than 128MiB of memory, which it gets"},
		{"wrong", job.TestReport{Verdict: job.RuntimeError, Exit: code(initproc.ExitWrong)}, false, "it computed something else than it must: the processor or the memory is damaged, or judged is"},
		{"unusable", job.TestReport{Verdict: job.RuntimeError, Exit: code(initproc.ExitUnusable)}, false, "it could not begin: it gets too little memory, or judged is damaged"},
		{"forbidden", job.TestReport{Verdict: job.SecurityViolation}, false, "verdict SV; judged's own program does not run in its sandbox"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := failure(tt.test, limits)
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" || errors.Is(err, ErrNoise) != tt.noise {
				t.Errorf("noise %v, want %v (-want +got):\n%s", errors.Is(err, ErrNoise), tt.noise, diff)
			}
		})
	}
}

// TestNoiseIsRepeated, and nothing else.
func TestNoiseIsRepeated(t *testing.T) {
	noise, damage := fmt.Errorf("%w: others", ErrNoise), errors.New("damage")
	for _, tt := range []struct {
		name string
		runs []error // of each run; the last one of all further ones, too
		want int     // runs
		err  error
	}{
		{"quiet", []error{nil}, 1, nil},
		{"noise once", []error{noise, nil}, 2, nil},
		{"noise", []error{noise}, tries, ErrNoise},
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

// TestKernelThatIsKeptFromItsCPU runs one with hardly any time on the clock, as
// next to many other programs.
func TestKernelThatIsKeptFromItsCPU(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	c, err := engine.Open(engine.Options{Width: 1, Root: sandbox.RootPrivate, BoxBytes: 64 << 20, BoxInodes: 64,
		UIDFirst: 1<<20 + os.Getpid()%4096*1000, UIDCount: 1000, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	kernels, err := New(c.Topology())
	if err != nil {
		t.Fatal(err)
	}
	defer kernels.Close()
	worker := c.Worker(c.Slots()[0])
	if r, err := kernels.Read(t.Context(), worker, initproc.KernelALU); err != nil || r.CPUTime <= 0 {
		t.Errorf("as it is: %+v, error %v", r, err)
	}
	kernels.wall = time.Millisecond
	_, err = kernels.Read(t.Context(), worker, initproc.KernelALU)
	if !errors.Is(err, ErrNoise) || !strings.Contains(err.Error(), "it was stopped after") || !strings.Contains(err.Error(), "for the CPU") {
		t.Errorf("within a millisecond: error %v, want noise with figures", err)
	}
}
