package judge_test

import (
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/base/linux"
	"judged/internal/base/units"
	"judged/internal/engine"
	"judged/internal/engine/judge"
	"judged/internal/engine/languages"
	"judged/internal/jobs/intake"
	"judged/internal/sandbox"
	"judged/internal/testkit"
	"judged/internal/testkit/attacks"
)

// conversation is a test case for judgeTalk.
type conversation struct {
	name, program, interactor string
	kind                      string // kind of the interactor; icpc if empty
	checker                   string // arguments of a testlib checker; "" for no arguments
	verdict                   api.Verdict
	or                        api.Verdict // permitted, too
	message                   string      // of the interactor
	first                     string      // who ended first; "" is not checked
	output                    units.Bytes
}

const anyMessage = "*"

const unread = "the program ended, and the interactor kept writing to it"

// TestConversations: who ended first decides.
func TestConversations(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	const program, interactor = api.ExitProgram, api.ExitInteractor
	checkConversations(t, engine.JuryLimits(config.Default().Limits.Jury), []conversation{
		{name: "accepted", program: "hear|say=7|hear", interactor: "say=3 4|hear|judge=right|exit=42",
			verdict: api.Accepted, message: "right"},
		{name: "rejected", program: "hear|say=8|end", interactor: "say=3 4|hear|judge=wrong|exit=43",
			verdict: api.WrongAnswer, message: "wrong", first: interactor},
		{name: "rejected, then it computes for ever", program: "hear|say=8|end|spin", interactor: "say=1|hear|exit=43",
			verdict: api.WrongAnswer, first: interactor},
		{name: "rejected, then it sleeps", program: "hear|say=8|end|sleep", interactor: "say=1|hear|exit=43",
			verdict: api.WrongAnswer, first: interactor},
		{name: "rejected, then it crashes", program: "hear|say=8|end|kill=11", interactor: "say=1|hear|exit=43",
			verdict: api.WrongAnswer, first: interactor},
		{name: "rejected, then it writes", program: "hear|say=8|end|say=9|exit=0", interactor: "say=1|hear|exit=43",
			verdict: api.WrongAnswer, first: interactor},
		{name: "ends early", program: "exit=0", interactor: "deaf|hear|rest|judge=no answer|exit=43",
			verdict: api.WrongAnswer, message: "no answer", first: program},
		{name: "ends early and is accepted", program: "hear|exit=0", interactor: "say=1|end|rest|exit=42",
			verdict: api.Accepted, first: program},
		{name: "crashes early", program: "kill=11", interactor: "end|rest|exit=43", verdict: api.RuntimeError,
			first: program},
		{name: "fails early", program: "exit=3", interactor: "end|rest|exit=43", verdict: api.RuntimeError,
			first: program},
		{name: "crashes after it was accepted", program: "hear|end|kill=11", interactor: "say=1|exit=42",
			verdict: api.RuntimeError, first: interactor},
		{name: "computes after it was accepted", program: "end|spin", interactor: "say=1|exit=42",
			verdict: api.TimeLimit, first: interactor},
		{name: "sleeps after it was accepted", program: "end|sleep", interactor: "say=1|exit=42",
			verdict: api.IdlenessLimit, first: interactor},
		{name: "SIGPIPE alone", program: "end|say=1|say=2", interactor: "exit=42", verdict: api.Accepted,
			first: interactor},
		{name: "computes for ever", program: "hear|spin", interactor: "say=1|end|rest|exit=43", verdict: api.TimeLimit,
			first: program},
		{name: "both wait", program: "hear|hear", interactor: "hear|exit=43", verdict: api.IdlenessLimit,
			first: program},
		{name: "both write", program: "deaf|flood", interactor: "deaf|flood|exit=43", verdict: api.IdlenessLimit,
			message: unread, first: program},

		{name: "the program writes faster than the interactor reads", program: "deaf|much=3000000|end",
			interactor: "sip|exit=43", verdict: api.IdlenessLimit, or: api.WallTimeLimit, // if it writes at that moment
			first: program, output: 4 << 20},
		{name: "the program writes much faster than the interactor reads", program: "deaf|much=3000000|end",
			interactor: "gulp|exit=43", verdict: api.IdlenessLimit, or: api.WallTimeLimit, first: program, output: 4 << 20},

		{name: "the interactor crashes", program: "hear", interactor: "kill=11", verdict: api.InternalError,
			message: "icpc interactor: was killed by SIGSEGV"},
		{name: "the interactor exits with an unknown code", program: "hear", interactor: "exit=1",
			verdict: api.InternalError,
			message: "icpc interactor: exited with status 1; the protocol defines 42 (accept) and 43 (reject)"},

		{name: "the interactor leaves a child behind", program: "end", interactor: "orphan|exit=42",
			verdict: api.Accepted, first: interactor},
		{name: "the program leaves a child behind", program: "orphan|exit=0", interactor: "end|rest|exit=43",
			verdict: api.WrongAnswer, first: program},
		{name: "the program closes its output and keeps running", program: "close=1|end", interactor: "end|exit=43",
			verdict: api.WrongAnswer, first: interactor},
		{name: "the program closes its input", program: "close=0|say=1|end|sleep",
			interactor: "hear|say=1|say=2|exit=43", verdict: api.WrongAnswer, first: interactor},

		{name: "the program floods, and the interactor crashes", program: "deaf|flood", interactor: "hear|kill=11",
			verdict: api.OutputLimit, message: "the program wrote more than its output limit to the interactor"},
		{name: "the program reads more than limits.jury.output", program: "end", interactor: "much=9000000|exit=42",
			verdict: api.Accepted, first: interactor},
		{name: "the interactor writes after the end", program: "exit=0",
			interactor: "end|rest|say=1|much=3000000|judge=gone|exit=43", verdict: api.WrongAnswer, message: "gone",
			first: program},
		{name: "the interactor ignores SIGPIPE and writes after the end", program: "exit=0",
			interactor: "deaf|end|rest|say=1|much=3000000|judge=gone|exit=43", verdict: api.WrongAnswer, message: "gone",
			first: program},
		{name: "the interactor writes after a crash", program: "hear|kill=11",
			interactor: "say=1|end|rest|much=3000000|judge=gone|exit=43", verdict: api.RuntimeError, message: "gone",
			first: program},
		{name: "the interactor accepts, and writes after the end", program: "say=7|exit=0",
			interactor: "hear|end|rest|much=3000000|exit=42", verdict: api.Accepted, first: program},
		{name: "testlib writes after the end", kind: "testlib", program: "exit=0",
			interactor: "end|rest|much=3000000|note=wrong answer gone|exit=1", verdict: api.WrongAnswer,
			message: "wrong answer gone", first: program},
		{name: "the interactor writes for ever after the end", program: "exit=0", interactor: "end|flood",
			verdict: api.WrongAnswer, message: unread, first: program},
		{name: "the interactor writes for ever after a crash", program: "kill=11", interactor: "end|flood",
			verdict: api.RuntimeError, message: unread, first: program},
		{name: "the program sleeps, and the interactor writes for ever", program: "sleep", interactor: "flood",
			verdict: api.IdlenessLimit, message: unread, first: program},
		{name: "both open their streams by name", program: "reopen=0|reopen=1|reopen=2|hear|say=7|end",
			interactor: "reopen=0|reopen=1|reopen=2|say=1|hear|exit=42", verdict: api.Accepted},
		{name: "testlib", kind: "testlib", program: "hear|say=7|end", interactor: "say=3 4|hear|exit=0",
			verdict: api.Accepted},
		{name: "testlib with a checker", kind: "testlib", program: "hear|say=7|end",
			interactor: "say=3 4|hear|tout=7|exit=0", checker: "cat=/box/output|err= is wrong|exit=1",
			verdict: api.WrongAnswer, message: "7 is wrong"},
		{name: "testlib leaves nothing for its checker", kind: "testlib", program: "hear|say=7|end",
			interactor: "say=3 4|hear|exit=0", checker: "exit=0", verdict: api.InternalError,
			message: "the interactor accepted but wrote no output file for the checker; it must write the " +
				"file named by its second argument"},
		{name: "testlib rejects", kind: "testlib", program: "hear|say=7|end", interactor: "say=3 4|hear|tout=7|exit=1",
			checker: "exit=3", verdict: api.WrongAnswer},
	})
}

