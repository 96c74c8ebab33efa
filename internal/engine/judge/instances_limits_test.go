package judge_test

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/base/cpuset"
	"judged/internal/engine"
	"judged/internal/engine/judge"
	"judged/internal/engine/jury"
	"judged/internal/engine/languages"
	"judged/internal/testkit"
)

// managedJob returns a job of talker, or of another program, with a manager.
func managedJob(t *testing.T, instances int, program, manager string) api.Job {
	t.Helper()
	return api.Job{Program: api.File{Part: testkit.JuryProgram(t, "talker")},
		Command: append([]string{"{program}"}, strings.Split(program, "|")...), Tests: []api.Test{{Name: "1"}},
		Interactor: &api.Interactor{Kind: "cms", Program: api.File{Part: testkit.JuryProgram(t, "manager")},
			Instances: instances, Args: strings.Split(manager, "|")},
		Limits: api.Limits{CPUTimeMS: 300, WallTimeMS: 20_000}, Repeats: api.Repeats{Policy: api.Single}}
}

// TestInstancesShareTheCPUTime: computing instances are stopped when their total CPU time reaches the limit.
func TestInstancesShareTheCPUTime(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.StaticGCC)
	eng := openTalkEngine(t, engine.JuryLimits(config.Default().Limits.Jury))
	used := map[int]time.Duration{}
	for _, n := range []int{1, 4} {
		j := managedJob(t, n, "spin", "all|end=0|score=1")
		j.Limits.CPUTimeMS = 2000 // long compared with the time by which a busy judged is late
		j.Repeats = api.Repeats{Min: 1, Max: 1}
		r := judgeTalk(t, eng, j)
		if r.Verdict != api.TimeLimit || len(r.Tests[0].Instances) != n {
			t.Fatalf("verdict %s of %d instances: %s", r.Verdict, len(r.Tests[0].Instances), tell(r))
		}
		checkSum(t, r.Tests[0])
		used[n] = *r.Tests[0].CPUTime
	}
	if used[4] > 2*used[1] {
		t.Errorf("4 instances were stopped after %s, one after %s; the limit is for all of them", used[4], used[1])
	}
}

// TestInstancesRepeat: each run of a test has a new manager and new instances.
func TestInstancesRepeat(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.StaticGCC)
	eng := openTalkEngine(t, engine.JuryLimits(config.Default().Limits.Jury))
	j := managedJob(t, api.MaxInstances, "hear|say=a", "say=0:x|say=7:x|want=7:a|want=0:a|score=1")
	j.Repeats = api.Repeats{Min: 3, Max: 3}
	r := judgeTalk(t, eng, j)
	if r.Verdict != api.Accepted || !*r.Deterministic {
		t.Fatalf("verdict %s, deterministic %t: %s", r.Verdict, *r.Deterministic, tell(r))
	}
	for _, run := range r.Tests[0].Runs {
		want := []string{"0", "-", "-", "-", "-", "-", "-", "0"} // the manager opens the pipes of two instances
		if diff := cmp.Diff(want, exits(run.Instances)); diff != "" {
			t.Errorf("exits of a run (-want +got):\n%s", diff)
		}
	}
	if n := len(r.Tests[0].Runs); n != 3 {
		t.Errorf("%d runs, want 3", n)
	}
}

// TestInstancesCannotBeExecuted checks files that judged or the kernel cannot execute.
func TestInstancesCannotBeExecuted(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.StaticGCC)
	eng := openTalkEngine(t, engine.JuryLimits(config.Default().Limits.Jury))
	for content, message := range map[string]string{"no program": "neither an ELF program",
		"#!/none\n": "does not exist"} {
		j := managedJob(t, 2, "spin", "all|end=0|score=1")
		j.Program.Part = written(t, content)
		r := judgeTalk(t, eng, j)
		if r.Verdict != api.NotExecutable || !strings.Contains(r.Tests[0].Message, message) {
			t.Errorf("%q: verdict %s, message %q: %s", content, r.Verdict, r.Tests[0].Message, tell(r))
		}
	}
}

// TestCompiledInteractor: a compiled interactor is used according to the job.
func TestCompiledInteractor(t *testing.T) {
	want := jury.Interactor{Protocol: api.CMS, Instances: 3, Transcript: true,
		Program: jury.Program{Name: "check/manager.c", Language: "c"}}
	got := want
	compiled, err := judge.Task{Interactor: &got}.Compile(
		func(languages.Source) (languages.Result, error) { return languages.Result{Args: []string{"./a"}}, nil })
	if err != nil || compiled.Failed != nil {
		t.Fatal(err, compiled.Failed)
	}
	defer compiled.Close()
	want.Program = jury.Program{Name: "check/manager.c", Command: []string{"./a"}}
	if diff := cmp.Diff(want, *compiled.Task.Interactor); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// loadCPUs runs n busy loops on the CPUs until the test ends. On those of a slot they have the weight of runs.
func loadCPUs(t testing.TB, cpus cpuset.Set, n int) {
	t.Helper()
	for range n {
		busy := exec.Command("taskset", "-c", cpus.String(), "sh", "-c", "while :; do :; done")
		if !cpus.Contains(0) {
			testkit.StartCompetitor(t, busy, 1)
		} else if err := busy.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = busy.Process.Kill(), busy.Wait() })
	}
}

