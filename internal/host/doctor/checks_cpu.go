package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"judged/internal/base/cpuset"
	"judged/internal/host/turbo"
)

func cpuChecks() []check {
	return []check{{
		id: "reserved-valid", title: "reserved CPUs", severity: S1,
		wanted:  "CPU {R} online, CPU 0 not among them, at least one other CPU on every node",
		effect:  "CPU 0 serves the boot CPU's timers and cannot stop its tick (kernel documentation, no_hz); without another CPU judged and the kernel compete with the runs: +51 to +77 % wall time (measured)",
		confirm: "grep . /sys/devices/system/cpu/online /sys/devices/system/cpu/isolated",
		fix:     Fix{Boot: "name other CPUs in slots.cpu_list of the configuration and in isolcpus="},
		look:    lookReserved,
	}, {
		id: "smt-off", title: "SMT (hyper-threading)", severity: S1,
		wanted:  "/sys/devices/system/cpu/smt/active is 0",
		effect:  "two threads of one core share its execution units and first caches, so a run depends on what its sibling does (published experiments on judging times switch it off before all else)",
		confirm: "cat /sys/devices/system/cpu/smt/active",
		fix:     Fix{Runtime: []string{"echo off > /sys/devices/system/cpu/smt/control"}, Boot: "nosmt on the kernel command line, or off in the firmware"},
		look:    lookSMT,
	}, {
		id: "smt-sibling-free", title: "siblings of reserved CPUs", severity: S1,
		wanted:  "every sibling of CPU {R} is offline or reserved too, and then left idle",
		effect:  "a busy sibling takes up to half of the core away from the run (estimate; see smt-off)",
		confirm: "grep . /sys/devices/system/cpu/cpu*/topology/thread_siblings_list",
		fix:     Fix{Runtime: []string{"echo 0 > /sys/devices/system/cpu/cpuSIBLING/online"}, Boot: "nosmt, or reserve whole cores"},
		mend:    mendSiblings,
		look:    lookSiblings,
	}, {
		id: "core-homogeneous", title: "equal cores", severity: S1,
		wanted:  "the same capacity, type, top frequency and cache on all of CPU {R}",
		effect:  "the same program takes another time on another slot: efficiency cores have about half the capacity of performance cores (kernel documentation, cpu_capacity)",
		confirm: "grep . /sys/devices/system/cpu/cpu*/cpu_capacity /sys/devices/system/cpu/cpu*/cpufreq/cpuinfo_max_freq",
		fix:     Fix{Boot: "reserve cores of one kind; switch preferred cores off in the firmware"},
		look:    lookHomogeneous,
	}, {
		id: "slot-one-node", title: "slot within one NUMA node", severity: S1,
		wanted:  "every slot of {W} CPU on one node that has memory",
		effect:  "memory of another node is slower and shared: spread of 20 runs 252 -> 48 ms once bound to one node (published experiment)",
		confirm: "grep . /sys/devices/system/node/node*/cpulist",
		fix:     Fix{Boot: "reserve a multiple of {W} cores on each node"},
		look:    lookNode,
	}, {
		id: "llc-private", title: "last-level cache", severity: S1,
		wanted:  "one slot per L3 cache, shared with nobody else",
		effect:  "a neighbour that streams memory through the shared L3 raised CPU time of a run on its own core by 25 % (measured)",
		confirm: "grep . /sys/devices/system/cpu/cpu*/cache/index3/shared_cpu_list",
		fix:     Fix{Boot: "plan one slot per L3 (AMD: per CCX, L3 as NUMA in the firmware); Intel: separate it with resctrl (rdt=l3cat,mba)"},
		look:    lookCache,
	}}
}

