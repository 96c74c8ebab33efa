package bench

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/base/cpuset"
	"judged/internal/engine"
	"judged/internal/engine/checker"
	"judged/internal/engine/judge"
	"judged/internal/engine/problem"
	"judged/internal/host/machine"
	"judged/internal/sandbox"
	"judged/internal/sandbox/initproc"
	"judged/internal/testkit"
)

// open opens an engine and its placements for a test.
func open(t *testing.T) *Site {
	t.Helper()
	c := config.Default()
	eng, err := engine.Open(engine.Options{ClaimFolder: t.TempDir(),
		Width: 1, Count: 1, Root: sandbox.RootHost, BoxBytes: c.Sandbox.WorkSize, BoxInodes: c.Sandbox.WorkInodes,
		UIDFirst: 1<<20 + os.Getpid()%4096*1000, UIDCount: 1000, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	})
	s, err := Open(eng)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func taskOf(t *testing.T, script string) judge.Task {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p")
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	tokens, err := checker.Parse("tokens")
	if err != nil {
		t.Fatal(err)
	}
	return judge.Task{Args: []string{"./p"}, Files: []sandbox.File{{Name: "p", Path: path, Exec: true}},
		Tests: []problem.Test{{Name: "1"}}, Checker: tokens,
		Head: 4096, Limits: api.Limits{CPUTimeMS: 20_000, WallTimeMS: 120_000, Memory: 256 << 20, Output: 1 << 20,
			Stack: 8 << 20, Processes: 16}}
}

// TestRun checks that a program sees the CPUs of its placement, regardless of the load next to it.
func TestRun(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	s := open(t)
	task := taskOf(t, "#!/bin/sh\ngrep Cpus_allowed_list /proc/self/status\n")
	seen := 0
	outcomes, err := s.Run(t.Context(), s.EachPlacement(task),
		Options{N: 2, Seed: 1, Seen: func(int, string) { seen++ }})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(outcomes)+len(s.LeftOut), len(IDs()); got != want {
		t.Errorf("%d placements measured or left out, want %d", got, want)
	}
	if want := 1 + 2*len(outcomes); seen != want {
		t.Errorf("Seen was called for %d runs, want %d", seen, want)
	}
	for _, o := range outcomes {
		if o.Verdicts[api.Accepted] != 2 {
			t.Errorf("%s: verdicts %v, want 2 AC", o.Case, o.Verdicts)
			continue
		}
		for _, r := range o.Runs {
			_, cpus, _ := strings.Cut(strings.TrimSpace(*r.Stdout), ":")
			if strings.TrimSpace(cpus) != o.Placement.CPUs || r.CPUs != o.Placement.CPUs {
				t.Errorf("%s: ran on %s, reported %s, want %s", o.Case, cpus, r.CPUs, o.Placement.CPUs)
			}
		}
	}
}

func TestRunNotExecutable(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	s := open(t)
	s.Select(Slot)
	_, err := s.Run(t.Context(), s.EachPlacement(taskOf(t, "neither ELF nor script")),
		Options{N: 2, Seen: func(int, string) {}})
	var bad *NotExecutable
	if !errors.As(err, &bad) {
		t.Errorf("got %v, want NotExecutable", err)
	}
}

// TestCrowd checks that loads run on every neighbour and on no other CPU, until they are stopped.
func TestCrowd(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	s := open(t)
	neighbours := s.eng.Neighbours()
	if len(neighbours) == 0 {
		t.Log("one CPU: there are no neighbours, and loads are left out")
	}
	for _, load := range append(initproc.Loads(), "") {
		crowd, err := s.Crowd(t.Context(), load)
		if err != nil {
			t.Fatal(err)
		}
		var all, want cpuset.Set
		for _, cpus := range loadsRunning(t, load) {
			all = all.Union(cpus)
		}
		if load != "" {
			want = neighbours
		}
		if !slices.Equal(all, want) {
			t.Errorf("%q works on CPUs %s, want %s", load, all, want)
		}
		if err := errors.Join(crowd.Stop(), crowd.Stop()); err != nil {
			t.Error(err)
		}
		if left := loadsRunning(t, load); len(left) > 0 {
			t.Errorf("%q is still running: %v", load, left)
		}
	}
}

// TestCrowdUnknown checks that a load that cannot run is an error, and does not count as a quiet machine.
func TestCrowdUnknown(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	s := open(t)
	if len(s.resources) == 0 {
		t.Log("one CPU: there are no neighbours")
		return
	}
	_, err := s.Crowd(t.Context(), "load-unknown")
	if err == nil || !strings.Contains(err.Error(), "ended by itself") {
		t.Errorf("got %v, want that the load ended by itself", err)
	}
}

func TestCrowdCancelled(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	s := open(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	_, err := s.Crowd(ctx, initproc.LoadMemory)
	if len(s.resources) > 0 && (err == nil || !strings.Contains(err.Error(), "enough")) {
		t.Errorf("got %v, want the cause", err)
	}
}

// loadsRunning returns the CPUs that loads of this process may use.
func loadsRunning(t *testing.T, load string) []cpuset.Set {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []cpuset.Set
	for _, path := range paths {
		line, err := os.ReadFile(path)
		if err != nil || string(line) != "./"+initproc.CanaryName+"\x00"+load+"\x00" {
			continue // it has ended, or is something else
		}
		status, err := os.ReadFile(filepath.Dir(path) + "/status")
		if err != nil || !strings.Contains(string(status), "\nPPid:\t"+strconv.Itoa(os.Getpid())+"\n") {
			continue
		}
		_, after, _ := strings.Cut(string(status), "\nCpus_allowed_list:\t")
		list, _, _ := strings.Cut(after, "\n")
		cpus, err := cpuset.Parse(list)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, cpus)
	}
	return found
}

// TestPlaces compares the placements with the plan of the engine.
func TestPlaces(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	s := open(t)
	top, slot := s.eng.Topology(), s.eng.Slots()[0]
	for _, p := range s.Placements {
		cpus, err := cpuset.Parse(p.CPUs)
		if err != nil {
			t.Fatal(err)
		}
		switch p.ID {
		case Free:
			if !cpus.IsSubsetOf(top.Online) || len(top.Isolated) == 0 && len(cpus) != len(top.Online) {
				t.Errorf("free is on CPUs %s of %s", cpus, top.Online)
			}
		case Pinned:
			if len(cpus) != 1 || cpus.Overlaps(slot.CPUs) {
				t.Errorf("pinned is on CPUs %s, next to the slot %s", cpus, slot.CPUs)
			}
		default:
			if !slices.Equal(cpus, slot.CPUs) {
				t.Errorf("%s is on CPUs %s, want the slot %s", p.ID, cpus, slot.CPUs)
			}
		}
	}
	for _, l := range s.LeftOut {
		if l.Reason == "" {
			t.Errorf("%s is left out without a reason", l.ID)
		}
	}
	s.Select(Slot, TurboOff)
	if len(s.Placements) != 1 || len(s.LeftOut) != 1 {
		t.Errorf("kept %v and %v, want slot and turbo-off", s.Placements, s.LeftOut)
	}
}

func TestWhyNoTurbo(t *testing.T) {
	for state, want := range map[machine.Turbo]string{
		{Value: machine.TurboOn, Source: "/sys/no_turbo"}:               "switch it off and measure again",
		{Value: machine.TurboOff, Source: "/sys/no_turbo"}:              "off already",
		{Value: machine.TurboUnknown, Reason: "controlled by somebody"}: "controlled by somebody",
	} {
		if got := whyNoTurbo(state); !strings.Contains(got, want) {
			t.Errorf("%v: got %q, want %q", state, got, want)
		}
	}
}
