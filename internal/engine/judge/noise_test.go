package judge_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/base/cpuset"
	"judged/internal/engine"
	"judged/internal/engine/judge"
	"judged/internal/engine/measure"
	"judged/internal/jobs/intake"
	"judged/internal/testkit"
	"judged/internal/testkit/attacks"
	"judged/internal/testkit/guest"
	"judged/internal/testkit/samples"
)

// shareSource is a program that works in threads, children or process groups, or loops on a CPU.
const shareSource = "../../sandbox/testdata/share.c"

// shareDir has the same program in other languages.
const shareDir = "../../../testdata/submissions/share/"

// crowd runs loops on the engine's CPU until the test ends, each with the weight of a run.
func crowd(t *testing.T, eng *engine.Engine, loops int) {
	t.Helper()
	c := exec.Command(testkit.CompileC(t, shareSource, true), "load", fmt.Sprint(loops), eng.Slots()[0].CPUs.String())
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	testkit.StartCompetitor(t, c, loops)
	t.Cleanup(func() { _, _ = in.Close(), c.Wait() })
	if _, err := io.ReadFull(out, make([]byte, len("loaded"))); err != nil {
		t.Fatal("the loops did not start")
	}
}

// shares are programs that do work, by language, with the ways in which they can do it.
var shares = []struct {
	language string
	source   string
	command  []string
	need     testkit.Requirement
	ways     string
	extra    int64 // CPU time of the runtime in milliseconds
}{
	{"C", shareSource, []string{"{program}"}, testkit.StaticGCC, "first thread threads child children groups", 0},
	{"Go", shareDir + "share.go", []string{"{program}"}, testkit.Go, "first threads child groups", 0},
	{"Java", shareDir + "share.java", []string{"java", "-jar", "{program}"}, testkit.Java, "first threads", 1500},
	{"Python", shareDir + "share.py", []string{"python3", "{program}"}, testkit.Python,
		"first threads child groups", 100},
}

// TestWaitingIsNoVerdict: on a busy CPU a program needs longer than its wall limit, and that
// is no verdict, regardless of its threads and processes.
func TestWaitingIsNoVerdict(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.Time)
	eng := openTalkEngine(t, engine.JuryLimits(config.Default().Limits.Jury))
	crowd(t, eng, 4)
	work := int64(300) // ms of CPU time, for which it needs five times as long
	if attacks.InGuest(t) {
		work *= 2
	}
	for _, s := range shares {
		t.Run(s.language, func(t *testing.T) {
			program := buildShare(t, s.source, s.need)
			longer := false // longer than its limit: the CPU was busy, so the test can fail
			for how := range strings.FieldsSeq(s.ways) {
				over := waitsWithoutVerdict(t, eng, api.Job{Program: api.File{Part: program},
					Command: append(slices.Clone(s.command), how, fmt.Sprint(work)), Tests: []api.Test{{Name: how}},
					Limits: api.Limits{CPUTimeMS: 20_000, WallTimeMS: 4*work + s.extra, Processes: 128}})
				longer = longer || over
			}
			if !longer && s.extra == 0 {
				t.Error("no run needed longer than its wall limit: the CPU was not busy, so this test cannot fail")
			}
		})
	}
}

// buildShare returns the program of a source. A guest has no compilers; there the program is next to its source.
func buildShare(t *testing.T, source string, need testkit.Requirement) string {
	t.Helper()
	shipped := strings.TrimSuffix(source, filepath.Ext(source))
	if info, err := os.Stat(shipped); err == nil && info.Mode().IsRegular() {
		return shipped
	}
	testkit.Need(t, need)
	sample := samples.Sample{Name: filepath.Base(source), Source: source, Static: true}
	if err := sample.Build(t.Context(), []string{"-O2", "-pthread"}, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	return sample.Program
}

// waitsWithoutVerdict judges a job whose test may need longer than its wall limit because of other work, and reports
// whether it did.
func waitsWithoutVerdict(t *testing.T, eng *engine.Engine, j api.Job) (longer bool) {
	t.Helper()
	j, err := intake.Complete(config.Default(), j)
	if err != nil {
		t.Fatal(err)
	}
	task, err := judge.NewTask(j, api.ProgramName, func(f api.File) (string, error) { return f.Part, nil })
	if err != nil {
		t.Fatal(err)
	}
	var r api.Report
	for range 3 {
		begin, ticks := time.Now(), ticksOf(t, eng.Slots()[0].CPUs[0])
		r, err = eng.Judge(t.Context(), eng.Slots()[0], task, func(api.TestReport) {})
		if _, noise := errors.AsType[*measure.NoiseError](err); noise {
			t.Logf("%s: %v", j.Tests[0].Name, err) // not a verdict either
			return true
		}
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict == api.Accepted || !attacks.InGuest(t) {
			break
		}
		// If the emulator stands still, the guest's kernel loses ticks, and with them the time of others.
		all := time.Since(begin)
		if lost := all - ticksOf(t, eng.Slots()[0].CPUs[0]) + ticks; lost > all/10 {
			t.Logf("%s: the emulator lost the ticks of %s of %s", j.Tests[0].Name, lost, all)
			return false
		}
	}
	run := r.Tests[0].Runs[0]
	if r.Verdict != api.Accepted {
		t.Errorf("%s: %s, want AC: %s waited %s of %s, explained %+v", j.Tests[0].Name, r.Verdict, tell(r),
			duration(run.Evidence.Waited), run.WallTime, run.Explained)
	}
	return run.WallTime > j.Limits.WallTime()
}

// ticksOf returns the time that the kernel has counted for a CPU since boot: user, nice, system, idle, iowait, irq,
// softirq and steal.
func ticksOf(t *testing.T, cpu int) (sum time.Duration) {
	t.Helper()
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(stat)) {
		if f := strings.Fields(line); f[0] == fmt.Sprint("cpu", cpu) {
			for _, text := range f[1:9] {
				n, err := strconv.Atoi(text)
				if err != nil {
					t.Fatal(err)
				}
				sum += time.Duration(n) * 10 * time.Millisecond
			}
		}
	}
	if sum == 0 {
		t.Fatalf("/proc/stat has no time of CPU %d", cpu)
	}
	return sum
}

