package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/base/text"
	"judged/internal/host/hostfs"
	"judged/internal/host/machine"
	"judged/internal/host/settings"
	"judged/internal/testkit"
)

var update = flag.Bool("update", false, "write the golden reports; read the difference")

const (
	hostsDir  = "../../../testdata/hosts"
	goldenDir = "../../../testdata/golden"
)

// recorded returns the machines of testdata/hosts with the options for each.
func recorded(t testing.TB) map[string]Options {
	hosts := map[string]Options{
		"kvm-vm":                 {},
		"intel-bare-tuned":       {Strict: true, Daemon: true},
		"intel-bare-turbo-ht":    {CPUs: cpuset.New(0, 7, 8), Width: 4, Strict: true, Daemon: true},
		"amd-epyc-ccx":           {CPUs: cpuset.New(4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), Width: 4, Daemon: true},
		"hybrid-p-e":             {CPUs: cpuset.New(2, 4)},
		"arm64-altra":            {CPUs: cpuset.New(2, 3), Daemon: true},
		"container-unprivileged": {},
		"wsl2":                   {},
		"old-kernel-v1":          {CPUs: cpuset.New(2, 3), Width: 2},
	}
	for name, o := range hosts {
		o.FS, o.Program = host(t, name), []byte("judged-init")
		hosts[name] = o
	}
	for _, name := range []string{"intel-bare-tuned", "hybrid-p-e"} {
		o := hosts[name]
		o.Member = member(t)
		hosts[name] = o
	}
	for name, kotlin := range map[string]string{"amd-epyc-ccx": "", "kvm-vm": "kotlinc is not installed"} {
		o := hosts[name]
		o.Languages = []Language{{"kotlin", kotlin}}
		hosts[name] = o
	}
	tuned := hosts["intel-bare-tuned"]
	tuned.Languages = []Language{{"c", ""}, {"java", "javac is not installed"}, {"python", ""}}
	hosts["intel-bare-tuned"] = tuned
	return hosts
}

// member returns the fingerprint of intel-bare-tuned, as its operator would copy it to other hosts.
func member(t testing.TB) *api.Fingerprint {
	t.Helper()
	golden := filepath.Join(goldenDir, "fingerprint-intel-bare-tuned.json")
	if *update {
		f, err := Fingerprint(Options{FS: host(t, "intel-bare-tuned"), Program: []byte("judged-init")})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.MarshalIndent(f, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	f, err := api.ParseFingerprint(text)
	if err != nil {
		t.Fatal(err)
	}
	return &f
}

func host(t testing.TB, name string) hostfs.FS {
	t.Helper()
	tree, note, err := testkit.Host(filepath.Join(hostsDir, name))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(note, "Built from") && !strings.HasPrefix(note, "Captured") {
		t.Errorf("%s does not say where it is from: %q", name, note)
	}
	return hostfs.Of(tree)
}

func examine(t *testing.T, o Options) api.DoctorReport {
	t.Helper()
	r, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func byID(t *testing.T, r api.DoctorReport, id string) api.DoctorCheck {
	t.Helper()
	i := slices.IndexFunc(r.Checks, func(c api.DoctorCheck) bool { return c.ID == id })
	if i < 0 {
		t.Fatalf("no check %q", id)
	}
	return r.Checks[i]
}

func TestRecordedHosts(t *testing.T) {
	ready := map[string]bool{"intel-bare-tuned": true, "amd-epyc-ccx": true, "arm64-altra": true}
	for name, o := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			r := examine(t, o)
			got, err := json.MarshalIndent(r, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, '\n')
			golden := filepath.Join(goldenDir, "doctor-"+name+".json")
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
			if r.Ready != ready[name] {
				t.Errorf("ready = %t, fails: %v", r.Ready, r.FailedIDs())
			}
		})
	}
}

