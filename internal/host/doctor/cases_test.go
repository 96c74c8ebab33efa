package doctor

import (
	"path/filepath"
	"testing"
	"testing/fstest"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
	"judged/internal/testkit"
)

// TestEdges covers cases that no recorded machine has: recorded machines with a few files changed.
func TestEdges(t *testing.T) {
	const pagesRead = "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
	for name, tc := range map[string]struct {
		machine string
		files   map[string]string
		id      string
		want    api.DoctorStatus
	}{
		"no work yet": {"intel-bare-tuned", map[string]string{"proc/stat": "cpu1 50 0 50 9 0 0 0 0\ncpu2 50 0 50 9 " +
			"0 0 0 0\n"}, "tick-probe", api.DoctorUnknown},
		"ticks under load": {"intel-bare-tuned", map[string]string{"proc/interrupts": "  CPU0 CPU1\nLOC: 9 900000 x\n"},
			"tick-probe", api.DoctorWarn},
		"huge pages accounted in v2": {"intel-bare-tuned", map[string]string{pagesRead: "8",
			"proc/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw,memory_hugetlb_accounting 0 " +
				"0\n"}, "hugetlb-reserved", api.DoctorPass},
		"huge pages, memory in v1": {"intel-bare-tuned", map[string]string{pagesRead: "8",
			"proc/mounts": "cgroup2 /sys/fs/cgroup/unified cgroup2 rw,memory_hugetlb_accounting 0 0\ncgroup /m cgroup " +
				"rw,memory 0 0\n"}, "hugetlb-reserved", api.DoctorFail},
		"huge pages of one node": {"intel-bare-tuned",
			map[string]string{"sys/devices/system/node/node1/hugepages/hugepages-2048kB/surplus_hugepages": "1"},
			"hugetlb-reserved", api.DoctorFail},
		"huge pages on demand": {"intel-bare-tuned",
			map[string]string{"sys/kernel/mm/hugepages/hugepages-2048kB/nr_overcommit_hugepages": "1"},
			"hugetlb-reserved", api.DoctorFail},
		"a few SMIs": {"intel-bare-tuned", map[string]string{"judged/msr-0x34": "3"}, "smi", api.DoctorWarn},
		"an SMI each second": {"intel-bare-tuned", map[string]string{"judged/msr-0x34": "90211"}, "smi",
			api.DoctorFail},
		"a register of nonsense": {"intel-bare-tuned", map[string]string{"judged/msr-0x34": "x"}, "smi",
			api.DoctorUnknown},
		"a bent clock": {"intel-bare-tuned",
			map[string]string{"judged/adjtimex": "freq 0 tick 10001 status 1"}, "timesync", api.DoctorWarn},
		"a clock of nonsense": {"intel-bare-tuned", map[string]string{"judged/adjtimex": "freq x"}, "timesync",
			api.DoctorUnknown},
		"another's partition": {"amd-epyc-ccx",
			map[string]string{"sys/fs/cgroup/judged/cpuset.cpus.partition": "root invalid (Parent is not a partition " +
				"root)"}, "partition-valid", api.DoctorFail},
		"an ARM that is cooled": {"arm64-altra",
			map[string]string{"sys/class/thermal/cooling_device2/cur_state": "4"}, "thermal-throttle", api.DoctorFail},
		"a sleep that is allowed": {"amd-epyc-ccx",
			map[string]string{"sys/devices/system/cpu/cpu5/power/pm_qos_resume_latency_us": "0"}, "cstates", api.DoctorFail},
		"a sleep that is bounded": {"amd-epyc-ccx",
			map[string]string{"sys/devices/system/cpu/cpu5/power/pm_qos_resume_latency_us": "100"},
			"cstates", api.DoctorPass},
		"a node that is full": {"intel-bare-tuned",
			map[string]string{"sys/devices/system/node/node1/meminfo": "Node 1 MemTotal: 98304000 kB\nNode 1 MemFree: " +
				"700000 kB\n"}, "slot-mems", api.DoctorWarn},
		"a node that is closed": {"intel-bare-tuned",
			map[string]string{"sys/fs/cgroup/system.slice/judged.service/cpuset.mems.effective": "0"}, "slot-mems",
			api.DoctorFail},
		"cache ways of others": {"intel-bare-tuned", map[string]string{"sys/fs/resctrl/judged/mode": "shareable"},
			"resctrl", api.DoctorWarn},
		"workers of one queue": {"intel-bare-tuned",
			map[string]string{"sys/devices/virtual/workqueue/writeback/cpumask": "ff"}, "wq-unbound", api.DoctorWarn},
		"boot option only": {"container-unprivileged", map[string]string{"proc/cmdline": "slub_debug=FZ"},
			"debug-kernel", api.DoctorFail},
		"a limit of the group": {"arm64-altra",
			map[string]string{"proc/self/limits": "Max cpu time   10   10   seconds\n"}, "rlimit-cpu", api.DoctorFail},
		"a kernel too old to start": {"intel-bare-tuned", map[string]string{"proc/sys/kernel/osrelease": "5.11.22"},
			"kernel-version", api.DoctorFail},
		"the oldest that will do": {"intel-bare-tuned", map[string]string{"proc/sys/kernel/osrelease": "5.12.0"},
			"kernel-version", api.DoctorWarn},
		"isolcpus for wide slots": {"intel-bare-tuned",
			map[string]string{"proc/cmdline": "ro isolcpus=domain,1-3,5-7 nohz_full=1-3,5-7"},
			"cmdline-plan", api.DoctorWarn},
		"areas of swap without a heading": {"amd-epyc-ccx", map[string]string{"proc/swaps": "?"}, "swap",
			api.DoctorUnknown},
		"no text about swap": {"amd-epyc-ccx", map[string]string{"proc/swaps": ""}, "swap", api.DoctorUnknown},
		"a partition of nonsense": {"amd-epyc-ccx",
			map[string]string{"sys/fs/cgroup/judged/cpuset.cpus.partition": "?"}, "partition-valid", api.DoctorFail},
		"a throttle counter of nonsense": {"intel-bare-tuned",
			map[string]string{"sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count": "?"}, "thermal-throttle",
			api.DoctorUnknown},
		"a queue with an affinity of nonsense": {"amd-epyc-ccx", map[string]string{"proc/interrupts": "   CPU0 CPU4\n" +
			"90: 1 2 nvme0q5\n", "proc/irq/90/effective_affinity_list": "?"}, "irq-managed", api.DoctorWarn},
		"a cgroup without a path": {"old-kernel-v1", map[string]string{"proc/self/cgroup": "?"}, "cpu-throttle-config",
			api.DoctorUnknown},
		"a node without free memory": {"intel-bare-tuned",
			map[string]string{"sys/devices/system/node/node1/meminfo": "Node 1 MemTotal: 98304000 kB\n"}, "slot-mems",
			api.DoctorUnknown},
		"a power supply that is neither": {"intel-bare-tuned", map[string]string{"sys/class/power_supply/AC/type": "Mains",
			"sys/class/power_supply/AC/online": "?"}, "power-limit", api.DoctorUnknown},
		"a watchdog that is neither": {"intel-bare-tuned", map[string]string{"proc/sys/kernel/soft_watchdog": "?",
			"proc/sys/kernel/nmi_watchdog": "0", "proc/sys/kernel/watchdog_cpumask": "0-7"}, "watchdogs", api.DoctorWarn},
		"a vulnerability of nonsense": {"intel-bare-tuned",
			map[string]string{"sys/devices/system/cpu/vulnerabilities/mds": "?"}, "mitigations", api.DoctorUnknown},
		"a vulnerability of a guest": {"intel-bare-tuned",
			map[string]string{"sys/devices/system/cpu/vulnerabilities/gds": "Unknown: Dependent on hypervisor status"},
			"mitigations", api.DoctorPass},
		"a store bypass of nonsense": {"intel-bare-tuned",
			map[string]string{"sys/devices/system/cpu/vulnerabilities/spec_store_bypass": "?"}, "ssbd-seccomp",
			api.DoctorUnknown},
		"a store bypass without a state of judged": {"intel-bare-tuned",
			map[string]string{"proc/self/status": "Name:\tjudged\n"}, "ssbd-seccomp", api.DoctorUnknown},
		"a processor of nonsense": {"intel-bare-tuned", map[string]string{"proc/cpuinfo": "?"}, "env-class",
			api.DoctorUnknown},
		"a sleep of unknown length": {"amd-epyc-ccx",
			map[string]string{"sys/devices/system/cpu/cpu5/cpuidle/state2/latency": "?"}, "cstates", api.DoctorUnknown},
		"a node without memory before others": {"intel-bare-tuned",
			map[string]string{"sys/devices/system/node/node0/meminfo": ""}, "node-symmetric", api.DoctorWarn},
	} {
		tree, _, err := testkit.Host(filepath.Join(hostsDir, tc.machine))
		if err != nil {
			t.Fatal(err)
		}
		for path, text := range tc.files {
			tree[path] = &fstest.MapFile{Data: []byte(text), Mode: 0o444}
		}
		o := recorded(t)[tc.machine]
		o.FS = hostfs.Of(tree)
		if c := byID(t, examine(t, o), tc.id); c.Status != tc.want {
			t.Errorf("%s: %s is %s (%s; %s), want %s", name, c.ID, c.Status, c.Found, c.Reason, tc.want)
		}
	}
}

