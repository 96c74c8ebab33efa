package samples

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/units"
	"judged/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Run(m)) }

// testdata returns the testdata folder of the repository, which contains the problems.
func testdata(t *testing.T) string { return filepath.Join(testkit.RepoRoot(t), "testdata") }

func TestParse(t *testing.T) {
	dir := testdata(t)
	set, err := parse([]byte(`{"compile": ["-O2"], "samples": [{"name": "n", "source": "submissions/sum/AC-sum.c", "problem": "problems/mean",
		"verdict": "RTE", "static": true, "checker": "exact", "limits": {"cpu_time_ms": 5}, "repeats": {"min": 2, "max": 3, "policy": "min"},
		"command": ["{program}", "x"], "exit": {"signal": "SIGFPE"}, "memory_peak_bytes": {"min": 1, "max": 2}, "demo": true}]}`), dir)
	if err != nil {
		t.Fatal(err)
	}
	s := set.Samples[0]
	file := func(name string) *api.File { return &api.File{Part: filepath.Join(dir, "problems", "mean", name)} }
	wantJob := api.Job{
		Command: []string{"{program}", "x"}, Checker: &api.Checker{Kind: "exact"}, Limits: api.Limits{CPUTimeMS: 5},
		CPUs: 1, Repeats: api.Repeats{Min: 2, Max: 3, Policy: api.Minimum},
		Tests: []api.Test{{Name: "01-thirds", Input: file("01-thirds.in"), Answer: file("01-thirds.ans")},
			{Name: "02-large", Input: file("02-large.in"), Answer: file("02-large.ans")}},
	}
	if diff := cmp.Diff(wantJob, s.Job()); diff != "" {
		t.Errorf("job -want +got\n%s", diff)
	}
	wantWant := Want{Verdict: api.RuntimeError, Exit: &api.Exit{Signal: "SIGFPE"}, MemoryPeak: &Range{Min: 1, Max: 2}}
	if diff := cmp.Diff(wantWant, s.Want); diff != "" {
		t.Errorf("want -want +got\n%s", diff)
	}
}

func TestParseRefuses(t *testing.T) {
	const good = `"source": "a.c", "problem": "problems/sum", "verdict": "AC"`
	tests := []struct{ name, text, want string }{
		{"unknown key", `{"samples": [], "flags": []}`, `unknown field "flags"`},
		{"unknown key of a sample", `{"samples": [{"name": "a", "timeout": 1}]}`, `unknown field "timeout"`},
		{"none", `{"samples": []}`, "it has no samples; add one"},
		{"more", `{"samples": [{"name": "a", ` + good + `}]} {}`, "there is more after the object; remove it"},
		{"no name", `{"samples": [{` + good + `}]}`, `sample "": every sample needs a unique name`},
		{"a name twice", `{"samples": [{"name": "a", ` + good + `}, {"name": "a", ` + good + `}]}`,
			`sample "a": every sample needs a unique name`},
		{"no such problem", `{"samples": [{"name": "a", "problem": "problems/none"}]}`, "no such file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parse([]byte(tt.text), testdata(t))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestDifferences(t *testing.T) {
	three, peak := 3, units.Bytes(100)
	report := api.Report{Verdict: api.RuntimeError, MemoryPeak: &peak, Tests: []api.TestReport{
		{Name: "1", Verdict: api.Accepted}, {Name: "2", Verdict: api.RuntimeError, Exit: &api.Exit{Code: &three}},
		{Name: "3", Verdict: api.Skipped}}}
	tests := []struct {
		name string
		want Want
		diff []string
	}{
		{"as expected", Want{Verdict: api.RuntimeError, Exit: &api.Exit{Code: &three}, FailingTest: "2",
			MemoryPeak: &Range{100, 100}}, nil},
		{"nothing right", Want{Verdict: api.Accepted, Exit: &api.Exit{Signal: "SIGFPE"}, FailingTest: "1",
			MemoryPeak: &Range{101, 200}}, []string{
			"verdict: want AC, got RTE", "failing test: want 1, got 2", "exit: want signal SIGFPE, got code 3",
			"memory peak: want 101 to 200 bytes, got 100"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.diff, tt.want.Differences(report)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestBuild(t *testing.T) {
	testkit.Need(t, testkit.GCC, testkit.StaticGCC)
	dir := t.TempDir()
	build := func(s Sample) string {
		t.Helper()
		s.Source = filepath.Join(testdata(t), "submissions", "sum", s.Source)
		if err := s.Build(t.Context(), []string{"-O2"}, dir); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(s.Program)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o755 {
			t.Errorf("mode of %s: %v, want 0755", s.Program, info.Mode())
		}
		return s.Program
	}
	static := build(Sample{Source: "AC-sum.c", Static: true})
	if again := build(Sample{Source: "AC-sum.c", Static: true, Name: "other"}); again != static {
		t.Errorf("the same program was built twice: %s and %s", static, again)
	}
	if dynamic := build(Sample{Source: "AC-sum.c"}); dynamic == static {
		t.Errorf("static and dynamic are one: %s", static)
	}
	build(Sample{Source: "AC-sum.py"})
	bad := Sample{Name: "bad", Source: filepath.Join(testdata(t), "none.c")}
	if err := bad.Build(t.Context(), nil, dir); err == nil ||
		!strings.Contains(err.Error(), `build sample "bad": run gcc`) {
		t.Errorf("build of a missing source: %v", err)
	}
}
