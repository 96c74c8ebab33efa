package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/testkit"
)

// peer is a package that another tool of the field judges, too.
type peer struct {
	name string
	// unknown are folders that the tool treats differently, or does not see: bt passes files from one pass to the next.
	unknown []string
	// left are submissions that the tool omits: verifyproblem does not support shell scripts.
	left    []string
	ask     []string // command that shows all verdicts
	time    []string // command as setters use it, for benchmarks
	results func(output string) map[string]string
}

var (
	verifyproblem     = []string{"verifyproblem", "-p", "submissions", "-l", "info"}
	timeVerifyproblem = []string{"verifyproblem", "-p", "validators", "data", "submissions", "--"}
	allOfBT           = []string{"bt", "run", "--no-bar", "-aa", "-v"}
	timeBT            = []string{"bt", "run", "--no-bar"}
)

var peers = []peer{
	{"double", []string{"data/valid_output", "data/invalid_output", "data/invalid_input", "submissions/submissions.yaml",
		"submissions/compiler_error", "submissions/idleness_limit_exceeded", "submissions/memory_limit_exceeded",
		"submissions/output_limit_exceeded"}, []string{"double.sh", "status.sh", "square.sh"}, verifyproblem,
		timeVerifyproblem, tableOfGroups},
	{"share", nil, nil, verifyproblem, timeVerifyproblem, tableOfGroups},
	{"guess", nil, nil, allOfBT, timeBT, linesOfTests},
	{"relay", []string{"submissions/wrong_answer/remembers.cpp"}, nil, allOfBT, timeBT, linesOfTests},
}

// copyPackage copies the package without the files that the tool does not support.
func (p peer) copyPackage(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), p.name)
	err := os.CopyFS(dir, os.DirFS(filepath.Join(testkit.RepoRoot(t), "testdata/problems/packages", p.name)))
	for _, name := range p.unknown {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, name)))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestProblemTools also judges packages with the tools of the field: legacy packages with Kattis' verifyproblem, and
// 2025-09 packages without points with BAPCtools. All verdicts and points of groups that a tool prints must equal those
// of judged.
func TestProblemTools(t *testing.T) {
	testkit.Need(t, testkit.Time, testkit.Root, testkit.Cgroup, testkit.Python, testkit.StaticGCC, testkit.ProblemTools)
	for _, tt := range peers {
		t.Run(tt.name, func(t *testing.T) {
			dir := tt.copyPackage(t)
			theirs := tt.results(askTool(t, dir, t.TempDir(), tt.ask))
			shortenLimit(t, dir)
			ours, submissions := askJudged(t, dir)
			for _, name := range tt.left {
				delete(submissions, name)
			}
			agreed := map[string]string{}
			for key := range theirs {
				agreed[key] = ours[key]
				name, _, _ := strings.Cut(key, " ")
				delete(submissions, name)
			}
			if diff := cmp.Diff(theirs, agreed); diff != "" {
				t.Errorf("-%s +judged\n%s", tt.ask[0], diff)
			}
			if len(submissions) > 0 {
				t.Errorf("%s does not judge %v", tt.ask[0], submissions)
			}
			t.Logf("%d verdicts", len(theirs))
		})
	}
}

// askTool returns the output of a tool for a package. It ignores the exit status, because bt requires statements. home
// is the folder for compiled programs.
func askTool(t testing.TB, dir, home string, command []string) string {
	t.Helper()
	tools, err := testkit.ProblemToolsPath()
	if err != nil {
		t.Fatal(err)
	}
	// verifyproblem runs Python with pypy3.
	bin := t.TempDir()
	if err := os.Symlink("/usr/bin/python3", filepath.Join(bin, "pypy3")); err != nil {
		t.Fatal(err)
	}
	tool := exec.CommandContext(t.Context(), filepath.Join(tools, "bin", command[0]), command[1:]...)
	if command[0] == verifyproblem[0] {
		tool.Args = append(tool.Args, dir)
	}
	tool.Dir = dir
	tool.Env = append(os.Environ(), "TMPDIR="+home, "HOME="+home, "XDG_CACHE_HOME=", "NO_COLOR=1",
		"PATH="+strings.Join([]string{bin, filepath.Join(tools, "bin"), os.Getenv("PATH")}, ":"))
	output, err := tool.CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	plain := colors.ReplaceAllString(string(output), "")
	t.Log(plain)
	return plain
}

