package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"judged/internal/testkit"
	"judged/internal/testkit/guest"
)

// inTheGuest are the tests that run beside judged on the guest's own kernel.
const inTheGuest = "judged/cmd/judged/testdata/guestlab"

// isolation reserves the CPUs of NUMA node 1.
const isolation = "isolcpus=2,3 nohz_full=2,3 rcu_nocbs=2,3 tsc=reliable"

func TestGuestIsolated(t *testing.T) {
	guest.GoTest(t, guest.Config{Append: isolation, NUMA: true, Files: shipment(t, "amd64"), Dirs: problems(t), Timeout: 3 * time.Minute},
		inTheGuest, "^TestIsolated")
}

func TestGuestWithoutIsolation(t *testing.T) {
	guest.GoTest(t, guest.Config{NUMA: true, Files: shipment(t, "amd64"), Dirs: problems(t), Timeout: 2 * time.Minute}, inTheGuest, "^TestPlain")
}

// TestGuestSMT has two cores of two threads in each socket: CPUs 0 and 1 are
// siblings, and so on.
func TestGuestSMT(t *testing.T) {
	guest.GoTest(t, guest.Config{Append: "isolcpus=4-7 nohz_full=4-7", NUMA: true, Sockets: 2, Cores: 2, Threads: 2,
		Files: shipment(t, "amd64"), Dirs: problems(t), Timeout: time.Minute}, inTheGuest, "^TestSMT")
}

// TestGuestArm64 asks for the most delicate of it on the other architecture.
// With "^TestIsolatedVerdicts$" it judges all samples, which takes minutes.
func TestGuestArm64(t *testing.T) {
	guest.GoTest(t, guest.Config{Arch: "arm64", Append: "isolcpus=2,3 nohz_full=2,3 rcu_nocbs=2,3", NUMA: true,
		Files: shipment(t, "arm64"), Dirs: problems(t), Timeout: 3 * time.Minute}, inTheGuest, "^TestIsolatedLimit$")
}

func problems(t *testing.T) map[string]string {
	return map[string]string{"/data/problems": filepath.Join(testkit.RepoRoot(t), "testdata/problems")}
}

// shipment is judged and the programs that it judges, all static.
func shipment(t *testing.T, arch string) map[string]string {
	t.Helper()
	compile := compilers[arch]
	watchSources(t)
	data := filepath.Join(testkit.RepoRoot(t), "testdata")
	files := map[string]string{"/bin/judged": guest.BuildFor(t, arch, "judged/cmd/judged", "-ldflags=-s -w"), "/data/samples.json": filepath.Join(data, "samples.json"),
		"/data/judged.service": filepath.Join(data, "..", unitFile)}
	maps.Copy(files, samples(t, arch, data))
	measuring, err := filepath.Glob(filepath.Join(data, "submissions/measure/*.c"))
	if err != nil || len(measuring) == 0 {
		t.Fatalf("no programs in %s: %v", data, err)
	}
	for _, source := range measuring {
		files["/data/"+strings.TrimSuffix(filepath.Base(source), ".c")] = compile(t, source)
	}
	return files
}

// compilers make static programs of C.
var compilers = map[string]func(t testing.TB, source string) string{
	"amd64": func(t testing.TB, source string) string { return testkit.CompileC(t, source, true) },
	"arm64": testkit.CompileArm64,
}

// samples compiles what samples.json calls static, but for other architectures.
func samples(t *testing.T, arch, data string) map[string]string {
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
		if !s.Static || s.Arch != "" && s.Arch != arch {
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

// watchSources looks at what is compiled by the tests themselves, so that go
// test does not take an older result for this one.
func watchSources(t *testing.T) {
	t.Helper()
	sources, err := filepath.Glob("testdata/guestlab/*.go")
	if err != nil || len(sources) == 0 {
		t.Fatalf("find the tests for the guest: %v", err)
	}
	for _, path := range sources {
		if _, err := os.Stat(path); err != nil {
			t.Fatal(err)
		}
	}
}