// TestJuryLimits: an interactor that exceeds one of its limits, or starts while the program computes. In a guest, whose
// CPUs take turns on one thread of the emulator, the time of the program's CPU is also charged to the interactor, which then
// exceeds its CPU time.
func TestJuryLimits(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	jury := engine.JuryLimits(config.Default().Limits.Jury)
	jury.CPUTime, jury.WallTime = 400*time.Millisecond, time.Second
	checkConversations(t, jury, []conversation{
		{name: "the program computes, and then the interactor does", program: "say=1|spin", interactor: "end|spin",
			verdict: api.TimeLimit, message: anyMessage},
		{name: "the program computes, and then the interactor writes for ever", program: "say=1|spin",
			interactor: "end|flood", verdict: api.TimeLimit, message: unread, first: api.ExitProgram},
		{name: "the interactor sleeps after the end", program: "exit=0", interactor: "sleep|exit=43",
			verdict: api.InternalError,
			message: "icpc interactor: did not end within 1s after the program, the value of limits.jury.wall_time"},
		{name: "the program computes, and then the interactor sleeps", program: "say=1|spin", interactor: "end|sleep",
			verdict: api.InternalError,
			message: "icpc interactor: did not end within 1s after the program, the value of limits.jury.wall_time"},
		{name: "the interactor computes, and then the program does", program: "end|spin", interactor: "spin",
			verdict: api.InternalError,
			message: "icpc interactor: used 400ms of CPU time, the value of limits.jury.cpu_time"},
		{name: "the interactor sleeps, and the program has written much", program: "deaf|much=3000000|end",
			interactor: "sleep|exit=43", verdict: api.InternalError, output: 4 << 20,
			message: "icpc interactor: kept the program waiting until its wall limit; raise that limit if the " +
				"interactor needs more time"},
		{name: "the interactor sleeps", program: "hear", interactor: "sleep|exit=43", verdict: api.InternalError,
			message: "icpc interactor: kept the program waiting until its wall limit; raise that limit if the " +
				"interactor needs more time"},
		// its CPU time, or the program's wall limit
		{name: "the interactor computes", program: "hear", interactor: "spin|exit=43", verdict: api.InternalError,
			message: anyMessage},
		{name: "the program floods", program: "deaf|flood", interactor: "drink|exit=42", verdict: api.OutputLimit,
			message: "the program wrote more than its output limit to the interactor"},
		{name: "the interactor writes much after the end, and computes", program: "exit=0",
			interactor: "end|much=3000000|spin", verdict: api.WrongAnswer, message: unread, first: api.ExitProgram},
	})
}

