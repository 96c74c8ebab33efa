package guestlab

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"judged/internal/api"
)

// wide is the environment that configures a slot with two CPUs.
var wide = []string{"JUDGED_SLOTS_WIDTH=2", "JUDGED_SLOTS_CPU_LIST=2-3"}

// TestIsolatedWideSlot: the kernel does not balance load over CPUs that were isolated at boot, so judged
// refuses a slot with two of them and reports the reason and the fix.
func TestIsolatedWideSlot(t *testing.T) {
	refused(t, "isolcpus=", "run", programs+"tiny")
	refused(t, "isolcpus=", "serve", "--listen", "127.0.0.1:0", "--data-dir", t.TempDir())
}

// TestPlainWideSlot runs two busy threads in a slot with two CPUs. Without isolation, and inside a partition of
// type root, each gets a CPU; inside an isolated partition judged refuses the slot.
func TestPlainWideSlot(t *testing.T) {
	t.Run("nothing isolated", spread)
	apply := func(t *testing.T, want string, args ...string) {
		t.Helper()
		done(t, append([]string{"apply", "--only", "sched-isolated", "--cpus", "2-3"}, args...)...)
		if got := strings.TrimSpace(content(cgroups + "/judged/cpuset.cpus.partition")); got != want {
			t.Fatalf("the partition reads %q, want %q", got, want)
		}
	}
	apply(t, "root", "--width", "2")
	t.Run("partition root", spread)
	done(t, "restore")
	apply(t, "isolated")
	refused(t, "a cpuset partition of type isolated", "run", programs+"tiny")
	done(t, "restore")
}

// spread expects two threads to use both CPUs concurrently in at least one run. A kernel that does not balance
// load never does that, and an emulator that shares the host's CPUs may need a run for it.
func spread(t *testing.T) {
	const runs = 5
	for n := 1; ; n++ {
		problems := computeOnTwo(t)
		if len(problems) == 0 {
			return
		}
		if n == runs {
			t.Fatalf("none of %d runs had both CPUs at once; the last one:\n%s", runs, strings.Join(problems, "\n"))
		}
	}
}

// computeOnTwo runs the two threads and returns why they did not run concurrently, by the guest's clock.
func computeOnTwo(t *testing.T) (problems []string) {
	t.Helper()
	before := busy(t)
	r := run(t, api.Accepted, "--cpu-list", "2-3", "--cpus", "2", "--time-limit", "20s", "--policy", "single",
		programs+"spin", "2", "100", "500")
	after := busy(t)
	one := r.Tests[0].Runs[0]
	t.Logf("CPU time %v in %v; CPU 2 worked %v, CPU 3 %v", one.CPUTime, one.WallTime, after["cpu2"]-before["cpu2"],
		after["cpu3"]-before["cpu3"])
	if one.CPUs != "2-3" {
		t.Errorf("the report says CPUs %s, want 2-3", one.CPUs)
	}
	for _, cpu := range []string{"cpu2", "cpu3"} {
		if worked := after[cpu] - before[cpu]; worked < one.CPUTime*35/100 {
			problems = append(problems,
				fmt.Sprintf("%s worked %v of the run's %v, want about half", cpu, worked, one.CPUTime))
		}
	}
	if ratio := float64(one.CPUTime) / float64(one.WallTime); ratio < 1.25 || ratio > 2.05 {
		problems = append(problems, fmt.Sprintf("%.2f s of CPU time in a second, want nearly 2", ratio))
	}
	if one.CPUTime < time.Second/2 {
		problems = append(problems, fmt.Sprintf("two threads of 500 ms took %v of CPU time", one.CPUTime))
	}
	return problems
}

// refused checks that judged refuses such a slot with the reason in one line.
func refused(t *testing.T, reason string, args ...string) {
	t.Helper()
	before := look(t)
	cmd, stderr := command(t, wide, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// A daemon that accepts the slot runs forever.
	bound := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer bound.Stop()
	_ = cmd.Wait() // its exit code is checked
	said := strings.TrimSpace(stderr.String())
	if code := cmd.ProcessState.ExitCode(); code != 2 || strings.Contains(said, "\n") ||
		!strings.Contains(said, reason) || !strings.Contains(said, "does not balance load") {
		t.Errorf("judged %q: exit code %d, %q; want 2 and a line with the reason %q", args, code, said, reason)
	}
	before.compare(t)
}
