package judge_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/engine"
	"judged/internal/engine/judge"
	"judged/internal/engine/jury"
	"judged/internal/engine/languages"
	"judged/internal/engine/measure"
	"judged/internal/jobs/intake"
	"judged/internal/sandbox"
	"judged/internal/sandbox/initproc"
	"judged/internal/testkit"
	"judged/internal/testkit/attacks"
)

// TestAttacks judges every program of testdata/attacks and checks the host after each. To run a single one: go test
// -run TestAttacks/006.
func TestAttacks(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	all, programs, foreign := loadAttacks(t)
	tooWide := 0
	for width, list := range byWidth(all) {
		if err := slotFits(t, width); err != nil {
			t.Logf("left out %d attacks: %v", len(list), err)
			tooWide += len(list)
			continue
		}
		a := openArena(t, width, sandbox.RootPrivate, 0, sleepers(list)...)
		for _, attack := range list {
			t.Run(attack.Name, func(t *testing.T) { a.assertHeld(t, attack, programs) })
		}
		a.close(t)
	}
	t.Logf("tried %d of %d attacks; left out: %d for another processor, %d for want of CPUs",
		len(all)-tooWide, len(all)+foreign, foreign, tooWide)
}

// TestHostRoot runs the attacks that may succeed with the host's own files. They may get through but must do no harm.
func TestHostRoot(t *testing.T) {
	trySharedFiles(t, sandbox.RootHost, func(a *attacks.Attack) {
		a.Open, a.Verdicts = true,
			append(a.Verdicts, api.RuntimeError)
	})
}

// TestMinimalRoot checks the attacks with a root that has no file of the host.
func TestMinimalRoot(t *testing.T) {
	trySharedFiles(t, sandbox.RootMinimal, func(a *attacks.Attack) { a.Dynamic = false })
}

func trySharedFiles(t *testing.T, root sandbox.Root, change func(*attacks.Attack)) {
	t.Helper()
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.GCC, testkit.StaticGCC)
	all, _ := attacks.Load(t, runtime.GOARCH)
	all = slices.DeleteFunc(all, func(a attacks.Attack) bool { return !a.OpenWithHost })
	for i := range all {
		change(&all[i])
	}
	programs := attacks.Build(t, "gcc", programsDir, all)
	a := openArena(t, 1, root, 0)
	defer a.close(t)
	for _, attack := range all {
		t.Run(attack.Name, func(t *testing.T) { a.assertHeld(t, attack, programs) })
	}
}

// TestAttacksAsJury runs attacks as a checker and as a compiler, because these programs are not trusted either, or
// process untrusted input.
func TestAttacksAsJury(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	all, programs, _ := loadAttacks(t)
	a := openArena(t, 1, sandbox.RootPrivate, 0)
	defer a.close(t)
	for _, attack := range all {
		program := programs[attack.Name]
		for _, attack := range attack.ForJury(attackLanguage) {
			t.Run(attack.Name, func(t *testing.T) {
				a.assertHeld(t, attack, map[string]string{attack.Name: program})
			})
		}
	}
}

// loadAttacks returns the attacks that this machine can build, and the number of the others.
func loadAttacks(t *testing.T) ([]attacks.Attack, map[string]string, int) {
	t.Helper()
	all, foreign := attacks.Load(t, runtime.GOARCH)
	if !attacks.InGuest(t) {
		testkit.Need(t, testkit.GCC, testkit.StaticGCC)
	}
	programs := attacks.Build(t, "gcc", programsDir, all)
	all = slices.DeleteFunc(all, func(a attacks.Attack) bool { return programs[a.Name] == "" })
	return all, programs, foreign
}

func byWidth(all []attacks.Attack) map[int][]attacks.Attack {
	m := map[int][]attacks.Attack{}
	for _, a := range all {
		m[a.CPUs] = append(m[a.CPUs], a)
	}
	return m
}

// sleepers returns the attacks of a list that only sleep until their wall limit.
func sleepers(list []attacks.Attack) []attacks.Attack {
	return slices.DeleteFunc(slices.Clone(list), func(a attacks.Attack) bool {
		return !slices.Equal(a.Verdicts, []api.Verdict{api.IdlenessLimit}) || len(a.Phases) > 0
	})
}

