package guestlab

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/host/tune"
	"judged/internal/testkit"
)

const journal = "/run/judged/tune.json"

// tuned runs judged tune. It also returns the exit code.
func tuned(t *testing.T, args ...string) (int, tune.Report) {
	t.Helper()
	code, out := output(t, nil, append([]string{"tune"}, append(args, "--json")...)...)
	var r tune.Report
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("judged tune %q: %v\n%s", args, err, out)
	}
	return code, r
}

// done expects exit code 0 and logs failures.
func done(t *testing.T, args ...string) tune.Report {
	t.Helper()
	code, r := tuned(t, args...)
	for _, s := range r.Settings {
		for _, v := range s.Values {
			switch v.State {
			case tune.Failed, tune.Left, tune.Drifted, tune.Old:
				t.Errorf("judged tune %q: %s: %+v", args, s.ID, v)
			}
		}
	}
	if code != 0 {
		t.Errorf("judged tune %q: exit code %d", args, code)
	}
	return r
}

func setting(r tune.Report, id string) tune.Setting {
	for _, s := range r.Settings {
		if s.ID == id {
			return s
		}
	}
	return tune.Setting{}
}

// read maps paths to contents.
func read(files map[string]string) map[string]string {
	found := map[string]string{}
	for path := range files {
		found[path] = strings.TrimSpace(content(path))
	}
	return found
}

func TestPlainTune(t *testing.T) {
	// judged permanently enables controllers for child groups.
	run(t, api.Accepted, programs+"tiny")
	swapOn(t)
	begin := time.Now()
	before := snapshot(t, everything)
	t.Logf("a snapshot of %d files took %v", len(before), time.Since(begin))

	t.Run("plan", func(t *testing.T) {
		plan := done(t, "plan", "--cpus", "3")
		if len(setting(plan, "wq-unbound").Values) == 0 || setting(plan, "governor").Skip == "" {
			t.Errorf("the plan: %+v", plan)
		}
	})
	t.Run("apply and restore", func(t *testing.T) { tuneAndBack(t, before) })
	t.Run("invalid partition", func(t *testing.T) { tuneInvalid(t, before) })
	t.Run("somebody else", func(t *testing.T) { tuneLeft(t, before) })
	t.Run("swap", func(t *testing.T) { tuneSwap(t, before) })
	t.Run("killed", func(t *testing.T) { tuneKilled(t, before) })
	t.Run("serve", func(t *testing.T) { tuneServe(t, before) })
}

