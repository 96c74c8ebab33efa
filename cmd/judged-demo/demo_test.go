package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/sandbox/initproc"
	"judged/internal/testkit"
)

// stageSet is the environment of a demo under test.
type stageSet struct {
	judged  string
	samples string
	temp    string // its TMPDIR, empty before and after
	exited  chan error
	out     bytes.Buffer // until it has exited, as err
	err     bytes.Buffer
}

func newStageSet(t *testing.T) *stageSet {
	t.Helper()
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.StaticGCC)
	s := &stageSet{judged: filepath.Join(t.TempDir(), "judged"), temp: t.TempDir()}
	s.samples = filepath.Join(testkit.RepoRoot(t), "testdata", "samples.json")
	build := exec.Command("go", "build", "-o", s.judged, "judged/cmd/judged")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // without an embedded judged-init the binary must be static
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build judged: %v\n%s", err, text)
	}
	testkit.HoldHostCPUs(t)
	return s
}

func (s *stageSet) start(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"-judged", s.judged, "-samples", s.samples}, args...)...)
	cmd.Env = append(os.Environ(), asDemo+"=1", "TMPDIR="+s.temp)
	cmd.Stdout, cmd.Stderr = &s.out, &s.err
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.exited = make(chan error, 1)
	go func() { s.exited <- cmd.Wait() }()
	return cmd
}

func (s *stageSet) wait(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	var exit *exec.ExitError
	if err := <-s.exited; err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(s.temp, "*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(left) > 0 {
		t.Errorf("files left behind: %q", left)
	}
	return cmd.ProcessState.ExitCode()
}

func TestDemo(t *testing.T) {
	s := newStageSet(t)
	if code := s.wait(t, s.start(t, "-repeats", "3")); code != exitYes || s.err.Len() > 0 {
		t.Fatalf("exit code %d, want %d\n%s\n%s", code, exitYes, &s.out, &s.err)
	}
	expected, judged := s.verdicts(t)
	if diff := cmp.Diff(expected, judged); diff != "" {
		t.Errorf("verdicts -expected +judged\n%s", diff)
	}
	want := []string{"AC", "BAD", "ILE", "MLE", "OLE", "RTE", "SV", "TLE", "WA", "WTL"}
	if diff := cmp.Diff(want, slices.Compact(slices.Sorted(slices.Values(judged)))); diff != "" {
		t.Errorf("verdicts that the demo shows -want +got\n%s", diff)
	}
	for _, text := range []string{"http://127.0.0.1:", `judged_runs_total{verdict="`, "nothing is left"} {
		if !strings.Contains(s.out.String(), text) {
			t.Errorf("output lacks %q:\n%s", text, &s.out)
		}
	}
	report := s.report(t)
	if len(report.Tests) != 1 || len(report.Tests[0].Runs) != 3 || report.Verdict != api.Accepted {
		t.Errorf("saved report: verdict %s, tests %+v; want AC of one test with 3 runs", report.Verdict, report.Tests)
	}
}

// verdicts reads the table's columns EXPECTED and VERDICT.
func (s *stageSet) verdicts(t *testing.T) (expected, judged []string) {
	t.Helper()
	row := regexp.MustCompile(`(?m)^(?:sum|mean|measure)/\S+(?: \S+)*  +([A-Z]+)  +([A-Z]+)  `)
	for _, m := range row.FindAllStringSubmatch(s.out.String(), -1) {
		expected, judged = append(expected, m[1]), append(judged, m[2])
	}
	return expected, judged
}

