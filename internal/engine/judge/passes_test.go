package judge_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/engine"
	"judged/internal/testkit"
)

// shell writes a shell script and returns it as a file of a job.
func shell(t *testing.T, body string) api.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o755); err != nil {
		t.Fatal(err)
	}
	return api.File{Part: path}
}

// count is the start of a checker: n is the number of the pass.
const count = `echo >> $3/passes; n=$(wc -l < $3/passes); read in < $1; read out; echo "$n: $in, $out" >> $3/judgemessage.txt
`

// TestPasses checks which pass decides, and what the checker can pass to the next one.
func TestPasses(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	limits := engine.JuryLimits(config.Default().Limits.Jury)
	limits.Output = 1 << 20
	eng := openTalkEngine(t, limits)
	const echo, again = `read x; echo "$x!"`, count + `[ $n -lt 3 ] && echo pass $((n + 1)) > $3/nextpass.in; exit 42`
	for _, tt := range []struct {
		name, program, checker string
		verdicts               []api.Verdict // verdicts of the passes
		message                string
		pass                   int // the deciding pass; 0 is not checked
	}{
		{"three passes", echo, again, []api.Verdict{api.Accepted, api.Accepted, api.Accepted},
			"1: one, one!\n2: pass 2, pass 2!\n3: pass 3, pass 3!", 0},
		{"one pass is enough", echo, count + `exit 42`, []api.Verdict{api.Accepted}, "1: one, one!", 1},
		{"empty input", `read x; echo "${x:-nothing}"`, count + `[ $n -lt 2 ] && : > $3/nextpass.in; exit 42`,
			[]api.Verdict{api.Accepted, api.Accepted}, "1: one, one\n2: , nothing", 0},
		{"rejected in the first pass", echo, count + `exit 43`, []api.Verdict{api.WrongAnswer}, "1: one, one!", 1},
		{"rejected in the second pass", echo, count + `[ $n = 2 ] && exit 43; echo two > $3/nextpass.in; exit 42`,
			[]api.Verdict{api.Accepted, api.WrongAnswer}, "1: one, one!\n2: two, two!", 2},
		{"crash in the second pass", `read x; [ "$x" = one ] || exit 3; echo ok`, again,
			[]api.Verdict{api.Accepted, api.RuntimeError}, "", 2},
		{"too slow in the second pass", `read x; while [ "$x" != one ]; do :; done; echo ok`, again,
			[]api.Verdict{api.Accepted, api.TimeLimit}, "", 2},
		{"folders, links and modes", echo, count + `[ $n = 2 ] && { [ "$(cat $3/a/b)" = deep ] && [ ! -e $3/c ] && ` +
			`[ ! -L $3/c ] && echo x >> $3/d && exit 42; exit 43; }
mkdir $3/a; echo deep > $3/a/b; ln -s /etc/passwd $3/c; echo d > $3/d; chmod 0 $3/d; echo two > $3/nextpass.in; exit 42`,
			[]api.Verdict{api.Accepted, api.Accepted}, "1: one, one!\n2: two, two!", 0},

		{"too many passes", echo, count + `echo more > $3/nextpass.in; exit 42`,
			[]api.Verdict{api.Accepted, api.Accepted, api.InternalError},
			"icpc checker: asks for pass 4; the problem allows 3, its validation_passes", 3},
		{"rejected with an input", echo, `echo two > $3/nextpass.in; exit 43`, []api.Verdict{api.InternalError},
			"icpc checker: wrote nextpass.in and exited with status 43; the format allows this only with status 42", 1},
		{"link", echo, `ln -s $2 $3/nextpass.in; exit 42`, []api.Verdict{api.InternalError},
			"icpc checker: wrote nextpass.in, which is not a regular file", 1},
		{"named pipe", echo, `mkfifo $3/nextpass.in; exit 42`, []api.Verdict{api.InternalError},
			"icpc checker: wrote nextpass.in, which is not a regular file", 1},
		{"folder", echo, `mkdir $3/nextpass.in; exit 42`, []api.Verdict{api.InternalError},
			"icpc checker: wrote nextpass.in, which is not a regular file", 1},
		{"huge", echo, `trap '' XFSZ; head -c 2M /dev/zero 2>/dev/null > $3/nextpass.in; exit 42`, []api.Verdict{api.InternalError},
			"icpc checker: wrote more than 1MiB to nextpass.in, the value of limits.jury.output", 1},
		{"feedback with holes", echo, `[ -e $3/h1 ] && exit 42; for i in $(seq 200); do truncate -s 1M $3/h$i; done; ` +
			`echo two > $3/nextpass.in; exit 42`, []api.Verdict{api.Accepted, api.InternalError},
			"icpc checker: left files in its feedback folder that cannot be copied for the next pass; write fewer and " +
				"smaller ones", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checker := shell(t, tt.checker)
			r := judgeTalk(t, eng, api.Job{Program: shell(t, tt.program), Passes: 3,
				Tests:   []api.Test{{Name: "1", Input: &api.File{Part: written(t, "one\n")}}},
				Checker: &api.Checker{Kind: "icpc", Program: &checker},
				Limits:  api.Limits{CPUTimeMS: 3000, WallTimeMS: 60_000}, Repeats: api.Repeats{Policy: api.Single}})
			got := r.Tests[0]
			var verdicts []api.Verdict
			for _, p := range got.Passes {
				verdicts = append(verdicts, p.Verdict)
				if p.CPUTime == nil || p.Timing == nil || len(p.Runs) == 0 {
					t.Errorf("a pass without times: %+v", p)
				}
			}
			if diff := cmp.Diff(tt.verdicts, verdicts); diff != "" || r.Verdict != verdicts[len(verdicts)-1] {
				t.Fatalf("verdict %s, of passes (-want +got):\n%s%s", r.Verdict, diff, tell(r))
			}
			message := ""
			if got.Checker != nil {
				message = got.Checker.Message
			}
			if diff := cmp.Diff(tt.message, message); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
			if r.Verdict == api.InternalError && got.Message != tt.message {
				t.Errorf("message %q, want %q", got.Message, tt.message)
			}
			if tt.pass != 0 && got.Pass != tt.pass {
				t.Errorf("pass %d decided, want %d", got.Pass, tt.pass)
			}
		})
	}
}

