package cgroup

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/cpuset"
	"judged/internal/base/units"
	"judged/internal/host/hostfs"
	"judged/internal/host/machine"
	"judged/internal/testkit"
	"judged/internal/testkit/guest"
)

func TestMain(m *testing.M) { os.Exit(testkit.Run(m)) }

// memberProgram returns the program that runs in the groups. In a guest, which has no compiler, it is next to
// its source.
func memberProgram(t *testing.T) string {
	if _, err := os.Stat("testdata/member"); err == nil {
		return "testdata/member"
	}
	return testkit.CompileC(t, "testdata/member.c", true)
}

// TestInGuest runs the tests with cgroup v2 and two NUMA nodes.
func TestInGuest(t *testing.T) {
	testkit.Need(t, testkit.QEMU, testkit.GuestKernel, testkit.StaticGCC)
	guest.GoTest(t, guest.Config{
		NUMA: true,
		Files: map[string]string{
			"/repo/internal/sandbox/cgroup/testdata/member": testkit.CompileC(t, "testdata/member.c", true),
		},
	}, "judged/internal/sandbox/cgroup", "^Test(Tree|Slot|Group|Sweep|EachCallFails)")
}

func newTree(t *testing.T) *Tree {
	t.Helper()
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	host, err := Detect(hostfs.New("/"))
	if err != nil {
		t.Fatal(err)
	}
	tree, err := host.NewTree()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tree.Remove(); err != nil {
			t.Error(err)
		}
		if left := tree.folders(); len(left) > 0 {
			t.Errorf("left after Remove: %q", left)
		}
	})
	return tree
}

// folders returns the existing folders of the tree.
func (t *Tree) folders() []string {
	var all []string
	for _, base := range t.host.bases() {
		for _, dir := range t.host.findTrees(base, 1) {
			if strings.HasPrefix(filepath.Base(dir), t.name) {
				all = append(all, dir)
			}
		}
	}
	return all
}

// lastSlot returns a slot on the last CPU, with the memory of its node.
func lastSlot(t *testing.T) (*Subtree, machine.CPU) {
	t.Helper()
	tree := newTree(t)
	top, err := machine.ReadTopology(hostfs.New("/"))
	if err != nil {
		t.Fatal(err)
	}
	last := top.CPUs[len(top.CPUs)-1]
	s, err := tree.Subtree(cpuset.New(last.ID), cpuset.New(last.Node))
	if err != nil {
		t.Fatal(err)
	}
	return s, last
}

