package guestlab

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/engine/measure"
)

func TestIsolatedDoctor(t *testing.T) {
	want := map[string]api.DoctorStatus{
		"reserved-valid": api.DoctorWarn, "sched-isolated": api.DoctorPass, "slot-one-node": api.DoctorPass,
		"nohz-full": api.DoctorPass,
		// In a virtual machine this is unknown, and no CPU of node 1 is left.
		"width-vs-isolation": api.DoctorPass, "smt-off": api.DoctorUnknown, "core-homogeneous": api.DoctorPass,
		"cgroup-ready": api.DoctorPass, "user-tasks": api.DoctorPass, "swap": api.DoctorPass,
	}
	r, found := examine(t, nil)
	if diff := cmp.Diff(want, only(found, want)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if r.CPUs != "2-3" || r.Host.Isolation != "isolcpus" || r.Host.NUMANodes != 2 {
		t.Errorf("examined CPUs %s, isolation %s, %d nodes; want 2-3, isolcpus, 2", r.CPUs, r.Host.Isolation,
			r.Host.NUMANodes)
	}
	// Isolated CPUs are not balanced, so a wide slot does not work there.
	want = map[string]api.DoctorStatus{"sched-isolated": api.DoctorPass, "width-vs-isolation": api.DoctorFail}
	if _, found := examine(t, []string{"JUDGED_SLOTS_WIDTH=2"}); cmp.Diff(want, only(found, want)) != "" {
		t.Errorf("slots of two CPUs (-want +got):\n%s", cmp.Diff(want, only(found, want)))
	}
	// A housekeeping CPU is neither isolated nor tickless nor free of tasks.
	want = map[string]api.DoctorStatus{"sched-isolated": api.DoctorFail, "nohz-full": api.DoctorWarn}
	if _, found := examine(t, nil, "--cpu-list", "1"); cmp.Diff(want, only(found, want)) != "" {
		t.Errorf("CPU 1 (-want +got):\n%s", cmp.Diff(want, only(found, want)))
	}
}

// TestIsolatedProbe probes two isolated slots. The time that an emulated machine loses is not checked. The
// sandbox must be complete, and the tick must be off during the probe.
func TestIsolatedProbe(t *testing.T) {
	if err := syscall.Mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, ""); err != nil &&
		!errors.Is(err, syscall.EBUSY) {
		t.Logf("no tracer: %v", err)
	}
	before := look(t)
	var r api.DoctorReport
	var found map[string]api.DoctorStatus
	for range 4 { // a machine that is busy disturbs the probes of its guests
		r, found = examine(t, nil, "--probe=probe-gap,probe-limits,probe-osnoise", "--probe-time", "300ms", "--window",
			"0")
		if !slices.ContainsFunc(r.Checks, func(c api.DoctorCheck) bool {
			return strings.Contains(c.Reason, measure.ErrNoise.Error())
		}) {
			break
		}
	}
	before.compare(t)
	for _, c := range r.Checks {
		if strings.HasPrefix(c.ID, "probe-") {
			t.Logf("%s: %s (%s) %s", c.ID, c.Status, c.Found, c.Reason)
			if !strings.HasPrefix(c.Found, "the worst of 2: CPU ") && c.Status != api.DoctorSkip {
				t.Errorf("%s: found %q, want both CPUs", c.ID, c.Found)
			}
		}
	}
	if s := found["probe-limits"]; s != api.DoctorPass && s != api.DoctorWarn || found["probe-gap"] == api.DoctorSkip ||
		found["probe-gap"] == "" {
		t.Errorf("probe-limits %q, probe-gap %q", s, found["probe-gap"])
	}
	if left, err := filepath.Glob("/sys/kernel/tracing/instances/*"); len(left) > 0 || err != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// where is the placement that a run and its report show.
type where struct {
	First, Last, Changes, CPUs, Mems string
	SlotCPUs                         string
	Node                             int
	Isolation                        string
}

func TestIsolatedPlacement(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		want where
	}{
		{"isolated set", nil, where{"2", "2", "0", "2", "1", "2", 1, "isolcpus"}},
		{"list", []string{"--cpu-list", "3"}, where{"3", "3", "0", "3", "1", "3", 1, "isolcpus"}},
		{"mask", []string{"--cpu-list", "0x2"}, where{"1", "1", "0", "1", "0", "1", 0, "none"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := run(t, api.Accepted, append(tt.args, "--head", "4KiB", programs+"where", "20000")...)
			out, one := *r.Tests[0].StdoutHead, r.Tests[0].Runs[0]
			got := where{field(out, "Cpu_first"), field(out, "Cpu_last"), field(out, "Cpu_changes"),
				field(out, "Cpus_allowed_list"), field(out, "Mems_allowed_list"), one.CPUs, one.NUMANode,
				r.Host.Isolation}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestIsolatedUsage reads how long the scheduler ran tasks on each CPU: a run's time must be on its slot only.
func TestIsolatedUsage(t *testing.T) {
	usage := func(v api.Verdict, program string) (map[string]time.Duration, time.Duration) {
		before := busy(t)
		r := run(t, v, "--cpu-list", "3", "--time-limit", "6s", "--policy", "single", program)
		after := busy(t)
		for cpu := range after {
			after[cpu] -= before[cpu]
		}
		return after, r.Tests[0].Runs[0].CPUTime
	}
	idle, _ := usage(api.Accepted, programs+"tiny")
	spun, used := usage(api.TimeLimit, samples+"sum/TLE-spin")
	t.Logf("CPU time of the run %v; busy with it: %v; without: %v", used, spun, idle)
	// Time that the run did not use on its slot would have been used elsewhere.
	if slot := spun["cpu3"] - idle["cpu3"]; slot < used*9/10 || slot > used*11/10 {
		t.Errorf("a run of %v made CPU 3 work %v more, want the same", used, slot)
	}
	if other := spun["cpu2"]; other > used/10 {
		t.Errorf("the other isolated CPU worked %v during a run of %v on CPU 3", other, used)
	}
}

// busy returns the eighth value of each CPU's line: the time in ns that tasks have run there, without the
// current task.
func busy(t *testing.T) map[string]time.Duration {
	t.Helper()
	text, err := os.ReadFile("/proc/schedstat")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]time.Duration{}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); strings.HasPrefix(line, "cpu") && len(f) > 7 {
			ns, err := strconv.ParseInt(f[7], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			all[f[0]] = time.Duration(ns)
		}
	}
	return all
}

func TestPlainDoctor(t *testing.T) {
	want := map[string]api.DoctorStatus{"sched-isolated": api.DoctorFail, "nohz-full": api.DoctorWarn,
		"slot-one-node": api.DoctorPass}
	r, found := examine(t, nil)
	if diff := cmp.Diff(want, only(found, want)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if r.CPUs != "3" || r.Host.Isolation != "none" || r.Ready {
		t.Errorf("examined CPUs %s, isolation %s, ready %t; want 3, none, false", r.CPUs, r.Host.Isolation, r.Ready)
	}
}

// TestPlainRun runs on the last CPU, and the report says that it is not isolated; with strict, judged fails.
func TestPlainRun(t *testing.T) {
	r := run(t, api.Accepted, "--head", "4KiB", programs+"where")
	out, one := *r.Tests[0].StdoutHead, r.Tests[0].Runs[0]
	got := where{CPUs: field(out, "Cpus_allowed_list"), Mems: field(out, "Mems_allowed_list"), SlotCPUs: one.CPUs,
		Node: one.NUMANode, Isolation: r.Host.Isolation}
	if diff := cmp.Diff(where{CPUs: "3", Mems: "1", SlotCPUs: "3", Node: 1, Isolation: "none"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	before := look(t)
	cmd, stderr := command(t, []string{"JUDGED_SLOTS_STRICT=true"}, "run", programs+"tiny")
	if err := cmd.Run(); err == nil || !strings.Contains(stderr.String(), "not isolated") {
		t.Errorf("strict: %v, %s; want a refusal for want of isolation", err, stderr)
	}
	before.compare(t)
}

// TestPlainDaemon: the daemon confines itself to the CPUs outside its slots. Without isolcpus the kernel does
// not do that.
func TestPlainDaemon(t *testing.T) {
	before := look(t)
	d := serve(t, "--cpu-list", "1,3", "--data-dir", t.TempDir())
	if diff := cmp.Diff(map[string]int{"1": 0, "3": 1}, d.nodes(t)); diff != "" {
		t.Errorf("slots and their nodes (-want +got):\n%s", diff)
	}
	if got := d.allowed(t); got != "0,2" {
		t.Errorf("the daemon may run on CPUs %s, want 0,2", got)
	}
	d.stop(t)
	before.compare(t)
}