// TestRejectedAtOnce: a program that is rejected keeps the slot for no longer than it needs to exit, and runs once.
func TestRejectedAtOnce(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.StaticGCC)
	eng := openTalkEngine(t, engine.JuryLimits(config.Default().Limits.Jury))
	talker, manager := api.File{Part: testkit.JuryProgram(t, "talker")}, api.File{Part: testkit.JuryProgram(t, "manager")}
	checker := api.File{Part: testkit.JuryProgram(t, "checker")}
	reject := &api.Checker{Kind: "testlib", Program: &checker, Args: []string{"exit=1"}}
	for _, tt := range []struct {
		name, kind, interactor string
		checker                *api.Checker
		passes                 int
		verdict                api.Verdict
	}{
		{"icpc", "icpc", "exit=43", nil, 0, api.WrongAnswer},
		{"icpc crashes", "icpc", "kill=11", nil, 0, api.InternalError},
		{"icpc in one of several passes", "icpc", "exit=43", nil, 2, api.WrongAnswer},
		{"testlib", "testlib", "exit=1", nil, 0, api.WrongAnswer},
		{"testlib, and its checker rejects", "testlib", "tout=7|exit=0", reject, 0, api.WrongAnswer},
		{"testlib leaves nothing for its checker", "testlib", "exit=0", reject, 0, api.InternalError},
		{"cms", "cms", "all|score=0", nil, 0, api.WrongAnswer},
	} {
		for _, then := range []string{"spin", "sleep"} {
			t.Run(tt.name+", "+then, func(t *testing.T) {
				j := api.Job{Program: talker, Command: []string{"{program}", "end", then}, Tests: []api.Test{{Name: "1"}},
					Checker: tt.checker, Passes: tt.passes,
					Interactor: &api.Interactor{Kind: tt.kind, Program: talker, Args: strings.Split(tt.interactor, "|")},
					Limits:     api.Limits{CPUTimeMS: 60_000, WallTimeMS: 60_000}}
				if tt.kind == "cms" {
					j.Interactor.Program, j.Interactor.Instances = manager, 2
				}
				r := judgeTalk(t, eng, j)
				test := r.Tests[0]
				if r.Verdict != tt.verdict || test.Checker.FirstExit != api.ExitInteractor || len(test.Runs) != 1 {
					t.Fatalf("verdict %s of %d runs, want %s: %+v %s", r.Verdict, len(test.Runs), tt.verdict, test.Checker,
						tell(r))
				}
				if *r.WallTime > 20*time.Second {
					t.Errorf("the program ran for %s after it was rejected", *r.WallTime)
				}
			})
		}
	}
}