// arena runs attacks: it has one engine and a host whose state is compared.
type arena struct {
	eng     *engine.Engine
	workers []*measure.Worker // at least two, for concurrent runs
	jury    *jury.Runner
	host    *host
	before  surroundings
	slack   int64 // factor by which this machine may be slower than the limits assume

	sleepers []attacks.Attack        // judged at once
	slept    map[string][]api.Report // of the sleepers by name, from the first one on
}

const (
	// emulation is the factor by which an emulated machine on a busy host may be slower than a real one.
	emulation = 30
	// busy is the factor by which a real machine in use may be slower.
	busy = 4
)

// openArena opens an engine without some layers, none of them in TestAttacks. On a machine with one slot, all workers
// use it. The sleepers among the attacks are judged at once, because each takes seconds.
func openArena(t *testing.T, width int, root sandbox.Root, without initproc.Layers,
	sleepers ...attacks.Attack) *arena {
	t.Helper()
	c := config.Default()
	guest := attacks.InGuest(t)
	limits := engine.JuryLimits(c.Limits.Jury)
	if limits.CPUTime = 4 * time.Second; !guest { // attack 180 uses all of it
		limits.CPUTime, limits.WallTime, limits.Memory, limits.Stack = time.Second, 5*time.Second, 256<<20, 256<<20
	}
	eng, err := engine.Open(engine.Options{ClaimFolder: t.TempDir(), Jury: limits,
		Languages: engine.LanguageOptions{Catalogue: compilers(t), CacheBytes: 64 << 20},
		Width:     width, Count: 2, Root: root, BoxBytes: c.Sandbox.WorkSize, BoxInodes: c.Sandbox.WorkInodes,
		UIDFirst: firstUID(), UIDCount: uidsOfTest, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Without: without,
	})
	if err != nil {
		t.Fatal(err)
	}
	a := &arena{eng: eng, slack: 1, sleepers: sleepers}
	if guest {
		a.slack = emulation
	}
	if a.jury, err = eng.Jury(eng.Slots()[0]); err != nil {
		t.Fatal(err)
	}
	for _, s := range eng.Slots() {
		a.workers = append(a.workers, eng.Worker(s))
	}
	for len(a.workers) < max(2, len(sleepers)) {
		another, err := eng.WorkerOn(a.workers[0].Resources())
		if err != nil {
			t.Fatal(err)
		}
		a.workers = append(a.workers, another)
	}
	a.host = newHost(t, eng)
	a.warmUp(t, !guest)
	a.settle(t)
	a.before = a.host.look(t)
	return a
}

// attackLanguage is the language of programs that judged treats as sources and executes as their compiler.
const attackLanguage = "attack"

