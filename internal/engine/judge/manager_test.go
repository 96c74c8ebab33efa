package judge_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/engine"
	"judged/internal/testkit"
)

// managed is a test of a manager with two instances of a program.
type managed struct {
	name, program, manager string
	verdict                api.Verdict
	message                string // message of the manager; noCheck if it is not waited for
	exits                  string // exits of the instances: a status, a signal, or - for one that did not end by itself
}

const noCheck = "-"

// TestManager: a CMS manager communicates with several instances, and the first one that fails decides.
func TestManager(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.StaticGCC)
	checkManaged(t, []managed{
		{"accepted", "0:say=a|hear|1:say=b",
			"want=0:a|say=0:x|say=1:x|want=1:b|end=0|end=1|score=1|err=translate:success",
			api.Accepted, "Output is correct", "0 0"},
		{"partial", "say=a", "hear=0|hear=1|score=0.5|err=half", api.Partial, "half", "0 0"},
		{"wrong", "0:say=a|1:say=c", "want=0:a|want=1:b|score=1", api.WrongAnswer, `instance 1 said "c"`, "0 0"},
		{"one after the other", "say=a|hear", "hear=0|say=0:x|end=0|close=0|hear=1|say=1:x|end=1|score=1",
			api.Accepted, "", "0 0"},
		{"the input", "end", "input=7 8\n|say=0:x|close=0|say=1:x|close=1|score=1", api.Accepted, "", "0 0"},
		{"rejected without the second", "say=a", "want=0:b", api.WrongAnswer, `instance 0 said "a"`, "0 -"},
		{"end before it is heard", "say=a|exit=0", "all|end=1|want=0:a|score=1", api.Accepted, "", "0 0"},
		{"writes after the end", "hear|0:say=a|0:end|0:say=b|0:say=c", "say=0:x|hear=0|say=1:y|score=1", api.Accepted, "",
			"* 0"}, // SIGPIPE, unless it writes while the manager is exiting

		{"one computes", "1:spin|hear", "all|hear=0|score=1", api.TimeLimit, noCheck, "* *"},
		{"one crashes", "1:kill=11|hear", "all|hear=0|score=1", api.RuntimeError, noCheck, "- SIGSEGV"},
		{"one fails by the other's crash", "0:kill=11|hear|exit=3", "all|hear=0|say=1:x|end=1|score=1",
			api.RuntimeError, noCheck, "SIGSEGV *"},
		{"one fails", "0:exit=3|hear", "all|hear=1|score=1", api.RuntimeError, noCheck, "3 -"},
		{"both wait", "hear", "all|hear=0|score=1", api.IdlenessLimit, noCheck, "* *"},
		{"crashes after it was accepted", "end|0:kill=11", "all|score=1", api.RuntimeError, "", "SIGSEGV *"},
		{"crashes after it was rejected", "end|kill=11", "all|score=0|err=no", api.WrongAnswer, "no", "* *"},
		{"computes after it was rejected", "end|0:spin", "all|score=0|err=no", api.WrongAnswer, "no", "SIGKILL *"},
		{"sleeps after it was rejected", "end|1:sleep", "all|score=0|err=no", api.WrongAnswer, "no", "0 SIGKILL"},
		{"all use too much time, one of them after it was rejected", "0:work=700|0:exit=0|end|work=400",
			"all|end=0|score=0|err=no", api.WrongAnswer, "no", "0 *"},

		{"one floods", "0:deaf|0:flood|hear", "all|drink=0|score=1", api.OutputLimit,
			"the program wrote more than its output limit to the manager", "* *"},
		{"one floods, and the manager crashes", "0:deaf|0:flood|hear", "all|hear=0|kill=11", api.OutputLimit,
			"the program wrote more than its output limit to the manager", "* *"},
		{"one closes its input", "0:close=0|0:say=a|0:end|0:sleep|hear", "hear=0|all|flood=0|score=1", api.IdlenessLimit,
			noCheck, "* *"},
		{"the manager writes to one that has ended", "0:say=a|0:exit=0|hear",
			"all|want=0:a|end=0|much=0:2000000|say=1:x|end=1|score=1", api.Accepted, "", "0 0"},
		{"the manager writes to one that crashed after its answer", "0:say=a|0:kill=11|hear",
			"all|want=0:a|end=0|much=0:2000000|sleep", api.RuntimeError, noCheck, "SIGSEGV *"},
		{"the manager writes for ever to one that has ended", "0:say=a|0:exit=0|hear", "all|end=0|flood=0|score=1",
			api.WrongAnswer, "the program ended, and the manager kept writing to it", "0 0"},
		{"one closes its output", "0:close=1|hear", "all|end=0|say=0:x|say=1:x|score=1", api.Accepted, "", "0 0"},
		{"one never reads", "0:sleep|hear", "all|flood=0|score=1", api.IdlenessLimit, noCheck, "* *"},
		{"one leaves a child behind", "0:orphan|exit=0", "all|end=0|end=1|score=1", api.Accepted, "", "0 0"},

		{"the manager sleeps", "hear", "all|sleep", api.InternalError,
			"cms manager: kept the program waiting until its wall limit; raise that limit if the manager needs " +
				"more time", "* *"},
		{"the manager sleeps after the end", "exit=0", "all|sleep", api.InternalError,
			"cms manager: did not end within 4s after the program, the value of limits.jury.wall_time", "0 0"},
		{"the manager opens nothing", "hear", "spin", api.InternalError,
			"cms manager: used 2s of CPU time, the value of limits.jury.cpu_time", "- -"},
		{"the manager gives a score and opens nothing", "hear", "score=1", api.InternalError,
			"cms manager: gave a score without opening the pipes of any instance, so the program did not run", "- -"},
		{"the manager rejects and opens nothing", "hear", "score=0", api.InternalError,
			"cms manager: gave a score without opening the pipes of any instance, so the program did not run", "- -"},
		{"the manager opens one of two", "0:say=a", "want=0:a|score=1", api.Accepted, "", "0 -"},
		{"the manager crashes", "end", "all|kill=11", api.InternalError, "cms manager: was killed by SIGSEGV", "0 0"},
		{"the manager fails", "end", "all|score=1|exit=1", api.InternalError,
			"cms manager: exited with status 1; the protocol requires 0 for every score", "0 0"},
		{"no score", "end", "all", api.InternalError,
			`cms manager: read the score in the first line of stdout: "" is not a number >= 0`, "0 0"},
	})
}

