package judge_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/engine"
	"judged/internal/testkit"
)

// TestNamedFiles judges shell scripts that read and write files instead of stdin and stdout.
func TestNamedFiles(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	eng := openTalkEngine(t, engine.JuryLimits(config.Default().Limits.Jury))
	dir := t.TempDir()
	input, answer := filepath.Join(dir, "input"), filepath.Join(dir, "answer")
	for _, name := range []string{input, answer} {
		if err := os.WriteFile(name, []byte("1 2\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const both, missing, empty = "in out", `"out" is missing`, `"out" is empty; token 1, offset 0: output ends, answer "1"`
	type result struct {
		Verdict api.Verdict
		Message string
		Stdout  string
	}
	for _, tt := range []struct {
		name, files, script string
		want                result
	}{
		{"both", both, "cat in > out; echo talk", result{api.Accepted, "", "talk\n"}},
		{"input only", "in", "cat in", result{api.Accepted, "", "1 2\n"}},
		{"output only", "out", "cat > out", result{api.Accepted, "", ""}},
		{"appends", both, "echo 1 > out; echo 2 >> out", result{api.Accepted, "", ""}},
		{"writes twice", both, "echo 1 2 3 4 > out; cat in > out", result{api.Accepted, "", ""}},
		{"renames another file", both, "cat in > draft; mv draft out", result{api.Accepted, "", ""}},
		{"deletes it first", both, "rm out; cat in > out", result{api.Accepted, "", ""}},
		{"gives another file its name", both, "cat in > draft; ln draft out", result{api.Accepted, "", ""}},
		{"cannot delete the input", both, "rm -f in; cat in > out", result{api.Accepted, "", ""}},
		{"cannot replace the input", both, "echo 3 > x; mv x in; cat in > out", result{api.Accepted, "", ""}},
		{"creates the output only once", both, "set -C; cat in > out && ! echo 3 > out", result{api.Accepted, "", ""}},
		{"cannot change the input", both, "echo 3 > in; cat in > out", result{api.Accepted, "", ""}},
		{"reads the output again", both, "cat in > out; [ \"$(cat out)\" = '1 2' ]", result{api.Accepted, "", ""}},
		{"a child writes", both, "(cat in > out) & wait", result{api.Accepted, "", ""}},

		{"deletes it", both, "cat in > out; rm out", result{api.WrongAnswer, missing, ""}},
		{"stdin is empty", both, "cat > out", result{api.WrongAnswer, empty, ""}},
		{"stdout does not count", both, "cat in", result{api.WrongAnswer, missing, "1 2\n"}},
		{"wrong", both, "echo 1 3 > out", result{api.WrongAnswer, `token 2, offset 2: output "3", answer "2"`, ""}},
		{"a link to the input", both, "rm out; ln -s in out", result{api.WrongAnswer, missing, ""}},
		{"a link to a file of the host", both, "rm out; ln -s /etc/passwd out", result{api.WrongAnswer, missing, ""}},
		{"a pipe", both, "rm out; mkfifo out", result{api.WrongAnswer, missing, ""}},
		{"a folder", both, "rm out; mkdir out", result{api.WrongAnswer, missing, ""}},
		{"another working directory", both, "mv ../work ../other; mkdir ../work; echo 1 3 > ../work/out",
			result{api.WrongAnswer, `token 2, offset 2: output "3", answer "2"`, ""}},
		{"writes without end", both, "yes > out", result{api.OutputLimit, "", ""}},
		{"writes without end to its own file", both, "rm out; yes > out", result{api.OutputLimit, "", ""}},
		{"writes little to each", both, "head -c 20000 /dev/zero | tee out; head -c 20000 /dev/zero >&2",
			result{api.OutputLimit, "", ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := api.Job{Command: []string{"sh", "-c", tt.script}, Head: 64,
				Tests:   []api.Test{{Name: "1", Input: &api.File{Part: input}, Answer: &api.File{Part: answer}}},
				Limits:  api.Limits{Output: 32 << 10},
				Repeats: api.Repeats{Min: 2}}
			if tt.files != "out" {
				j.InputFile = "in"
			}
			if tt.files != "in" {
				j.OutputFile = "out"
			}
			r := judgeTalk(t, eng, j)
			got := result{Verdict: r.Verdict}
			if c := r.Tests[0].Checker; c != nil {
				got.Message = c.Message
			}
			if h := r.Tests[0].StdoutHead; h != nil && r.Verdict != api.OutputLimit {
				got.Stdout = *h
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s%s", diff, tell(r))
			}
		})
	}
}

// TestResolvedNames: runtimes find the named files also by names that they have resolved, as PHP does with all names.
func TestResolvedNames(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.Languages, testkit.Python, testkit.Node)
	eng := openTalkEngine(t, engine.JuryLimits(config.Default().Limits.Jury))
	input := api.File{Part: written(t, "1 2\n")}
	for language, source := range map[string]string{
		"php": `<?php file_put_contents("out", fgets(fopen("in", "r")));`,
		"perl": `use Cwd "realpath"; use File::Basename; my $in = realpath("in"); open(I, "<", $in) or die;
			open(O, ">", dirname($in) . "/out") or die; print O <I>;`,
		"ruby": `f = File.realpath("in"); File.write(File.dirname(f) + "/out", File.read(f))`,
		"python": "from pathlib import Path\nf = Path('in').resolve(strict=True)\n" +
			"f.with_name('out').write_text(f.read_text())",
		"javascript": `const fs = require("fs"); const f = fs.realpathSync("in");
			fs.writeFileSync(require("path").dirname(f) + "/out", fs.readFileSync(f))`,
		"java": `import java.nio.file.*; class Main { public static void main(String[] a) throws Exception {
			Path f = Path.of("in").toRealPath(); Files.copy(f, f.resolveSibling("out")); } }`,
	} {
		t.Run(language, func(t *testing.T) {
			r := judgeTalk(t, eng, api.Job{Program: api.File{Part: written(t, source)}, Language: language, InputFile: "in",
				OutputFile: "out", Tests: []api.Test{{Name: "1", Input: &input, Answer: &input}}})
			if r.Verdict != api.Accepted {
				t.Errorf("%s: %s", r.Verdict, tell(r))
			}
		})
	}
}

// TestLimitsOfTests: each test has its own limits, or those of the job.
func TestLimitsOfTests(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	eng := openTalkEngine(t, engine.JuryLimits(config.Default().Limits.Jury))
	work := []api.Test{
		{Name: "long", Limits: api.Limits{CPUTimeMS: 20_000}},
		{Name: "own output", Limits: api.Limits{Output: 1}},
		{Name: "own processes", Limits: api.Limits{Processes: 1}},
		{Name: "short"},
	}
	const script = "echo $(i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo 1)"
	r := judgeTalk(t, eng, api.Job{Command: []string{"sh", "-c", script}, Tests: work,
		Stop: api.StopNever, Limits: api.Limits{CPUTimeMS: 20}})
	got := map[string]api.Verdict{}
	for _, test := range r.Tests {
		got[test.Name] = test.Verdict
	}
	want := map[string]api.Verdict{"long": api.Accepted, "own output": api.TimeLimit, "own processes": api.RuntimeError,
		"short": api.TimeLimit}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s%s", diff, tell(r))
	}
	if limit := r.Tests[0].Timing.Limit; limit != 20*time.Second {
		t.Errorf("timing has the limit %v, want that of the test", limit)
	}
	long := api.Limits{CPUTimeMS: 20_000, WallTimeMS: 41_000, Memory: 256 << 20, Output: 64 << 20, Stack: 256 << 20,
		Processes: 64}
	if diff := cmp.Diff([]api.Limits{long, {}}, []api.Limits{r.Tests[0].Limits, r.Tests[3].Limits}); diff != "" {
		t.Errorf("limits of the report (-want +got):\n%s", diff)
	}
}

// TestSettingsOfTests: a test has its own arguments and files, and its own arguments of the checker or interactor.
func TestSettingsOfTests(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.Python)
	eng := openTalkEngine(t, engine.JuryLimits(config.Default().Limits.Jury))
	file := func(text string) api.File { return api.File{Part: written(t, text)} }
	answer := file("2.5")
	tests := []api.Test{
		{Name: "1", Args: []string{"a b", ""}, CheckerArgs: []string{"float_tolerance", "0.5"}, Answer: &answer,
			Files: map[string]api.File{"data": file("2"), "more": file("!")}},
		{Name: "2", CheckerArgs: []string{"case_sensitive"}, Answer: &answer},
		{Name: "3", Answer: &answer},
	}
	python := file("import os, sys\nprint(open('data').read())\n" +
		"print(len(sys.argv), *sys.argv[1:], os.path.exists('more'), file=sys.stderr)\n")
	script := shell(t, `cat data; test -e more; echo $(($# + 1)) "$@" $? >&2`)
	jury := shell(t, `feedback=$3; shift 3; echo "$*" > $feedback/judgemessage.txt; read x; [ $x = 2 ] && exit 42; exit 43`)
	const differs = `token 1, offset 0: output "3", answer "2.5"`
	compared := [][2]string{{"AC", ""}, {"WA", differs}, {"WA", differs}}
	judged := [][2]string{{"AC", "first float_tolerance 0.5"}, {"WA", "first case_sensitive"}, {"WA", "first"}}
	for _, tt := range []struct {
		name string
		job  api.Job
		err  [3]string
		want [][2]string // verdict, and message of the checker or interactor
	}{
		{"program", api.Job{Program: script, Checker: &api.Checker{Kind: "kattis"}},
			[3]string{"3 a b  0\n", "1 1\n", "1 1\n"}, compared},
		{"language", api.Job{Program: python, Language: "python", Checker: &api.Checker{Kind: "kattis"}},
			[3]string{"3 a b  True\n", "1 False\n", "1 False\n"}, compared},
		{"checker", api.Job{Program: script,
			Checker: &api.Checker{Kind: "icpc", Program: &jury, Args: []string{"first"}}},
			[3]string{"3 a b  0\n", "1 1\n", "1 1\n"}, judged},
		{"interactor", api.Job{Program: script,
			Interactor: &api.Interactor{Kind: "icpc", Program: jury, Args: []string{"first"}}},
			[3]string{"3 a b  0\n", "1 1\n", "1 1\n"}, judged},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.job.Tests, tt.job.Head, tt.job.Stop = tests, 64, api.StopNever
			tt.job.Files = map[string]api.File{"data": file("3")}
			r := judgeTalk(t, eng, tt.job)
			var err [3]string
			var got [][2]string
			for i, test := range r.Tests {
				err[i] = *test.StderrHead
				got = append(got, [2]string{string(test.Verdict), test.Checker.Message})
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("verdicts and messages (-want +got):\n%s%s", diff, tell(r))
			}
			if diff := cmp.Diff(tt.err, err); diff != "" {
				t.Errorf("stderr of the tests (-want +got):\n%s", diff)
			}
		})
	}
}

