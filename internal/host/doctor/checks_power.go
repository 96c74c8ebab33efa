package doctor

import (
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"

	"judged/internal/base/text"
	"judged/internal/host/machine"
)

func lookTurbo(v *view) Outcome {
	v.saw("/sys/devices/system/cpu/intel_pstate/no_turbo", cpuDir+"/cpufreq/boost", cpuDir+"/cpufreq/policy[id]/boost")
	switch {
	case v.turbo.Value == machine.TurboOff:
		return pass("off by " + v.turbo.Source)
	case v.turbo.Value == machine.TurboOn:
		return fail("on", v.turbo.Reason)
	case strings.HasPrefix(v.turbo.Reason, "cannot read"):
		return warn("unreadable", v.turbo.Reason)
	case v.turbo.Source == "" && !v.FS.Exists(cpuDir+"/amd_pstate/status"):
		return skip(v.turbo.Reason)
	default:
		return unknown("", v.turbo.Reason)
	}
}

// stealTicks is the minimum CPU time, in ticks of 10 ms, needed to detect a share of 0.1 %. In a shorter window
// the share since boot is used.
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

// throttles returns how often the reserved CPUs were throttled, and the longest total time.
func (v *view) throttles() (total, longest int, times []string) {
	for _, what := range []string{"core", "package"} {
		counts := v.tryPerCPU("thermal_throttle/" + what + "_throttle_count")
		if len(counts) == 0 {
			continue
		}
		spent := v.tryPerCPU("thermal_throttle/" + what + "_throttle_total_time_ms")
		most := 0
		for id, s := range counts {
			n, ms := v.number(what, s), 0
			if spent != nil {
				ms = v.number(what, spent[id])
			}
			most, longest = max(most, n), max(longest, ms)
		}
		total += most
		times = append(times, fmt.Sprintf("%s %d", what, most))
	}
	return total, longest, times
}

func lookHeat(v *view) Outcome {
	total, longest, times := v.throttles()
	found := strings.Join(times, ", ") + fmt.Sprintf(" times, %d ms in all", longest)
	switch {
	case len(times) == 0:
		return v.cooling()
	case v.window != nil && total > v.window.before.throttles:
		return fail(found, fmt.Sprintf("the reserved CPUs were throttled %d times %s", total-v.window.before.throttles,
			v.window))
	case v.window == nil && longest > 1000:
		return fail(found, "the reserved CPUs were throttled for more than a second")
	case total > 0:
		return warn(found, "the reserved CPUs were throttled since boot")
	default:
		return pass("never since boot")
	}
}

// number parses a counter of a package or core. The check is unknown if it is no number.
func (v *view) number(of, text string) int {
	n, err := strconv.Atoi(text)
	if err != nil && v.refused == nil {
		v.refused = new(unknown(text, "not a number of times or milliseconds that a "+of+" was throttled"))
	}
	return n
}

// cooling reads the thermal framework, the only source on ARM. A processor that is being cooled is slow.
func (v *view) cooling() Outcome {
	v.saw("/sys/class/thermal/cooling_device[id]/{type,cur_state}")
	devices := v.Glob("/sys/class/thermal/cooling_device[0-9]*")
	var seen, active []string
	for _, d := range devices {
		kind, state := v.Optional(d+"/type"), v.Optional(d+"/cur_state")
		if !strings.Contains(strings.ToLower(kind), "cpu") && kind != "Processor" {
			continue
		}
		seen = append(seen, kind)
		if state != "0" {
			active = append(active, kind+" "+state)
		}
	}
	switch {
	case len(seen) == 0:
		return skip(cpuDir + "/cpu[id]/thermal_throttle does not exist, and no cooling device is a processor")
	case len(active) > 0:
		return fail(listed(active), "the kernel throttles processors at this moment")
	default:
		return pass(text.Count(len(seen), "cooling device") + ", none active")
	}
}

func lookPower(v *view) Outcome {
	v.saw("/sys/class/powercap/intel-rapl:[id]/constraint_0_{power_limit,max_power}_uw",
		"/sys/class/power_supply/[id]/{type,online}")
	var found, low []string
	packages := v.Glob("/sys/class/powercap/intel-rapl:[0-9]")
	for _, p := range packages {
		limit, err := strconv.Atoi(v.Optional(p + "/constraint_0_power_limit_uw"))
		most, merr := strconv.Atoi(v.Optional(p + "/constraint_0_max_power_uw"))
		if err != nil || merr != nil || most == 0 {
			continue
		}
		label := fmt.Sprintf("%s %d of %d W", path.Base(p), limit/1e6, most/1e6)
		found = append(found, label)
		if limit < most {
			low = append(low, label)
		}
	}
	supplies := v.Glob("/sys/class/power_supply/*")
	for _, s := range supplies {
		if v.Optional(s+"/type") != "Mains" {
			continue
		}
		online := v.Optional(s + "/online")
		switch found = append(found, path.Base(s)+" online "+online); online {
		case "1", "2": // 2 is a supply with a programmable voltage
		case "0":
			return fail(listed(found), "this machine runs on battery")
		default:
			return unknown(listed(found), s+"/online is neither 0 nor 1")
		}
	}
	switch {
	case len(found) == 0:
		return skip("/sys/class/powercap/intel-rapl:0 and /sys/class/power_supply do not exist")
	case len(low) > 0:
		return warn(listed(found), "limited below the specification: "+listed(low))
	default:
		return pass(listed(found))
	}
}

