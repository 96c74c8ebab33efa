package tune

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"judged/internal/base/cpuset"
	"judged/internal/host/settings"
)

// machines returns the captured hosts and the CPUs reserved on them. The unified ones also have cgroup v2.
func machines(t *testing.T) map[string]func() (*kernel, Options) {
	all := map[string]func() (*kernel, Options){}
	for name, cpus := range map[string]string{
		"amd-epyc-ccx": "8-15", "arm64-altra": "2-3", "container-unprivileged": "3", "hybrid-p-e": "2-5",
		"intel-bare-tuned":    "2-7",
		"intel-bare-turbo-ht": "0,7-8", "kvm-vm": "1", "old-kernel-v1": "2-3", "wsl2": "3",
	} {
		o := Options{CPUs: cpus2(t, cpus)}
		all[name] = func() (*kernel, Options) { return host(t, name), o }
	}
	all["swap"] = func() (*kernel, Options) { return swapping(t, areasInOrder), Options{Only: []string{"swap"}} }
	all["unified"] = func() (*kernel, Options) {
		return unified(t, "intel-bare-turbo-ht"),
			Options{CPUs: cpus2(t, "2-3,6")}
	}
	all["unified, wide slots"] = func() (*kernel, Options) {
		return unified(t, "intel-bare-turbo-ht"), Options{CPUs: cpus2(t, "2-5"), Width: 2}
	}
	return all
}

