package doctor

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"judged/internal/api"

	"judged/internal/base/cpuset"
	"judged/internal/host/proc"
	"judged/internal/host/turbo"
)

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
	case len(loose) > 0 && v.turbo.Value == turbo.Off && slices.Equal(governors, []string{"performance"}):
		return warn(found, "not fixed on CPU "+loose.String()+", though governor and turbo leave little room")
	case len(loose) > 0:
		return fail(found, "not fixed on CPU "+loose.String())
	case len(above) > 0:
		return warn(found, "above the base frequency of CPU "+above.String()+": turbo decides the frequency")
	default:
		return pass(found)
	}
}

// aboveBase compares with what the processor can hold at all times; 0 or a missing file is unknown.
func (v *view) aboveBase(most map[int]string) cpuset.Set {
	var above cpuset.Set
	bases, scale := v.tryPerCPU("cpufreq/base_frequency"), 1
	// The second file interrupts the CPU that it belongs to (cppc_acpi reads its registers there): the daemon, which
	// may have a run on it, does not read it.
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
	case proc.HasFlag(v.Optional("/proc/cpuinfo"), "hwp"):
		return pass(found + " with HWP")
	case (&view{facts: v.facts}).outcome(lookPinned).Status == api.DoctorPass:
		return pass(found + ", frequency fixed")
	default:
		return warn(found+" without HWP", "it chooses the frequency at ticks, which are stopped")
	}
}

// lookSleep finds the deepest state that is enabled. A constraint of n/a allows only state 0, and 0 is no constraint
// (Documentation/admin-guide/pm/cpuidle.rst).
func lookSleep(v *view) Outcome {
	v.saw(cpuDir+"/cpu[id]/cpuidle/state[n]/{name,latency,disable}", cpuDir+"/cpu[id]/power/pm_qos_resume_latency_us")
	worst, name, seen := -1, "", false
	for _, id := range v.Reserved.Intersect(v.Topology.Online) {
		dir := fmt.Sprintf("%s/cpu%d", cpuDir, id)
		states := v.Glob(dir + "/cpuidle/state[0-9]*")
		limit := v.Optional(dir + "/power/pm_qos_resume_latency_us")
		allowed, err := strconv.Atoi(limit)
		for _, s := range states {
			latency, lerr := strconv.Atoi(v.Optional(s + "/latency"))
			if lerr != nil {
				continue
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
