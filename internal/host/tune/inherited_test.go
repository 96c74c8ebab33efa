package tune

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// start adds a thread to the host that started after all others.
func (k *kernel) start(dir string, parent, flags int, cpus, name string) {
	k.put(dir+"/stat", fmt.Sprintf("%s (%s) S %d 0 0 0 -1 %d 0 0 0 0 0 0 0 0 20 0 1 0 5000 0 0 0 0 0 0 0 0 0 0 0 0 0 0 "+
		"0 17 1 0 0", path.Base(dir), name, parent, flags))
	k.put(dir+"/status", "Cpus_allowed_list:\t"+cpus)
}

const (
	userFlags   = 4194304
	kernelFlags = 2129984
)

func pidOf(t *testing.T, k *kernel, name string) int {
	t.Helper()
	for _, th := range k.threads() {
		if th.Name == name {
			return th.PID
		}
	}
	t.Fatalf("no process %q", name)
	return 0
}

// TestInheritors starts threads while tune is applied, in each relation to the threads that it moved.
func TestInheritors(t *testing.T) {
	k, o := unified(t, "intel-bare-turbo-ht"), Options{CPUs: cpus2(t, "7"), Only: []string{"user-tasks", "kthreads"}}
	const given = "0-6,8-11" // systemd has these independently of tune
	irqbalance, stress := pidOf(t, k, "irqbalance"), pidOf(t, k, "stress")
	apply(t, k, o)
	k.start("/proc/5000", irqbalance, userFlags, given, "child")
	k.start("/proc/5001", 5000, userFlags, given, "grandchild")
	stat := fmt.Sprintf("/proc/%d/stat", irqbalance)
	k.put(stat, strings.Replace(k.get(stat), " 20 0 1 ", " 20 0 2 ", 1)) // number of threads
	k.start(fmt.Sprintf("/proc/%d/task/5002", irqbalance), 1, userFlags, given, "thread")
	k.start("/proc/5003", 1, userFlags, given, "of systemd")
	k.start("/proc/5004", stress, userFlags, given, "of stress")
	k.start("/proc/5005", 9999, userFlags, given, "orphan")
	k.start("/proc/5006", irqbalance, userFlags, "2", "own mask")
	k.start("/proc/5007", 2, kernelFlags, given, "kthread")
	k.start("/proc/5008", irqbalance, userFlags, given, "stubborn")
	k.start("/proc/5009", 2, kernelFlags, given, "kworker/u24:9")
	k.start("/proc/5010", 1, userFlags, given, "judged")
	r := restore(t, k, o)
	got := map[string]string{}
	for _, v := range append(values(r, "user-tasks"), values(r, "kthreads")...) {
		if v.Name != "" {
			got[v.Name] = fmt.Sprintf("%s: %s -> %s %s", v.State, v.From, v.To, v.Reason)
		}
	}
	inherited := func(old string, pid int) string {
		return fmt.Sprintf("inherited: 0-6,8-11 ->  started while tuned; without tune it would have %s: "+
			"taskset -pc %[1]s %d", old, pid)
	}
	want := map[string]string{"child": inherited("0-11", 5000), "grandchild": inherited("0-11", 5001),
		"thread": inherited("0-11", 5002), "of stress": inherited("7", 5004), "kthread": inherited("0-11", 5007),
		"stubborn": inherited("0-11", 5008)}
	if diff := cmp.Diff(want, got); diff != "" || !r.Done || k.journal != nil {
		t.Errorf("done %v, journal %s (-want +got):\n%s", r.Done, k.journal, diff)
	}
	for _, th := range k.threads() {
		want := given
		if th.Name == "own mask" {
			want = "2"
		}
		if started := th.PID >= 5000 || path.Base(th.Dir) == "5002"; started && th.Allowed.String() != want {
			t.Errorf("%s was moved to %s, want %s", th.Name, th.Allowed, want)
		}
	}
}

// TestRestoreLeavesOthers: a thread that tune never set keeps its CPUs, even if tune set the same CPUs for
// others. A thread that tune set keeps CPUs that were set later by somebody else, even if tune also set one of
// its ancestors.
func TestRestoreLeavesOthers(t *testing.T) {
	const given = "0-6,8-11"
	for _, only := range [][]string{{"kthreads"}, {"user-tasks"}, {"user-tasks", "kthreads"}} {
		k, o := unified(t, "intel-bare-turbo-ht"), Options{CPUs: cpus2(t, "7"), Only: only}
		parent := pidOf(t, k, "irqbalance")
		k.start("/proc/5000", parent, userFlags, "2", "before")
		k.start("/proc/5001", parent, userFlags, "0-11", "moved")
		k.start("/proc/5002", 2, kernelFlags, "3", "kthread before")
		apply(t, k, o)
		for _, dir := range []string{"/proc/5000", "/proc/5002"} { // set by somebody with taskset
			k.put(dir+"/status", "Cpus_allowed_list:\t"+given)
		}
		k.put("/proc/5001/status", "Cpus_allowed_list:\t5")
		k.start("/proc/5003", parent, userFlags, given, "after")
		before := map[string]string{}
		for _, pid := range []string{"5000", "5001", "5002", "5003"} {
			before[pid] = k.get("/proc/" + pid + "/status")
		}
		restore(t, k, o)
		for pid, want := range before {
			if got := k.get("/proc/" + pid + "/status"); got != want {
				t.Errorf("--only %q: process %s has %q, want %q as before", only, pid, got, want)
			}
		}
	}
}

// TestRestoreKnowsThreadsByTheirStart: a thread that reuses the ID of a thread set by tune is not confused with
// it.
func TestRestoreKnowsThreadsByTheirStart(t *testing.T) {
	k, o := unified(t, "intel-bare-turbo-ht"), Options{CPUs: cpus2(t, "7"), Only: []string{"user-tasks"}}
	k.start("/proc/5001", 1, userFlags, "0-11", "first")
	apply(t, k, o)
	now := k.get("/proc/5001/status")
	k.put("/proc/5001/stat", strings.Replace(k.get("/proc/5001/stat"), " 5000 ", " 6000 ", 1))
	restore(t, k, o)
	if got := k.get("/proc/5001/status"); got != now {
		t.Errorf("the second one was moved: %q, want %q", got, now)
	}
}

// TestInheritorsOfTwoApplies: a thread that inherited CPUs of the first apply is moved by the second.
func TestInheritorsOfTwoApplies(t *testing.T) {
	k, o := unified(t, "intel-bare-turbo-ht"), Options{CPUs: cpus2(t, "7"), Only: []string{"user-tasks"}}
	irqbalance := pidOf(t, k, "irqbalance")
	apply(t, k, o)
	k.start("/proc/5000", irqbalance, userFlags, "0-6,8-11", "between")
	o.CPUs = cpus2(t, "6")
	apply(t, k, o)
	now := k.get(fmt.Sprintf("/proc/%d/status", irqbalance))[len("Cpus_allowed_list:\t"):]
	k.start("/proc/5001", irqbalance, userFlags, now, "after")
	if r := restore(t, k, o); !r.Done || k.journal != nil {
		t.Errorf("restore: %+v, journal %s", r, k.journal)
	}
	for pid, want := range map[int]string{irqbalance: "0-11", 5000: "0-11", 5001: now} {
		if got := k.get(fmt.Sprintf("/proc/%d/status", pid)); got != "Cpus_allowed_list:\t"+want {
			t.Errorf("process %d: %s, want %s", pid, got, want)
		}
	}
}
