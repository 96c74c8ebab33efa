package judge_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/base/cpuset"
	"judged/internal/engine"
	"judged/internal/engine/judge"
	"judged/internal/engine/measure"
	"judged/internal/engine/problem"
	"judged/internal/sandbox"
	"judged/internal/testkit"
)

// spins uses the same CPU time in each run, regardless of other work on the host.
const spins = `#include <stdlib.h>
#include <time.h>
int main(int argc, char **argv) {
	struct timespec t;
	do clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < atoi(argv[1]));
	return 0;
}
`

// TestVerdictUnderLoad: a program over its limit gets its verdict at most three runs later than on a quiet host, even
// if noise may explain each of its runs.
func TestVerdictUnderLoad(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.StaticGCC)
	eng := openEngine(t, 1)
	defer func() {
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	}()
	source := filepath.Join(t.TempDir(), "spins.c")
	if err := os.WriteFile(source, []byte(spins), 0o600); err != nil {
		t.Fatal(err)
	}
	program := testkit.CompileC(t, source, true)
	slot := eng.Slots()[0].CPUs
	for _, tt := range []struct {
		loops   int
		cpus    *cpuset.Set // nil means the CPUs of this process, which do not include the slot
		policy  api.Policy
		milli   string
		quiet   int // number of runs on a quiet host
		explain api.Cause
	}{
		{1, nil, api.Confirm, "115", 2, api.CauseNeighbours},
		{1, nil, api.Single, "115", 1, api.CauseNeighbours},
		{2, &slot, api.Confirm, "108", 2, api.CauseForeign},
	} {
		t.Run(fmt.Sprintf("%s, %d loops, %s", tt.explain, tt.loops, tt.policy), func(t *testing.T) {
			for range tt.loops {
				loop(t, tt.cpus)
			}
			task := judge.Task{Args: []string{"./spins", tt.milli}, Tests: []problem.Test{{Name: "1"}},
				Files:   []sandbox.File{{Name: "spins", Path: program, Exec: true}},
				Repeats: api.Repeats{Policy: tt.policy},
				Limits: api.Limits{CPUTimeMS: 100, WallTimeMS: 20_000, Memory: 64 << 20, Output: 1 << 20, Stack: 8 << 20,
					Processes: 8}}
			explained, decided := false, false
			for attempt := 0; attempt < 40 && !(explained && decided); attempt++ { // other work may steal time
				r, err := judge.Run(t.Context(), eng.Worker(eng.Slots()[0]), task, func(api.TestReport) {})
				if err != nil && !errors.As(err, new(*measure.NoiseError)) {
					t.Fatal(err)
				}
				if n := len(r.Tests[0].Runs); n > tt.quiet+3 {
					t.Errorf("%d runs, on a quiet host %d%s", n, tt.quiet, tell(r))
				}
				if err == nil && r.Verdict != api.TimeLimit {
					t.Errorf("%s%s", r.Verdict, tell(r))
				}
				decided = decided || err == nil
				for _, run := range r.Tests[0].Runs {
					for _, x := range run.Explained.Causes {
						explained = explained || x.Cause == tt.explain
					}
				}
				t.Logf("attempt %d: %v%s", attempt+1, err, tell(r))
			}
			if !explained || !decided {
				t.Errorf("noise explained a part of a run: %v; the program got its verdict: %v", explained, decided)
			}
		})
	}
}

// TestPreferredToOthers: programs on a slot's CPU that judged did not start get a small share of its time.
func TestPreferredToOthers(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.StaticGCC)
	eng := openTalkEngine(t, engine.JuryLimits(config.Default().Limits.Jury))
	source := filepath.Join(t.TempDir(), "spins.c")
	if err := os.WriteFile(source, []byte(spins), 0o600); err != nil {
		t.Fatal(err)
	}
	j := api.Job{Program: api.File{Part: testkit.CompileC(t, source, true)}, Command: []string{"{program}", "300"},
		Tests: []api.Test{{Name: "1"}}, Repeats: api.Repeats{Policy: api.Single},
		Limits: api.Limits{CPUTimeMS: 10_000, WallTimeMS: 60_000}}
	for range 6 {
		c := exec.Command("taskset", "-c", eng.Slots()[0].CPUs.String(), "sh", "-c", "while :; do :; done")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = c.Process.Kill(), c.Wait() })
	}
	var runs []string
	for range 3 { // a run of another judged has the same weight
		r := judgeTalk(t, eng, j)
		if r.Verdict == api.Accepted && *r.WallTime < 3**r.CPUTime {
			t.Logf("wall time %s, CPU time %s", r.WallTime, r.CPUTime)
			return
		}
		runs = append(runs, tell(r))
	}
	t.Errorf("next to 6 loops, each run took three times its CPU time or more:%s", strings.Join(runs, ""))
}

// loop starts a program that uses a CPU until the test ends. On given CPUs it has the weight of a run.
func loop(t *testing.T, cpus *cpuset.Set) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "sh", "-c", "while :; do :; done")
	if cpus != nil {
		testkit.StartCompetitor(t, c, 1)
	} else if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Wait() })
	t.Cleanup(func() { c.Process.Kill() })
	if cpus == nil {
		return
	}
	var set unix.CPUSet
	for _, cpu := range *cpus {
		set.Set(cpu)
	}
	if err := unix.SchedSetaffinity(c.Process.Pid, &set); err != nil {
		t.Fatal(err)
	}
}