// TestVirtualMachineWithoutFlag examines a guest whose processor has no hypervisor flag: all checks that depend
// on the kind of machine must detect that it is virtual.
func TestVirtualMachineWithoutFlag(t *testing.T) {
	tree, _, err := testkit.Host(filepath.Join(hostsDir, "arm64-altra"))
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{"sys_vendor": "Amazon EC2", "product_name": "c7g.large"} {
		tree["sys/class/dmi/id/"+path] = &fstest.MapFile{Data: []byte(text + "\n"), Mode: 0o444}
	}
	o := Options{FS: hostfs.Of(tree), CPUs: cpuset.New(2, 3)}
	r := examine(t, o)
	print, err := Fingerprint(o)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{r.Host.Class, byID(t, r, "env-class").Found, print.Hard["hypervisor"],
		strconv.FormatBool(machine.Hypervisor(o.FS) != "")}
	if diff := cmp.Diff([]string{"vm", "virtual machine (Amazon EC2)", "true", "true"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestEveryMachineIsAsked(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(hostsDir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	asked := recorded(t)
	for _, f := range files {
		if _, ok := asked[strings.TrimSuffix(filepath.Base(f), ".txtar")]; !ok {
			t.Errorf("nobody asks about %s", f)
		}
	}
}

// always returns the checks that apply to every host and must never be skipped.
func always() []string {
	return []string{"env-class", "reserved-valid", "slot-one-node", "sched-isolated", "width-vs-isolation", "nohz-full",
		"user-tasks", "kthreads", "cgroup-ready", "smt-sibling-free", "kernel-version", "steal", "aslr", "clocksource"}
}

// cautious returns the checks that only warn: they report a loss or a question to the operator, but do not
// prevent judging.
func cautious() []string {
	return []string{"env-class", "node-symmetric", "resctrl", "nohz-full", "autogroup", "rcu-offload", "fair-server",
		"tick-probe", "watchdogs",
		"housekeeping-timers", "irq-managed", "irqbalance", "net-rps-xps", "pstate-nohz", "uncore-freq", "timesync",
		"aslr", "compaction", "env-fixed",
		"time-accounting", "mitigations", "pmu", "perf-keys", "vm-noise", "languages"}
}

// TestEveryCheckIsSeenInEveryState: each check must pass, fail and be skipped at least once; otherwise it may
// be unable to.
func TestEveryCheckIsSeenInEveryState(t *testing.T) {
	seen := map[string]map[api.DoctorStatus]bool{}
	for _, o := range recorded(t) {
		for _, c := range examine(t, o).Checks {
			if seen[c.ID] == nil {
				seen[c.ID] = map[api.DoctorStatus]bool{}
			}
			seen[c.ID][c.Status] = true
		}
	}
	for _, c := range settings.All() {
		s := seen[c.ID]
		bad := api.DoctorFail
		if slices.Contains(cautious(), c.ID) {
			bad = api.DoctorWarn
		}
		if !s[api.DoctorPass] || !s[bad] || !s[api.DoctorSkip] && !slices.Contains(always(), c.ID) {
			t.Errorf("%s is seen as %v only", c.ID, slices.Sorted(maps.Keys(s)))
		}
		if s[api.DoctorSkip] && slices.Contains(always(), c.ID) {
			t.Errorf("%s is said to apply always, and is skipped", c.ID)
		}
		if s[api.DoctorFail] && bad == api.DoctorWarn {
			t.Errorf("%s is said to warn only, and fails", c.ID)
		}
	}
}

// sourced matches an effect whose figure has a source in parentheses.
var sourced = regexp.MustCompile(
	`\((.*(measured|published experiment|estimate|documentation|issue|bug|manual page|definition|own (figures|limits)|2009).*)\)`)

// TestCatalogue: each row has texts and either values to compare or a function.
func TestCatalogue(t *testing.T) {
	seen, looks := map[string]bool{}, looks()
	for _, c := range slices.Concat(settings.All(), settings.Probes(), []settings.Setting{settings.FrontSettings()}) {
		if seen[c.ID] {
			t.Errorf("duplicate %s", c.ID)
		}
		seen[c.ID] = true
		compared := slices.ContainsFunc(c.Values, func(v settings.Value) bool { return v.Wrong != settings.Ignored })
		probe := slices.Contains(ProbeIDs(), c.ID) || c.ID == settings.FrontSettings().ID
		if c.Title == "" || c.Wanted == "" || !probe && !compared && looks[c.ID] == nil || probe && looks[c.ID] != nil {
			t.Errorf("%s is incomplete", c.ID)
		}
		delete(looks, c.ID)
		if !sourced.MatchString(c.Effect) {
			t.Errorf("%s does not say where its figure is from: %s", c.ID, c.Effect)
		}
		if fix := explainFix(c); c.Severity == api.SeverityS1 && len(fix.Runtime) == 0 && fix.Boot == "" {
			t.Errorf("%s does not say how to fix it", c.ID)
		}
		if c.Tuned() != "" && c.NotTuned != "" {
			t.Errorf("%s: tune sets it, and does not because %s", c.ID, c.NotTuned)
		}
	}
	for id := range looks {
		t.Errorf("the function of %s has no row", id)
	}
	for _, id := range strings.Fields(`env-class cgroup-ready reserved-valid smt-off smt-sibling-free core-homogeneous slot-one-node
		slot-mems node-symmetric llc-private resctrl cmdline-plan
		sched-isolated partition-valid width-vs-isolation nohz-full rcu-offload rlimit-cpu fair-server tick-probe irq-affinity irq-managed
		irqbalance net-rps-xps wq-unbound kthreads user-tasks daemon-placement watchdogs housekeeping-timers cpu-throttle-config autogroup
		rt-throttle turbo-off governor freq-pinned pref-hints pstate-nohz cstates uncore-freq thermal-throttle power-limit effective-freq
		clocksource timesync thp numa-balancing ksm swap compaction tmpfs-node aslr env-fixed time-accounting kernel-version mitigations
		ssbd-seccomp tracing-off debug-kernel perf-keys pmu ecc-mce smi steal vm-noise hugetlb-reserved pool-fingerprint languages
		probe-gap probe-osnoise probe-canary probe-neighbour probe-limits front-settings`) {
		if !seen[id] {
			t.Errorf("%s is missing", id)
		}
		delete(seen, id)
	}
	if len(seen) > 0 {
		t.Errorf("ids that nobody agreed on: %v", seen)
	}
}

// TestNoAdviceThatTheKernelIgnores: nohz_full= is not recommended for a kernel without CONFIG_NO_HZ_FULL.
func TestNoAdviceThatTheKernelIgnores(t *testing.T) {
	root := t.TempDir()
	write(t, root, "sys/devices/system/cpu/online", "0-1\n")
	write(t, root, "proc/cmdline", "quiet\n")
	advised := func() (advice []string) {
		for _, c := range examine(t, Options{FS: hostfs.New(root)}).Checks {
			for _, text := range append(c.Fix.Runtime, c.Fix.Boot, c.Reason) {
				wants := strings.HasPrefix(text, "nohz_full=") || c.ID != "nohz-full"
				if wants && strings.Contains(text, "nohz_full=") {
					advice = append(advice, c.ID+": "+text)
				}
			}
		}
		return advice
	}
	if got := advised(); got != nil {
		t.Errorf("without the file it advises %q", got)
	}
	write(t, root, "sys/devices/system/cpu/nohz_full", "(null)\n")
	if got := advised(); len(got) < 5 {
		t.Errorf("with the file it advises %q only", got)
	}
}

// TestMissingFilesNeverPass: without files, checks must return skip or unknown, or report the missing file as
// the problem.
func TestMissingFilesNeverPass(t *testing.T) {
	root := t.TempDir()
	write(t, root, "sys/devices/system/cpu/online", "0-1\n")
	write(t, root, "proc/README", "")
	r := examine(t, Options{FS: hostfs.New(root)})
	// These need only the list of CPUs.
	decided := []string{"reserved-valid", "width-vs-isolation", "sched-isolated", "nohz-full",
		"slot-one-node"}
	for _, c := range r.Checks {
		if slices.Contains(decided, c.ID) {
			continue
		}
		if c.Status != api.DoctorSkip && c.Status != api.DoctorUnknown {
			t.Errorf("%s: %s (%s)", c.ID, c.Status, c.Reason)
		}
		if c.Status == api.DoctorSkip && c.ID != "daemon-placement" && c.ID != "perf-keys" && c.ID != "pool-fingerprint" &&
			!strings.Contains(c.Reason, "/") && !strings.Contains(c.Reason, "cpu.max") {
			t.Errorf("%s: %q names no path", c.ID, c.Reason)
		}
	}
}

// TestUnreadableWarns: a directory in place of a file exists and is unreadable, also for root.
func TestUnreadableWarns(t *testing.T) {
	for id, path := range map[string]string{
		"thp":                 "sys/kernel/mm/transparent_hugepage/enabled",
		"swap":                "proc/swaps",
		"governor":            "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor",
		"turbo-off":           "sys/devices/system/cpu/cpufreq/boost",
		"smt-off":             "sys/devices/system/cpu/smt/active",
		"clocksource":         "sys/devices/system/clocksource/clocksource0/current_clocksource",
		"core-homogeneous":    "sys/devices/system/cpu/cpu1/cpufreq/cpuinfo_max_freq",
		"irq-affinity":        "proc/irq/5/effective_affinity_list",
		"numa-balancing":      "proc/sys/kernel/numa_balancing",
		"cpu-throttle-config": "cg/cpu.max",
		"ksm":                 "sys/kernel/mm/ksm/run",
		"tmpfs-node":          "sys/kernel/mm/transparent_hugepage/shmem_enabled",
		"hugetlb-reserved":    "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
		"compaction":          "proc/sys/vm/zone_reclaim_mode",
		"env-fixed":           "proc/self/limits",
		"rlimit-cpu":          "proc/self/limits",
		"watchdogs":           "proc/sys/kernel/nmi_watchdog",
		"housekeeping-timers": "proc/sys/vm/stat_interval",
		"autogroup":           "proc/sys/kernel/sched_autogroup_enabled",
		"rt-throttle":         "proc/sys/kernel/sched_rt_runtime_us",
		"wq-unbound":          "sys/devices/virtual/workqueue/cpumask",
		"cmdline-plan":        "proc/cmdline",
		"irq-managed":         "proc/cmdline",
		"freq-pinned":         "sys/devices/system/cpu/cpu1/cpufreq/scaling_min_freq",
		"pref-hints":          "sys/devices/system/cpu/cpu1/cpufreq/energy_performance_preference",
		"pstate-nohz":         "sys/devices/system/cpu/cpu1/cpufreq/scaling_driver",
		"effective-freq":      "sys/devices/system/cpu/cpu1/cpufreq/cpuinfo_avg_freq",
		"uncore-freq":         "sys/devices/system/cpu/intel_uncore_frequency/package_00_die_00/min_freq_khz",
		"thermal-throttle":    "sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count",
		"timesync":            "judged/adjtimex",
		"mitigations":         "sys/devices/system/cpu/vulnerabilities/mds",
		"ssbd-seccomp":        "sys/devices/system/cpu/vulnerabilities/spec_store_bypass",
		"tracing-off":         "sys/kernel/tracing/current_tracer",
		"ecc-mce":             "sys/devices/system/edac/mc/mc0/ce_count",
		"slot-mems":           "cg/cpuset.mems.effective",
	} {
		root := t.TempDir()
		write(t, root, "sys/devices/system/cpu/online", "0-1\n")
		write(t, root, "proc/mounts", "cgroup2 /cg cgroup2 rw 0 0\n")
		write(t, root, "proc/self/cgroup", "0::/\n")
		if err := os.MkdirAll(filepath.Join(root, path), 0o755); err != nil {
			t.Fatal(err)
		}
		c := byID(t, examine(t, Options{FS: hostfs.New(root)}), id)
		if c.Status != api.DoctorWarn || !strings.Contains(c.Reason, filepath.Base(path)) &&
			!strings.Contains(c.Reason, "interrupt 5") {
			t.Errorf("%s: %s (%s), want warn with the path", id, c.Status, c.Reason)
		}
	}
}

func write(t *testing.T, root, name, content string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestFrequencyIsSkippedUnderAHypervisor(t *testing.T) {
	r := examine(t, recorded(t)["kvm-vm"])
	for _, id := range []string{"turbo-off", "governor"} {
		if c := byID(t, r, id); c.Status != api.DoctorSkip || c.Reason != "controlled by the hypervisor" {
			t.Errorf("%s: %s (%s)", id, c.Status, c.Reason)
		}
	}
}

func TestReservedCPUs(t *testing.T) {
	for name, tc := range map[string]struct {
		machine string
		cpus    cpuset.Set
		want    string
	}{
		"the isolated ones": {"intel-bare-tuned", nil, "1-3,5-7"},
		"the last one":      {"kvm-vm", nil, "1"},
		"as asked":          {"kvm-vm", cpuset.New(0), "0"},
		"offline, present":  {"intel-bare-tuned", cpuset.New(9), "9"},
	} {
		r := examine(t, Options{FS: host(t, tc.machine), CPUs: tc.cpus})
		if r.CPUs != tc.want {
			t.Errorf("%s: %s, want %s", name, r.CPUs, tc.want)
		}
	}
}

// TestOfflineCPUPassesNothingOfItsOwn: a reserved CPU that is offline has no files. No check of it may pass for
// that reason.
func TestOfflineCPUPassesNothingOfItsOwn(t *testing.T) {
	r := examine(t, Options{FS: host(t, "intel-bare-tuned"), CPUs: cpuset.New(9)})
	if c := byID(t, r, "reserved-valid"); c.Status != api.DoctorFail {
		t.Errorf("reserved-valid: %s", c.Status)
	}
	for _, id := range []string{"governor", "core-homogeneous", "smt-sibling-free", "llc-private", "slot-one-node",
		"steal"} {
		if c := byID(t, r, id); c.Status == api.DoctorPass {
			t.Errorf("%s passes: %s", id, c.Found)
		}
	}
}

func TestUsageErrors(t *testing.T) {
	vm := host(t, "kvm-vm")
	for name, o := range map[string]Options{
		"CPU outside the machine": {FS: vm, CPUs: cpuset.New(1, 77)},
		"negative width":          {FS: vm, Width: -1},
	} {
		var usage *UsageError
		if _, err := Run(context.Background(), o); !errors.As(err, &usage) {
			t.Errorf("%s: %v, want a *UsageError", name, err)
		}
	}
	var usage *UsageError
	if _, err := Run(context.Background(), Options{FS: hostfs.New(t.TempDir())}); err == nil || errors.As(err, &usage) {
		t.Errorf("an empty tree: %v, want an error that is no *UsageError", err)
	}
	stopped, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(stopped, Options{FS: vm}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestStrictCountsSecondClass(t *testing.T) {
	r := api.DoctorReport{Checks: []api.DoctorCheck{{ID: "a", Severity: api.SeverityS2, Status: api.DoctorFail},
		{ID: "b", Severity: api.SeverityS1, Status: api.DoctorWarn},
		{ID: "c", Severity: api.SeverityInfo, Status: api.DoctorFail}}}
	if n := blocking(r); n != 0 {
		t.Errorf("%d block", n)
	}
	r.Strict = true
	if n := blocking(r); n != 1 {
		t.Errorf("strict: %d block, want 1", n)
	}
	if diff := cmp.Diff([]string{"a", "c"}, r.FailedIDs()); diff != "" {
		t.Errorf("FailedIDs (-want +got):\n%s", diff)
	}
	if ids := (api.DoctorReport{}).FailedIDs(); ids == nil {
		t.Error("FailedIDs is nil, which is null in JSON")
	}
}

// TestProbe: the outcome of a probe is a row like the others, under a separate heading, and can make a host not
// ready.
func TestProbe(t *testing.T) {
	r := examine(t, recorded(t)["intel-bare-tuned"])
	if !AddProbe(&r, "probe-gap", pass("nothing lost"), nil) || !r.Ready {
		t.Errorf("a probe that passed: ready %t", r.Ready)
	}
	if !AddProbe(&r, "probe-limits", fail("CPU 1: may run on 0-7", "its CPUs are not the slot's"),
		[]string{"/proc/self/status"}) || r.Ready {
		t.Errorf("a probe that failed: ready %t", r.Ready)
	}
	if n := len(r.Checks); AddProbe(&r, "probe-all", pass(""), nil) || len(r.Checks) != n {
		t.Error("a probe that does not exist was added")
	}
	whole := format(text.Screen{}, r)
	_, table, ok := strings.Cut(whole, "\n"+probeHeading+"\n")
	if !ok || !strings.HasPrefix(table, "fail  probe-limits         CPU 1: may run on 0-7\n") ||
		!strings.Contains(table, "\npass  probe-gap            nothing lost\n") {
		t.Errorf("table of probes:\n%s", table)
	}
	if strings.Count(whole, "probe-limits  ") != 1 {
		t.Error("the probe is in another group, too")
	}
}

func TestExplain(t *testing.T) {
	for _, id := range slices.Concat(checkIDs(), ProbeIDs()) {
		e, ok := Explain(id)
		text, err := json.Marshal(e)
		if !ok || err != nil || e.ID != id || bytes.ContainsAny(
			[]byte(e.Wanted+strings.Join(e.Fix.Runtime, "")+e.Fix.Boot), "{}") {
			t.Errorf("Explain(%q) = %s, %t, %v", id, text, ok, err)
		}
	}
	if _, ok := Explain("no-such-check"); ok {
		t.Error("an id that does not exist is explained")
	}
}

func TestOwnProcessesAreNoIntruders(t *testing.T) {
	for name, o := range recorded(t) {
		for _, c := range examine(t, o).Checks {
			if strings.Contains(c.Found, "judged (") || strings.Contains(c.Found, "sol (") {
				t.Errorf("%s: %s lists judged itself: %s", name, c.ID, c.Found)
			}
		}
	}
}

func TestTable(t *testing.T) {
	for name, o := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			r := examine(t, o)
			plain := format(text.Screen{Width: text.PageWidth}, r)
			colored := format(text.Screen{Width: text.PageWidth, Color: true}, r)
			for line := range strings.Lines(plain) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > text.PageWidth {
					t.Errorf("%d columns: %s", n, line)
				}
			}
			first, _, _ := strings.Cut(plain, "\n")
			if first != "ready" && !(strings.HasPrefix(first, "not ready: ") &&
				strings.HasSuffix(first, " to fix, here is how")) {
				t.Errorf("first line %q", first)
			}
			for _, id := range checkIDs() {
				if !strings.Contains(plain, id) {
					t.Errorf("%s is not in the table", id)
				}
			}
			if strings.Contains(plain, "\x1b") || !strings.Contains(colored, "\x1b[") {
				t.Error("colour where none was asked for, or none where it was")
			}
		})
	}
}

// TestTableEnd compares the checks of one severity, and what the table ends with.
func TestTableEnd(t *testing.T) {
	check := func(id string, status api.DoctorStatus, reason string) api.DoctorCheck {
		return api.DoctorCheck{ID: id, Severity: api.SeverityS2, Status: status, Found: "found", Reason: reason}
	}
	const bare = "controlled by the hypervisor"
	for _, tt := range []struct {
		name   string
		checks []api.DoctorCheck
		want   string
	}{
		{"nothing to do", []api.DoctorCheck{check("governor", api.DoctorPass, "")}, "pass  governor  found\n"},
		{"folded", []api.DoctorCheck{check("cstates", api.DoctorSkip, bare), check("swap", api.DoctorPass, ""),
			check("pmu", api.DoctorSkip, "no driver"), check("smi", api.DoctorSkip, bare)},
			"skip  2 checks  controlled by the hypervisor: cstates, smi\nskip  pmu       no driver\n" +
				"pass  swap      found\n"},
		{"at run time", []api.DoctorCheck{check("swap", api.DoctorWarn, "why"), check("steal", api.DoctorWarn, "why")},
			"next\n    now     judged tune apply          # 1 of these checks, until the next boot\n"},
		{"at boot", []api.DoctorCheck{check("cmdline-plan", api.DoctorFail, "why")},
			"next\n    boot    judged tune plan --boot    # the kernel command line\n"},
		{"passed", []api.DoctorCheck{check("cmdline-plan", api.DoctorPass, ""), check("swap", api.DoctorUnknown, "why")},
			"unknown  swap          why\npass     cmdline-plan  found\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			whole := format(text.Screen{Width: text.PageWidth}, api.DoctorReport{Checks: tt.checks})
			_, got, _ := strings.Cut(whole, "S2  0.5 to 5 %\n")
			if _, end, found := strings.Cut(got, "\nnext\n"); found {
				got = "next\n" + end
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("table (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWriteChanges(t *testing.T) {
	report := func(checks ...api.DoctorCheck) api.DoctorReport { return api.DoctorReport{Checks: checks} }
	same := api.DoctorCheck{ID: "swap", Status: api.DoctorPass, Found: "off"}
	counts := func(found string) api.DoctorCheck {
		return api.DoctorCheck{ID: "smi", Status: api.DoctorWarn, Found: found}
	}
	before := report(same, counts("1"), api.DoctorCheck{ID: "governor", Status: api.DoctorPass, Found: "performance"},
		api.DoctorCheck{ID: "irqbalance", Status: api.DoctorFail, Found: "running", Reason: "it moves interrupts"})
	after := report(same, counts("2"),
		api.DoctorCheck{ID: "governor", Status: api.DoctorFail, Found: "powersave", Reason: "slow"},
		api.DoctorCheck{ID: "irqbalance", Status: api.DoctorPass, Found: "not\x1brunning"},
		api.DoctorCheck{ID: "steal", Status: api.DoctorUnknown, Reason: "no counter"})
	var b strings.Builder
	if err := WriteChanges(&b, before, after, time.Date(2026, 11, 27, 15, 4, 5, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	want := "15:04:05  fail     governor: slow\n15:04:05  pass     irqbalance: not\uFFFDrunning\n" +
		"15:04:05  unknown  steal: no counter\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, fs.ErrInvalid }

func TestTableReportsAFailedWrite(t *testing.T) {
	if err := WriteTable(fullDisk{}, examine(t, recorded(t)["kvm-vm"])); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("WriteTable = %v", err)
	}
}

// TestLive: on the live machine doctor must work with any result, and must not change the clock.
func TestLive(t *testing.T) {
	for _, daemon := range []bool{false, true} {
		r := examine(t, Options{FS: hostfs.New("/"), Daemon: daemon})
		var table bytes.Buffer
		if err := WriteTable(&table, r); err != nil {
			t.Fatal(err)
		}
		t.Log("\n" + table.String())
	}
}

func BenchmarkLive(b *testing.B) {
	for b.Loop() {
		if _, err := Run(context.Background(), Options{FS: hostfs.New("/")}); err != nil {
			b.Fatal(err)
		}
	}
}