// shortenLimit sets a time limit of 0.4 s, so that judged needs less time for endless programs, which run up to their
// limit several times.
func shortenLimit(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, "problem.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	short := timeLimit.ReplaceAll(text, []byte("  time_limit: 0.4"))
	if bytes.Equal(short, text) { // legacy packages have it in a file
		path, short = filepath.Join(dir, ".timelimit"), []byte("0.4\n")
	}
	if err := os.WriteFile(path, short, 0o644); err != nil {
		t.Fatal(err)
	}
}

var timeLimit = regexp.MustCompile(`(?m)^  time_limit: .*`)

// colors matches the escape sequences that bt writes despite NO_COLOR if CI is set.
var colors = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// tableOfGroups parses the table of verifyproblem: a column is a group with tests, and a cell is a verdict with points.
// The key of a result is "SUBMISSION GROUP"; that of the total points is "SUBMISSION".
func tableOfGroups(output string) map[string]string {
	results := map[string]string{}
	var groups []string
	_, table, _ := strings.Cut(output, "Submission results:\n")
	for line := range strings.Lines(table) {
		cells := strings.Fields(line)
		if len(cells) < 3 || strings.HasSuffix(cells[1], "ested:") {
			continue
		}
		if groups == nil {
			groups = cells[1:]
			continue
		}
		for i, cell := range cells[1:] {
			verdict, _, _ := strings.Cut(cell, ":")
			switch {
			case groups[i] == "Time" || cell == "-": // not run: verifyproblem stops at the first failure
			case groups[i] == "Pts":
				results[cells[0]] = cell
			default:
				results[cells[0]+" "+groups[i]] = verdict
			}
		}
	}
	return results
}

var lineOfTest = regexp.MustCompile(`(?m)^(\S+):\s+(AC|WA|TLE|RTE)\s.*?@ ([^\s:]+)`)

// linesOfTests parses the results of tests in the output of bt, without the number of the last pass. The key of a
// result is "SUBMISSION TEST".
func linesOfTests(output string) map[string]string {
	results := map[string]string{}
	for _, m := range lineOfTest.FindAllStringSubmatch(output, -1) {
		results[filepath.Base(m[1])+" "+m[3]] = m[2]
	}
	return results
}

// askJudged returns the results of judged verify by the keys of both tools, and the names of the submissions.
func askJudged(t *testing.T, dir string) (results map[string]string, submissions map[string]bool) {
	t.Helper()
	got := execute(t, command("verify", "--json", "--repeats", "1", "--all-tests", dir))
	var v verification
	if err := json.Unmarshal([]byte(got.stdout), &v); err != nil || got.code != 0 {
		t.Fatalf("judged verify ended with %d, %v\n%s%s", got.code, err, got.stdout, got.stderr)
	}
	results, submissions = map[string]string{}, map[string]bool{}
	for _, s := range v.Submissions {
		name := filepath.Base(s.Name)
		submissions[name] = true
		if s.Score != nil {
			results[name] = points(s.Score)
		}
		for _, g := range s.Groups {
			results[name+" "+filepath.Base(g.Name)] = groupResult(g)
		}
		for _, test := range s.Tests {
			results[name+" "+test.Name] = string(test.Verdict)
		}
	}
	return results, submissions
}

// groupResult formats the result of a group like verifyproblem, which reports a partial score as accepted.
func groupResult(g api.GroupReport) string {
	switch verdict := g.Verdict; {
	case g.Score != nil && (verdict == api.Accepted || verdict == api.Partial):
		return fmt.Sprintf("AC(%s)", points(g.Score))
	default:
		return string(verdict)
	}
}

func points(p *float64) string { return strconv.FormatFloat(*p, 'g', -1, 64) }