func cpus2(t *testing.T, text string) cpuset.Set {
	t.Helper()
	set, err := cpuset.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func apply(t *testing.T, k *kernel, o Options) Report {
	t.Helper()
	r, err := k.tuner(o).apply(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func restore(t *testing.T, k *kernel, o Options) Report {
	t.Helper()
	r, err := k.tuner(o).restore(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func status(t *testing.T, k *kernel, o Options) Report {
	t.Helper()
	r, err := k.tuner(o).status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// states counts values.
func states(r Report) map[State]int {
	count := map[State]int{}
	for _, s := range r.Settings {
		for _, v := range s.Values {
			count[v.State]++
		}
	}
	return count
}

func TestApplyAndRestore(t *testing.T) {
	for name, machine := range machines(t) {
		t.Run(name, func(t *testing.T) {
			k, o := machine()
			before := k.contents()
			plan, err := Plan(t.Context(), k.tuner(o).o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, k.contents()); diff != "" {
				t.Errorf("plan changed something:\n%s", diff)
			}
			r := apply(t, k, o)
			if !r.Done {
				t.Errorf("apply failed: %+v", r)
			}
			if n := states(r)[Set]; n == 0 || n > states(plan)[Change] {
				t.Errorf("%d values were set, the plan had %d", n, states(plan)[Change])
			}
			applied := k.contents()
			again := apply(t, k, o)
			if n := states(again)[Set]; n != 0 || !cmp.Equal(applied, k.contents()) {
				t.Errorf("the second apply set %d values: %v", n, cmp.Diff(applied, k.contents()))
			}
			if s := status(t, k, o); !s.Done || states(s)[Set] != states(r)[Set] {
				t.Errorf("status after apply: %v, %v", states(s), s.InForce())
			}
			if r := restore(t, k, o); !r.Done {
				t.Errorf("restore: %+v", r)
			}
			if diff := cmp.Diff(before, k.contents()); diff != "" {
				t.Errorf("after restore (-before +after):\n%s", diff)
			}
			if k.journal != nil {
				t.Errorf("the journal is left: %s", k.journal)
			}
		})
	}
}

// until runs a step and reports whether it was killed at operation op.
func until(k *kernel, op int, step func() error) (dead bool, err error) {
	k.ops, k.killAt = 0, op
	defer func() {
		k.killAt = 0
		if p := recover(); p != nil {
			if _, ok := p.(killed); !ok {
				panic(p)
			}
			dead = true
		}
	}()
	return false, step()
}

// TestKilledAtEveryStep kills apply, and then restore, before each operation: the next restore restores every
// byte.
func TestKilledAtEveryStep(t *testing.T) {
	for name, machine := range machines(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, o := machine()
			before := k.contents()
			check := func(what string, op int) {
				t.Helper()
				if r := restore(t, k, o); !r.Done {
					t.Fatalf("%s at operation %d: %+v", what, op, r)
				}
				if diff := cmp.Diff(before, k.contents()); diff != "" || k.journal != nil {
					t.Fatalf("%s at operation %d (-before +after):\n%s%s", what, op, diff, k.journal)
				}
			}
			ops, stride, again := 0, 1, 40
			if testing.Short() { // each operation looks at the whole host again
				stride, again = 20, 10
			}
			for dead := true; dead; {
				ops += stride
				var err error
				if dead, err = until(k, ops, func() error {
					_,
						err := k.tuner(o).apply(t.Context())
					return err
				}); err != nil {
					t.Fatal(err)
				}
				check("apply", ops)
			}
			// Killed, applied again and then restored: the first old values are restored.
			for op := 1; op < ops; op += 1 + ops/again {
				if _, err := until(k, op, func() error {
					_,
						err := k.tuner(o).apply(t.Context())
					return err
				}); err != nil {
					t.Fatal(err)
				}
				apply(t, k, o)
				check("apply, and apply", op)
			}
			backwards := 0
			for dead := true; dead; {
				backwards += stride
				apply(t, k, o)
				var err error
				if dead, err = until(k, backwards, func() error {
					_,
						err := k.tuner(o).restore(t.Context())
					return err
				}); err != nil {
					t.Fatal(err)
				}
				check("restore", backwards)
			}
			t.Logf("killed at each of %d operations of apply and %d of restore", ops-1, backwards-1)
		})
	}
}

func values(r Report, id string) []Value {
	for _, s := range r.Settings {
		if s.ID == id {
			return s.Values
		}
	}
	return nil
}

const (
	thpFile  = "/sys/kernel/mm/transparent_hugepage/enabled"
	statFile = "/proc/sys/vm/stat_interval"
	irqFile  = "/proc/irq/131/smp_affinity_list"
)

func TestSomebodyElsesChangeIsLeft(t *testing.T) {
	k, o := host(t, "intel-bare-turbo-ht"), Options{CPUs: cpus2(t, "8")}
	apply(t, k, o)
	k.put(statFile, "30")
	k.put(thpFile, "[always] madvise never") // restored by hand
	want := []Value{{Path: statFile, State: Drifted, From: "1", To: "10", Reason: `it reads "30"`}}
	s := status(t, k, o)
	if diff := cmp.Diff(want, values(s, "housekeeping-timers")[:1]); diff != "" || s.Done {
		t.Errorf("status, done %v (-want +got):\n%s", s.Done, diff)
	}
	if force := s.InForce(); force["housekeeping-timers"] || force["thp"] || !force["irq-affinity"] {
		t.Errorf("in force: %v", force)
	}
	r := restore(t, k, o)
	want = []Value{{Path: statFile, State: Left, From: "30", To: "1",
		Reason: `somebody changed it since; it was "1" before tune`}}
	if diff := cmp.Diff(want, slices.DeleteFunc(values(r, "housekeeping-timers"),
		func(v Value) bool { return v.Path != statFile })); diff != "" || r.Done {
		t.Errorf("restore, done %v (-want +got):\n%s", r.Done, diff)
	}
	if got := k.get(statFile); got != "30" {
		t.Errorf("stat_interval is %s after restore, want 30", got)
	}
	if k.journal != nil {
		t.Errorf("the journal is left: %s", k.journal)
	}
}

func TestRefusals(t *testing.T) {
	k, o := host(t, "intel-bare-turbo-ht"), Options{CPUs: cpus2(t, "8")}
	k.refuse[irqFile] = syscall.EIO
	k.refuse[thpFile] = syscall.EPERM
	before := k.contents()
	r := apply(t, k, o)
	want := []Value{{Path: irqFile, State: Stays, From: "0-11", To: "0-7,9-11",
		Reason: "the kernel refuses: input/output error"}}
	if diff := cmp.Diff(want, slices.DeleteFunc(values(r, "irq-affinity"),
		func(v Value) bool { return v.Path != irqFile })); diff != "" {
		t.Errorf("interrupt (-want +got):\n%s", diff)
	}
	want = []Value{{Path: thpFile, State: Failed, From: "always", To: "madvise", Reason: "operation not permitted"}}
	if diff := cmp.Diff(want, values(r, "thp")); diff != "" || r.Done {
		t.Errorf("huge pages, done %v (-want +got):\n%s", r.Done, diff)
	}
	if bytes.Contains(k.journal, []byte(thpFile)) || bytes.Contains(k.journal, []byte(irqFile)) {
		t.Errorf("what was refused is in the journal: %s", k.journal)
	}
	// A value that cannot be restored stays in the journal.
	k.refuse[statFile] = syscall.EBUSY
	if r := restore(t, k, o); r.Done || !bytes.Contains(k.journal, []byte(statFile)) {
		t.Errorf("restore of what is refused: done %v, journal %s", r.Done, k.journal)
	}
	delete(k.refuse, statFile)
	if r := restore(t, k, o); !r.Done || k.journal != nil {
		t.Errorf("restore again: done %v, journal %s", r.Done, k.journal)
	}
	if diff := cmp.Diff(before, k.contents()); diff != "" {
		t.Errorf("after restore (-before +after):\n%s", diff)
	}
}

// TestRounded: a value that the kernel rounded is still owned by tune and is restored.
func TestRounded(t *testing.T) {
	k, o := host(t, "intel-bare-turbo-ht"), Options{CPUs: cpus2(t, "8")}
	const limit = cpuDir + "/cpu8/cpufreq/scaling_max_freq"
	k.rounds[limit] = "1600000"
	before := k.contents()
	want := []Value{{Path: limit, State: Failed, From: "3300000", To: "1700000", Reason: `the kernel reads "1600000"`}}
	if diff := cmp.Diff(want, values(apply(t, k, o), "freq-pinned")[:1]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	delete(k.rounds, limit)
	restore(t, k, o)
	if diff := cmp.Diff(before, k.contents()); diff != "" {
		t.Errorf("after restore (-before +after):\n%s", diff)
	}
}

func TestInvalidPartition(t *testing.T) {
	k, o := unified(t, "intel-bare-turbo-ht"), Options{CPUs: cpus2(t, "6")}
	k.invalid = "Cpu list in cpuset.cpus not exclusive"
	before := k.contents()
	r := apply(t, k, o)
	want := []Value{
		{Path: "/sys/fs/cgroup/cgroup.subtree_control", State: Set, From: "-cpuset", To: "+cpuset"},
		{Path: "/sys/fs/cgroup/judged", State: Failed, To: "isolated 6",
			Reason: `the kernel does not keep the partition: it reads "isolated invalid (Cpu list in cpuset.cpus not exclusive)"`},
	}
	if diff := cmp.Diff(want, values(r, "sched-isolated")); diff != "" || r.Done {
		t.Errorf("done %v (-want +got):\n%s", r.Done, diff)
	}
	if k.get("/sys/fs/cgroup/judged/cpuset.cpus") != "missing" {
		t.Error("the group is left")
	}
	restore(t, k, o)
	if diff := cmp.Diff(before, k.contents()); diff != "" {
		t.Errorf("after restore (-before +after):\n%s", diff)
	}
	k.invalid = ""
	applied := apply(t, k, o)
	const group = "/sys/fs/cgroup/judged"
	k.refuse[group], k.refuse[group+"/cpuset.cpus.partition"] = syscall.EBUSY, syscall.EBUSY
	given := values(applied, "kthreads")[0].To
	k.start("/proc/5000", 2, kernelFlags, given, "kthread")
	r = restore(t, k, o)
	if r.Done || values(r, "sched-isolated")[0].State != Failed {
		t.Errorf("restore of a partition in use: %+v", values(r, "sched-isolated"))
	}
	// Removing the partition would overwrite affinities that were already restored.
	for _, v := range slices.Concat(values(r, "sched-isolated"), values(r, "kthreads"), values(r, "user-tasks")) {
		if strings.HasPrefix(v.Path, "/proc/") && v.State != Failed {
			t.Errorf("%s is %s while the partition exists", v.Path, v.State)
		}
	}
	delete(k.tree, "proc/5000/stat")
	delete(k.tree, "proc/5000/status")
	delete(k.refuse, group)
	delete(k.refuse, group+"/cpuset.cpus.partition")
	restore(t, k, o)
	if diff := cmp.Diff(before, k.contents()); diff != "" || k.journal != nil {
		t.Errorf("after the second restore (-before +after):\n%s", diff)
	}
}

func TestThreads(t *testing.T) {
	k, o := unified(t, "intel-bare-turbo-ht"), Options{CPUs: cpus2(t, "7"), Only: []string{"user-tasks", "kthreads"}}
	before := k.contents()
	r := apply(t, k, o)
	by := map[string]string{}
	for _, id := range o.Only {
		for _, v := range values(r, id) {
			by[v.Name] = string(v.State) + " " + v.From + " -> " + v.To + " " + v.Reason
		}
	}
	want := map[string]string{
		"irqbalance": "set 0-11 -> 0-6,8-11 ", "stress": "set 7 -> 0-6,8-11 ", "jackd": "set 7 -> 0-6,8-11 ",
		"kthreadd": "set 0-11 -> 0-6,8-11 ", "kswapd0": "set 0-11 -> 0-6,8-11 ", "khugepaged": "set 0-11 -> 0-6,8-11 ",
		"migration/7":                  "stays 7 ->  belongs to its CPU: each CPU needs one",
		"ksoftirqd/7":                  "stays 7 ->  belongs to its CPU: each CPU needs one",
		"kworker/u24:1-events_unbound": "stays 0-11 ->  follows the mask of unbound workers, which wq-unbound sets",
		"kworker/u24:3-events_unbound": "stays 0-11 ->  follows the mask of unbound workers, which wq-unbound sets",
		"writeback": "stays 0-11 ->  the kernel refuses to move it (PF_NO_SETAFFINITY); it wakes " +
			"only when memory is short or a CPU changes",
	}
	if diff := cmp.Diff(want, by); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	right := map[string]int{}
	for _, s := range r.Settings {
		right[s.ID] = s.Right
	}
	if diff := cmp.Diff(map[string]int{"user-tasks": 5, "kthreads": 23}, right); diff != "" {
		t.Errorf("threads that need no change (-want +got):\n%s", diff)
	}
	// A thread with a reused ID is another thread, and a thread that has exited is gone.
	k.put("/proc/702/stat", strings.Replace(k.get("/proc/702/stat"), " 24 ", " 99 ", 1))
	delete(k.tree, "proc/703/stat")
	delete(before, "proc/703/stat")
	before["proc/702/stat"], before["proc/702/status"] = string(k.tree["proc/702/stat"].Data),
		string(k.tree["proc/702/status"].Data)
	before["proc/703/status"] = string(k.tree["proc/703/status"].Data)
	got := restore(t, k, o)
	if n := states(got)[Gone]; n != 2 || !got.Done {
		t.Errorf("%d threads are gone, want 2; done %v", n, got.Done)
	}
	if diff := cmp.Diff(before, k.contents()); diff != "" {
		t.Errorf("after restore (-before +after):\n%s", diff)
	}
}

func TestAnotherBoot(t *testing.T) {
	k, o := host(t, "intel-bare-turbo-ht"), Options{CPUs: cpus2(t, "8")}
	apply(t, k, o)
	after := k.contents()
	k.put(bootID, "0d5cb7a2-0000-4000-8000-000000000002")
	after[bootID[1:]] = string(k.tree[bootID[1:]].Data)
	const want = "the journal was of another boot, whose values are gone; it is removed"
	if r := restore(t, k, o); r.Note != want || !r.Done || len(r.Settings) != 0 || k.journal != nil {
		t.Errorf("restore: %+v, journal %s", r, k.journal)
	}
	if diff := cmp.Diff(after, k.contents()); diff != "" {
		t.Errorf("something was written:\n%s", diff)
	}
}

func TestOnly(t *testing.T) {
	k, o := host(t, "intel-bare-turbo-ht"), Options{CPUs: cpus2(t, "8"), Only: []string{"thp"}}
	before := k.contents()
	apply(t, k, o)
	before[thpFile[1:]] = "always [madvise] never\n"
	if diff := cmp.Diff(before, k.contents()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for id, want := range map[string]string{
		"irqbalance":  `tune does not set "irqbalance": it is a service, not a value`,
		"rt-throttle": "is set with user-tasks", "frob": `unknown setting "frob"`,
		"steal": `tune does not set "steal"; use user-tasks`,
	} {
		_, err := k.tuner(Options{Only: []string{id}}).apply(t.Context())
		if _, ok := errors.AsType[*UsageError](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("only %s: %v, want %q", id, err, want)
		}
	}
}

// TestStatusOfOnly: a setting that was not applied is not in force, also if others are.
func TestStatusOfOnly(t *testing.T) {
	k, o := host(t, "intel-bare-turbo-ht"), Options{CPUs: cpus2(t, "8"), Only: []string{"thp"}}
	apply(t, k, o)
	for _, tc := range []struct {
		only []string
		done bool
		note string
	}{{nil, true, ""}, {[]string{"thp"}, true, ""}, {[]string{"ksm"}, false, "not applied: ksm"},
		{[]string{"thp", "ksm", "swap"}, false, "not applied: ksm, swap"}} {
		if s := status(t, k, Options{Only: tc.only}); s.Done != tc.done || s.Note != tc.note {
			t.Errorf("only %q: done %t, note %q, want %t, %q", tc.only, s.Done, s.Note, tc.done, tc.note)
		}
	}
}

func TestReserve(t *testing.T) {
	k := host(t, "kvm-vm")
	for cpus, want := range map[string]string{"0-1": "reserve CPU 0-1: no other CPU of 0-1 is left",
		"5": "CPU 5 is not on this machine; it has 0-1"} {
		_, err := Plan(t.Context(), Options{FS: k.fs(), CPUs: cpus2(t, cpus)})
		if _, ok := errors.AsType[*UsageError](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("CPU %s: %v, want %q", cpus, err, want)
		}
	}
	if r, err := Plan(t.Context(), Options{FS: k.fs()}); err != nil || r.CPUs != "1" || r.Housekeeping != "0" {
		t.Errorf("by itself: CPU %s and %s, %v", r.CPUs, r.Housekeeping, err)
	}
}

// TestQuiet: the daemon's check every minute neither wakes a CPU nor lists threads.
func TestQuiet(t *testing.T) {
	k, o := host(t, "intel-bare-turbo-ht"), Options{CPUs: cpus2(t, "8")}
	apply(t, k, o)
	o.Quiet = true
	s := status(t, k, o)
	if values(s, "user-tasks") != nil || values(s, "kthreads") != nil || len(values(s, "turbo-off")) == 0 {
		t.Errorf("%v", slices.Sorted(maps.Keys(s.InForce())))
	}
	for _, v := range values(s, "pref-hints") {
		if strings.Contains(v.Path, "/cpu8/") {
			t.Errorf("%s was read", v.Path)
		}
	}
}

// marked lists the checks that can be fixed at run time (A in the column "tune" of the table of checks).
const marked = `cgroup-ready smt-off smt-sibling-free slot-mems resctrl sched-isolated partition-valid width-vs-isolation rcu-offload rlimit-cpu
fair-server irq-affinity irqbalance net-rps-xps wq-unbound kthreads user-tasks daemon-placement watchdogs housekeeping-timers
cpu-throttle-config autogroup rt-throttle turbo-off governor freq-pinned pref-hints cstates uncore-freq clocksource thp numa-balancing
ksm swap compaction tmpfs-node aslr env-fixed ssbd-seccomp tracing-off perf-keys`

func TestEveryMarkedCheckIsCovered(t *testing.T) {
	for id := range strings.FieldsSeq(marked) {
		if s, _ := settings.Get(id); (s.Tuned() == "") == (s.NotTuned == "") {
			t.Errorf("%s: set with %q, not set because %q; want one of them", id, s.Tuned(), s.NotTuned)
		}
	}
	for _, id := range IDs() {
		if !slices.Contains(strings.Fields(marked), id) {
			t.Errorf("%s is set, and is not a check that can be fixed at run time", id)
		}
	}
}

// TestEverySettingHasAPlace: a setting with a risk in the catalogue is set by tune and has a position in the
// order.
func TestEverySettingHasAPlace(t *testing.T) {
	var want []string
	for _, s := range settings.All() {
		if s.Risk != "" {
			want = append(want, s.ID)
		}
	}
	if diff := cmp.Diff(want, IDs(), cmpopts.SortSlices(strings.Compare)); diff != "" {
		t.Errorf("settings of the catalogue and of tune (-want +got):\n%s", diff)
	}
	for _, k := range knobs() {
		if (k.find == nil) == (len(k.Values) == 0) || (k.find == nil) != (k.valid == nil) {
			t.Errorf("%s: it has files and find, or find without valid", k.ID)
		}
	}
}

func TestJournalHasWhatIsSet(t *testing.T) {
	k, o := host(t, "intel-bare-turbo-ht"), Options{CPUs: cpus2(t, "8"), Only: []string{"thp"}}
	apply(t, k, o)
	var got journal
	if err := json.Unmarshal(k.journal, &got); err != nil {
		t.Fatal(err)
	}
	want := []entry{{Setting: "thp", Kind: settings.Token, Path: thpFile, Old: "always", Ours: []string{"madvise"}}}
	if diff := cmp.Diff(want, got.Entries, cmp.AllowUnexported(entry{})); diff != "" || got.CPUs != "8" {
		t.Errorf("CPU %s (-want +got):\n%s", got.CPUs, diff)
	}
}

// TestRestoreWithOfflineCPU: an affinity is restored although one of its CPUs is offline now.
func TestRestoreWithOfflineCPU(t *testing.T) {
	k, o := host(t, "intel-bare-turbo-ht"), Options{CPUs: cpus2(t, "7"), Only: []string{"user-tasks"}}
	apply(t, k, o)
	k.put(cpuDir+"/online", "0-10")
	k.dropOffline = true
	if r := restore(t, k, o); !r.Done || k.journal != nil || states(r)[Restored] == 0 {
		t.Errorf("done %v, %v, journal %s", r.Done, states(r), k.journal)
	}
}

// TestRestoreAfterRounding: if the kernel rounds the old value, tune owns the result, so that the next restore
// tries again.
func TestRestoreAfterRounding(t *testing.T) {
	k, o := host(t, "intel-bare-turbo-ht"), Options{CPUs: cpus2(t, "8"), Only: []string{"housekeeping-timers"}}
	before := k.contents()
	apply(t, k, o)
	k.rounds[statFile] = "7"
	want := Value{Path: statFile, State: Failed, From: "10", To: "1", Reason: `the kernel reads "7"`}
	r := restore(t, k, o)
	if i := slices.Index(values(r, "housekeeping-timers"), want); i < 0 || r.Done {
		t.Errorf("the first restore, done %v: %+v", r.Done, r)
	}
	delete(k.rounds, statFile)
	if r := restore(t, k, o); !r.Done || !cmp.Equal(before, k.contents()) {
		t.Errorf("the second restore, done %v: %s", r.Done, cmp.Diff(before, k.contents()))
	}
}

// TestRestoreOfOtherCPUs: a thread counts as not restored if the kernel gives it other CPUs than before.
func TestRestoreOfOtherCPUs(t *testing.T) {
	k, o := host(t, "intel-bare-turbo-ht"), Options{CPUs: cpus2(t, "7"), Only: []string{"user-tasks"}}
	moved := values(apply(t, k, o), "user-tasks")[0]
	k.rounds[moved.Path] = "3"
	want := Value{Path: moved.Path, State: Failed, From: moved.To, To: moved.From, Reason: `the kernel reads "3"`}
	if r := restore(t, k, o); r.Done || !slices.Contains(values(r, "user-tasks"), want) {
		t.Errorf("done %v, %+v, want %+v", r.Done, values(r, "user-tasks"), want)
	}
}

// TestStatusOfNothing: without a journal nothing is in force.
func TestStatusOfNothing(t *testing.T) {
	k := host(t, "intel-bare-turbo-ht")
	want := Report{Schema: schema, Action: "status", Settings: []Setting{},
		Note: `no setting is applied by "journal.json"; apply may have had another tune.journal`}
	if diff := cmp.Diff(want, status(t, k, Options{Journal: "journal.json"})); diff != "" {
		t.Errorf("nothing applied (-want +got):\n%s", diff)
	}
	apply(t, k, Options{CPUs: cpus2(t, "8"), Only: []string{"thp"}})
	if s := status(t, k, Options{}); !s.Done || s.Note != "" {
		t.Errorf("thp applied: done %v, note %q", s.Done, s.Note)
	}
}

// TestPartitionOfAnother: reserved CPUs in another program's partition stay there, and a controller that is
// already enabled for child groups is not a change.
func TestPartitionOfAnother(t *testing.T) {
	const other, control = "/sys/fs/cgroup/other", "/sys/fs/cgroup/cgroup.subtree_control"
	k, o := unified(t, "intel-bare-turbo-ht"), Options{CPUs: cpus2(t, "6"), Only: []string{"sched-isolated"}}
	k.put(control, "cpuset cpu memory pids")
	for _, v := range values(apply(t, k, o), "sched-isolated") {
		if v.Path == control {
			t.Errorf("an enabled controller is changed: %+v", v)
		}
	}
	restore(t, k, o)
	k.put(other+"/cpuset.cpus.partition", "isolated")
	k.put(other+"/cpuset.cpus.effective", "6-7")
	want := []Value{{Path: other, State: Stays, From: "isolated 6-7",
		Reason: "a partition of another program has reserved CPUs"}}
	if diff := cmp.Diff(want, values(apply(t, k, o), "sched-isolated")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