// TestBusyJury: time during which an interactor or manager waits for its CPU does not count for the program that waits
// for it.
func TestBusyJury(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.StaticGCC)
	eng := openTalkEngine(t, engine.JuryLimits(config.Default().Limits.Jury))
	loadCPUs(t, cpuset.New(0), 4)
	interactive := api.Job{Program: api.File{Part: testkit.JuryProgram(t, "talker")},
		Command: []string{"{program}", "say=1", "hear", "end"}, Tests: []api.Test{{Name: "1"}},
		Interactor: &api.Interactor{Kind: "icpc", Program: api.File{Part: testkit.JuryProgram(t, "talker")},
			Args: []string{"hear", "work=1000", "say=2", "exit=42"}}}
	managed := managedJob(t, 1, "say=1|hear|say=2", "want=0:1|work=1000|say=0:x|want=0:2|score=1")
	for name, j := range map[string]api.Job{"interactor": interactive, "manager": managed} {
		j.Limits, j.Repeats = api.Limits{CPUTimeMS: 2000, WallTimeMS: 2400}, api.Repeats{Policy: api.Single}
		if r := judgeTalk(t, eng, j); r.Verdict != api.Accepted {
			t.Errorf("%s: verdict %s, want AC: %s", name, r.Verdict, tell(r))
		}
	}
}

// TestStarvedJury: a program of the jury that gets a small share of its CPU for as long as judged waits is not at fault.
func TestStarvedJury(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.StaticGCC)
	limits := engine.JuryLimits(config.Default().Limits.Jury)
	limits.WallTime = 300 * time.Millisecond
	talker := func(args ...string) api.Job {
		return api.Job{Program: api.File{Part: testkit.JuryProgram(t, "talker")}, Tests: []api.Test{{Name: "1"}},
			Command: append([]string{"{program}"}, args...)}
	}
	interactor := func(j api.Job, args ...string) api.Job {
		j.Interactor = &api.Interactor{Kind: "icpc", Program: api.File{Part: testkit.JuryProgram(t, "talker")}, Args: args}
		return j
	}
	checked := talker("end")
	checked.Checker = &api.Checker{Kind: "icpc", Program: &api.File{Part: testkit.JuryProgram(t, "talker")},
		Args: []string{"work=3000", "exit=42"}}
	jobs := map[string]api.Job{
		"interactor, before the answer": interactor(talker("say=1", "hear", "end"), "hear", "work=3000", "say=2", "exit=42"),
		"interactor, after the program": interactor(talker("say=1"), "hear", "work=3000", "exit=42"),
		"manager, before the answer":    managedJob(t, 1, "say=1|hear|say=2", "want=0:1|work=3000|say=0:x|want=0:2|score=1"),
		"manager, after the program":    managedJob(t, 1, "say=1", "want=0:1|work=3000|score=1"),
		"checker":                       checked,
	}
	for name, j := range jobs {
		j.Limits, j.Repeats = api.Limits{CPUTimeMS: 300, WallTimeMS: 300}, api.Repeats{Policy: api.Single}
		jobs[name] = j
	}
	engines := openTalkEngines(t, limits, len(jobs))
	loadCPUs(t, cpuset.New(0), 20) // after the compilations
	for name, r := range judgeAtOnce(t, engines, jobs) {
		if r.Verdict != api.InternalError || r.Fault != api.NoiseFault {
			t.Errorf("%s: verdict %s, fault %q, want IE by noise: %s %s", name, r.Verdict, r.Fault, r.Message, tell(r))
		}
	}
}

// TestInstancesWithBusyCPU: instances on a busy CPU reach the limit of CPU time later, and do not reach that of wall
// time.
func TestInstancesWithBusyCPU(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.StaticGCC)
	eng := openTalkEngine(t, engine.JuryLimits(config.Default().Limits.Jury))
	cpu := eng.Slots()[0].CPUs[0]
	loadCPUs(t, cpuset.New(cpu), 4)
	for _, n := range []int{1, 2} {
		j := managedJob(t, n, "spin", "all|end=0|score=1")
		j.Limits.WallTimeMS = 1000 // an instance gets a fifth of it
		r := judgeTalk(t, eng, j)
		if r.Verdict != api.TimeLimit {
			t.Errorf("verdict %s of %d instances, want TLE: %s", r.Verdict, n, tell(r))
		}
		if d := r.Tests[0].Runs[0].Evidence.RunDelay; d == nil || *d == 0 {
			t.Errorf("the report of %d instances has the run delay %v", n, d)
		}
	}
}

// TestInstancesWaitInTurn: instances that compute one after the other on a busy CPU need longer than their wall limit,
// which is no verdict, whether they start together or each with its turn.
func TestInstancesWaitInTurn(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.StaticGCC)
	eng := openTalkEngine(t, engine.JuryLimits(config.Default().Limits.Jury))
	loadCPUs(t, cpuset.New(eng.Slots()[0].CPUs[0]), 4)
	turns := "say=0:x|want=0:1|say=1:x|want=1:1|say=2:x|want=2:1|score=1" // an instance starts with its first line
	for name, j := range map[string]api.Job{
		"together": managedJob(t, 3, "hear|hear|work=300|say=1", "say=0:x|say=1:x|say=2:x|"+turns),
		"in turn":  managedJob(t, 3, "hear|work=900|say=1", turns),
	} {
		j.Limits = api.Limits{CPUTimeMS: 20_000, WallTimeMS: 2000}
		if !waitsWithoutVerdict(t, eng, j) {
			t.Errorf("%s: no run needed longer than its wall limit: the CPU was not busy, so this test cannot fail", name)
		}
	}
}
