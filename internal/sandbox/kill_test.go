package sandbox

import (
	"bufio"
	"context"
	"debug/elf"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
	"judged/internal/sandbox/cgroup"
	"judged/internal/sandbox/initproc"
	"judged/internal/testkit"
)

// killEvery is 1 in make soak.
var killEvery = flag.Int("kill-every", 37, "TestKilledAtEveryCall kills at every n-th system call, or more often")

// victimEnv makes this binary a judged that waits for a command byte, judges one or more runs of the program at
// that path, and exits. The argument is the control group in which it starts, below the root.
const victimEnv = "JUDGED_TEST_VICTIM"

func victimMain(program string) int {
	if err := victim(program, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "victim:", err)
		return 1
	}
	return 0
}

func victim(program, parent string) error {
	if err := enter(parent); err != nil {
		return err
	}
	host, err := cgroup.Detect(hostfs.New("/"))
	if err != nil {
		return err
	}
	tree, err := host.NewTree()
	if err != nil {
		return err
	}
	cpus := cpuset.New(runtime.NumCPU() - 1)
	group, err := tree.Subtree(cpus, cpuset.New(0))
	if err != nil {
		return err
	}
	users := victims()
	l, err := Open(Options{Root: RootPrivate, BoxBytes: 1 << 20, BoxInodes: 64, UIDFirst: users.First,
		UIDCount: users.Count})
	if err != nil {
		return err
	}
	fmt.Println(l.process.Pid)
	command := make([]byte, 1)
	if _, err := os.Stdin.Read(command); err != nil {
		return err
	}
	slot := Resources{CPUs: cpus, Group: group}
	if file, err := elf.Open(program); err != nil {
		return err
	} else if libraries, err := file.ImportedLibraries(); err != nil {
		return err
	} else if len(libraries) > 0 {
		slot.Trees = l.NewTrees(slot)
	}
	err = judge(l, slot, program)
	if left := children(l); len(left) > 0 {
		return errors.Join(err, fmt.Errorf("processes left after a run: %q", left))
	}
	if command[0] == commandAgain && !isInit(l.process.Pid) {
		err = judge(l, slot, program)
	}
	for n := 1; command[0] == commandMore && n < moreRuns && err == nil; n++ {
		err = judge(l, slot, program)
	}
	if err != nil {
		return err
	}
	if slot.Trees != nil {
		err = slot.Trees.Close()
	}
	l.Close()
	return errors.Join(err, tree.Remove())
}

// The commands for a victim: judge one run; judge another one if judged-init was killed during the first; judge
// moreRuns.
const commandOnce, commandAgain, commandMore = 1, 2, 3

const moreRuns = 11

// isInit reports whether a process is judged-init and alive.
func isInit(pid int) bool {
	status := statusOf("/proc/" + strconv.Itoa(pid) + "/status")
	return status("Name") == initproc.Name && !strings.HasPrefix(status("State"), "Z")
}

// judge performs one run. Leftovers are found even if it fails.
func judge(l *Launcher, slot Resources, program string) error {
	s, err := l.Prepare(slot)
	if err != nil {
		return err
	}
	err = s.Load(Spec{Args: []string{"./act", "print"}, Files: []File{{Name: "act", Path: program, Exec: true}},
		Limits: limits()})
	if err == nil {
		_, err = s.Run(context.Background())
	}
	return errors.Join(err, s.Close())
}

// children returns the states of this process's children, except judged-init.
func children(l *Launcher) []string {
	var found []string
	paths, _ := filepath.Glob("/proc/[0-9]*/status") // the pattern is valid
	for _, path := range paths {
		status := statusOf(path)
		if status("PPid") == strconv.Itoa(os.Getpid()) && status("Pid") != strconv.Itoa(l.process.Pid) {
			found = append(found, status("Name")+" "+status("State")+", in its namespaces "+status("NSpid"))
		}
	}
	return found
}

// victims returns the user IDs of the victims' runs, which are those of the process that starts them.
func victims() testkit.Users {
	pid := os.Getpid()
	if _, isVictim := os.LookupEnv(victimEnv); isVictim {
		pid = os.Getppid()
	}
	return testkit.Users{First: 1<<23 + pid%4096*1000, Count: 1000}
}

// enter moves the calling process into a group of that name in every hierarchy in which judged makes groups.
func enter(name string) error {
	if name == "" {
		return nil
	}
	for _, dir := range parents(name) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(dir+"/cgroup.procs", []byte("0"), 0); err != nil {
			return err
		}
	}
	return nil
}