func lookReached(v *view) Outcome {
	reached := v.mustPerCPU("cpufreq/cpuinfo_avg_freq")
	wanted := v.mustPerCPU("cpufreq/scaling_max_freq")
	least, most, off := math.Inf(1), 0.0, 0.0
	for id, s := range reached {
		khz, err := strconv.ParseFloat(s, 64)
		want, werr := strconv.ParseFloat(wanted[id], 64)
		if err != nil || werr != nil || want <= 0 || khz <= 0 {
			return unknown(s, fmt.Sprintf("invalid frequency of CPU %d", id))
		}
		least, most = min(least, khz), max(most, khz)
		off = max(off, math.Abs(khz/want-1))
	}
	found := fmt.Sprintf("%.0f to %.0f MHz, %.1f %% from what is set", least/1000, most/1000, 100*off)
	switch {
	case off > 0.05:
		return fail(found, "more than 5 % away from scaling_max_freq")
	case off > 0.003 || most/least > 1.002:
		return warn(found, "more than 0.3 % away from scaling_max_freq, or not equal; idle CPUs report their last work")
	default:
		return pass(found)
	}
}

// lookTimeSync calls adjtimex(2) without a mode, which changes nothing and needs no privileges.
func lookTimeSync(v *view) Outcome {
	text := v.mustAsk(adjtimexAnswer, "adjtimex(2)", adjtimex)
	var scaled, tick, status int
	if _, err := fmt.Sscanf(text, "freq %d tick %d status %d", &scaled, &tick, &status); err != nil {
		return unknown(text, "parse the answer of adjtimex(2): "+err.Error())
	}
	// freq is in ppm with 16 fractional bits; tick is 10000 us, and one more is 100 ppm.
	ppm := float64(scaled)/65536 + float64(tick-10000)*100
	found := fmt.Sprintf("%+.1f ppm", ppm)
	const unsynchronised = 0x40 // STA_UNSYNC in timex.h
	switch {
	case math.Abs(ppm) >= 100:
		return warn(found, "the clock is corrected by 100 ppm or more")
	case status&unsynchronised != 0:
		return pass(found + ", not synchronized")
	default:
		return pass(found)
	}
}

// smis reads MSR_SMI_COUNT on a CPU that is not reserved. All CPUs enter management mode together, and the read
// interrupts its CPU.
func (v *view) smis() uint64 {
	decide := func(o Outcome) uint64 {
		if v.refused == nil {
			v.refused = &o
		}
		return 0
	}
	if len(v.Housekeeping) == 0 {
		return decide(skip("no CPU remains whose /dev/cpu/[id]/msr can be read without disturbing a run"))
	}
	if !strings.Contains(v.Optional("/proc/cpuinfo"), "GenuineIntel") {
		return decide(skip("/proc/cpuinfo names no Intel processor; others do not count them"))
	}
	text := v.mustAsk(smiAnswer, "/dev/cpu/[id]/msr", func() ([]byte, error) { return readSMI(v.Housekeeping[0]) })
	count, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return decide(unknown(text, "the register does not hold a number"))
	}
	return count
}

func lookSMI(v *view) Outcome {
	count := v.smis()
	v.saw("/proc/uptime")
	found := fmt.Sprintf("%d since boot", count)
	seconds := v.counts.uptime.Seconds()
	if v.window != nil && v.window.before.smisCounted {
		count -= min(count, v.window.before.smis)
		found += fmt.Sprintf(", %d %s", count, v.window)
		seconds = v.window.length.Seconds()
	}
	switch {
	case count == 0 && v.window != nil:
		return pass(found)
	case count == 0:
		return pass("none since boot")
	case seconds > 0 && float64(count) > seconds:
		return fail(found, "more than one a second")
	case v.window != nil:
		return warn(found, "the firmware stops all CPUs at run time")
	default:
		return warn(found, "some may be from boot; look again later")
	}
}