func (s *stageSet) report(t *testing.T) api.Report {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(filepath.Dir(s.judged), "demo-report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r api.Report
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestDemoTellsWrongVerdict(t *testing.T) {
	s := newStageSet(t)
	s.samples = wrongSamples(t, filepath.Dir(s.samples))
	if code := s.wait(t, s.start(t, "-repeats", "1")); code != exitNo {
		t.Errorf("exit code %d, want %d\n%s", code, exitNo, &s.err)
	}
	for _, text := range []string{"not as expected: wrong: verdict: want WA, got AC", "1 of 2 as expected",
		"nothing is left"} {
		if !strings.Contains(s.out.String(), text) {
			t.Errorf("output lacks %q:\n%s", text, &s.out)
		}
	}
}

// TestDemoFleet kills a front and finds the slow judge, like make demo-fleet.
func TestDemoFleet(t *testing.T) {
	testkit.Need(t, testkit.Postgres)
	s := newStageSet(t)
	if err := os.Chmod(filepath.Dir(s.temp), 0o711); err != nil { // PostgreSQL runs as another user
		t.Fatal(err)
	}
	if code := s.wait(t, s.start(t, "-fleet", "300")); code != exitYes || s.err.Len() > 0 {
		t.Fatalf("exit code %d, want %d\n%s\n%s", code, exitYes, &s.out, &s.err)
	}
	for _, text := range []string{"The judges are simulated", "front-1 was killed",
		"300 of 300 jobs are finished, each once", "judge-2 deviates", "nothing is left"} {
		if !strings.Contains(s.out.String(), text) {
			t.Errorf("output lacks %q:\n%s", text, &s.out)
		}
	}
	picture, err := os.ReadFile(filepath.Join(filepath.Dir(s.judged), "demo-fleet.svg"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"<svg", "judge-1", "judge-2", "judge-3"} {
		if !bytes.Contains(picture, []byte(text)) {
			t.Errorf("the picture lacks %q", text)
		}
	}
}

// wrongSamples writes a samples.json that expects the wrong verdict for a correct program.
func wrongSamples(t *testing.T, testdata string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"problems", "submissions"} {
		if err := os.Symlink(filepath.Join(testdata, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	text := `{"compile": ["-O2"], "samples": [{"name": "wrong", "source": "submissions/sum/AC-sum.c", "problem": "problems/sum",
		"verdict": "WA", "static": true, "checker": "tokens", "demo": true}]}`
	path := filepath.Join(dir, "samples.json")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestDemoInterrupted interrupts the demo while jobs are judged.
func TestDemoInterrupted(t *testing.T) {
	s := newStageSet(t)
	cmd := s.start(t)
	testkit.WaitFor(t, 2*time.Minute, "jobs to be submitted", func() bool {
		if len(s.exited) > 0 {
			t.Fatalf("exit code %d before that\n%s\n%s", s.wait(t, cmd), &s.out, &s.err)
		}
		blobs, err := filepath.Glob(filepath.Join(s.temp, "judged-demo-*", "data", "blobs", "*", "*"))
		return err == nil && len(blobs) >= 12
	})
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := s.wait(t, cmd); code != exitFault {
		t.Errorf("exit code %d, want %d", code, exitFault)
	}
	if got, want := s.err.String(), "judged-demo: interrupted\n"; got != want {
		t.Errorf("stderr %q, want %q", got, want)
	}
	if want := "nothing is left"; !strings.Contains(s.out.String(), want) {
		t.Errorf("output lacks %q:\n%s", want, &s.out)
	}
}

func TestUsage(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.GCC)
	known := filepath.Join(testkit.RepoRoot(t), "testdata", "samples.json")
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"no judged", []string{"-judged", "none/judged", "-samples", known},
			"judged-demo: find judged: stat none/judged: no such file or directory; build it with make build, or name " +
				"it with -judged\n"},
		{"no samples", []string{"-judged", os.Args[0], "-samples", "none.json"},
			"judged-demo: read samples: open none.json: no such file or directory; name testdata/samples.json of the " +
				"repository\n"},
		{"no repeats", []string{"-judged", os.Args[0], "-samples", known, "-repeats", "0"},
			"judged-demo: read -repeats 0: want at least 1\n"},
		{"no jobs", []string{"-judged", os.Args[0], "-fleet", "-1"}, "judged-demo: read -fleet -1: want at least 1\n"},
		{"arguments", []string{"x"}, "judged-demo: read arguments: want none, got [\"x\"]; see judged-demo -help\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			if code := run(t.Context(), tt.args, &out, &errOut); code != exitUsage {
				t.Errorf("exit code %d, want %d", code, exitUsage)
			}
			if diff := cmp.Diff(tt.want, errOut.String()); diff != "" {
				t.Errorf("stderr -want +got\n%s", diff)
			}
		})
	}
}

func TestLargestSeries(t *testing.T) {
	text := "# HELP a x\n# TYPE a counter\na{b=\"1 2\"} 3\na{b=\"2\"} 4\na{b=\"3\"} 1\nc 0\n"
	got, err := largestSeries(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"a": `a{b="2"} 4`, "c": "c 0"}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if _, err := largestSeries(strings.NewReader("a b\n")); err == nil {
		t.Error("a value that is no number was taken")
	}
}

// TestPlan checks that samples.json marks the samples that the demo needs.
func TestPlan(t *testing.T) {
	p, err := newPlan(filepath.Join(testkit.RepoRoot(t), "testdata", "samples.json"), 7)
	if err != nil {
		t.Fatal(err)
	}
	last := p.items[len(p.items)-1]
	if diff := cmp.Diff(api.Repeats{Min: 7, Max: 7}, last.job.Repeats); diff != "" ||
		last.sample.Name != "measure/sieve" {
		t.Errorf("last is %q, repeats -want +got\n%s", last.sample.Name, diff)
	}
	python := slices.ContainsFunc(p.items, func(it *item) bool { return slices.Contains(it.sample.Needs, "python") })
	_, found := initproc.Find("python3")
	if left := len(p.withoutPython) > 0; python == left || left == found {
		t.Errorf("with Python samples: %t, left out: %q, python3 in the sandbox: %t", python, p.withoutPython, found)
	}
}