func duration(d *time.Duration) time.Duration {
	if d == nil {
		return -1
	}
	return *d
}

// TestJuryIsNoNeighbour: work of interactors and managers on the neighbours' CPUs during a run is not counted as that
// of others. They work for 600 ms before the program continues, so others had at most the rest of the user time of
// these CPUs while the job was judged.
func TestJuryIsNoNeighbour(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.StaticGCC)
	eng := openTalkEngine(t, engine.JuryLimits(config.Default().Limits.Jury))
	const work, slack = 600 * time.Millisecond, 150 * time.Millisecond
	talker := api.File{Part: testkit.JuryProgram(t, "talker")}
	interactive := api.Job{Program: talker, Command: []string{"{program}", "hear", "end"}, Tests: []api.Test{{Name: "1"}},
		Interactor: &api.Interactor{Kind: "icpc", Program: talker, Args: []string{"work=600", "say=1", "exit=42"}}}
	for name, j := range map[string]api.Job{
		"interactor": interactive,
		"manager":    managedJob(t, 1, "say=1|hear|say=2", "want=0:1|work=600|say=0:x|want=0:2|score=1"),
	} {
		j.Limits, j.Repeats = api.Limits{CPUTimeMS: 500, WallTimeMS: 20_000}, api.Repeats{Min: 1, Max: 1}
		before := userTime(t, eng.Neighbours())
		r := judgeTalk(t, eng, j)
		all := userTime(t, eng.Neighbours()) - before
		run := r.Tests[0].Runs[0]
		busy := run.Evidence.NeighboursBusy
		if r.Verdict != api.Accepted || busy == nil {
			t.Fatalf("%s: %s, neighbours %v: %s", name, r.Verdict, busy, tell(r))
		}
		if others := time.Duration(*busy * float64(run.WallTime)); others > max(all-work, 0)+slack {
			t.Errorf("%s: others ran for %s in %s of wall time: all ran for %s, and the jury for %s of it", name, others,
				run.WallTime, all, work)
		}
	}
}

// userTime returns the time in user mode of some CPUs since boot.
func userTime(t *testing.T, cpus cpuset.Set) (sum time.Duration) {
	t.Helper()
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(stat)) {
		var cpu int
		var user, nice time.Duration
		n, _ := fmt.Sscanf(line, "cpu%d %d %d", &cpu, &user, &nice)
		if n == 3 && cpus.Contains(cpu) {
			sum += (user + nice) * 10 * time.Millisecond
		}
	}
	return sum
}

// TestGuestNoise runs TestWaitingIsNoVerdict with cgroup v2, on two CPUs that nothing else uses. A guest has no
// runtimes.
func TestGuestNoise(t *testing.T) {
	testkit.Need(t, testkit.QEMU, testkit.GuestKernel, testkit.GCC, testkit.StaticGCC, testkit.Go)
	t.Parallel()
	// Without the time of interrupts: where the emulator stalls in one, the stall would be that of nobody.
	cfg := guest.Config{Arch: "amd64", Append: "tsc=reliable tsc=noirqtime noautogroup", Sockets: 1, Cores: 2}
	cfg.Files = map[string]string{
		"/repo/internal/sandbox/testdata/share":  testkit.CompileC(t, shareSource, true),
		"/repo/testdata/submissions/share/share": buildShare(t, shareDir+"share.go", testkit.Go)}
	guest.GoTest(t, cfg, "judged/internal/engine/judge", "^TestWaitingIsNoVerdict$/^(C|Go)$")
}
