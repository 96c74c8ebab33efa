package settings

import (
	"judged/internal/api"
)

func machineSettings() []Setting {
	return []Setting{{
		ID: "env-class", Title: "kind of machine", Severity: api.SeverityInfo,
		Wanted: "bare metal",
		Effect: "a hypervisor can take the CPU away and hides frequency and caches: an idle virtual machine lost 0.67 % " +
			"of a spinning core's time, a busy one 2 % with gaps of 3.2 ms (measured)",
		See:  "systemd-detect-virt",
		Boot: "a dedicated or bare-metal instance; judged on the host and not in a container",
	}, {
		ID: "cgroup-ready", Title: "control groups", Severity: api.SeverityS1,
		Wanted: "cgroup v2 with cpuset, cpu, memory and pids available to judged",
		Effect: "without cpuset, runs share their CPUs with other work: +51 to +197 % time under load (measured); " +
			"without memory and pids, limits cannot be enforced",
		See:      "cat /sys/fs/cgroup/cgroup.controllers /sys/fs/cgroup/cgroup.subtree_control",
		NotTuned: "judged enables the controllers of its groups when it starts; other groups belong to other programs",
	}, {
		ID: "cpu-throttle-config", Title: "quotas above the slots", Severity: api.SeverityS1,
		Wanted: "cpu.max and memory.high are max in judged's cgroup and in all above it",
		Effect: "a quota stops runs for the rest of each 100 ms period, memory.high makes their allocations sleep " +
			"(kernel documentation, cgroup-v2)",
		See: "grep . /sys/fs/cgroup/*/cpu.max /sys/fs/cgroup/*/judged.service/cpu.max",
		Run: []string{SetFile("max", "/sys/fs/cgroup/GROUP/cpu.max") + "   # cgroup v2; memory.high likewise",
			SetFile("-1", "/sys/fs/cgroup/cpu/GROUP/cpu.cfs_quota_us") + "   # cgroup v1 and hybrid"},
		Boot: "no CPUQuota= and no MemoryHigh= in judged's unit and the slices above it, no --cpus limit on a " +
			"container",
		NotTuned: "an administrator set the quotas on groups above judged; change their unit",
	}, {
		ID: "kernel-version", Title: "kernel release", Severity: api.SeverityS1,
		Wanted: "Linux 6.3 or newer; 6.8 with partitions",
		Effect: "below 6.3, page faults wait for locks of other memory cgroups, for seconds at a contest in 2023 " +
			"(DOMjudge issue 2277); below 5.12 judged does not start",
		See:  "uname -r",
		Boot: "a newer kernel",
	}}
}