func TestSlotHasItsCPUsAndMemory(t *testing.T) {
	s, last := lastSlot(t)
	g, err := s.NewGroup()
	if err != nil {
		t.Fatal(err)
	}
	defer remove(t, g)
	m := join(t, g, "spin")
	text, err := os.ReadFile("/proc/" + strconv.Itoa(m.cmd.Process.Pid) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.HasSuffix(key, "s_allowed_list") {
			got[key] = strings.TrimSpace(value)
		}
	}
	want := map[string]string{"Cpus_allowed_list": strconv.Itoa(last.ID), "Mems_allowed_list": strconv.Itoa(last.Node)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	m.kill(t, g)
}

// TestSlotPreferred: a program of a preferred slot gets most of the time of a CPU on which another computes.
func TestSlotPreferred(t *testing.T) {
	usual, last := lastSlot(t)
	cpus, node := cpuset.New(last.ID), cpuset.New(last.Node)
	preferred, err := usual.tree.Preferred(cpus, node)
	if err != nil || preferred.Weighted() != nil {
		t.Fatal(err, preferred.Weighted())
	}
	if again, err := usual.tree.Preferred(cpus, node); err != nil || again != preferred {
		t.Errorf("the second call returned %v and %v", again, err)
	}
	var groups []*Group
	var members []*member
	for _, s := range []*Subtree{usual, preferred} {
		g, err := s.NewGroup()
		if err != nil {
			t.Fatal(err)
		}
		defer remove(t, g)
		m := join(t, g, "spin")
		defer m.kill(t, g)
		groups, members = append(groups, g), append(members, m)
	}
	used := func(g *Group) time.Duration {
		d, err := g.CPUTime()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	before := used(groups[1])
	for _, m := range members {
		m.in.Close()
	}
	testkit.WaitFor(t, time.Minute, "the preferred program to compute", func() bool {
		return used(groups[1])-before > 500*time.Millisecond
	})
	if d := used(groups[0]); d > 150*time.Millisecond {
		t.Errorf("the other program got %s of CPU time while the preferred one got 500 ms", d)
	}
}

// TestSlotThatCannotBe checks that setting up a slot on a missing CPU fails and leaves nothing behind.
func TestSlotThatCannotBe(t *testing.T) {
	tree := newTree(t)
	if _, err := tree.Subtree(cpuset.New(8191), cpuset.New(0)); err == nil || !strings.Contains(err.Error(), "8191") {
		t.Errorf("got %v, want an error that names the CPU", err)
	}
	if left := tree.folders(); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// member is a process in a group that waits for its start.
type member struct {
	cmd *exec.Cmd
	in  io.Closer
}

// join starts a member like a run: it starts in the v2 group and joins the v1 groups itself.
func join(t *testing.T, g *Group, args ...string) *member {
	t.Helper()
	cmd := exec.Command(memberProgram(t), args...)
	cmd.ExtraFiles = g.Tasks()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if birth := g.Birth(); birth != nil {
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(birth.Fd())
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatalf("the member did not join: %v, %v", err, cmd.Wait())
	}
	return &member{cmd, in}
}

// wait starts the member's work and returns its exit status.
func (m *member) wait(t *testing.T) syscall.WaitStatus {
	t.Helper()
	m.in.Close()
	if err := m.cmd.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return m.cmd.ProcessState.Sys().(syscall.WaitStatus)
}

// kill kills the group and checks that it is empty.
func (m *member) kill(t *testing.T, g *Group) {
	t.Helper()
	if err := g.Kill(); err != nil {
		t.Error(err)
	}
	if status := m.wait(t); status.Signal() != syscall.SIGKILL {
		t.Errorf("the member ended with %#x, want SIGKILL", int(status))
	}
	if empty, err := g.WaitEmpty(time.Minute); err != nil || !empty {
		t.Errorf("empty after Kill: %t, %v", empty, err)
	}
}

func remove(t *testing.T, g *Group) {
	t.Helper()
	if err := g.Remove(); err != nil {
		t.Error(err)
	}
	gone := []string{g.memory}
	if g.killed || g.slot.tree.host.Mode == Unified {
		gone = append(gone, g.dirs...)
	}
	for _, dir := range gone {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", dir, err)
		}
	}
}

func TestGroupCountsAndKills(t *testing.T) {
	s, _ := lastSlot(t)
	g, err := s.NewGroup()
	if err != nil {
		t.Fatal(err)
	}
	defer remove(t, g)
	m := join(t, g, "spin")
	threads, err := g.Threads()
	if diff := cmp.Diff([]int{m.cmd.Process.Pid}, threads); diff != "" || err != nil {
		t.Errorf("threads (-want +got): %v\n%s", err, diff)
	}
	if empty, err := g.WaitEmpty(0); err != nil || empty {
		t.Errorf("empty with a member: %t, %v", empty, err)
	}
	before, err := g.CPUTime()
	if err != nil {
		t.Fatal(err)
	}
	m.in.Close()
	testkit.WaitFor(t, time.Minute, "CPU time to be counted", func() bool {
		now, err := g.CPUTime()
		return err == nil && now >= before+20*time.Millisecond
	})
	m.kill(t, g)
	end, err := g.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if end.Total < before+20*time.Millisecond || end.OOMKills != 0 {
		t.Errorf("after the end: CPU time %v, which was %v before, %d OOM kills", end.Total, before, end.OOMKills)
	}
	if end.User != nil && *end.User > end.Total {
		t.Errorf("user time %v is more than all of %v", *end.User, end.Total)
	}
}

func TestGroupLimits(t *testing.T) {
	const limit, processes = 32 << 20, 5
	s, _ := lastSlot(t)
	for _, tt := range []struct {
		name   string
		args   []string
		signal syscall.Signal
		code   int
		oom    bool
		peak   [2]units.Bytes
	}{
		{"within the memory limit", []string{"touch", "16"}, 0, 0, false, [2]units.Bytes{16 << 20, 18 << 20}},
		{"beyond it", []string{"touch", "64"}, syscall.SIGKILL, 0, true, [2]units.Bytes{limit * 9 / 10, limit}},
		{"more processes than allowed", []string{"fork", "20"}, 0, processes - 1, false, [2]units.Bytes{1, 8 << 20}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, err := s.NewGroup()
			if err != nil {
				t.Fatal(err)
			}
			defer remove(t, g)
			if err := g.Limit(limit, processes); err != nil {
				t.Fatal(err)
			}
			m := join(t, g, tt.args...)
			if err := g.ResetPeak(); err != nil {
				t.Fatal(err)
			}
			status := m.wait(t)
			if tt.signal != 0 && status.Signal() != tt.signal || tt.signal == 0 && status.ExitStatus() != tt.code {
				t.Errorf("ended with %#x, want signal %d or exit status %d", int(status), tt.signal, tt.code)
			}
			// Forked processes are still alive.
			if err := g.Kill(); err != nil {
				t.Error(err)
			}
			if empty, err := g.WaitEmpty(time.Minute); err != nil || !empty {
				t.Errorf("empty after Kill: %t, %v", empty, err)
			}
			got, err := g.Stat()
			if err != nil {
				t.Fatal(err)
			}
			if oom := got.OOMKills > 0; oom != tt.oom {
				t.Errorf("%d OOM kills, want any: %t", got.OOMKills, tt.oom)
			}
			if m := got.Memory; s.tree.host.Mode != Unified && m != (Memory{}) {
				t.Errorf("memory %+v of a v1 group", m)
			} else if s.tree.host.Mode == Unified && (m.Refaults == nil || m.LimitHits == nil || m.OOMs == nil ||
				*m.LimitHits > 0 != tt.oom || *m.OOMs > 0 != tt.oom) {
				t.Errorf("memory %+v, want hits of the limit and OOMs: %t", m, tt.oom)
			}
			if !g.HasPeak() {
				return
			}
			if peak, err := g.Peak(); err != nil || peak < tt.peak[0] || peak > tt.peak[1] {
				t.Errorf("peak %d, %v, want %d to %d", peak, err, tt.peak[0], tt.peak[1])
			}
		})
	}
}

// TestFrames: runs use the same folders one after the other, except for memory, until one is killed or leaves a
// process.
func TestFrames(t *testing.T) {
	s, _ := lastSlot(t)
	use := func(args []string, kill bool) (folders []string, total time.Duration) {
		t.Helper()
		g, err := s.NewGroup()
		if err != nil {
			t.Fatal(err)
		}
		defer remove(t, g)
		if err := g.Limit(32<<20, 3); err != nil {
			t.Fatal(err)
		}
		before, err := g.CPU()
		if err != nil {
			t.Fatal(err)
		}
		m := join(t, g, args...)
		if kill {
			m.kill(t, g)
		} else {
			m.wait(t)
		}
		end, err := g.Stat()
		if err != nil {
			t.Fatal(err)
		}
		return g.dirs, end.Total - before.Total
	}
	quiet := []string{"touch", "1"}
	first, _ := use(quiet, false)
	second, used := use(quiet, false)
	third, _ := use([]string{"fork", "20"}, false) // its children stay alive
	fourth, _ := use(quiet, true)
	fifth, _ := use(quiet, false)
	shared := s.tree.host.Mode != Unified
	for _, tt := range []struct {
		name string
		a, b []string
		same bool
	}{
		{"after a run", first, second, shared},
		{"again", second, third, shared},
		{"after one that left processes", third, fourth, false},
		{"after one that was killed", fourth, fifth, false},
	} {
		if same := slices.Equal(tt.a, tt.b); same != tt.same {
			t.Errorf("%s: %q then %q, want the same: %t", tt.name, tt.a, tt.b, tt.same)
		}
	}
	if used <= 0 || used > time.Minute {
		t.Errorf("CPU time %v in reused folders", used)
	}
}

// TestFrameLimits: each run has its own limit of processes, regardless of the previous one in the same folders.
func TestFrameLimits(t *testing.T) {
	s, _ := lastSlot(t)
	for _, processes := range []int{3, 3, 5, 4} {
		g, err := s.NewGroup()
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Limit(32<<20, processes); err != nil {
			t.Error(err)
		}
		if got, err := readInt(g.files.pids); int(got) != processes || err != nil {
			t.Errorf("limit %d, %v; want %d", got, err, processes)
		}
		remove(t, g)
	}
}

// TestGroupRefused: processes refused by the limit are counted for each run, also in reused folders.
func TestGroupRefused(t *testing.T) {
	s, _ := lastSlot(t)
	for range 3 {
		g, err := s.NewGroup()
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Limit(32<<20, 1); err != nil {
			t.Error(err)
		}
		join(t, g, "fork", "20").wait(t)
		if diff := cmp.Diff(new(int64(20)), g.Refused()); diff != "" {
			t.Errorf("refused processes (-want +got):\n%s", diff)
		}
		remove(t, g)
	}
}

// TestTwoTrees: two trees of one process create groups alternately.
func TestTwoTrees(t *testing.T) {
	first, last := lastSlot(t)
	second, err := newTree(t).Subtree(cpuset.New(last.ID), cpuset.New(last.Node))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for range 2 {
		for _, s := range []*Subtree{first, second} {
			g, err := s.NewGroup()
			if err != nil {
				t.Fatal(err)
			}
			for _, dir := range append(g.dirs, g.memory) {
				if dir != "" && seen[dir] {
					t.Errorf("%s is used by two groups", dir)
				}
				seen[dir] = true
			}
			t.Cleanup(func() { remove(t, g) })
		}
	}
}

// TestSweepRemovesWhatTheDeadLeft creates a tree of a process that has exited, with a member in it, and three
// trees that sweep must not change.
func TestSweepRemovesWhatTheDeadLeft(t *testing.T) {
	s, _ := lastSlot(t)
	tree := s.tree
	gone := exec.Command(memberProgram(t), "fork")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	namespace, err := tree.host.pidNamespace()
	if err != nil {
		t.Fatal(err)
	}
	named := func(name string) *Tree {
		return &Tree{host: tree.host, name: prefix + name, slots: map[string]*Subtree{}}
	}
	pid := strconv.Itoa(gone.Process.Pid)
	dead, other := named(pid+"-1-"+namespace), named("x")
	near := named(pid + "-1x-" + namespace)         // its start time is not a number
	foreign := named(pid + "-1-" + "1" + namespace) // in a container, where the pid is another process's
	for _, made := range []*Tree{dead, other, near, foreign} {
		t.Cleanup(func() {
			if err := made.Remove(); err != nil {
				t.Error(err)
			}
		})
		if _, err := made.Subtree(cpuset.New(0), cpuset.New(0)); err != nil {
			t.Fatal(err)
		}
	}
	slot, err := dead.Subtree(cpuset.New(0), cpuset.New(0)) // returns the existing slot
	if err != nil {
		t.Fatal(err)
	}
	g, err := slot.NewGroup()
	if err != nil {
		t.Fatal(err)
	}
	m := join(t, g, "spin")
	g.close() // a process that has exited has no open descriptors
	if err := tree.host.sweep(); err != nil {
		t.Error(err)
	}
	if status := m.wait(t); status.Signal() != syscall.SIGKILL {
		t.Errorf("the process in the dead tree ended with %#x, want SIGKILL", int(status))
	}
	if left := dead.folders(); len(left) > 0 {
		t.Errorf("the dead tree is left: %q", left)
	}
	for _, alone := range []*Tree{other, near, foreign, tree} {
		if len(alone.folders()) == 0 {
			t.Errorf("%s is gone, want it untouched", alone.name)
		}
	}
}