// waits reports whether the conversation takes as long as a wall limit, and hardly any CPU time.
func (x conversation) waits() bool {
	return x.verdict == api.IdlenessLimit || strings.HasPrefix(x.interactor, "sleep")
}

func (x conversation) job(t *testing.T) api.Job {
	t.Helper()
	talker := api.File{Part: testkit.JuryProgram(t, "talker")}
	j := api.Job{Program: talker, Command: append([]string{"{program}"}, strings.Split(x.program, "|")...),
		Tests:      []api.Test{{Name: "1"}},
		Interactor: &api.Interactor{Kind: "icpc", Program: talker, Args: strings.Split(x.interactor, "|")},
		Limits:     api.Limits{CPUTimeMS: 20_000, WallTimeMS: 3000, Output: max(x.output, 32<<10)},
		Repeats:    api.Repeats{Policy: api.Single}}
	switch x.verdict { // A guest can stall, so only a limit that decides the verdict is short.
	case api.InternalError: // of an interactor that waits for a program that computes
		j.Limits.CPUTimeMS = 500
	case api.TimeLimit:
		j.Limits.CPUTimeMS, j.Limits.WallTimeMS = 500, 60_000
	case api.Accepted, api.WrongAnswer, api.RuntimeError, api.OutputLimit:
		j.Limits.WallTimeMS = 60_000
	}
	if x.kind != "" {
		j.Interactor.Kind = x.kind
	}
	if x.checker != "" {
		j.Checker = &api.Checker{Kind: "testlib", Program: &api.File{Part: testkit.JuryProgram(t, "checker")},
			Args: strings.Split(x.checker, "|")}
	}
	return j
}

func checkConversations(t *testing.T, jury sandbox.Limits, cases []conversation) {
	waiting := map[string]api.Job{}
	for _, x := range cases {
		if x.waits() {
			waiting[x.name] = x.job(t)
		}
	}
	waited := judgeAtOnce(t, openTalkEngines(t, jury, len(waiting)), waiting)
	eng := openTalkEngine(t, jury)
	for _, x := range cases {
		t.Run(x.name, func(t *testing.T) {
			r, done := waited[x.name]
			if !done {
				r = judgeTalk(t, eng, x.job(t))
			}
			or := x.or
			if attacks.InGuest(t) && x.verdict == api.IdlenessLimit {
				or = api.WallTimeLimit // the emulator can stand still while judged should see the program sleep
			}
			got := r.Tests[0].Checker
			if r.Verdict != x.verdict && r.Verdict != or || got == nil {
				t.Fatalf("verdict %s, want %s: %+v %s", r.Verdict, x.verdict, got, tell(r))
			}
			if diff := cmp.Diff(x.message, got.Message); diff != "" && x.message != anyMessage {
				t.Errorf("message (-want +got):\n%s", diff)
			}
			if x.first != "" && got.FirstExit != x.first {
				t.Errorf("the %s ended first, want the %s", got.FirstExit, x.first)
			}
		})
	}
}

