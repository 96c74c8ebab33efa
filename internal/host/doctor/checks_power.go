package doctor

import (
	"fmt"
	"strings"

	"judged/internal/host/turbo"
)

func lookTurbo(v *view) Outcome {
	v.saw("/sys/devices/system/cpu/intel_pstate/no_turbo", cpuDir+"/cpufreq/boost", cpuDir+"/cpufreq/policy[id]/boost")
	switch {
	case v.turbo.Value == turbo.Off:
		return pass("off by " + v.turbo.Source)
	case v.turbo.Value == turbo.On:
		return fail("on", v.turbo.Reason)
	case strings.HasPrefix(v.turbo.Reason, "cannot read"):
		return warn("unreadable", v.turbo.Reason)
	case v.turbo.Source == "" && !v.FS.Exists(cpuDir+"/amd_pstate/status"):
		return skip(v.turbo.Reason)
	default:
		return unknown("", v.turbo.Reason)
	}
}

// stealTicks is the least time of a CPU, in ticks of 10 ms, in which a share of 0.1 % can be seen: in a shorter
// window the share since boot decides.
const stealTicks = 1000

func lookSteal(v *view) Outcome {
	stat := v.must("/proc/stat")
	steal, total := stealOf(stat, v.Reserved)
	if total == 0 {
		return unknown("", "/proc/stat has no times of CPU "+v.Reserved.String())
	}
	share := float64(steal) / float64(total)
	found := fmt.Sprintf("%.2f %% since boot", 100*share)
	if v.window != nil {
		stolen, passed := stealOf(v.window.before.stat, v.Reserved)
		stolen, passed = steal-min(steal, stolen), total-min(total, passed)
		if passed > 0 {
			now := float64(stolen) / float64(passed)
			found += fmt.Sprintf(", %.2f %% %s", 100*now, v.window)
			if passed >= stealTicks {
				share = now
			}
		}
	}
	switch {
	case share > 0.01:
		return fail(found, "more than 1 % of the time went to other virtual machines")
	case share > 0.001:
		return warn(found, "more than 0.1 % of the time went to other virtual machines")
	case steal == 0 && v.class.hypervisor != "":
		return unknown(found, "the hypervisor may not report what it takes")
	default:
		return pass(found)
	}
}
