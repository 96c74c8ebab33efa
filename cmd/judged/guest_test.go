package main

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"judged/internal/testkit"
	"judged/internal/testkit/guest"
)

// inTheGuest is the package of the tests that run next to judged on the guest's kernel.
const inTheGuest = "judged/internal/testkit/guestlab"

// isolation reserves the CPUs of NUMA node 1.
const isolation = "isolcpus=2,3 nohz_full=2,3 rcu_nocbs=2,3"

func TestGuestIsolated(t *testing.T) {
	inGuest(t, guest.Config{Append: isolation + " tsc=reliable"}, "^TestIsolated")
}

// TestGuestQueue judges many jobs. It has its own guest, because with the other tests it would take as long as all of
// them together.
func TestGuestQueue(t *testing.T) {
	inGuest(t, guest.Config{Append: isolation + " tsc=reliable"}, "^TestQueue")
}

func TestGuestWithoutIsolation(t *testing.T) {
	inGuest(t, guest.Config{Disks: 2}, "^TestPlain")
}

// TestGuestRemedies runs the commands that doctor prints, with a shell and the few programs that they need.
func TestGuestRemedies(t *testing.T) {
	guest.Need(t, "amd64")
	t.Parallel()
	cfg := guest.Config{NUMA: true, Timeout: 20 * time.Minute,
		Files: guest.HostPrograms(t, "sh", "cat", "mkdir", "grep", "mount")}
	cfg.Files["/bin/judged"] = guest.BuildFor(t, "amd64", "judged/cmd/judged", "-ldflags=-s -w")
	watchSources(t)
	guest.GoTest(t, cfg, inTheGuest, "^TestRemedies$")
}

// TestGuestSMT has two sockets with two cores of two threads each. CPUs 0 and 1 are siblings, and so on.
func TestGuestSMT(t *testing.T) {
	inGuest(t, guest.Config{Append: "isolcpus=4-7 nohz_full=4-7", Sockets: 2, Cores: 2, Threads: 2}, "^TestSMT")
}

// TestGuestArm64 runs the most sensitive of these tests on arm64. With "^TestQueueVerdicts$" and all samples it takes
// minutes.
func TestGuestArm64(t *testing.T) {
	inGuest(t, guest.Config{Arch: "arm64", Append: isolation}, "^TestIsolatedLimit$", "submissions/sum/TLE-spin.c")
}

// inGuest runs the tests that match run, with the given samples, or all of them.
func inGuest(t *testing.T, cfg guest.Config, run string, samples ...string) {
	t.Helper()
	cfg.Arch = cmp.Or(cfg.Arch, "amd64")
	guest.Need(t, cfg.Arch)
	t.Parallel() // an emulator uses one CPU
	cfg.NUMA, cfg.Files = true, shipment(t, cfg.Arch, samples)
	cfg.Dirs = map[string]string{"/data/problems": filepath.Join(testkit.RepoRoot(t), "testdata/problems")}
	guest.GoTest(t, cfg, inTheGuest, run)
}

// shipment returns judged and the programs that it judges, all of them static.
func shipment(t *testing.T, arch string, chosen []string) map[string]string {
	t.Helper()
	compile := compilers[arch]
	watchSources(t)
	data := filepath.Join(testkit.RepoRoot(t), "testdata")
	files := map[string]string{"/bin/judged": guest.BuildFor(t, arch, "judged/cmd/judged", "-ldflags=-s -w"),
		"/data/samples.json":   filepath.Join(data, "samples.json"),
		"/data/judged.service": filepath.Join(data, "..", unitFile)}
	maps.Copy(files, samples(t, arch, data, chosen))
	measuring, err := filepath.Glob(filepath.Join(data, "submissions/measure/*.c"))
	if err != nil || len(measuring) == 0 {
		t.Fatalf("no programs in %s: %v", data, err)
	}
	for _, source := range measuring {
		files["/data/"+strings.TrimSuffix(filepath.Base(source), ".c")] = compile(t, source)
	}
	return files
}

// compilers build static C programs.
var compilers = map[string]func(t testing.TB, source string) string{
	"amd64": func(t testing.TB, source string) string { return testkit.CompileC(t, source, true) },
	"arm64": testkit.CompileArm64,
}

// samples compiles the samples that are static in samples.json for an architecture, or only the chosen ones.
func samples(t *testing.T, arch, data string, chosen []string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(data, "samples.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Samples []struct {
			Source, Arch string
			Static       bool
		}
	}
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, s := range list.Samples {
		if !s.Static || s.Arch != "" && s.Arch != arch || len(chosen) > 0 && !slices.Contains(chosen, s.Source) {
			continue
		}
		source := filepath.Join(data, s.Source)
		program := source
		if filepath.Ext(source) == ".c" {
			program = compilers[arch](t, source)
		}
		files["/data/"+strings.TrimSuffix(s.Source, filepath.Ext(s.Source))] = program
	}
	return files
}

// watchSources reads the sources that the tests compile, so that go test does not use a cached result after a change.
func watchSources(t *testing.T) {
	t.Helper()
	sources, err := filepath.Glob(filepath.Join(testkit.RepoRoot(t), "internal/testkit/guestlab/*.go"))
	if err != nil || len(sources) == 0 {
		t.Fatalf("find the tests for the guest: %v", err)
	}
	for _, path := range sources {
		if _, err := os.Stat(path); err != nil {
			t.Fatal(err)
		}
	}
}