// TestTranscript records conversations. Their verdicts must not change.
func TestTranscript(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	eng := openTalkEngine(t, engine.JuryLimits(config.Default().Limits.Jury))
	talker := api.File{Part: testkit.JuryProgram(t, "talker")}
	type said struct{ From, Text string }
	not := []bool{false}
	for _, tt := range []struct {
		name, program, interactor string
		verdict                   api.Verdict
		first                     string
		want                      []said
		// One of these, because how much output is read depends on when the pipe is closed.
		truncated []bool
	}{
		{"accepted", "hear|say=7|hear|say=\xff|hear", "say=3 4|hear|say=more|hear|exit=42", api.Accepted, "interactor",
			[]said{{"interactor", "3 4\n"}, {"program", "7\n"}, {"interactor", "more\n"}, {"program", "\uFFFD\n"}}, not},
		{"rejected, then it computes", "end|spin", "say=1|exit=43", api.WrongAnswer, "interactor",
			[]said{{"interactor", "1\n"}}, not},
		{"ends early", "exit=0", "end|rest|exit=43", api.WrongAnswer, "program", []said{}, not},
		{"both wait", "hear", "hear|exit=42", api.IdlenessLimit, "", []said{}, not},
		{"the program leaves a child behind", "orphan|exit=0", "end|rest|exit=43", api.WrongAnswer, "program", []said{},
			not},
		{"SIGPIPE alone", "end|flood", "exit=42", api.Accepted, "interactor", nil, []bool{false, true}},
		{"the interactor writes after the end", "exit=0", "end|rest|say=1|much=3000000|exit=42", api.Accepted, "program",
			nil, []bool{true}},
		{"the interactor writes for ever after the end", "exit=0", "end|flood", api.WrongAnswer, "program", nil,
			[]bool{true}},
		{"rejected, then it sleeps", "end|sleep", "say=1|exit=43", api.WrongAnswer, "interactor",
			[]said{{"interactor", "1\n"}}, not},
		{"says much", "ping=3000|hear", "pong=3000|exit=42", api.Accepted, "interactor", nil, []bool{true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wall := int64(60_000)
			if tt.verdict == api.IdlenessLimit {
				wall = 3000
			}
			r := judgeTalk(t, eng, api.Job{Program: talker, Transcript: true, Tests: []api.Test{{Name: "1"}},
				Command:    append([]string{"{program}"}, strings.Split(tt.program, "|")...),
				Interactor: &api.Interactor{Kind: "icpc", Program: talker, Args: strings.Split(tt.interactor, "|")},
				Limits:     api.Limits{CPUTimeMS: 20_000, WallTimeMS: wall},
				Repeats:    api.Repeats{Policy: api.Single}})
			got := r.Tests[0].Transcript
			if r.Verdict != tt.verdict || tt.first != "" && r.Tests[0].Checker.FirstExit != tt.first || got == nil {
				t.Fatalf("verdict %s, want %s; %+v: %s", r.Verdict, tt.verdict, r.Tests[0].Checker, tell(r))
			}
			lines, size, last := []said{}, 0, time.Duration(0)
			for _, l := range got.Lines {
				lines, size = append(lines, said{l.From, l.Text}), size+len(l.Text)
				if l.Time < last {
					t.Errorf("line at %s after one at %s", l.Time, last)
				}
				last = l.Time
			}
			if diff := cmp.Diff(tt.want, lines); diff != "" && tt.want != nil {
				t.Errorf("-want +got\n%s", diff)
			}
			if !slices.Contains(tt.truncated, got.Truncated) || size > 64<<10 ||
				!strings.Contains(got.Note, "do not count") {
				t.Errorf("%d bytes, truncated %t, note %q", size, got.Truncated, got.Note)
			}
		})
	}
}