func tuneAndBack(t *testing.T, before map[string]string) {
	_, first := examine(t, nil, "--cpus", "3", "--window", "0")
	r := done(t, "apply", "--cpus", "3")
	if setting(r, "governor").Skip == "" {
		t.Error("there is no governor here, and nothing says so")
	}
	want := map[string]string{
		"/proc/irq/default_smp_affinity":                "7",
		"/sys/devices/virtual/workqueue/cpumask":        "7",
		"/proc/sys/vm/stat_interval":                    "10",
		"/proc/sys/kernel/timer_migration":              "0",
		"/proc/sys/kernel/watchdog_cpumask":             "0-2",
		"/proc/sys/vm/compaction_proactiveness":         "0",
		cgroups + "/judged/cpuset.cpus.partition":       "isolated",
		cgroups + "/judged/cpuset.cpus.effective":       "3",
		"/sys/devices/system/cpu/cpufreq/boost":         "no such file or directory",
		"/sys/devices/system/cpu/intel_pstate/no_turbo": "no such file or directory",
		"/proc/swaps": noSwaps,
	}
	if diff := cmp.Diff(want, read(want)); diff != "" {
		t.Errorf("in force (-want +got):\n%s", diff)
	}
	wanted := map[string]api.DoctorStatus{"sched-isolated": api.DoctorPass, "wq-unbound": api.DoctorPass,
		"housekeeping-timers": api.DoctorPass,
		"compaction":          api.DoctorPass, "user-tasks": api.DoctorPass, "swap": api.DoctorPass}
	_, second := examine(t, nil, "--cpus", "3", "--window", "0")
	if diff := cmp.Diff(wanted, only(second, wanted)); diff != "" {
		t.Errorf("doctor afterwards (-want +got):\n%s", diff)
	}
	worse := 0
	for id := range first {
		if first[id] == api.DoctorPass && second[id] != api.DoctorPass {
			t.Errorf("%s passed before and is %s now", id, second[id])
			worse++
		}
	}
	t.Logf("doctor: %d checks pass, before %d", passing(second), passing(first))
	if passing(second) <= passing(first) {
		t.Error("doctor is no better")
	}
	done(t, "status")
	again := done(t, "apply", "--cpus", "3")
	for _, s := range again.Settings {
		for _, v := range s.Values {
			// A kernel worker may have been started in the meantime.
			if v.State == tune.Set && s.ID != "kthreads" {
				t.Errorf("the second apply set %s: %+v", s.ID, v)
			}
		}
	}
	one := run(t, api.Accepted, "--head", "4KiB", programs+"where")
	if got := field(*one.Tests[0].StdoutHead, "Cpus_allowed_list"); got != "3" || one.Host.Isolation != "partition" {
		t.Errorf("a run may use CPU %s, isolation %s; want 3, partition", got, one.Host.Isolation)
	}
	newcomer := waiting(t)
	if got := mayUse(t, newcomer); got != "0-2" {
		t.Errorf("what starts while tuned may use CPU %s, want 0-2", got)
	}
	done(t, "restore")
	if got := mayUse(t, newcomer); got != "0-3" {
		t.Errorf("after restore what was started while tuned may use CPU %s, want 0-3", got)
	}
	newcomer.end()
	compareSnapshots(t, "after restore", before, everything)
	if _, err := os.Stat(journal); err == nil {
		t.Error("the journal is left")
	}
}

// waiter is a process that only waits.
type waiter struct {
	pid int
	end func()
}

func waiting(t *testing.T) waiter {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{waitEnv + "=1"}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return waiter{cmd.Process.Pid, func() {
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}}
}

// mayUse returns the CPUs of all threads of a process, which must be equal.
func mayUse(t *testing.T, w waiter) string {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", w.pid))
	if err != nil || len(files) == 0 {
		t.Fatalf("no threads: %v", err)
	}
	var lists []string
	for _, f := range files {
		lists = append(lists, field(content(f), "Cpus_allowed_list"))
	}
	slices.Sort(lists)
	return strings.Join(slices.Compact(lists), " and ")
}

func passing(found map[string]api.DoctorStatus) int {
	n := 0
	for _, s := range found {
		if s == api.DoctorPass {
			n++
		}
	}
	return n
}

// tuneInvalid creates another group with the CPU: the kernel then accepts the write but marks the partition
// invalid.
func tuneInvalid(t *testing.T, before map[string]string) {
	other := cgroups + "/other"
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other+"/cpuset.cpus", []byte("2-3"), 0); err != nil {
		t.Fatal(err)
	}
	code, r := tuned(t, "apply", "--cpus", "3", "--only", "sched-isolated")
	values := setting(r, "sched-isolated").Values
	if code != 1 || len(values) == 0 || values[len(values)-1].State != tune.Failed ||
		!strings.Contains(values[len(values)-1].Reason, "not exclusive") {
		t.Errorf("exit code %d, %+v; want 1 and the kernel's reason", code, values)
	}
	if _, err := os.Stat(cgroups + "/judged"); err == nil {
		t.Error("the group is left")
	}
	done(t, "restore")
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
}

func tuneLeft(t *testing.T, before map[string]string) {
	const file = "/proc/sys/vm/stat_interval"
	done(t, "apply", "--cpus", "3", "--only", "housekeeping-timers,compaction")
	write(t, file, "30")
	if code, r := tuned(t, "status"); code != 1 || setting(r, "housekeeping-timers").Values[0].State != tune.Drifted {
		t.Errorf("status: exit code %d, %+v", code, r)
	}
	if code, _ := tuned(t, "restore"); code != 1 || strings.TrimSpace(content(file)) != "30" {
		t.Errorf("restore: exit code %d, stat_interval %s; want 1, 30", code, content(file))
	}
	write(t, file, before[file])
}

