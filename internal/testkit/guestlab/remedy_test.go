package guestlab

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"judged/internal/api"
	"judged/internal/testkit"
)

// A remedy is tested on a host that needs it: the test breaks the host, examines it, runs the commands that
// doctor prints, and examines it again.
type remedy struct {
	check  string
	args   []string // arguments of doctor
	damage func(t *testing.T, mode string) (undo func())
	modes  []string // modes in which it has commands; in others it must have none
}

var allModes = []string{"v2", "hybrid", "v1"}

func remedies() []remedy {
	return []remedy{
		{"sched-isolated", []string{"--cpus", "3"}, func(t *testing.T, mode string) func() {
			return func() { removePartition(t) }
		}, []string{"v2"}},
		{"width-vs-isolation", []string{"--cpus", "2-3"}, func(t *testing.T, mode string) func() {
			makePartition(t, "2-3", "isolated")
			return func() { removePartition(t) }
		}, []string{"v2"}},
		{"partition-valid", []string{"--cpus", "3"}, func(t *testing.T, mode string) func() {
			makePartition(t, "3", "isolated")
			other := cgroups + "/other"
			makeDir(t, other)
			write(t, other+"/cpuset.cpus", "2-3")
			return func() {
				removePartition(t)
				removeDir(t, other)
			}
		}, []string{"v2"}},
		{"cpu-throttle-config", []string{"--cpus", "3"}, func(t *testing.T, mode string) func() {
			if mode == "v2" {
				write(t, cgroups+"/cgroup.subtree_control", "+cpu +memory")
				leave := enter(t, cgroups+"/throttled")
				write(t, cgroups+"/throttled/cpu.max", "50000 100000")
				write(t, cgroups+"/throttled/memory.high", "1073741824")
				return leave
			}
			leave := enter(t, cgroups+"/cpu/throttled")
			write(t, cgroups+"/cpu/throttled/cpu.cfs_quota_us", "50000")
			return leave
		}, allModes},
		{"slot-mems", []string{"--cpus", "3"}, func(t *testing.T, mode string) func() {
			if mode == "v2" {
				write(t, cgroups+"/cgroup.subtree_control", "+cpuset")
				leave := enter(t, cgroups+"/node0")
				write(t, cgroups+"/node0/cpuset.mems", "0")
				return leave
			}
			dir := cgroups + "/cpuset/node0"
			makeDir(t, dir)
			write(t, dir+"/cpuset.cpus", "0-3")
			write(t, dir+"/cpuset.mems", "0")
			return enter(t, dir)
		}, allModes},
		{"user-tasks", []string{"--cpus", "3"}, func(t *testing.T, mode string) func() {
			return func() { done(t, "restore") }
		}, allModes},
		{"hugetlb-reserved", []string{"--cpus", "3"}, func(t *testing.T, mode string) func() {
			write(t, "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "2")
			return nil
		}, allModes},
		{"cgroup-ready", []string{"--cpus", "3"}, func(t *testing.T, mode string) func() {
			if mode == "v2" {
				write(t, cgroups+"/cgroup.subtree_control", "-cpu -cpuset -memory -pids")
				return enter(t, cgroups+"/bare")
			}
			if err := syscall.Unmount(cgroups+"/pids", 0); err != nil {
				t.Fatal(err)
			}
			return nil
		}, allModes},
	}
}

// TestRemedies starts with v1: after v2 has charged memory, for example of a file, to a group of a controller,
// that controller can never be used with v1 again.
func TestRemedies(t *testing.T) {
	for _, mode := range slices.Backward(allModes) {
		mountGroups(t, mode)
		whole, _ := examine(t, nil, "--window", "0", "--cpus", "3")
		for _, r := range remedies() {
			t.Run(mode+"/"+r.check, func(t *testing.T) {
				if slices.Contains(r.modes, mode) {
					r.try(t, mode)
				} else if c := r.of(t, whole); len(c.Fix.Runtime) > 0 {
					t.Errorf("%s cannot be fixed here at run time, and doctor says %q", r.check, c.Fix.Runtime)
				}
			})
		}
		if mode != "v2" {
			if made := plainFiles(t); len(made) > 0 {
				t.Errorf("%s: remedies made plain files: %v", mode, made)
			}
		}
	}
}

func (r remedy) try(t *testing.T, mode string) {
	if undo := r.damage(t, mode); undo != nil {
		defer undo()
	}
	before := r.look(t)
	if before.Status == api.DoctorPass || before.Status == api.DoctorSkip || len(before.Fix.Runtime) == 0 {
		t.Fatalf("nothing to fix: %+v", before)
	}
	for _, command := range before.Fix.Runtime {
		out, err := exec.Command("/bin/sh", "-c", command).CombinedOutput()
		t.Logf("%s\n%s", command, out)
		// A partition with a reason prints it and continues.
		if err != nil {
			t.Errorf("%s: %v", command, err)
		}
	}
	after := r.look(t)
	// With v1, cgroup-ready never passes: it warns that v2 has more features.
	worked := after.Status == api.DoctorPass || r.check == "cgroup-ready" && mode != "v2" &&
		after.Status == api.DoctorWarn && strings.HasPrefix(after.Reason, "judged works")
	if !worked {
		t.Errorf("fixed, and still %s: %s, %s; before: %s, %s", after.Status, after.Found, after.Reason, before.Status,
			before.Found)
	}
}

func (r remedy) look(t *testing.T) api.DoctorCheck {
	t.Helper()
	env := []string{}
	if r.check == "width-vs-isolation" {
		env = append(env, "JUDGED_SLOTS_WIDTH=2")
	}
	report, _ := examine(t, env, append([]string{"--window", "0"}, r.args...)...)
	return r.of(t, report)
}

func (r remedy) of(t *testing.T, report api.DoctorReport) api.DoctorCheck {
	t.Helper()
	i := slices.IndexFunc(report.Checks, func(c api.DoctorCheck) bool { return c.ID == r.check })
	if i < 0 {
		t.Fatalf("no check %s", r.check)
	}
	return report.Checks[i]
}

// mountGroups mounts the control groups of the guest as a host of another mode does.
func mountGroups(t *testing.T, mode string) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	var points []string
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); strings.HasPrefix(f[1], cgroups) {
			points = append(points, f[1])
		}
	}
	if text, err := os.ReadFile(cgroups + "/cgroup.subtree_control"); err == nil && len(text) > 1 {
		write(t, cgroups+"/cgroup.subtree_control", "-"+strings.Join(strings.Fields(string(text)), " -"))
	}
	for _, point := range slices.Backward(points) {
		if err := syscall.Unmount(point, 0); err != nil {
			t.Fatalf("unmount %s: %v", point, err)
		}
	}
	if mode == "v2" {
		mount(t, "cgroup2", cgroups, "")
		testkit.WaitFor(t, patience, "v2 to have all controllers again", func() bool {
			have := strings.Fields(content(cgroups + "/cgroup.controllers"))
			return slices.Contains(have, "cpuset") && slices.Contains(have, "cpu") && slices.Contains(have, "memory") &&
				slices.Contains(have, "pids")
		})
		return
	}
	mount(t, "tmpfs", cgroups, "mode=755")
	for _, c := range []string{"cpuset", "cpu", "cpuacct", "memory", "pids"} {
		makeDir(t, cgroups+"/"+c)
		mount(t, "cgroup", cgroups+"/"+c, c)
	}
	if mode == "hybrid" {
		makeDir(t, cgroups+"/unified")
		mount(t, "cgroup2", cgroups+"/unified", "")
	}
}