func openTalkEngine(t testing.TB, jury sandbox.Limits) *engine.Engine {
	t.Helper()
	return openTalkEngineOf(t, jury, testkit.Users{First: firstUID(), Count: uidsOfTest})
}

// openTalkEngineOf is openTalkEngine with the users of its runs.
func openTalkEngineOf(t testing.TB, jury sandbox.Limits, users testkit.Users) *engine.Engine {
	t.Helper()
	c := config.Default()
	catalogue, err := languages.Load("")
	if err != nil {
		t.Fatal(err)
	}
	eng, err := engine.Open(engine.Options{ClaimFolder: t.TempDir(), Width: 1, Count: 1, Jury: jury,
		Languages: engine.LanguageOptions{Catalogue: catalogue, CacheBytes: c.Languages.CacheSize},
		Root:      sandbox.RootPrivate,
		BoxBytes:  c.Sandbox.WorkSize, BoxInodes: c.Sandbox.WorkInodes, UIDFirst: users.First, UIDCount: users.Count,
		Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	})
	return eng
}

// openTalkEngines opens several engines on the same slot. No two of them have the same users.
func openTalkEngines(t *testing.T, jury sandbox.Limits, n int) (all []*engine.Engine) {
	t.Helper()
	for i := range n {
		count := uidsOfTest / n
		all = append(all, openTalkEngineOf(t, jury, testkit.Users{First: firstUID() + i*count, Count: count}))
	}
	return all
}

// judgeAtOnce judges jobs that mostly wait, such as those that reach a wall limit, each in its own engine. It takes as
// long as the longest of them, and returns their reports by name.
func judgeAtOnce(t *testing.T, engines []*engine.Engine, jobs map[string]api.Job) map[string]api.Report {
	t.Helper()
	var mu sync.Mutex // guards reports
	reports := map[string]api.Report{}
	var judging sync.WaitGroup
	for name, j := range jobs {
		eng, task := engines[0], talkTask(t, config.Default(), j)
		engines = engines[1:]
		judging.Go(func() {
			r, err := eng.Judge(t.Context(), eng.Slots()[0], task, func(api.TestReport) {})
			if err != nil {
				r.Fail(api.FaultOf(err), err.Error())
			}
			mu.Lock()
			defer mu.Unlock()
			reports[name] = r
		})
	}
	judging.Wait()
	return reports
}

// judgeTalk judges a job on the only slot of an engine.
func judgeTalk(t testing.TB, eng *engine.Engine, j api.Job) api.Report {
	t.Helper()
	return judgeWith(t, eng, config.Default(), j)
}

