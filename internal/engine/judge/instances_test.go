package judge_test

import (
	"slices"
	"strings"
	"testing"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/engine/judge"
	"judged/internal/jobs/intake"
	"judged/internal/sandbox"
	"judged/internal/testkit"
	"judged/internal/testkit/attacks"
)

// TestInstancesAreApart runs the two concurrent runs of attacks as two instances of one program: they can communicate
// only through the manager, and nothing of them remains.
func TestInstancesAreApart(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	all, programs, _ := loadAttacks(t)
	all = slices.DeleteFunc(all, func(a attacks.Attack) bool { return !a.Together })
	if len(all) == 0 {
		t.Fatal("no attack of two runs at the same time")
	}
	a := openArena(t, 1, sandbox.RootPrivate, 0)
	defer a.close(t)
	for i, attack := range append(all[:1:1], all...) { // the first run creates what judged keeps
		t.Run(attack.Name, func(t *testing.T) {
			r, err := a.judge(t.Context(), a.workers[0], a.instances(t, attack, programs[attack.Name]))
			a.settle(t)
			if err != nil {
				t.Fatal(err)
			}
			if d := attack.Differences(r, max(a.slack, busy)); len(d) > 0 {
				t.Errorf("%s\n%s\n%+v", strings.Join(d, "\n"), quote(r), r.Tests[0].Instances)
			}
			now := a.host.look(t)
			if i > 0 {
				if diff := a.host.changes(t, a.before, now); diff != "" {
					t.Errorf("the host is not as it was (-before +after):\n%s", diff)
				}
			}
			a.before = now
		})
	}
}

// instances returns a task in which each instance does the same as one run of an attack.
func (a *arena) instances(t *testing.T, attack attacks.Attack, program string) judge.Task {
	t.Helper()
	runs := attack.Runs(a.host.names(a.workers[0].Resources().CPUs))
	script := "case $1 in\n"
	for i, args := range runs {
		script += string(rune('0'+i)) + ") exec ./" + api.ProgramName + " '" + strings.Join(args, "' '") + "';;\n"
	}
	limits := attack.Limits
	limits.CPUTimeMS, limits.WallTimeMS = max(limits.CPUTimeMS, 10_000), max(limits.WallTimeMS, 60_000)
	j, err := intake.Complete(config.Default(), api.Job{Program: api.File{Part: program},
		Command: []string{"/bin/sh", "-c", script + "esac", "sh"}, Tests: []api.Test{{Name: "1"}},
		Interactor: &api.Interactor{Kind: "cms", Program: api.File{Part: testkit.JuryProgram(t, "manager")},
			Instances: len(runs), Args: []string{"all", "end=0", "end=1", "score=1"}},
		Limits: limits, Repeats: api.Repeats{Min: 1, Max: 1}, Head: 4096})
	if err != nil {
		t.Fatal(err)
	}
	j.Limits = a.loosened(attack, j.Limits)
	task, err := judge.NewTask(j, api.ProgramName, func(f api.File) (string, error) { return f.Part, nil })
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// TestManagerLeavesNothing: a test leaves no descriptor and no thread that waits for a pipe, if it ends normally or
// immediately.
func TestManagerLeavesNothing(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.StaticGCC)
	a := openArena(t, 1, sandbox.RootPrivate, 0)
	defer a.close(t)
	talker, manager := testkit.JuryProgram(t, "talker"), testkit.JuryProgram(t, "manager")
	for i, x := range []managed{
		{program: "say=a", manager: "hear=0|hear=1|score=1", verdict: api.Accepted},
		{program: "say=a", manager: "hear=0|hear=1|score=1", verdict: api.Accepted},
		{program: "hear", manager: "score=1", verdict: api.InternalError}, // the manager opens no pipe
		{program: "reopen=0|reopen=1|reopen=2|hear|say=a", verdict: api.Accepted,
			manager: "all|say=0:x|say=1:x|say=2:x|hear=0|hear=1|hear=2|score=1"},
		{program: "hear", manager: "say=0:x|score=1", verdict: api.Accepted},
		{program: "kill=11", manager: "all|hear=0|sleep", verdict: api.RuntimeError},
		{program: "hear", manager: "kill=11", verdict: api.InternalError},
	} {
		j, err := intake.Complete(config.Default(), api.Job{Program: api.File{Part: talker},
			Command: append([]string{"{program}"}, strings.Split(x.program, "|")...), Tests: []api.Test{{Name: "1"}},
			Interactor: &api.Interactor{Kind: "cms", Program: api.File{Part: manager}, Instances: 3,
				Args: strings.Split(x.manager, "|")}, Repeats: api.Repeats{Policy: api.Single}})
		if err != nil {
			t.Fatal(err)
		}
		task, err := judge.NewTask(j, api.ProgramName, func(f api.File) (string, error) { return f.Part, nil })
		if err != nil {
			t.Fatal(err)
		}
		r, err := a.judge(t.Context(), a.workers[0], task)
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict != x.verdict {
			t.Errorf("%q with %q: verdict %s, want %s: %s", x.program, x.manager, r.Verdict, x.verdict, tell(r))
		}
		a.settle(t)
		if i == 0 {
			a.before = a.host.look(t)
			continue // judged creates some things once and keeps them
		}
		if diff := a.host.changes(t, a.before, a.host.look(t)); diff != "" {
			t.Errorf("%q with %q: the host is not as it was (-before +after):\n%s", x.program, x.manager, diff)
		}
	}
}