// parents returns the folders of a group in the memory, pids and unified hierarchies. A v1 cpuset group accepts
// no process before it has CPUs, and systemd creates none.
func parents(name string) []string {
	var found []string
	for _, root := range []string{"/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids", "/sys/fs/cgroup/unified",
		"/sys/fs/cgroup"} {
		if _, err := os.Stat(root + "/cgroup.procs"); err == nil {
			found = append(found, filepath.Join(root, name))
		}
	}
	return found
}

// started is a victim that waits for its command.
type started struct {
	pid, init int
	command   *os.File
}

func startVictim(t *testing.T, parent, program string) started {
	t.Helper()
	stdin, command, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	out, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	pid, err := syscall.ForkExec("/proc/self/exe", []string{"victim", parent}, &syscall.ProcAttr{
		Env:   append(os.Environ(), victimEnv+"="+program),
		Files: []uintptr{stdin.Fd(), stdout.Fd(), 2},
		Sys:   &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	})
	stdout.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if reaped, _ := syscall.Wait4(pid, nil, syscall.WNOHANG, nil); reaped == 0 { // the test has failed
			_ = syscall.Kill(pid, syscall.SIGKILL)
			_, _ = syscall.Wait4(pid, nil, 0, nil)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("victim is not ready: %v", err)
	}
	init, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	return started{pid: pid, init: init, command: command}
}

// TestKilledAtEveryCall kills judged while it, judged-init, process 1 or the program is about to make its n-th system
// call, for every n in the life of a sandbox (with -kill-every=1). After each kill all of their processes end, and
// the next judged that starts removes the control groups. Nearly all calls for a program that is linked dynamically find
// and copy files of the host. They are alike, so the steps are larger.
func TestKilledAtEveryCall(t *testing.T) {
	l := newLab(t, nil) // another judged, whose program waits
	bystander, err := l.Prepare(l.slot)
	if err != nil {
		t.Fatal(err)
	}
	defer bystander.Close()
	if err := bystander.Load(Spec{Args: []string{"./act", "print", "unharmed"},
		Files: []File{{Name: "act", Path: act(t), Exec: true}}, Limits: limits()}); err != nil {
		t.Fatal(err)
	}
	// A tracer is a thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	traces := testkit.Watch(t, victims())
	last := 0
	// try returns who was about to make the call, or "" and the number of calls in a life that was not ended.
	try := func(program, of string, at int) (string, int) {
		t.Helper()
		v := startVictim(t, "", program)
		if left := groupsOf(last); len(left) > 0 {
			t.Fatalf("a new judged leaves groups of a dead one: %q", left)
		}
		tr := &tracer{t: t, judged: v.pid, victim: v.pid, of: of, killAt: at, tasks: map[int]bool{}}
		tr.seize(v.pid)
		tr.seize(v.init)
		v.command.Write([]byte{commandOnce})
		left := tr.follow()
		v.command.Close()
		if len(left) > 0 {
			t.Errorf("killed at call %d (%s), still alive: %q", at, tr.killed, left)
		}
		if tr.killed != "" {
			last = v.pid
		}
		who, _, _ := strings.Cut(tr.killed, ",")
		return who, tr.calls
	}
	for program, step := range map[string]int{act(t): (*killEvery + 1) / 2, linkedAct(t): 40 * *killEvery} {
		points := map[string]int{}
		_, whole := try(program, "", 0)
		for at := step; ; at += step {
			who, calls := try(program, "", at)
			if who == "" {
				// Lives differ by how often judged looks at a run that has to wait for its CPU.
				if calls < whole/2 {
					t.Errorf("%d system calls in the life of a sandbox, %d in another one: some were not traced", calls,
						whole)
				}
				break
			}
			points[who]++
		}
		// Some make so few calls that the steps may miss them, and their order varies.
		for _, name := range []string{"judged", "judged-init", "process 1", "solution"} {
			if points[name] > 0 {
				continue
			}
			if who, _ := try(program, name, 1); who != name {
				t.Errorf("no kill at a call of %s", name)
			}
		}
		t.Logf("%d system calls in the life of a sandbox; kills by who was about to make one: %v", whole, points)
	}
	traces.None(t)
	r, err := bystander.Run(context.Background())
	if err != nil || r.Signal != 0 || r.OutputBytes != 9 {
		t.Errorf("program of the other judged: %+v, %v; want success", r, err)
	}
}

