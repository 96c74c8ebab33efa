package doctor

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"judged/internal/base/cpuset"
	"judged/internal/host/turbo"
)

func frequencyChecks() []check {
	return []check{{
		id: "freq-pinned", title: "one fixed frequency", severity: S2,
		wanted:  "scaling_min_freq = scaling_max_freq, not above the base frequency, on CPU {R}",
		effect:  "between the two limits the processor chooses by load, temperature and power: 0.5 to 5 % of CPU time with turbo off (estimate; with turbo see turbo-off)",
		confirm: "grep . /sys/devices/system/cpu/cpu*/cpufreq/scaling_m??_freq",
		fix:     Fix{Runtime: []string{"cd /sys/devices/system/cpu/cpufreq && for p in policy*; do f=$(cat $p/base_frequency 2> /dev/null || cat $p/cpuinfo_max_freq); echo $f > $p/scaling_max_freq; echo $f > $p/scaling_min_freq; done"}},
		look:    lookPinned,
	}, {
		id: "pref-hints", title: "hints to the processor", severity: S2,
		wanted:  "energy_performance_preference performance, energy_perf_bias 0, platform profile performance",
		effect:  "the firmware slows clocks down and ramps them up late when told to save: 0.5 to 5 % (estimate; kernel documentation, intel_pstate)",
		confirm: "grep . /sys/devices/system/cpu/cpu*/cpufreq/energy_performance_preference /sys/devices/system/cpu/cpu*/power/energy_perf_bias /sys/firmware/acpi/platform_profile",
		fix: Fix{Runtime: []string{"for f in /sys/devices/system/cpu/cpu*/cpufreq/energy_performance_preference; do echo performance > $f; done",
			"for f in /sys/devices/system/cpu/cpu*/power/energy_perf_bias; do echo 0 > $f; done", "echo performance > /sys/firmware/acpi/platform_profile"},
			Boot: "the profile for maximum performance in the firmware"},
		look: lookHints,
	}, {
		id: "pstate-nohz", title: "frequency driver on CPUs without a tick", severity: S2,
		wanted:  "hardware-managed P-states (HWP), another driver, or a fixed frequency on CPU {R}",
		effect:  "without HWP intel_pstate chooses the frequency from the tick, which nohz_full stops: a run keeps the speed of what ran before (Red Hat bug 1378529)",
		confirm: "cat /sys/devices/system/cpu/cpu*/cpufreq/scaling_driver; grep -c hwp /proc/cpuinfo",
		fix:     Fix{Runtime: []string{"echo passive > /sys/devices/system/cpu/intel_pstate/status"}, Boot: "intel_pstate=disable"},
		look:    lookPState,
	}, {
		id: "cstates", title: "sleep states", severity: S3,
		wanted:  "no enabled state of CPU {R} takes more than 2 us to leave",
		effect:  "a run that sleeps or waits for another thread pays the latency at each wake-up: 50 to 200 us from the deep states (cpuidle's own figures)",
		confirm: "grep . /sys/devices/system/cpu/cpu*/cpuidle/state*/latency /sys/devices/system/cpu/cpu*/power/pm_qos_resume_latency_us",
		fix: Fix{Runtime: []string{"for c in {RW}; do echo n/a > /sys/devices/system/cpu/cpu$c/power/pm_qos_resume_latency_us; done   # 0 would mean no constraint"},
			Boot: "intel_idle.max_cstate=1 processor.max_cstate=1"},
		look: lookSleep,
	}, {
		id: "uncore-freq", title: "frequency of caches and memory controller", severity: S2,
		wanted:  "min_freq_khz = max_freq_khz for every package",
		effect:  "otherwise the latency of L3 and memory follows what the other cores do: 0.5 to 5 % for programs that miss their caches (estimate; kernel documentation, intel_uncore_frequency)",
		confirm: "grep . /sys/devices/system/cpu/intel_uncore_frequency/package_*/m??_freq_khz",
		fix: Fix{Runtime: []string{"cd /sys/devices/system/cpu/intel_uncore_frequency && for d in package_*; do cat $d/max_freq_khz > $d/min_freq_khz; done"},
			Boot: "uncore frequency fixed in the firmware (AMD: APBDIS=1 with a fixed fabric P-state)"},
		look: lookUncore,
	}}
}

func lookPinned(v *view) Outcome {
	if o := v.hypervised(); o != nil {
		return *o
	}
	least, bad := v.perCPU("cpufreq/scaling_min_freq")
	if bad != nil {
		return *bad
	}
	most, bad := v.perCPU("cpufreq/scaling_max_freq")
	if bad != nil {
		return *bad
	}
	var loose cpuset.Set
	for id := range least {
		if least[id] != most[id] {
			loose = loose.Union(cpuset.New(id))
		}
	}
	found := fmt.Sprintf("%s to %s kHz", strings.Join(group(least), ", "), strings.Join(group(most), ", "))
	governors, _ := v.perCPU("cpufreq/scaling_governor")
	kinds := group(governors)
	switch above := v.aboveBase(most); {
	case len(loose) > 0 && v.turbo.Value == turbo.Off && len(kinds) == 1 && kinds[0] == "performance":
		return warn(found, "not fixed on CPU "+loose.String()+", though governor and turbo leave little room")
	case len(loose) > 0:
		return fail(found, "not fixed on CPU "+loose.String())
	case len(above) > 0:
		return warn(found, "above the base frequency of CPU "+above.String()+": turbo decides what is reached")
	default:
		return pass(found)
	}
}