// waits reports whether the test takes as long as a wall limit, and hardly any CPU time.
func (x managed) waits() bool {
	return x.verdict == api.IdlenessLimit || x.verdict == api.InternalError && strings.HasSuffix(x.manager, "sleep")
}

func (x managed) job(t *testing.T, input string) api.Job {
	t.Helper()
	// Only a limit that decides the verdict is short.
	cpu, wall := int64(20_000), int64(60_000)
	switch {
	case x.verdict == api.TimeLimit:
		cpu = 250
	case strings.Contains(x.program, "work"):
		cpu = 1000
	case x.verdict == api.IdlenessLimit || strings.Contains(x.message, "wall"):
		wall = 2000
	}
	return api.Job{Program: api.File{Part: testkit.JuryProgram(t, "talker")},
		Command: append([]string{"{program}"}, strings.Split(x.program, "|")...),
		Tests:   []api.Test{{Name: "1", Input: &api.File{Part: input}}},
		Interactor: &api.Interactor{Kind: "cms", Program: api.File{Part: testkit.JuryProgram(t, "manager")}, Instances: 2,
			Args: strings.Split(x.manager, "|")},
		Limits:  api.Limits{CPUTimeMS: cpu, WallTimeMS: wall, Output: 32 << 10},
		Repeats: api.Repeats{Policy: api.Single}}
}

func checkManaged(t *testing.T, cases []managed) {
	jury := engine.JuryLimits(config.Default().Limits.Jury)
	jury.CPUTime, jury.WallTime = 2*time.Second, 4*time.Second
	input := written(t, "7 8\n")
	waiting := map[string]api.Job{}
	for _, x := range cases {
		if x.waits() {
			waiting[x.name] = x.job(t, input)
		}
	}
	waited := judgeAtOnce(t, openTalkEngines(t, jury, len(waiting)), waiting)
	eng := openTalkEngine(t, jury)
	for _, x := range cases {
		t.Run(x.name, func(t *testing.T) {
			r, done := waited[x.name]
			if !done {
				r = judgeTalk(t, eng, x.job(t, input))
			}
			test := r.Tests[0]
			if r.Verdict != x.verdict {
				t.Fatalf("verdict %s, want %s: %+v %s", r.Verdict, x.verdict, test.Checker, tell(r))
			}
			message := noCheck
			if test.Checker != nil {
				message = test.Checker.Message
			}
			if diff := cmp.Diff(x.message, message); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
			want := strings.Fields(x.exits)
			got := exits(test.Instances)
			for i := range min(len(want), len(got)) {
				if want[i] == "*" {
					got[i] = "*"
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("exits (-want +got):\n%s", diff)
			}
			checkSum(t, test)
		})
	}
}

func exits(instances []api.InstanceReport) (all []string) {
	for _, one := range instances {
		switch e := one.Exit; {
		case e == nil:
			all = append(all, "-")
		case e.Signal != "":
			all = append(all, e.Signal)
		default:
			all = append(all, string(rune('0'+*e.Code)))
		}
	}
	return all
}

// checkSum checks that the CPU time of a test is that of all instances, and its memory that of the largest.
func checkSum(t *testing.T, test api.TestReport) {
	t.Helper()
	var sum time.Duration
	for _, one := range test.Instances {
		sum += one.CPUTime
		if p := one.MemoryPeak; p != nil && *p > *test.MemoryPeak {
			t.Errorf("an instance used %s of memory, and all together %s", *p, *test.MemoryPeak)
		}
	}
	if diff := cmp.Diff(sum, *test.CPUTime); diff != "" {
		t.Errorf("sum of the CPU times (-want +got):\n%s", diff)
	}
}