// compilers returns C and C++ with low limits, and attackLanguage.
func compilers(t *testing.T) languages.Catalogue {
	t.Helper()
	path := filepath.Join(t.TempDir(), "languages.toml")
	const limits = `limits = { cpu_time = "2s", wall_time = "20s", memory = "512MiB", output = "16MiB" }` + "\n"
	text := `[c]
extensions = [".c"]
compile = ["gcc", "-O2", "-static", "-o", "{output}", "{sources}"]
run = ["{program}"]
version = ["gcc", "--version"]
` + limits + `[attack]
extensions = [".attack"]
compile = ["sh", "-c", "cp $1 /tmp/attack && chmod 755 /tmp/attack && exec /tmp/attack $(cat args)", "sh", "{sources}", "{output}"]
run = ["{program}"]
version = ["sh", "-c", "echo 1"]
` + limits
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := languages.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// warmUp makes judged create what it creates at the first use of jury programs and compilers and then keeps.
func (a *arena) warmUp(t *testing.T, compilers bool) {
	t.Helper()
	talker := testkit.JuryProgram(t, "talker")
	all := []attacks.Attack{{Name: "jury", Interactor: []string{"exit=42"}, Checker: []string{"exit=42"}, CPUs: 1}}
	if compilers {
		all = append(all, attacks.Attack{Name: "compiler", Language: attackLanguage, CPUs: 1})
	}
	for _, attack := range all {
		attack.CPUs = len(a.workers[0].Resources().CPUs)
		a.run(t, attack, talker)
	}
}

// settle waits until each worker has one prepared sandbox and nothing else.
func (a *arena) settle(t *testing.T) {
	t.Helper()
	for _, s := range a.workers {
		s.Tidy()
		s.Settle()
	}
	if a.jury != nil {
		a.jury.Settle()
		if err := a.jury.Resources().Group.Trim(); err != nil {
			t.Error(err)
		}
	}
}

func (a *arena) close(t *testing.T) {
	t.Helper()
	a.host.close(t)
	if err := a.eng.Close(); err != nil {
		t.Error(err)
	}
}

// assertHeld runs one attack in the complete sandbox.
func (a *arena) assertHeld(t *testing.T, attack attacks.Attack, programs map[string]string) {
	t.Helper()
	reports := a.reports(t, attack, programs)
	if a.slack == emulation && attack.Expects(api.IdlenessLimit) {
		// The emulator can stand still while judged should see the program sleep.
		attack.Verdicts = append(slices.Clone(attack.Verdicts), api.WallTimeLimit)
	}
	for i, r := range reports {
		if d := attack.Differences(r, max(a.slack, busy)); len(d) > 0 {
			t.Errorf("%s, run %d:\n%s\n%s", filepath.Base(attack.Source), i+1, strings.Join(d, "\n"), quote(r))
		}
	}
	if diff := a.host.changes(t, a.before, a.host.look(t)); diff != "" {
		t.Errorf("%s: the host is not as it was (-before +after):\n%s", filepath.Base(attack.Source), diff)
		a.before = a.host.look(t) // so that the next attack is not blamed
	}
}

// reports judges an attack, and with the first of the sleepers all of them.
func (a *arena) reports(t *testing.T, attack attacks.Attack, programs map[string]string) []api.Report {
	t.Helper()
	same := func(s attacks.Attack) bool { return s.Name == attack.Name }
	if !slices.ContainsFunc(a.sleepers, same) {
		return a.run(t, attack, programs[attack.Name])
	}
	if a.slept == nil {
		var tasks []judge.Task
		for _, s := range a.sleepers {
			tasks = append(tasks, a.tasks(t, s, programs[s.Name])...)
		}
		a.slept = map[string][]api.Report{}
		for i, r := range a.judgeAll(t, "sleepers", tasks, true) {
			a.slept[a.sleepers[i].Name] = []api.Report{r}
		}
	}
	return a.slept[attack.Name]
}

// run judges the runs of an attack, sequentially or concurrently, and returns when nothing of them should remain.
func (a *arena) run(t *testing.T, attack attacks.Attack, program string) []api.Report {
	t.Helper()
	return a.judgeAll(t, filepath.Base(attack.Source), a.tasks(t, attack, program), attack.Together)
}

// tasks returns a task for each run of an attack.
func (a *arena) tasks(t *testing.T, attack attacks.Attack, program string) (tasks []judge.Task) {
	t.Helper()
	input := inputOf(t, attack)
	for _, args := range attack.Runs(a.host.names(a.workers[0].Resources().CPUs)) {
		tasks = append(tasks, a.task(t, attack, program, input, args))
	}
	return tasks
}

func (a *arena) judgeAll(t *testing.T, name string, tasks []judge.Task, together bool) []api.Report {
	t.Helper()
	reports, errs := make([]api.Report, len(tasks)), make([]error, len(tasks))
	var running, loading sync.WaitGroup
	loading.Add(len(tasks))
	for i, task := range tasks {
		worker, loaded := a.workers[0], sync.OnceFunc(loading.Done)
		if together {
			worker = a.workers[i]
			// None starts before all are loaded, because one could already have ended.
			task.Ready = func() error { loaded(); loading.Wait(); return nil }
		}
		running.Go(func() {
			defer loaded()
			reports[i], errs[i] = a.judge(t.Context(), worker, task)
		})
		if !together {
			running.Wait()
		}
	}
	running.Wait()
	a.settle(t)
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		t.Fatalf("%s, run %d: %v", name, i+1, errs[i])
	}
	return reports
}

// judge judges a task like the engine on its first slot, on any worker.
func (a *arena) judge(ctx context.Context, worker *measure.Worker, task judge.Task) (api.Report, error) {
	if worker == a.workers[0] {
		return a.eng.Judge(ctx, a.eng.Slots()[0], task, func(api.TestReport) {})
	}
	if task.NeedsJury() {
		task.Jury = a.jury
	}
	return judge.Run(ctx, worker, task, func(api.TestReport) {})
}

// inputOf returns the input of an attack. All its runs have the same file, as those of a test do.
func inputOf(t *testing.T, attack attacks.Attack) *api.File {
	t.Helper()
	text := attack.Input()
	if text == "" {
		return nil
	}
	return &api.File{Part: written(t, text)}
}

