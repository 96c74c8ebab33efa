package doctor

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/base/text"
	"judged/internal/host/hostfs"
	"judged/internal/host/machine"
	"judged/internal/host/slots"
)

func lookReserved(v *view) Outcome {
	v.saw(cpuDir+"/online", cpuDir+"/present", cpuDir+"/isolated", nodeDir+"/online", "/proc/mounts", "/proc/self/cgroup")
	found := fmt.Sprintf("reserved %s of online %s", v.Reserved, v.Topology.Online)
	var bare []string
	for _, n := range v.Topology.Nodes {
		if len(n.CPUs) > 0 && !n.CPUs.Overlaps(v.Housekeeping) {
			bare = append(bare, strconv.Itoa(n.ID))
		}
	}
	refused := slots.Allowed(v.FS, v.Topology, v.Reserved)
	switch offline := v.Reserved.Minus(v.Topology.Online); {
	case len(offline) > 0:
		return fail(found, "offline: "+offline.String())
	case len(v.Housekeeping) == 0:
		return fail(found, "no CPU remains for the kernel and for judged")
	case v.Reserved.Contains(0):
		return fail(found, "CPU 0 is the boot CPU and belongs to the kernel")
	case refused != nil:
		return fail(found, refused.Error())
	case len(bare) > 0:
		return warn(found, "no CPU remains for the kernel threads of node "+strings.Join(bare, ", "))
	default:
		return pass(found)
	}
}

func lookSMT(v *view) Outcome {
	active := v.must(cpuDir + "/smt/active")
	control := v.must(cpuDir + "/smt/control")
	found := fmt.Sprintf("active %s, control %s", active, control)
	switch {
	case active == "1" && len(v.busySiblings()) == 0:
		return warn(found, "on, but the siblings of the reserved CPUs are free")
	case active == "1":
		return fail(found, "on, and siblings of reserved CPUs are in use")
	case active != "0":
		return unknown(found, fmt.Sprintf("%s/smt/active is %q, neither 0 nor 1", cpuDir, active))
	case v.class.hypervisor != "":
		return unknown(found, "the hypervisor can place two of these CPUs on one core invisibly")
	default:
		return pass(found)
	}
}

// busySiblings returns the online siblings of reserved CPUs that are not reserved themselves.
func (f facts) busySiblings() cpuset.Set {
	var busy cpuset.Set
	for _, id := range f.Reserved {
		if c, ok := f.Topology.CPU(id); ok {
			busy = busy.Union(c.Siblings.Minus(f.Reserved))
		}
	}
	return busy
}

func lookSiblings(v *view) Outcome {
	v.mustPerCPU("topology/thread_siblings_list")
	cpus := v.Reserved.Intersect(v.Topology.Online)
	found := fmt.Sprintf("%s on %s", text.Count(len(cpus), "CPU"), text.Count(v.cores(v.Topology.Online), "core"))
	switch busy := v.busySiblings(); {
	case len(busy) > 0:
		return fail("siblings in use: "+busy.String(),
			"other work on CPU "+busy.String()+" shares a core with a reserved CPU")
	case v.class.hypervisor != "" && v.cores(v.Topology.Online) == len(cpus):
		return unknown(found, "the hypervisor can place two of these CPUs on one core invisibly")
	default:
		return pass(found)
	}
}

func lookHomogeneous(v *view) Outcome {
	if o, mixed := v.hybrid(); mixed {
		return o
	}
	var same []string
	// Cache index 3 is the last-level cache on current x86. The sizes differ if one chiplet has stacked cache.
	for _, l := range []struct{ file, what string }{
		{"cpu_capacity", "capacity"}, {"cpufreq/cpuinfo_max_freq", "top frequency (kHz)"}, {"cache/index3/size", "L3"},
	} {
		kinds := byValue(v.tryPerCPU(l.file))
		if len(kinds) > 1 {
			return fail(l.what+": "+strings.Join(kinds, ", "), "the reserved CPUs are of different kinds")
		}
		if len(kinds) == 1 {
			same = append(same, l.what+" "+kinds[0])
		}
	}
	if o, differ := v.preferred(); differ {
		return o
	}
	if len(same) == 0 {
		return skip(cpuDir + "/cpu[id]/cpu_capacity and cpufreq/cpuinfo_max_freq do not exist")
	}
	return pass(strings.Join(same, "; "))
}