// aboveBase compares with what the processor can hold at all times; 0 or nothing is not known.
func (v *view) aboveBase(most map[int]string) cpuset.Set {
	var above cpuset.Set
	bases, bad := v.perCPU("cpufreq/base_frequency")
	scale := 1
	// The second file costs an interrupt of the CPU it belongs to (cppc_acpi reads its registers
	// there): the daemon, which may have a run on it, does without.
	if bad != nil && !v.daemon {
		bases, bad = v.perCPU("acpi_cppc/nominal_freq")
		scale = 1000 // MHz
	}
	if bad != nil {
		return nil
	}
	for id, s := range most {
		limit, err := strconv.Atoi(s)
		base, berr := strconv.Atoi(bases[id])
		if err == nil && berr == nil && base > 0 && limit > base*scale {
			above = above.Union(cpuset.New(id))
		}
	}
	return above
}

// lookHints stays away from CPUs that may be judging: the kernel reads both hints from a register of
// the CPU itself, which takes an interrupt there.
func lookHints(v *view) Outcome {
	if o := v.hypervised(); o != nil {
		return *o
	}
	if v.daemon {
		return skip(cpuDir + "/cpu[id]/power/energy_perf_bias interrupts the CPU that it is read of; ask judged doctor between runs")
	}
	var found, wrong []string
	for _, h := range []struct{ file, want string }{
		{"cpufreq/energy_performance_preference", "performance"}, {"power/energy_perf_bias", "0"},
	} {
		values, bad := v.perCPU(h.file)
		if bad != nil && bad.Status != Skip {
			return *bad
		}
		if bad != nil {
			continue
		}
		kinds := strings.Join(group(values), ", ")
		found = append(found, path.Base(h.file)+" "+kinds)
		if kinds != h.want {
			wrong = append(wrong, path.Base(h.file)+" is not "+h.want)
		}
	}
	if profile, bad := v.word("/sys/firmware/acpi/platform_profile"); bad == nil {
		found = append(found, "platform_profile "+profile)
		if profile != "performance" {
			wrong = append(wrong, "platform_profile is not performance")
		}
	}
	switch {
	case len(found) == 0:
		return skip("neither " + cpuDir + "/cpu[id]/cpufreq/energy_performance_preference nor power/energy_perf_bias nor /sys/firmware/acpi/platform_profile exists")
	case len(wrong) > 0:
		return fail(strings.Join(found, "; "), strings.Join(wrong, ", "))
	default:
		return pass(strings.Join(found, "; "))
	}
}

func lookPState(v *view) Outcome {
	if o := v.hypervised(); o != nil {
		return *o
	}
	drivers, bad := v.perCPU("cpufreq/scaling_driver")
	if bad != nil {
		return *bad
	}
	found := "driver " + strings.Join(group(drivers), ", ")
	v.saw("/proc/cpuinfo", cpuDir+"/nohz_full")
	switch {
	case !v.reserved.Overlaps(v.top.NohzFull):
		return skip(cpuDir + "/nohz_full names no reserved CPU: the tick goes on and calls the driver")
	case !strings.Contains(found, "intel_pstate"):
		return pass(found)
	case hasFlag(v.optional("/proc/cpuinfo"), "hwp"):
		return pass(found + " with HWP")
	case lookPinned(v).Status == Pass:
		return pass(found + ", frequency fixed")
	default:
		return warn(found+" without HWP", "it chooses the frequency from a tick that does not come")
	}
}

// lookSleep takes the deepest state that is enabled. A constraint of n/a allows state 0 alone, and
// one of 0 is none (Documentation/admin-guide/pm/cpuidle.rst).
func lookSleep(v *view) Outcome {
	if o := v.hypervised(); o != nil {
		return *o
	}
	v.saw(cpuDir+"/cpu[id]/cpuidle/state[n]/{name,latency,disable}", cpuDir+"/cpu[id]/power/pm_qos_resume_latency_us")
	worst, name, seen := -1, "", false
	for _, id := range v.reserved.Intersect(v.top.Online) {
		dir := fmt.Sprintf("%s/cpu%d", cpuDir, id)
		// An unreadable pattern cannot happen: it is a constant.
		states, _ := v.fs.Glob(dir + "/cpuidle/state[0-9]*")
		limit := v.optional(dir + "/power/pm_qos_resume_latency_us")
		allowed, err := strconv.Atoi(limit)
		for _, s := range states {
			latency, lerr := strconv.Atoi(v.optional(s + "/latency"))
			if lerr != nil {
				continue
			}
			seen = true
			off := v.optional(s+"/disable") == "1" || limit == "n/a" && path.Base(s) != "state0" || err == nil && allowed > 0 && latency > allowed
			if !off && latency > worst {
				worst, name = latency, v.optional(s+"/name")
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

func lookUncore(v *view) Outcome {
	if o := v.hypervised(); o != nil {
		return *o
	}
	const dir = cpuDir + "/intel_uncore_frequency"
	v.saw(dir+"/package_[id]/min_freq_khz", dir+"/package_[id]/max_freq_khz")
	// An unreadable pattern cannot happen: it is a constant.
	packages, _ := v.fs.Glob(dir + "/package_*")
	if len(packages) == 0 {
		return skip(dir + " does not exist")
	}
	var found, loose []string
	for _, p := range packages {
		least, bad := v.word(p + "/min_freq_khz")
		if bad != nil {
			return *bad
		}
		most, bad := v.word(p + "/max_freq_khz")
		if bad != nil {
			return *bad
		}
		found = append(found, fmt.Sprintf("%s %s to %s kHz", path.Base(p), least, most))
		if least != most {
			loose = append(loose, path.Base(p))
		}
	}
	if len(loose) > 0 {
		return warn(listed(found), "not fixed: "+listed(loose))
	}
	return pass(listed(found))
}