func lookReserved(v *view) Outcome {
	v.saw(cpuDir+"/online", cpuDir+"/present", cpuDir+"/isolated", nodeDir+"/online")
	found := fmt.Sprintf("reserved %s of online %s", v.reserved, v.top.Online)
	var bare []string
	for _, n := range v.top.Nodes {
		if len(n.CPUs) > 0 && !n.CPUs.Overlaps(v.housekeeping) {
			bare = append(bare, strconv.Itoa(n.ID))
		}
	}
	switch offline := v.reserved.Minus(v.top.Online); {
	case len(offline) > 0:
		return fail(found, "offline: "+offline.String())
	case len(v.housekeeping) == 0:
		return fail(found, "no CPU is left for the kernel and for judged itself")
	case v.reserved.Contains(0):
		return fail(found, "CPU 0 is the boot CPU and belongs to the kernel")
	case len(bare) > 0:
		return warn(found, "no CPU is left for the kernel threads of node "+strings.Join(bare, ", "))
	default:
		return pass(found)
	}
}

func lookSMT(v *view) Outcome {
	active, bad := v.word(cpuDir + "/smt/active")
	if bad != nil {
		return *bad
	}
	control, bad := v.word(cpuDir + "/smt/control")
	if bad != nil {
		return *bad
	}
	found := fmt.Sprintf("active %s, control %s", active, control)
	switch {
	case active == "1" && len(v.busySiblings()) == 0:
		return warn(found, "on, but the siblings of the reserved CPUs are free")
	case active == "1":
		return fail(found, "on, and siblings of reserved CPUs do other work")
	case active != "0":
		return unknown(found, fmt.Sprintf("%s/smt/active is %q, neither 0 nor 1", cpuDir, active))
	case v.class.hypervisor != "":
		return unknown(found, "the hypervisor can place two of these CPUs on one core without saying so")
	default:
		return pass(found)
	}
}

// busySiblings are the online siblings of reserved CPUs that are not reserved.
func (f facts) busySiblings() cpuset.Set {
	var busy cpuset.Set
	for _, id := range f.reserved {
		if c, ok := f.top.CPU(id); ok {
			busy = busy.Union(c.Siblings.Minus(f.reserved))
		}
	}
	return busy
}

func lookSiblings(v *view) Outcome {
	if _, bad := v.perCPU("topology/thread_siblings_list"); bad != nil {
		return *bad
	}
	cpus := v.reserved.Intersect(v.top.Online)
	found := fmt.Sprintf("%s on %s", counted(len(cpus), "CPU"), counted(v.cores(v.top.Online), "core"))
	switch busy := v.busySiblings(); {
	case len(busy) > 0:
		return fail("siblings in use: "+busy.String(), "other work on CPU "+busy.String()+" shares a core with a reserved CPU")
	case v.class.hypervisor != "" && v.cores(v.top.Online) == len(cpus):
		return unknown(found, "the hypervisor can place two of these CPUs on one core without saying so")
	default:
		return pass(found)
	}
}

type likeness struct{ file, what string }

// likenesses are the files that must say the same on every reserved CPU. Cache index 3 is the last
// level on current x86; its sizes differ where one chiplet carries stacked cache.
func likenesses() []likeness {
	return []likeness{
		{"cpu_capacity", "capacity"},
		{"cpufreq/cpuinfo_max_freq", "top frequency (kHz)"},
		{"cache/index3/size", "L3"},
	}
}

func lookHomogeneous(v *view) Outcome {
	if o, mixed := v.hybrid(); mixed {
		return o
	}
	var same []string
	for _, l := range likenesses() {
		values, bad := v.perCPU(l.file)
		if bad != nil && bad.Status != Skip {
			return *bad
		}
		if bad != nil {
			continue
		}
		kinds := group(values)
		if len(kinds) > 1 {
			return fail(l.what+": "+strings.Join(kinds, ", "), "the reserved CPUs are not of one kind")
		}
		same = append(same, l.what+" "+strings.Join(kinds, ""))
	}
	if o, differ := v.preferred(); differ {
		return o
	}
	if len(same) == 0 {
		return skip(cpuDir + "/cpu[id]/cpu_capacity and cpufreq/cpuinfo_max_freq do not exist")
	}
	return pass(strings.Join(same, "; "))
}