func cpuSettings() []Setting {
	return []Setting{{
		ID: "reserved-valid", Title: "reserved CPUs", Severity: api.SeverityS1,
		Wanted: "CPU {R} online, CPU 0 not among them, at least one other CPU on every node",
		Effect: "CPU 0 cannot stop its tick (kernel documentation, no_hz); without another CPU the kernel and judged " +
			"compete with the runs: +51 to +77 % wall time (measured)",
		See:  "grep . /sys/devices/system/cpu/online /sys/devices/system/cpu/isolated",
		Boot: "other CPUs in slots.cpu_list of the configuration and in isolcpus=",
	}, {
		ID: "smt-off", Title: "SMT (hyper-threading)", Severity: api.SeverityS1,
		Wanted: "/sys/devices/system/cpu/smt/active is 0",
		Effect: "two threads of a core share its execution units and first caches, so a run depends on what its sibling " +
			"does (published experiments switch it off first)",
		Values: []Value{{Pattern: "/sys/devices/system/cpu/smt/control", Kind: Word, To: "off", Want: smtOff}},
		See:    "cat /sys/devices/system/cpu/smt/active",
		Boot:   "nosmt on the kernel command line, or off in the firmware",
		Risk:   "half of the logical CPUs go offline; a thread bound to one of them may run anywhere afterwards",
	}, {
		ID: "smt-sibling-free", Title: "siblings of reserved CPUs", Severity: api.SeverityS1,
		Wanted: "every sibling of CPU {R} is offline, or reserved too and idle",
		Effect: "a busy sibling takes up to half of the core from the run (estimate)",
		Values: []Value{{Pattern: "/sys/devices/system/cpu/cpu[0-9]*/online", Kind: Word, Want: siblingOff}},
		See:    "grep . /sys/devices/system/cpu/cpu*/topology/thread_siblings_list",
		Run:    []string{"echo 0 > /sys/devices/system/cpu/cpuSIBLING/online"},
		Boot:   "nosmt, or reserve whole cores",
		Risk:   "these CPUs go offline for everybody; a thread bound to one of them may run anywhere afterwards",
	}, {
		ID: "core-homogeneous", Title: "equal cores", Severity: api.SeverityS1,
		Wanted: "equal capacity, type, maximum frequency and cache on all of CPU {R}",
		Effect: "the time depends on the slot: efficiency cores have about half the capacity of performance cores " +
			"(kernel documentation, cpu_capacity)",
		See:  "grep . /sys/devices/system/cpu/cpu*/cpu_capacity /sys/devices/system/cpu/cpu*/cpufreq/cpuinfo_max_freq",
		Boot: "reserve cores of one kind; preferred cores off in the firmware",
	}, {
		ID: "slot-one-node", Title: "slot within one NUMA node", Severity: api.SeverityS1,
		Wanted: "every slot of {W} CPU on one node that has memory",
		Effect: "memory of another node is slower: spread of 20 runs 252 -> 48 ms once bound to one node (published " +
			"experiment)",
		See:  "grep . /sys/devices/system/node/node*/cpulist",
		Boot: "reserve a multiple of {W} cores on each node",
	}, {
		ID: "llc-private", Title: "last-level cache", Severity: api.SeverityS1,
		Wanted: "one slot per L3 cache, shared with nothing else",
		Effect: "a neighbour that streams memory through a shared L3 raised the CPU time of a run on its own core by 25 " +
			"% (measured)",
		See: "grep . /sys/devices/system/cpu/cpu*/cache/index3/shared_cpu_list",
		Boot: "one slot per L3 (AMD: per CCX, L3 as NUMA in the firmware); Intel: divide it with resctrl " +
			"(rdt=l3cat,mba)",
	}, {
		ID: "slot-mems", Title: "memory of the slot's own node", Severity: api.SeverityS1,
		Wanted: "judged's cpuset.mems holds the nodes of CPU {R}, and each has 256 MiB free for every slot",
		Effect: "memory of another node is slower: spread of 20 runs 252 -> 48 ms once bound to one node (published " +
			"experiment)",
		See: "cat /sys/fs/cgroup/cpuset.mems.effective; grep MemFree /sys/devices/system/node/node*/meminfo",
		Run: []string{SetFile("$(cat /sys/fs/cgroup/cpuset.mems.effective)", "/sys/fs/cgroup/GROUP/cpuset.mems") +
			"   # cgroup v2",
			SetFile("$(cat /sys/fs/cgroup/cpuset/cpuset.mems)", "/sys/fs/cgroup/cpuset/GROUP/cpuset.mems") +
				"   # cgroup v1 and hybrid"},
		Boot:     "no AllowedMemoryNodes= in judged's unit and the slices above it, no --cpuset-mems on a container",
		NotTuned: "the sandbox binds the memory of each run to the node of its slot",
	}, {
		ID: "node-symmetric", Title: "equal memory of the nodes", Severity: api.SeverityS2,
		Wanted: "equal modules at every memory controller, equal memory on every node of CPU {R}",
		Effect: "a node with fewer channels has less bandwidth: 0.5 to 5 % for programs that stream memory (estimate)",
		See:    "grep MemTotal /sys/devices/system/node/node*/meminfo",
		Boot:   "modules of one kind in every channel, or reserve CPUs of one node only",
	}, {
		ID: "resctrl", Title: "division of the last-level cache", Severity: api.SeverityS1, Bare: true,
		Wanted: "an L3 that is shared with others is divided: CPU {R} in a resctrl group of mode exclusive",
		Effect: "as for llc-private: +25 % CPU time (measured)",
		See:    "grep . /sys/fs/resctrl/*/cpus_list /sys/fs/resctrl/*/mode",
		Run: []string{"mountpoint -q /sys/fs/resctrl || mount -t resctrl resctrl /sys/fs/resctrl",
			"mkdir -p /sys/fs/resctrl/judged",
			"echo {R} > /sys/fs/resctrl/judged/cpus_list",
			"echo L3:0=fff00 > /sys/fs/resctrl/judged/schemata   # the ways of each L3",
			"echo exclusive > /sys/fs/resctrl/judged/mode"},
		Boot:     "rdt=l3cat,mba on the kernel command line",
		NotTuned: "a share of the cache belongs to a slot and has no previous value",
	}}
}

// SetFile returns a command that shows the old value of a file and writes a new one. It fails if the file does
// not exist; otherwise the shell would create it.
func SetFile(value, file string) string { return "cat " + file + " && echo " + value + " > " + file }