// TestProcessLimitIsNamed: the message names the limit of processes, because a program that cannot start a thread often
// only has an exit status.
func TestProcessLimitIsNamed(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.Python)
	eng := openTalkEngine(t, engine.JuryLimits(config.Default().Limits.Jury))
	const start = "for i in range(3): threading.Thread(target=time.sleep, args=[0.01]).start()\n"
	const imports = "import threading, time\n"
	const reached = "reached the limit of 2 processes and threads, which include threads of the runtime; Java needs 16 " +
		"or more in all"
	for _, tt := range []struct {
		name, script string
		want         [2]string // verdict and message
	}{
		{"cannot start a thread", imports + start, [2]string{"RTE", reached}},
		{"fails after a run that reached it", "raise SystemExit(1)", [2]string{"RTE", ""}},
		{"does without", imports + "try:\n  " + start + "except RuntimeError: pass", [2]string{"AC", ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := judgeTalk(t, eng, api.Job{Command: []string{"python3", "-c", tt.script},
				Limits: api.Limits{Processes: 2},
				Tests:  []api.Test{{Name: "1"}}})
			if diff := cmp.Diff(tt.want, [2]string{string(r.Verdict), r.Tests[0].Message}); diff != "" {
				t.Errorf("-want +got\n%s%s", diff, tell(r))
			}
		})
	}
}