// hybrid reports whether the processor has both performance and efficiency cores (Intel). Each kind has its own
// PMU device.
func (v *view) hybrid() (Outcome, bool) {
	big, errBig := cpuset.Parse(v.Optional("/sys/devices/cpu_core/cpus"))
	small, errSmall := cpuset.Parse(v.Optional("/sys/devices/cpu_atom/cpus"))
	v.saw("/sys/devices/cpu_core/cpus", "/sys/devices/cpu_atom/cpus")
	if errBig != nil || errSmall != nil || !v.Reserved.Overlaps(big) || !v.Reserved.Overlaps(small) {
		return Outcome{}, false
	}
	return fail(fmt.Sprintf("performance cores %s, efficiency cores %s", v.Reserved.Intersect(big),
		v.Reserved.Intersect(small)),
		"the reserved CPUs are of different kinds"), true
}

// preferred finds cores that the firmware prefers. They differ from the others only with boost.
func (v *view) preferred() (Outcome, bool) {
	kinds := byValue(v.tryPerCPU("cpufreq/amd_pstate_highest_perf"))
	if len(kinds) < 2 {
		return Outcome{}, false
	}
	found := "highest_perf " + strings.Join(kinds, ", ")
	if v.turbo.Value == machine.TurboOff {
		return warn(found, "preferred cores, without effect while boost is off"), true
	}
	return fail(found, "preferred cores boost higher than others"), true
}

func lookNode(v *view) Outcome {
	v.saw(nodeDir+"/online", nodeDir+"/node[id]/cpulist", nodeDir+"/node[id]/meminfo")
	var slots, left int
	var where []string
	for _, n := range v.Topology.Nodes {
		cores := v.cores(n.CPUs)
		if cores == 0 {
			continue
		}
		where = append(where, fmt.Sprintf("node %d: %s", n.ID, text.Count(cores, "core")))
		if n.MemTotal == 0 {
			return fail(strings.Join(where, ", "), fmt.Sprintf("node %d has no memory", n.ID))
		}
		slots += cores / v.Width
		left += cores % v.Width
	}
	found := strings.Join(where, ", ")
	switch {
	case len(where) == 0:
		return unknown("", "none of the reserved CPUs is online")
	case slots == 0:
		return fail(found, fmt.Sprintf("no node has the %d reserved cores of one slot", v.Width))
	case left > 0:
		return warn(found, fmt.Sprintf("%s left over from slots of %d, idle", text.Count(left, "core"), v.Width))
	default:
		return pass(found)
	}
}

func lookCache(v *view) Outcome {
	v.mustPerCPU("cache/index3/shared_cpu_list")
	var domains, shared, crowded []string
	for _, id := range v.Reserved {
		c, ok := v.Topology.CPU(id)
		if !ok || slices.Contains(domains, c.L3.String()) {
			continue
		}
		name := c.L3.String()
		domains = append(domains, name)
		if c.L3.Overlaps(v.Housekeeping) {
			shared = append(shared, name)
		}
		if v.cores(c.L3) > v.Width {
			crowded = append(crowded, name)
		}
	}
	found := fmt.Sprintf("%s in the L3 of CPU %s", text.Count(len(v.Reserved), "reserved CPU"),
		strings.Join(domains, " and "))
	v.saw("/proc/cpuinfo")
	switch {
	case len(shared) > 0 && v.class.String() == "bare" && !hostfs.HasCPUFlag(v.Optional("/proc/cpuinfo"), "cat_l3"):
		return fail(found, "other CPUs use the same L3, and the processor cannot partition it")
	case len(shared) > 0:
		return warn(found, "other CPUs use the same L3")
	case len(crowded) > 0:
		return warn(found, "several slots share one L3")
	default:
		return pass(found)
	}
}