// mount waits until a controller is free: the kernel releases it some time after its last group was removed.
func mount(t *testing.T, fstype, point, options string) {
	t.Helper()
	var err error
	testkit.WaitFor(t, patience, fmt.Sprintf("%s %s to be mounted", fstype, options), func() bool {
		err = syscall.Mount(fstype, point, fstype, 0, options)
		return err == nil
	})
}

// enter moves this process, and so its children, into a new group until the test ends.
func enter(t *testing.T, dir string) (leave func()) {
	t.Helper()
	makeDir(t, dir)
	write(t, dir+"/cgroup.procs", fmt.Sprint(os.Getpid()))
	return func() {
		write(t, filepath.Dir(dir)+"/cgroup.procs", fmt.Sprint(os.Getpid()))
		removeDir(t, dir)
	}
}

func makePartition(t *testing.T, cpus, kind string) {
	t.Helper()
	write(t, cgroups+"/cgroup.subtree_control", "+cpuset")
	makeDir(t, cgroups+"/judged")
	write(t, cgroups+"/judged/cpuset.cpus", cpus)
	write(t, cgroups+"/judged/cpuset.cpus.partition", kind)
}

// removePartition removes the partition if it exists.
func removePartition(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(cgroups + "/judged/cpuset.cpus.partition"); err == nil {
		write(t, cgroups+"/judged/cpuset.cpus.partition", "member")
		removeDir(t, cgroups+"/judged")
	}
}

func makeDir(t *testing.T, dir string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil && !os.IsExist(err) {
		t.Fatal(err)
	}
}

func removeDir(t *testing.T, dir string) {
	t.Helper()
	if err := os.Remove(dir); err != nil {
		t.Error(err)
	}
}

// plainFiles returns the regular files in the tmpfs that contains the hierarchies of v1 and hybrid hosts.
func plainFiles(t *testing.T) []string {
	t.Helper()
	var top, found []string
	entries, err := os.ReadDir(cgroups)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		top = append(top, e.Name())
	}
	for _, name := range top {
		dir := cgroups + "/" + name
		if _, err := os.Stat(dir + "/cgroup.procs"); err == nil {
			continue // a hierarchy
		}
		_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			found = append(found, path)
			return err
		})
	}
	return found
}
