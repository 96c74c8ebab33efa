package tune

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// start puts a thread on the host, which was started after all that are there.
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

// TestInheritors starts threads while tune is in force, in every relation to those that it moved.
func TestInheritors(t *testing.T) {
	k, o := unified(t, "intel-bare-turbo-ht"), Options{CPUs: cpus2(t, "7"), Only: []string{"user-tasks", "kthreads"}}
	const given = "0-6,8-11" // systemd has these by itself
	irqbalance, stress := pidOf(t, k, "irqbalance"), pidOf(t, k, "stress")
	apply(t, k, o)
	k.start("/proc/5000", irqbalance, userFlags, given, "child")
	k.start("/proc/5001", 5000, userFlags, given, "grandchild")
	stat := fmt.Sprintf("/proc/%d/stat", irqbalance)
	k.put(stat, strings.Replace(k.get(stat), " 20 0 1 ", " 20 0 2 ", 1)) // threads
	k.start(fmt.Sprintf("/proc/%d/task/5002", irqbalance), 1, userFlags, given, "thread")
	k.start("/proc/5003", 1, userFlags, given, "of systemd")
	k.start("/proc/5004", stress, userFlags, given, "of stress")
	k.start("/proc/5005", 9999, userFlags, given, "orphan")
	k.start("/proc/5006", irqbalance, userFlags, "2", "own mask")
	k.start("/proc/5007", 2, kernelFlags, given, "kthread")
	k.start("/proc/5008", irqbalance, userFlags, given, "stubborn")
	k.start("/proc/5009", 2, kernelFlags, given, "kworker/u24:9")
	k.start("/proc/5010", 1, userFlags, given, "judged")
	k.refuse["/proc/5008"] = syscall.EPERM
	r := restore(t, k, o)
	got := map[string]string{}
	for _, v := range append(values(r, "user-tasks"), values(r, "kthreads")...) {
		if v.Name != "" {
			got[v.Name] = fmt.Sprintf("%s: %s -> %s %s", v.State, v.From, v.To, v.Reason)
		}
	}
	want := map[string]string{
		"child":      "restored: 0-6,8-11 -> 0-11 started while tuned",
		"grandchild": "restored: 0-6,8-11 -> 0-11 started while tuned",
		"thread":     "restored: 0-6,8-11 -> 0-11 started while tuned",
		"of stress":  "restored: 0-6,8-11 -> 7 started while tuned",
		"kthread":    "restored: 0-6,8-11 -> 0-11 started while tuned",
		"stubborn":   "failed: 0-6,8-11 -> 0-11 operation not permitted",
		"orphan": "left: 0-6,8-11 ->  started while tuned, and tune gave its CPUs to tasks that had 0-11 and to tasks " +
			"that had 7; set them with taskset -pc CPUS 5005",
	}
	if diff := cmp.Diff(want, got); diff != "" || r.Done {
		t.Errorf("done %v (-want +got):\n%s", r.Done, diff)
	}
	masks := map[string]string{}
	for _, th := range k.threads() {
		if th.PID >= 5000 || path.Base(th.Dir) == "5002" {
			masks[path.Base(th.Dir)] = th.Allowed.String()
		}
	}
	if diff := cmp.Diff(map[string]string{"5000": "0-11", "5001": "0-11", "5002": "0-11", "5003": given, "5004": "7",
		"5005": given, "5006": "2", "5007": "0-11",
		"5008": given, "5009": given, "5010": given}, masks); diff != "" {
		t.Errorf("CPUs (-want +got):\n%s", diff)
	}
	// What the kernel refused can be tried again.
	if !bytes.Contains(k.journal, []byte("/proc/5008")) {
		t.Errorf("what was refused is not in the journal: %s", k.journal)
	}
	delete(k.refuse, "/proc/5008")
	if r := restore(t, k, o); !r.Done || k.journal != nil || k.get("/proc/5008/status") != "Cpus_allowed_list:\t0-11" {
		t.Errorf("the second restore: %+v, journal %s", r, k.journal)
	}
}

// TestNewServices: a systemd that tune moved hands its CPUs to the services that it starts.
func TestNewServices(t *testing.T) {
	k, o := unified(t, "intel-bare-turbo-ht"), Options{CPUs: cpus2(t, "7")}
	k.put("/proc/1/status", "Cpus_allowed_list:\t0-11")
	apply(t, k, o)
	now := k.get("/proc/1/status")[len("Cpus_allowed_list:\t"):]
	k.start("/proc/5000", 1, userFlags, now, "service")
	k.start("/proc/5001", 5000, userFlags, now, "worker")
	if r := restore(t, k, o); !r.Done || k.journal != nil {
		t.Errorf("restore: %+v, journal %s", r, k.journal)
	}
	for _, pid := range []string{"1", "5000", "5001"} {
		if got := k.get("/proc/" + pid + "/status"); got != "Cpus_allowed_list:\t0-11" {
			t.Errorf("process %s: %s, want 0-11", pid, got)
		}
	}
}

// TestInheritorsOfTwoApplies: a thread that was started with the CPUs of one apply is moved by the next.
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
	for _, pid := range []int{irqbalance, 5000, 5001} {
		if got := k.get(fmt.Sprintf("/proc/%d/status", pid)); got != "Cpus_allowed_list:\t0-11" {
			t.Errorf("process %d: %s, want 0-11", pid, got)
		}
	}
}