func lookPinned(v *view) Outcome {
	least := v.mustPerCPU("cpufreq/scaling_min_freq")
	most := v.mustPerCPU("cpufreq/scaling_max_freq")
	var loose cpuset.Set
	for id := range least {
		if least[id] != most[id] {
			loose = loose.Union(cpuset.New(id))
		}
	}
	found := fmt.Sprintf("%s to %s kHz", strings.Join(byValue(least), ", "), strings.Join(byValue(most), ", "))
	governors := byValue(v.tryPerCPU("cpufreq/scaling_governor"))
	switch above := v.aboveBase(most); {
	case len(loose) > 0 && v.turbo.Value == machine.TurboOff && slices.Equal(governors, []string{"performance"}):
		return warn(found, "not fixed on CPU "+loose.String()+", though governor and turbo leave little room")
	case len(loose) > 0:
		return fail(found, "not fixed on CPU "+loose.String())
	case len(above) > 0:
		return warn(found, "above the base frequency of CPU "+above.String()+": turbo decides the frequency")
	default:
		return pass(found)
	}
}

// aboveBase returns the CPUs whose maximum frequency is above the base frequency. A base of 0 or a missing file
// means unknown.
func (v *view) aboveBase(most map[int]string) cpuset.Set {
	var above cpuset.Set
	bases, scale := v.tryPerCPU("cpufreq/base_frequency"), 1
	// Reading this file interrupts its CPU (cppc_acpi reads a register there). The daemon does not read it,
	// because the CPU may be running a program.
	if bases == nil && !v.daemon {
		bases, scale = v.tryPerCPU("acpi_cppc/nominal_freq"), 1000 // MHz
	}
	for id, s := range bases {
		limit, err := strconv.Atoi(most[id])
		base, berr := strconv.Atoi(s)
		if err == nil && berr == nil && base > 0 && limit > base*scale {
			above = above.Union(cpuset.New(id))
		}
	}
	return above
}

func lookPState(v *view) Outcome {
	drivers := v.mustPerCPU("cpufreq/scaling_driver")
	found := "driver " + strings.Join(byValue(drivers), ", ")
	v.saw("/proc/cpuinfo", cpuDir+"/nohz_full")
	switch {
	case !v.Reserved.Overlaps(v.Topology.NohzFull):
		return skip(tickRuns)
	case !strings.Contains(found, "intel_pstate"):
		return pass(found)
	case hostfs.HasCPUFlag(v.Optional("/proc/cpuinfo"), "hwp"):
		return pass(found + " with HWP")
	case (&view{facts: v.facts}).outcome(lookPinned).Status == api.DoctorPass:
		return pass(found + ", frequency fixed")
	default:
		return warn(found+" without HWP", "it chooses the frequency at ticks, which are stopped")
	}
}

// lookSleep finds the deepest enabled sleep state. The constraint n/a allows only state 0, and 0 means no
// constraint (Documentation/admin-guide/pm/cpuidle.rst).
func lookSleep(v *view) Outcome {
	v.saw(cpuDir+"/cpu[id]/cpuidle/state[n]/{name,latency,disable}", cpuDir+"/cpu[id]/power/pm_qos_resume_latency_us")
	worst, name, seen := -1, "", false
	for _, id := range v.Reserved.Intersect(v.Topology.Online) {
		dir := fmt.Sprintf("%s/cpu%d", cpuDir, id)
		states := v.Glob(dir + "/cpuidle/state[0-9]*")
		limit := v.Optional(dir + "/power/pm_qos_resume_latency_us")
		allowed, err := strconv.Atoi(limit)
		for _, s := range states {
			text := v.Optional(s + "/latency")
			latency, lerr := strconv.Atoi(text)
			if lerr != nil {
				return unknown(text, s+"/latency is not a number")
			}
			seen = true
			off := v.Optional(s+"/disable") == "1" || limit == "n/a" && path.Base(s) != "state0" || err == nil &&
				allowed > 0 && latency > allowed
			if !off && latency > worst {
				worst, name = latency, v.Optional(s+"/name")
			}
		}
	}
	found := fmt.Sprintf("deepest %s, %d us", name, worst)
	switch {
	case !seen:
		return skip(cpuDir + "/cpu[id]/cpuidle does not exist")
	case worst > 50:
		return fail(found, "a wake-up can take more than 50 us")
	case worst > 2:
		return warn(found, "a wake-up can take more than 2 us")
	default:
		return pass(found)
	}
}