// TestInitKilledAtEveryCall kills judged-init while it is about to make its n-th system call for a run, for every n (with
// -kill-every=1; its calls are a fraction of all, so the steps are smaller). That run may fail, but nothing of it is left,
// and a restarted judged-init judges the next one.
func TestInitKilledAtEveryCall(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	runtime.LockOSThread() // a tracer is a thread
	defer runtime.UnlockOSThread()
	traces := testkit.Watch(t, victims())
	for at := 1; ; at += (*killEvery + 11) / 12 {
		v := startVictim(t, "", act(t))
		tr := &tracer{t: t, judged: v.pid, victim: v.init, killAt: at, tasks: map[int]bool{}}
		tr.seize(v.pid)
		tr.seize(v.init)
		v.command.Write([]byte{commandAgain})
		left := tr.follow()
		v.command.Close()
		if len(left) > 0 || tr.status != 0 {
			t.Errorf("judged-init killed at call %d (%s): judged ended with %#x, still alive: %q", at, tr.killed,
				int(tr.status), left)
		}
		if tr.killed == "" {
			t.Logf("%d system calls of judged-init for a run", tr.calls)
			break
		}
	}
	traces.None(t)
}

// TestCallsOfARun counts the system calls that judged, judged-init, process 1 and a program make for each run. The
// least of several counts hardly depends on the machine; on a busy one, judged looks at some runs more often.
func TestCallsOfARun(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	runtime.LockOSThread() // a tracer is a thread
	defer runtime.UnlockOSThread()
	count := func(command byte) *tracer {
		v := startVictim(t, "", linkedAct(t))
		tr := &tracer{t: t, judged: v.pid, victim: v.pid, tasks: map[int]bool{}, made: map[uint64]int{}}
		tr.seize(v.pid)
		tr.seize(v.init)
		v.command.Write([]byte{command})
		tr.follow()
		v.command.Close()
		return tr
	}
	const most, attempts = 225, 4
	var once, more *tracer
	got := most + 1
	for n := 0; n < attempts && got > most; n++ {
		once, more = count(commandOnce), count(commandMore)
		got = min(got, (more.calls-once.calls)/(moreRuns-1))
		t.Logf("%d system calls for a run", (more.calls-once.calls)/(moreRuns-1))
	}
	if got > most {
		t.Errorf("more than %d system calls for a run in each of %d counts", most, attempts)
	}
	for nr, n := range more.made {
		if n := float64(n-once.made[nr]) / (moreRuns - 1); n >= 2 {
			t.Logf("%5.1f of number %d", n, nr)
		}
	}
}

// groupsOf returns the trees of a judged with the pid, alive or not.
func groupsOf(pid int) []string {
	var found []string
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), fmt.Sprintf("judged-%d-", pid)) {
			found = append(found, path)
			return fs.SkipDir
		}
		return nil // a group may be removed meanwhile
	})
	return found
}

// TestParents starts judged processes in several control groups: a new one removes the leftovers of a dead one
// in another group, and does not change groups of live ones.
func TestParents(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	var names []string
	for _, suffix := range []string{"a", "b", "c"} {
		names = append(names, fmt.Sprintf("judges-%d-%s", os.Getpid(), suffix))
	}
	t.Cleanup(func() {
		for _, name := range names {
			for _, dir := range parents(name) {
				_ = os.Remove(dir + "/daemon") // on v2 judged moves there
				if err := os.Remove(dir); err != nil {
					t.Error(err)
				}
			}
		}
	})
	dead, living := startVictim(t, names[0], linkedAct(t)), startVictim(t, names[1], linkedAct(t))
	if len(groupsOf(dead.pid)) == 0 {
		t.Fatal("judged has no groups")
	}
	before := groupsOf(living.pid)
	for _, dir := range before {
		if _, err := os.Stat(dir); err != nil || len(before) < len(parents("")) {
			t.Fatalf("the groups of the living are %q: %v", before, err)
		}
	}
	kill(t, dead)
	last := startVictim(t, names[2], linkedAct(t))
	if left := groupsOf(dead.pid); len(left) > 0 {
		t.Errorf("groups of the dead are left: %q", left)
	}
	if diff := cmp.Diff(before, groupsOf(living.pid)); diff != "" {
		t.Errorf("groups of the living (-before +after):\n%s", diff)
	}
	for _, v := range []started{living, last} {
		if _, err := v.command.Write([]byte{commandOnce}); err != nil {
			t.Error(err)
		}
		v.command.Close()
		if status := reap(t, v.pid); !status.Exited() || status.ExitStatus() != 0 {
			t.Errorf("a judged ended with %#x, want 0", int(status))
		}
		if left := groupsOf(v.pid); len(left) > 0 {
			t.Errorf("left its groups: %q", left)
		}
	}
}

// kill kills a victim, which leaves its groups without an owner.
func kill(t *testing.T, v started) {
	t.Helper()
	defer v.command.Close() // closing it would also end the victim
	if err := syscall.Kill(v.pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if status := reap(t, v.pid); status.Signal() != syscall.SIGKILL {
		t.Fatalf("a killed judged ended with %#x", int(status))
	}
}

func reap(t *testing.T, pid int) syscall.WaitStatus {
	t.Helper()
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil {
		t.Fatal(err)
	}
	return status
}