// task returns the task of an attack as in judged run.
func (a *arena) task(t *testing.T, attack attacks.Attack, program string, input *api.File, args []string) judge.Task {
	t.Helper()
	test := api.Test{Name: attack.Name, Input: input}
	if attack.Answer != "" {
		test.Answer = &api.File{Part: written(t, attack.Answer)}
	}
	c := config.Default()
	c.Slots.Width = attack.CPUs
	j := api.Job{InputFile: attack.InputFile, OutputFile: attack.OutputFile, Collect: attack.Collect,
		Passes: attack.Passes, Program: api.File{Part: program}, Command: append([]string{"{program}"}, args...),
		Tests: []api.Test{test}, Limits: attack.Limits, CPUs: attack.CPUs, Repeats: api.Repeats{Min: 1, Max: 1}, Head: 4096,
	}
	a.addJury(t, attack, &j)
	j, err := intake.Complete(c, j)
	if err != nil {
		t.Fatalf("%s: %v", attack.Name, err)
	}
	j.Limits = a.loosened(attack, j.Limits)
	task, err := judge.NewTask(j, api.ProgramName, func(f api.File) (string, error) { return f.Part, nil })
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// addJury adds the target of an attack to a job: an interactor, a checker, or sources.
func (a *arena) addJury(t *testing.T, attack attacks.Attack, j *api.Job) {
	t.Helper()
	if attack.Interactor != nil {
		j.Interactor = &api.Interactor{Kind: "icpc", Program: api.File{Part: testkit.JuryProgram(t, "talker")},
			Args: attack.Interactor}
	}
	if attack.Checker != nil && attack.Interactor == nil {
		j.Checker = &api.Checker{Kind: "icpc", Program: &api.File{Part: testkit.JuryProgram(t, "checker")},
			Args: attack.Checker}
	}
	if attack.AsChecker {
		program := j.Program
		j.Checker = &api.Checker{Kind: attack.CheckerKind(), Program: &program, Args: j.Command[1:]}
		j.Program.Part, j.Command = testkit.JuryProgram(t, "talker"), []string{"{program}", "exit=0"}
	}
	if attack.Language != "" {
		command := j.Command
		j.Language, j.Command, j.Files = attack.Language, nil, map[string]api.File{}
		if attack.Language == attackLanguage {
			j.Files["args"] = api.File{Part: written(t, strings.Join(command[1:], " "))}
		} else {
			j.Program.Part = a.source(t, j.Program.Part)
			header := filepath.Join(filepath.Dir(attack.Source), "attack.h")
			j.Files["attack.h"] = api.File{Part: header}
		}
		for name, text := range attack.Files {
			j.Files[name] = api.File{Part: written(t, text)}
		}
	}
}

// source returns a source with the names of host objects filled in.
func (a *arena) source(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return written(t, a.host.names(a.workers[0].Resources().CPUs).Replace(string(text)))
}

func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// loosened returns higher limits for a slow or busy machine: those that the attack must not reach.
func (a *arena) loosened(attack attacks.Attack, l api.Limits) api.Limits {
	slack := max(a.slack, busy)
	meant := func(v ...api.Verdict) bool {
		return slices.ContainsFunc(v, attack.Expects)
	}
	if !meant(api.TimeLimit) {
		l.CPUTimeMS *= slack
	}
	switch {
	case !meant(api.WallTimeLimit, api.IdlenessLimit):
		l.WallTimeMS *= slack
	case !meant(api.WallTimeLimit):
		// It must sleep for the last quarter, and may be slow to begin.
		l.WallTimeMS = max(4*l.WallTimeMS, 4000)
	}
	return l
}

// quote formats an unexpected run for a failure message.
func quote(r api.Report) string {
	var b strings.Builder
	b.WriteString("report:" + tell(r))
	for _, t := range r.Tests {
		if t.Exit != nil && t.Exit.Code != nil {
			fmt.Fprintf(&b, "\nexit code %d", *t.Exit.Code)
		} else if t.Exit != nil {
			fmt.Fprintf(&b, "\nsignal %s", t.Exit.Signal)
		}
		for name, head := range map[string]*string{"stdout": t.StdoutHead, "stderr": t.StderrHead} {
			if head != nil && *head != "" {
				fmt.Fprintf(&b, "\n%s: %s", name, strings.TrimRight(*head, "\n"))
			}
		}
	}
	return b.String()
}