// TestPassesOfOneRun: each run of a pass gets the files of the checker from the same run of the previous pass, even if
// the runs of the program differ.
func TestPassesOfOneRun(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	eng := openTalkEngine(t, engine.JuryLimits(config.Default().Limits.Jury))
	checker := shell(t, `read out; [ -e $3/word ] || {
echo $out > $3/word; echo again $out > $3/nextpass.in; exit 42; }
read again in < $1; read word < $3/word; [ $word = $in ] && [ $word = $out ] && exit 42; exit 43`)
	r := judgeTalk(t, eng, api.Job{Passes: 2,
		Program: shell(t, `read first word; [ $first = again ] || word=$(od -An -N8 -tx8 /dev/urandom); echo $word`),
		Tests:   []api.Test{{Name: "1", Input: &api.File{Part: written(t, "start\n")}}},
		Checker: &api.Checker{Kind: "icpc", Program: &checker}, Repeats: api.Repeats{Min: 4, Max: 4}})
	if r.Verdict != api.Accepted || len(r.Tests[0].Passes) != 2 || len(r.Tests[0].Passes[1].Runs) < 4 {
		t.Fatalf("verdict %s of %d passes: %s", r.Verdict, len(r.Tests[0].Passes), tell(r))
	}
	if *r.Deterministic {
		t.Error("runs with different outputs are called deterministic")
	}
	if n := openFolders(t); n > 0 {
		t.Errorf("%d feedback folders are still open", n)
	}
}

// openFolders returns the number of open descriptors of feedback folders.
func openFolders(t *testing.T) (n int) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err == nil && filepath.Base(target) == "feedback" { // the descriptor of this listing is closed
			n++
		}
	}
	return n
}

// TestPassesSlowest: if no pass has failed, the members of a test are those of its slowest pass, except for the memory.
func TestPassesSlowest(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	eng := openTalkEngine(t, engine.JuryLimits(config.Default().Limits.Jury))
	checker := shell(t, count+`[ $n -lt 3 ] && echo $n > $3/nextpass.in; exit 42`)
	r := judgeTalk(t, eng, api.Job{Passes: 3,
		Program: shell(t, `read x; [ $x != 1 ] || { i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; }
[ $x != 2 ] || y=$(head -c 4000000 /dev/zero | tr '\0' y); echo $x`),
		Tests:   []api.Test{{Name: "1", Input: &api.File{Part: written(t, "0\n")}}},
		Checker: &api.Checker{Kind: "icpc", Program: &checker}, Repeats: api.Repeats{Policy: api.Single}})
	got := r.Tests[0]
	if r.Verdict != api.Accepted || got.Pass != 2 || len(got.Passes) != 3 {
		t.Fatalf("verdict %s, pass %d: %s", r.Verdict, got.Pass, tell(r))
	}
	if peak := got.Passes[2].MemoryPeak; peak != nil && *got.MemoryPeak != *peak {
		t.Errorf("memory %s, and %s in the third pass", *got.MemoryPeak, *peak)
	}
	for i, p := range got.Passes {
		if *p.CPUTime > *r.CPUTime || i == 1 && *p.CPUTime != *r.CPUTime {
			t.Errorf("pass %d: %s, and the test %s", i+1, *p.CPUTime, *r.CPUTime)
		}
	}
}

// TestPassesInteractive: an interactor requests another pass.
func TestPassesInteractive(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	eng := openTalkEngine(t, engine.JuryLimits(config.Default().Limits.Jury))
	const interactor = `read in < $1; echo $in; read said; echo $in $said >> $3/judgemessage.txt
[ $in = done ] && exit 42; [ $in = one ] && echo LAST > $3/nextpass.in; exit STATUS`
	for _, tt := range []struct {
		name, last, status, message string
		verdict                     api.Verdict
	}{
		{"accepted", "done", "42", "one heard one\ndone heard done", api.Accepted},
		{"rejected with an input", "done", "43",
			"icpc interactor: wrote nextpass.in and exited with status 43; the format " +
				"allows this only with status 42", api.InternalError},
		{"too many passes", "one", "42", "icpc interactor: asks for pass 3; the problem allows 2, its validation_passes",
			api.InternalError},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := judgeTalk(t, eng, api.Job{Program: shell(t, `read x; echo heard $x`), Passes: 2,
				Tests: []api.Test{{Name: "1", Input: &api.File{Part: written(t, "one\n")}}},
				Interactor: &api.Interactor{Kind: "icpc",
					Program: shell(t, strings.NewReplacer("LAST", tt.last, "STATUS", tt.status).Replace(interactor))},
				Limits: api.Limits{CPUTimeMS: 20_000, WallTimeMS: 60_000}, Repeats: api.Repeats{Policy: api.Single}})
			if got := r.Tests[0].Checker; r.Verdict != tt.verdict || got == nil || got.Message != tt.message {
				t.Errorf("verdict %s, want %s: %+v %s", r.Verdict, tt.verdict, got, tell(r))
			}
		})
	}
}
