package judge_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/config"
	"judged/internal/base/job"
	"judged/internal/engine"
	"judged/internal/testkit"
)

// TestNamedFiles judges shell scripts that read and write files in place of stdin and stdout.
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
	const both, missing = "in out", `"out" is missing or empty; token 1, offset 0: output ends, answer "1"`
	type result struct {
		Verdict job.Verdict
		Message string
		Stdout  string
	}
	for _, tt := range []struct {
		name, files, script string
		want                result
	}{
		{"both", both, "cat in > out; echo talk", result{job.Accepted, "", "talk\n"}},
		{"input only", "in", "cat in", result{job.Accepted, "", "1 2\n"}},
		{"output only", "out", "cat > out", result{job.Accepted, "", ""}},
		{"appends", both, "echo 1 > out; echo 2 >> out", result{job.Accepted, "", ""}},
		{"writes twice", both, "echo 1 2 3 4 > out; cat in > out", result{job.Accepted, "", ""}},
		{"renames another file", both, "cat in > draft; mv draft out", result{job.Accepted, "", ""}},
		{"deletes it first", both, "rm out; cat in > out", result{job.Accepted, "", ""}},
		{"cannot change the input", both, "echo 3 > in; cat in > out", result{job.Accepted, "", ""}},
		{"reads the output again", both, "cat in > out; [ \"$(cat out)\" = '1 2' ]", result{job.Accepted, "", ""}},
		{"a child writes", both, "(cat in > out) & wait", result{job.Accepted, "", ""}},

		{"stdin is empty", both, "cat > out", result{job.WrongAnswer, missing, ""}},
		{"stdout does not count", both, "cat in", result{job.WrongAnswer, missing, "1 2\n"}},
		{"wrong", both, "echo 1 3 > out", result{job.WrongAnswer, `token 2, offset 2: output "3", answer "2"`, ""}},
		{"a link to the input", both, "rm out; ln -s in out", result{job.WrongAnswer, missing, ""}},
		{"a link to a file of the host", both, "rm out; ln -s /etc/passwd out", result{job.WrongAnswer, missing, ""}},
		{"a pipe", both, "rm out; mkfifo out", result{job.WrongAnswer, missing, ""}},
		{"a folder", both, "rm out; mkdir out", result{job.WrongAnswer, missing, ""}},
		{"another working directory", both, "mv ../work ../other; mkdir ../work; echo 1 3 > ../work/out",
			result{job.WrongAnswer, `token 2, offset 2: output "3", answer "2"`, ""}},
		{"writes without end", both, "yes > out", result{job.OutputLimit, "", ""}},
		{"writes without end to its own file", both, "rm out; yes > out", result{job.OutputLimit, "", ""}},
		{"writes little to each", both, "head -c 20000 /dev/zero | tee out; head -c 20000 /dev/zero >&2",
			result{job.OutputLimit, "", ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := job.Job{Command: []string{"sh", "-c", tt.script}, Head: 64,
				Tests:   []job.Test{{Name: "1", Input: &job.File{Part: input}, Answer: &job.File{Part: answer}}},
				Limits:  job.Limits{Output: 32 << 10},
				Repeats: job.Repeats{Min: 2}}
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
			if h := r.Tests[0].StdoutHead; h != nil && r.Verdict != job.OutputLimit {
				got.Stdout = *h
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s%s", diff, tell(r))
			}
		})
	}
}

// TestLimitsOfTests: each test has its own limits, or those of the job.
func TestLimitsOfTests(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	eng := openTalkEngine(t, engine.JuryLimits(config.Default().Limits.Jury))
	work := []job.Test{
		{Name: "long", Limits: job.Limits{CPUTimeMS: 20_000}},
		{Name: "own output", Limits: job.Limits{Output: 1}},
		{Name: "own processes", Limits: job.Limits{Processes: 1}},
		{Name: "short"},
	}
	const script = "echo $(i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo 1)"
	r := judgeTalk(t, eng, job.Job{Command: []string{"sh", "-c", script}, Tests: work,
		Stop: job.StopNever, Limits: job.Limits{CPUTimeMS: 20}})
	got := map[string]job.Verdict{}
	for _, test := range r.Tests {
		got[test.Name] = test.Verdict
	}
	want := map[string]job.Verdict{"long": job.Accepted, "own output": job.TimeLimit, "own processes": job.RuntimeError,
		"short": job.TimeLimit}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s%s", diff, tell(r))
	}
	if limit := r.Tests[0].Timing.Limit; limit != 20*time.Second {
		t.Errorf("timing has the limit %v, want that of the test", limit)
	}
	long := job.Limits{CPUTimeMS: 20_000, WallTimeMS: 41_000, Memory: 256 << 20, Output: 64 << 20, Stack: 256 << 20,
		Processes: 64}
	if diff := cmp.Diff([]job.Limits{long, {}}, []job.Limits{r.Tests[0].Limits, r.Tests[3].Limits}); diff != "" {
		t.Errorf("limits of the report (-want +got):\n%s", diff)
	}
}

// TestProcessLimitIsNamed: a program that fails because it cannot start a thread often reports an exit status only.
func TestProcessLimitIsNamed(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.Python)
	eng := openTalkEngine(t, engine.JuryLimits(config.Default().Limits.Jury))
	const start = "for i in range(3): threading.Thread(target=time.sleep, args=[0.01]).start()\n"
	const imports = "import threading, time\n"
	const reached = "reached the limit of 2 processes and threads; runtimes start threads for themselves, Java needs 16 " +
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
			r := judgeTalk(t, eng, job.Job{Command: []string{"python3", "-c", tt.script}, Limits: job.Limits{Processes: 2},
				Tests: []job.Test{{Name: "1"}}})
			if diff := cmp.Diff(tt.want, [2]string{string(r.Verdict), r.Tests[0].Message}); diff != "" {
				t.Errorf("-want +got\n%s%s", diff, tell(r))
			}
		})
	}
}

// TestNamedOutputIsNoMemory writes more than the memory limit.
func TestNamedOutputIsNoMemory(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	eng := openTalkEngine(t, engine.JuryLimits(config.Default().Limits.Jury))
	limits := job.Limits{CPUTimeMS: 20_000, Memory: 16 << 20, Output: 64 << 20}
	r := judgeTalk(t, eng, job.Job{Command: []string{"head", "-c", "40000000", "/dev/zero"}, OutputFile: "out",
		Tests: []job.Test{{Name: "1"}}, Limits: limits})
	if r.Verdict != job.Accepted {
		t.Fatalf("to stdout: %s: %s", r.Verdict, tell(r))
	}
	r = judgeTalk(t, eng, job.Job{Command: []string{"sh", "-c", "head -c 40000000 /dev/zero > out"}, OutputFile: "out",
		Tests: []job.Test{{Name: "1"}}, Limits: limits})
	if p := r.MemoryPeak; r.Verdict != job.Accepted || p != nil && *p > 8<<20 {
		t.Fatalf("to the file: %s: %s", r.Verdict, tell(r))
	}
}