// TestNamedOutputIsNoMemory writes more than the memory limit to a named output file.
func TestNamedOutputIsNoMemory(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	eng := openTalkEngine(t, engine.JuryLimits(config.Default().Limits.Jury))
	limits := api.Limits{CPUTimeMS: 20_000, Memory: 16 << 20, Output: 64 << 20}
	r := judgeTalk(t, eng, api.Job{Command: []string{"head", "-c", "40000000", "/dev/zero"}, OutputFile: "out",
		Tests: []api.Test{{Name: "1"}}, Limits: limits})
	if r.Verdict != api.Accepted {
		t.Fatalf("to stdout: %s: %s", r.Verdict, tell(r))
	}
	r = judgeTalk(t, eng, api.Job{Command: []string{"sh", "-c", "head -c 40000000 /dev/zero > out"}, OutputFile: "out",
		Tests: []api.Test{{Name: "1"}}, Limits: limits})
	if p := r.MemoryPeak; r.Verdict != api.Accepted || p != nil && *p > 8<<20 {
		t.Fatalf("to the file: %s: %s", r.Verdict, tell(r))
	}
}

// TestMissingOutputIsNotChecked: a checker that fails on an empty file, or accepts it, does not get the output of a program
// that has created none.
func TestMissingOutputIsNotChecked(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	eng := openTalkEngine(t, engine.JuryLimits(config.Default().Limits.Jury))
	empty := api.File{Part: written(t, "")}
	fails, accepts := shell(t, `[ -s "$2" ] || exit 3`), shell(t, "exit 0")
	for _, tt := range []struct {
		name    string
		checker *api.Checker
		want    api.Verdict
	}{
		{"fails", &api.Checker{Kind: "testlib", Program: &fails}, api.PresentationError},
		{"accepts", &api.Checker{Kind: "testlib", Program: &accepts}, api.PresentationError},
		{"accepts, of another kind", &api.Checker{Kind: "cms", Program: &accepts}, api.WrongAnswer},
		{"compares", nil, api.WrongAnswer},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := judgeTalk(t, eng, api.Job{Command: []string{"true"}, OutputFile: "out", Checker: tt.checker,
				Tests: []api.Test{{Name: "1", Answer: &empty}}})
			if got := r.Tests[0].Checker; r.Verdict != tt.want || got == nil || got.Message != `"out" is missing` {
				t.Errorf("%s %+v: %s", r.Verdict, got, tell(r))
			}
		})
	}
}