// TestNoLanguages: a host on which no source can be judged is not fine, whether languages are missing or none is configured.
func TestNoLanguages(t *testing.T) {
	for _, all := range [][]Language{{}, {{"c", "gcc is not installed"}}} {
		o := recorded(t)["kvm-vm"]
		o.Languages = all
		if c := byID(t, examine(t, o), "languages"); c.Status != api.DoctorWarn {
			t.Errorf("%v: %s (%s), want warn", all, c.Status, c.Found)
		}
	}
}

// TestClosedMaskWarns: an unreadable mask must not count as a mask without reserved CPUs.
func TestClosedMaskWarns(t *testing.T) {
	tree, _, err := testkit.Host(filepath.Join(hostsDir, "intel-bare-tuned"))
	if err != nil {
		t.Fatal(err)
	}
	tree["sys/class/net/eno1/queues/rx-0/rps_cpus"] = &fstest.MapFile{}
	if c := byID(t, examine(t, Options{FS: hostfs.Of(tree), CPUs: cpuset.New(1)}),
		"net-rps-xps"); c.Status != api.DoctorWarn {
		t.Errorf("%s (%s)", c.Status, c.Reason)
	}
}

// TestDaemonReadsNoRegisters: the reserved CPUs may be running programs, so the daemon must not read anything
// that interrupts them.
func TestDaemonReadsNoRegisters(t *testing.T) {
	o := recorded(t)["amd-epyc-ccx"]
	for _, daemon := range []bool{false, true} {
		o.Daemon = daemon
		h, notes := o.FS.Record()
		examine(t, Options{FS: h, CPUs: o.CPUs, Width: o.Width, Daemon: daemon})
		for _, path := range []string{"sys/devices/system/cpu/cpu5/acpi_cppc/nominal_freq",
			"sys/devices/system/cpu/cpu5/cpufreq/energy_performance_preference"} {
			if _, read := notes.Files()[path]; read == daemon {
				t.Errorf("daemon %t: %s read: %t", daemon, path, read)
			}
		}
	}
}
