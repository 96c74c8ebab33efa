package doctor

import (
	"fmt"
	"strings"

	"judged/internal/host/turbo"
)

func powerChecks() []check {
	return []check{{
		id: "turbo-off", title: "turbo (boost)", severity: S1,
		wanted:  "off on every reserved CPU",
		effect:  "spread of 20 runs 1354 -> 252 ms with turbo off (published experiment): the frequency follows what the other cores do",
		confirm: "grep . /sys/devices/system/cpu/intel_pstate/no_turbo /sys/devices/system/cpu/cpufreq/boost",
		fix: Fix{Runtime: []string{"echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo   # Intel",
			"echo 0 > /sys/devices/system/cpu/cpufreq/boost            # AMD and acpi-cpufreq"}, Boot: "switch turbo or core performance boost off in the firmware"},
		mend: mendTurbo,
		look: lookTurbo,
	}, {
		id: "governor", title: "frequency governor", severity: S1,
		wanted:  "performance (or userspace with a fixed speed) on every reserved CPU",
		effect:  "other governors raise the frequency only after a program has run for a while: a core at its lowest speed is 2 to 4 times slower (ratio of the processors' own limits)",
		confirm: "grep . /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
		fix: Fix{Runtime: []string{"for f in /sys/devices/system/cpu/cpufreq/policy*/scaling_governor; do echo performance > $f; done"},
			Boot: "cpufreq.default_governor=performance"},
		look: lookGovernor,
	}, {
		id: "clocksource", title: "clock source", severity: S2,
		wanted:  "tsc on x86, arch_sys_counter on ARM",
		effect:  "every reading of another clock is a trap or a slow device access of 0.5 to 4 us (estimate), in judged and in programs that look at the time",
		confirm: "cat /sys/devices/system/clocksource/clocksource0/current_clocksource",
		fix:     Fix{Runtime: []string{"echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource"}, Boot: "tsc=reliable"},
		look:    lookClock,
	}, {
		id: "steal", title: "time taken by the hypervisor", severity: S1,
		wanted:  "no stolen time on CPU {R}",
		effect:  "stolen time stretches wall time one to one, and CPU time through cold caches: leaving out runs with any of it took the spread of a sieve from 21 to 9 % (measured)",
		confirm: "vmstat 1 5   # column st",
		fix:     Fix{Boot: "use a dedicated host, or an instance without shared CPUs"},
		look:    lookSteal,
	}}
}

func lookTurbo(v *view) Outcome {
	if o := v.hypervised(); o != nil {
		return *o
	}
	v.saw("/sys/devices/system/cpu/intel_pstate/no_turbo", cpuDir+"/cpufreq/boost", cpuDir+"/cpufreq/policy[id]/boost")
	switch {
	case v.turbo.Value == turbo.Off:
		return pass("off by " + v.turbo.Source)
	case v.turbo.Value == turbo.On:
		return fail("on", v.turbo.Reason)
	case strings.HasPrefix(v.turbo.Reason, "cannot read"):
		return warn("unreadable", v.turbo.Reason)
	case v.turbo.Source == "" && !v.fs.Exists(cpuDir+"/amd_pstate/status"):
		return skip(v.turbo.Reason)
	default:
		return unknown("", v.turbo.Reason)
	}
}

func lookGovernor(v *view) Outcome {
	if o := v.hypervised(); o != nil {
		return *o
	}
	values, bad := v.perCPU("cpufreq/scaling_governor")
	if bad != nil {
		return *bad
	}
	found := strings.Join(group(values), ", ")
	for _, g := range values {
		if g != "performance" && g != "userspace" {
			return fail(found, "the frequency follows the load")
		}
	}
	return pass(found)
}

func lookClock(v *view) Outcome {
	s, bad := v.word("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	if bad != nil {
		return *bad
	}
	switch s {
	case "tsc", "arch_sys_counter", "timebase":
		return pass(s)
	case "hpet", "acpi_pm", "jiffies", "refined-jiffies":
		return fail(s, "the kernel gave up on the processor's own counter")
	default:
		return warn(s, "not the processor's own counter")
	}
}

// stealTicks is how much time of a CPU, in ticks of 10 ms, a share of 0.1 % can be told of: below it
// the share since boot decides, and the window is only told.
const stealTicks = 1000

func lookSteal(v *view) Outcome {
	stat, bad := v.word("/proc/stat")
	if bad != nil {
		return *bad
	}
	steal, total := stealOf(stat, v.reserved)
	if total == 0 {
		return unknown("", "/proc/stat has no times of CPU "+v.reserved.String())
	}
	share := float64(steal) / float64(total)
	found := fmt.Sprintf("%.2f %% since boot", 100*share)
	if v.window != nil {
		stolen, passed := stealOf(v.window.before.stat, v.reserved)
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
		return fail(found, "more than 1 % of the time went to other machines of the host")
	case share > 0.001:
		return warn(found, "more than 0.1 % of the time went to other machines of the host")
	case steal == 0 && v.class.hypervisor != "":
		return unknown(found, "the hypervisor may not report what it takes")
	default:
		return pass(found)
	}
}
