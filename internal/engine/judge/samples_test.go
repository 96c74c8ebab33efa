package judge_test

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/engine"
	"judged/internal/engine/judge"
	"judged/internal/host/hostfs"
	"judged/internal/host/machine"
	"judged/internal/host/slots"
	"judged/internal/jobs/intake"
	"judged/internal/sandbox"
	"judged/internal/testkit"
	"judged/internal/testkit/samples"
)

// uidsOfTest is the size of a range of users that no other judged uses, so that their processes are leftovers of this
// test.
const uidsOfTest = 1000

func firstUID() int { return 1<<20 + os.Getpid()%4096*uidsOfTest }

// TestSamples judges every program of testdata/samples.json.
func TestSamples(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	all, foreign := samples.Load(t)
	byWidth := map[int][]samples.Sample{}
	for _, s := range all {
		byWidth[s.CPUs] = append(byWidth[s.CPUs], s)
	}
	tooWide := 0
	for width, list := range byWidth {
		if err := slotFits(t, width); err != nil {
			t.Logf("left out %d samples: %v", len(list), err)
			tooWide += len(list)
			continue
		}
		judgeAll(t, width, list)
	}
	t.Logf("judged %d of %d samples; left out: %d for another processor, %d for want of CPUs",
		len(all)-tooWide, len(all)+foreign, foreign, tooWide)
	assertNothingLeft(t)
}

// slotFits returns an error if this machine has no slot of the width.
func slotFits(t *testing.T, width int) error {
	t.Helper()
	top, err := machine.ReadTopology(hostfs.New("/"))
	if err != nil {
		t.Fatal(err)
	}
	planned, err := slots.Plan(top, nil, width)
	if err != nil {
		return err
	}
	return slots.Balanced(top, planned)
}

// judgeAll judges samples in one engine, sequentially.
func judgeAll(t *testing.T, width int, list []samples.Sample) {
	t.Helper()
	eng := openEngine(t, width)
	worker := eng.Worker(eng.Slots()[0])
	for _, s := range list {
		t.Run(s.Name, func(t *testing.T) {
			testkit.Need(t, s.Needs...)
			r, err := judge.Run(t.Context(), worker, taskOf(t, s), func(api.TestReport) {})
			if err != nil {
				t.Fatal(err)
			}
			if d := s.Want.Differences(r); len(d) > 0 {
				t.Errorf("%s\nreport: %s", strings.Join(d, "\n"), tell(r))
			}
		})
	}
	worker.Settle()
	if err := eng.Close(); err != nil {
		t.Error(err)
	}
}

func openEngine(t *testing.T, width int) *engine.Engine {
	t.Helper()
	return openEngineOf(t, config.Default(), width)
}

func openEngineOf(t *testing.T, c config.Config, width int) *engine.Engine {
	t.Helper()
	eng, err := engine.Open(engine.Options{ClaimFolder: t.TempDir(),
		Width: width, Count: 1, Root: sandbox.RootPrivate, BoxBytes: c.Sandbox.WorkSize, BoxInodes: c.Sandbox.WorkInodes,
		UIDFirst: firstUID(), UIDCount: uidsOfTest, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return eng
}

// taskOf returns the task of a sample as in judged run: with defaults and paths.
func taskOf(t *testing.T, s samples.Sample) judge.Task {
	t.Helper()
	c := config.Default()
	c.Slots.Width = s.CPUs
	j, err := intake.Complete(c, s.Job())
	if err != nil {
		t.Fatal(err)
	}
	task, err := judge.NewTask(j, api.ProgramName, func(f api.File) (string, error) { return f.Part, nil })
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// tell formats an unexpected report for a failure message.
func tell(r api.Report) string {
	var b strings.Builder
	for _, x := range r.Tests {
		fmt.Fprintf(&b, "\n%s %s %s", x.Name, x.Verdict, x.Message)
		for _, run := range x.Runs {
			fmt.Fprintf(&b, "\n  cpu %v wall %v disturbed %v", run.CPUTime, run.WallTime, run.Disturbed)
			if run.MemoryPeak != nil {
				fmt.Fprintf(&b, " memory %d", *run.MemoryPeak)
			}
		}
	}
	return b.String()
}

// assertNothingLeft checks for processes of the samples' users. TestMain checks cgroups, mounts, children and
// descriptors.
func assertNothingLeft(t *testing.T) {
	t.Helper()
	if left := processesOfSamples(t); len(left) > 0 {
		t.Errorf("processes left behind: %q", left)
	}
}

// TestProcessesOfSamples checks that such a process is found.
func TestProcessesOfSamples(t *testing.T) {
	testkit.Need(t, testkit.Root)
	cmd := exec.Command("sleep", "60")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(firstUID() + uidsOfTest - 1)}}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	found := processesOfSamples(t)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if want := []string{fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)}; !slices.Equal(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
}

func processesOfSamples(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		_, after, _ := strings.Cut(string(text), "\nUid:\t")
		real, _, _ := strings.Cut(after, "\t")
		if uid, err := strconv.Atoi(real); err == nil && uid >= firstUID() && uid < firstUID()+uidsOfTest {
			found = append(found, path)
		}
	}
	return found
}