// hybrid tells performance and efficiency cores of Intel apart: each kind has its own PMU device.
func (v *view) hybrid() (Outcome, bool) {
	big, errBig := cpuset.Parse(v.optional("/sys/devices/cpu_core/cpus"))
	small, errSmall := cpuset.Parse(v.optional("/sys/devices/cpu_atom/cpus"))
	v.saw("/sys/devices/cpu_core/cpus", "/sys/devices/cpu_atom/cpus")
	if errBig != nil || errSmall != nil || !v.reserved.Overlaps(big) || !v.reserved.Overlaps(small) {
		return Outcome{}, false
	}
	return fail(fmt.Sprintf("performance cores %s, efficiency cores %s", v.reserved.Intersect(big), v.reserved.Intersect(small)),
		"the reserved CPUs are not of one kind"), true
}

// preferred finds cores that the firmware ranks above others: only boost makes them differ.
func (v *view) preferred() (Outcome, bool) {
	values, bad := v.perCPU("cpufreq/amd_pstate_highest_perf")
	if bad != nil || len(group(values)) < 2 {
		return Outcome{}, false
	}
	found := "highest_perf " + strings.Join(group(values), ", ")
	if v.turbo.Value == turbo.Off {
		return warn(found, "preferred cores; without effect while boost is off"), true
	}
	return fail(found, "preferred cores boost higher than others"), true
}

// group writes which CPUs have which value: "1024 (CPU 0-3)"; without CPUs when all have the same.
func group(values map[int]string) []string {
	by := map[string]cpuset.Set{}
	for id, s := range values {
		by[s] = by[s].Union(cpuset.New(id))
	}
	var kinds []string
	for _, s := range slices.Sorted(maps.Keys(by)) {
		if len(by) > 1 {
			s = fmt.Sprintf("%s (CPU %s)", s, by[s])
		}
		kinds = append(kinds, s)
	}
	return kinds
}

func lookNode(v *view) Outcome {
	v.saw(nodeDir+"/online", nodeDir+"/node[id]/cpulist", nodeDir+"/node[id]/meminfo")
	var slots, left int
	var where []string
	for _, n := range v.top.Nodes {
		cores := v.cores(n.CPUs)
		if cores == 0 {
			continue
		}
		where = append(where, fmt.Sprintf("node %d: %s", n.ID, counted(cores, "core")))
		if n.MemTotal == 0 {
			return fail(strings.Join(where, ", "), fmt.Sprintf("node %d has no memory of its own", n.ID))
		}
		slots += cores / v.width
		left += cores % v.width
	}
	found := strings.Join(where, ", ")
	switch {
	case len(where) == 0:
		return unknown("", "none of the reserved CPUs is online")
	case slots == 0:
		return fail(found, fmt.Sprintf("no node has the %d reserved cores of one slot", v.width))
	case left > 0:
		return warn(found, fmt.Sprintf("%s left over from slots of %d, idle", counted(left, "core"), v.width))
	default:
		return pass(found)
	}
}

func lookCache(v *view) Outcome {
	if _, bad := v.perCPU("cache/index3/shared_cpu_list"); bad != nil {
		return *bad
	}
	var domains, shared, crowded []string
	for _, id := range v.reserved {
		c, ok := v.top.CPU(id)
		if !ok || slices.Contains(domains, c.L3.String()) {
			continue
		}
		name := c.L3.String()
		domains = append(domains, name)
		if c.L3.Overlaps(v.housekeeping) {
			shared = append(shared, name)
		}
		if v.cores(c.L3) > v.width {
			crowded = append(crowded, name)
		}
	}
	found := fmt.Sprintf("%s in the L3 of CPU %s", counted(len(v.reserved), "reserved CPU"), strings.Join(domains, " and "))
	v.saw("/proc/cpuinfo")
	switch {
	case len(shared) > 0 && v.class.String() == "bare" && !hasFlag(v.optional("/proc/cpuinfo"), "cat_l3"):
		return fail(found, "other CPUs use the same L3, and the processor cannot divide it")
	case len(shared) > 0:
		return warn(found, "other CPUs use the same L3")
	case len(crowded) > 0:
		return warn(found, "several slots share one L3")
	default:
		return pass(found)
	}
}