// talkTask returns a job whose files are named by their parts.
func talkTask(t testing.TB, c config.Config, j api.Job) judge.Task {
	t.Helper()
	j, err := intake.Complete(c, j)
	if err != nil {
		t.Fatal(err)
	}
	task, err := judge.NewTask(j, api.ProgramName, func(f api.File) (string, error) { return f.Part, nil })
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// judgeWith is like judgeTalk with a configuration.
func judgeWith(t testing.TB, eng *engine.Engine, c config.Config, j api.Job) api.Report {
	t.Helper()
	r, err := eng.Judge(t.Context(), eng.Slots()[0], talkTask(t, c, j), func(api.TestReport) {})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// BenchmarkRoundTrips measures, in turns, round trips of one line between two programs over bare pipes and those of a
// conversation, with the same program for both and on the same two CPUs.
func BenchmarkRoundTrips(b *testing.B) {
	testkit.Need(b, testkit.Root, testkit.Cgroup, testkit.StaticGCC)
	const count = 5000
	trips := strconv.Itoa(count)
	eng := openTalkEngine(b, engine.JuryLimits(config.Default().Limits.Jury))
	runner, err := eng.Jury(eng.Slots()[0])
	if err != nil {
		b.Fatal(err)
	}
	cpus := [2]int{eng.Slots()[0].CPUs[0], runner.Resources().CPUs[0]}
	path := testkit.JuryProgram(b, "talker")
	talker := api.File{Part: path}
	var bare, talk []float64
	for b.Loop() {
		bare = append(bare, barePair(b, path, cpus, [2]string{"pong=" + trips, "ping=" + trips}).Seconds())
		r := judgeTalk(b, eng, api.Job{Program: talker, Command: []string{"{program}", "pong=" + trips},
			Tests:      []api.Test{{Name: "1"}},
			Interactor: &api.Interactor{Kind: "icpc", Program: talker, Args: []string{"ping=" + trips, "exit=42"}},
			Limits:     api.Limits{CPUTimeMS: 60_000, WallTimeMS: 60_000}, Repeats: api.Repeats{Policy: api.Single}})
		if r.Verdict != api.Accepted {
			b.Fatalf("verdict %s: %+v", r.Verdict, r.Tests[0])
		}
		talk = append(talk, r.WallTime.Seconds())
	}
	slices.Sort(bare)
	slices.Sort(talk)
	b.ReportMetric(bare[len(bare)/2]/count*1e6, "bare-us/trip")
	b.ReportMetric(talk[len(talk)/2]/count*1e6, "talk-us/trip")
	b.ReportMetric(talk[len(talk)/2]/bare[len(bare)/2], "talk/bare")
}

// barePair runs a program twice, joined by two pipes, each on one CPU.
func barePair(b *testing.B, path string, cpus [2]int, args [2]string) time.Duration {
	b.Helper()
	r1, w1, err1 := linux.Pipe()
	r2, w2, err2 := linux.Pipe()
	if err1 != nil || err2 != nil {
		b.Fatal(err1, err2)
	}
	begin := time.Now()
	var pids []int
	for i, ends := range [2][2]*os.File{{r1, w2}, {r2, w1}} {
		pid, err := syscall.ForkExec(path, []string{path, args[i]},
			&syscall.ProcAttr{Files: []uintptr{ends[0].Fd(), ends[1].Fd(), 2}})
		if err != nil {
			b.Fatal(err)
		}
		if err := linux.SetAffinity(pid, []int{cpus[i]}); err != nil {
			b.Fatal(err)
		}
		pids = append(pids, pid)
	}
	for _, f := range []*os.File{r1, w1, r2, w2} {
		f.Close()
	}
	for _, pid := range pids {
		if _, err := syscall.Wait4(pid, nil, 0, nil); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(begin)
}

// TestProgramSeesNoJury: a contestant's program sees neither the files of the checker, which is prepared at the same time,
// nor descriptors of the interactor.
func TestProgramSeesNoJury(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	eng := openTalkEngine(t, engine.JuryLimits(config.Default().Limits.Jury))
	checker := api.File{Part: testkit.JuryProgram(t, "checker")}
	talker := api.File{Part: testkit.JuryProgram(t, "talker")}
	looks := api.Job{Program: checker, Tests: []api.Test{{Name: "1"}}, Head: 4 << 10,
		Command: []string{"{program}", "/box/answer", "/box/input", "/box/feedback/", "cat=/box/answer",
			"cat=/box/input", "cat=/proc/self/fd/3", "look"}}
	const want = "no /box/answer\nno /box/input\nno /proc/self/fd/3\n/box/work\n/box/work/program\n"
	withChecker := looks
	withChecker.Checker = &api.Checker{Kind: "icpc", Program: &checker, Args: []string{"exit=42"}}
	with := looks
	with.Interactor = &api.Interactor{Kind: "icpc", Program: talker, Args: []string{"end", "exit=42"}}
	for name, j := range map[string]api.Job{"checker": withChecker, "interactor": with} {
		r := judgeTalk(t, eng, j)
		if r.Verdict != api.Accepted {
			t.Errorf("%s: verdict %s: %s", name, r.Verdict, tell(r))
		}
		lines := strings.SplitAfter(*r.Tests[0].StderrHead, "\n")
		slices.Sort(lines[3:])
		got := strings.Join(lines, "")
		got = strings.ReplaceAll(strings.ReplaceAll(got, "/box/shm\n", ""), "/box/tmp\n", "")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