func write(t *testing.T, path, value string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(value), 0); err != nil {
		t.Fatal(err)
	}
}

// tuneKilled kills apply with SIGKILL when the journal has a given number of entries, with increasing numbers
// until one apply completes before.
func tuneKilled(t *testing.T, before map[string]string) {
	files := slices.Sorted(maps.Keys(before))
	files = slices.DeleteFunc(files, func(f string) bool {
		return !strings.HasPrefix(f, "/proc/") && !strings.HasPrefix(f, "/sys/kernel/mm/") &&
			!strings.HasPrefix(f, "/sys/devices/virtual/workqueue/")
	})
	for kills, entries := 0, 1; ; entries += 10 {
		if !killAt(t, entries) {
			t.Logf("killed %d times", kills)
			if kills < 3 {
				t.Error("want at least 3 kills")
			}
			break
		}
		kills++
		left := 0
		for _, f := range files {
			if content(f) != before[f] {
				left++
			}
		}
		t.Logf("killed with at least %d entries in the journal: %d values differ", entries, left)
		done(t, "restore")
	}
	done(t, "restore")
	compareSnapshots(t, "after apply was killed and restored", before, knobs)
}

// killAt reports whether apply was killed before it was done.
func killAt(t *testing.T, entries int) bool {
	t.Helper()
	cmd, stderr := command(t, nil, "tune", "apply", "--cpus", "3")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("apply ended with %v\n%s", err, stderr)
			}
			return false
		default:
		}
		text, err := os.ReadFile(journal)
		if err == nil && strings.Count(string(text), `"setting":`) >= entries {
			_ = cmd.Process.Kill() // if it has already exited, Wait reports it
			return (<-ended) != nil
		}
	}
}

func tuneServe(t *testing.T, before map[string]string) {
	d := serve(t, "--tune", "--cpu-list", "3", "--data-dir", t.TempDir())
	done(t, "status")
	if got := strings.TrimSpace(content(cgroups + "/judged/cpuset.cpus.partition")); got != "isolated" {
		t.Errorf("the partition is %s", got)
	}
	ids := d.submitAll(t, 1, programs+"tiny")
	testkit.WaitFor(t, patience, "the job to be done", func() bool {
		r, err := d.Job(t.Context(), ids[0], 0)
		return err == nil && r.State == api.Done && r.Verdict == api.Accepted
	})
	if code, r := tuned(t, "restore", "--only", "sched-isolated"); code != 1 {
		t.Errorf("restore of a partition in use: exit code %d, %+v", code, r)
	}
	d.stop(t)
	compareSnapshots(t, "after judged serve --tune", before, knobs)
}

// TestSMTTune takes the second thread of each core offline and brings it back.
func TestSMTTune(t *testing.T) {
	run(t, api.Accepted, programs+"tiny")
	before := snapshot(t, everything)
	done(t, "apply")
	want := map[string]string{"/sys/devices/system/cpu/online": "0,2,4,6", "/sys/devices/system/cpu/smt/control": "off",
		"/sys/devices/system/cpu/smt/active": "0"}
	if diff := cmp.Diff(want, read(want)); diff != "" {
		t.Errorf("in force (-want +got):\n%s", diff)
	}
	done(t, "status")
	if r := run(t, api.Accepted, programs+"tiny"); r.Tests[0].Runs[0].CPUs != "4" {
		t.Errorf("a run is on CPU %s, want 4", r.Tests[0].Runs[0].CPUs)
	}
	done(t, "restore")
	compareSnapshots(t, "after restore", before, everything)

	// It is not the first thread of its core, so SMT stays on, and its sibling is taken offline.
	done(t, "apply", "--cpus", "3", "--only", "smt-off,smt-sibling-free")
	if got := strings.TrimSpace(content("/sys/devices/system/cpu/online")); got != "0-1,3-7" {
		t.Errorf("online are %s, want all but 2", got)
	}
	done(t, "restore")
	compareSnapshots(t, "after restore of a sibling", before, knobs)
}
