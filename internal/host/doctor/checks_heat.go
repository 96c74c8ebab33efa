package doctor

import (
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"
)

func heatChecks() []check {
	return []check{{
		id: "thermal-throttle", title: "slowed down by heat", severity: S1,
		wanted:  "no throttling of CPU {R}",
		effect:  "a core that is too hot runs at a fraction of its clock until it is cool: 10 to 60 % for seconds (estimate; what turbo alone moves was 1354 -> 252 ms, published experiment)",
		confirm: "grep . /sys/devices/system/cpu/cpu*/thermal_throttle/*_throttle_count",
		fix:     Fix{Boot: "clean the fans, lower the load or the frequency (freq-pinned), retire the host"},
		look:    lookHeat,
	}, {
		id: "power-limit", title: "power", severity: S2,
		wanted:  "on mains, and the long-term limit of each package not below what it is built for",
		effect:  "at its power limit the package lowers the clock of all cores by what they all do together: 0.5 to 5 % (estimate)",
		confirm: "grep . /sys/class/powercap/intel-rapl:?/constraint_0_*power*_uw /sys/class/power_supply/*/online",
		fix:     Fix{Runtime: []string{"cd /sys/class/powercap && for d in intel-rapl:?; do cat $d/constraint_0_max_power_uw > $d/constraint_0_power_limit_uw; done"}, Boot: "the long-term power limit (PL1) of the firmware at the processor's TDP"},
		look:    lookPower,
	}, {
		id: "effective-freq", title: "frequency that was really reached", severity: S1,
		wanted:  "cpuinfo_avg_freq of CPU {R} within 0.3 % of scaling_max_freq, and equal within 0.2 %",
		effect:  "CPU time is the work divided by this frequency: 1 % of it is 1 % of every time (by definition); turbo moved it by 20 % and more (published experiment)",
		confirm: "grep . /sys/devices/system/cpu/cpu*/cpufreq/cpuinfo_avg_freq",
		fix:     Fix{Runtime: []string{"judged doctor --explain turbo-off"}, Boot: "see turbo-off, governor, freq-pinned and power-limit; if they pass, the firmware does it"},
		look:    lookReached,
	}, {
		id: "timesync", title: "slewing of the clock", severity: S3,
		wanted:  "the kernel's clock is corrected by less than 100 ppm",
		effect:  "wall times are off by the correction: 500 ppm is 0.05 %; CPU time is not affected (kernel documentation, timekeeping)",
		confirm: "adjtimex --print, or chronyc tracking",
		fix:     Fix{Runtime: []string{"chronyc burst 4/8"}, Boot: "makestep 1 3 in chrony.conf, so that it steps at boot only"},
		look:    lookTimeSync,
	}, {
		id: "smi", title: "interrupts of the firmware", severity: S2,
		wanted:  "none",
		effect:  "system management mode stops all CPUs for 10 to 300 us and more, and no clock of the kernel shows it (kernel documentation, hwlat_detector)",
		confirm: "rdmsr -d 0x34, twice, 10 s apart",
		fix:     Fix{Runtime: []string{"modprobe msr   # for this check to see"}, Boot: "switch off USB legacy support and power capping in the firmware, and ask its vendor"},
		look:    lookSMI,
	}}
}

// throttles counts, with the time of the longest.
func (v *view) throttles() (total, longest int, times []string, bad *Outcome) {
	for _, what := range []string{"core", "package"} {
		counts, bad := v.perCPU("thermal_throttle/" + what + "_throttle_count")
		if bad != nil && bad.Status != Skip {
			return 0, 0, nil, bad
		}
		if len(counts) == 0 {
			continue
		}
		spent, _ := v.perCPU("thermal_throttle/" + what + "_throttle_total_time_ms")
		most := 0
		for id, s := range counts {
			n, _ := strconv.Atoi(s)
			ms, _ := strconv.Atoi(spent[id])
			most, longest = max(most, n), max(longest, ms)
		}
		total += most
		times = append(times, fmt.Sprintf("%s %d", what, most))
	}
	return total, longest, times, nil
}

func lookHeat(v *view) Outcome {
	if o := v.hypervised(); o != nil {
		return *o
	}
	total, longest, times, bad := v.throttles()
	if bad != nil {
		return *bad
	}
	found := strings.Join(times, ", ") + fmt.Sprintf(" times, %d ms in all", longest)
	switch {
	case len(times) == 0:
		return v.cooling()
	case v.window != nil && total > v.window.before.throttles:
		return fail(found, fmt.Sprintf("the reserved CPUs were held back %d times %s", total-v.window.before.throttles, v.window))
	case v.window == nil && longest > 1000:
		return fail(found, "the reserved CPUs were held back for more than a second")
	case total > 0:
		return warn(found, "the reserved CPUs were held back since boot")
	default:
		return pass("never since boot")
	}
}

// cooling asks the thermal framework, which is all that ARM has: a processor that is cooled is slow.
func (v *view) cooling() Outcome {
	v.saw("/sys/class/thermal/cooling_device[id]/{type,cur_state}")
	// An unreadable pattern cannot happen: it is a constant.
	devices, _ := v.fs.Glob("/sys/class/thermal/cooling_device[0-9]*")
	var seen, active []string
	for _, d := range devices {
		kind, state := v.optional(d+"/type"), v.optional(d+"/cur_state")
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
		return fail(listed(active), "the kernel slows processors down against heat at this moment")
	default:
		return pass(counted(len(seen), "cooling device") + ", none at work")
	}
}

func lookPower(v *view) Outcome {
	if o := v.hypervised(); o != nil {
		return *o
	}
	v.saw("/sys/class/powercap/intel-rapl:[id]/constraint_0_{power_limit,max_power}_uw", "/sys/class/power_supply/[id]/{type,online}")
	var found, low []string
	// An unreadable pattern cannot happen: they are constants.
	packages, _ := v.fs.Glob("/sys/class/powercap/intel-rapl:[0-9]")
	for _, p := range packages {
		limit, err := strconv.Atoi(v.optional(p + "/constraint_0_power_limit_uw"))
		most, merr := strconv.Atoi(v.optional(p + "/constraint_0_max_power_uw"))
		if err != nil || merr != nil || most == 0 {
			continue
		}
		label := fmt.Sprintf("%s %d of %d W", path.Base(p), limit/1e6, most/1e6)
		found = append(found, label)
		if limit < most {
			low = append(low, label)
		}
	}
	supplies, _ := v.fs.Glob("/sys/class/power_supply/*")
	for _, s := range supplies {
		if v.optional(s+"/type") != "Mains" {
			continue
		}
		found = append(found, path.Base(s)+" online "+v.optional(s+"/online"))
		if v.optional(s+"/online") == "0" {
			return fail(listed(found), "this machine runs on its battery")
		}
	}
	switch {
	case len(found) == 0:
		return skip("/sys/class/powercap/intel-rapl:0 and /sys/class/power_supply do not exist")
	case len(low) > 0:
		return warn(listed(found), "limited below what the package is built for: "+listed(low))
	default:
		return pass(listed(found))
	}
}

func lookReached(v *view) Outcome {
	if o := v.hypervised(); o != nil {
		return *o
	}
	reached, bad := v.perCPU("cpufreq/cpuinfo_avg_freq")
	if bad != nil {
		return *bad
	}
	wanted, bad := v.perCPU("cpufreq/scaling_max_freq")
	if bad != nil {
		return *bad
	}
	least, most, off := math.Inf(1), 0.0, 0.0
	for id, s := range reached {
		khz, err := strconv.ParseFloat(s, 64)
		want, werr := strconv.ParseFloat(wanted[id], 64)
		if err != nil || werr != nil || want <= 0 || khz <= 0 {
			return unknown(s, fmt.Sprintf("the frequencies of CPU %d make no sense", id))
		}
		least, most = min(least, khz), max(most, khz)
		off = max(off, math.Abs(khz/want-1))
	}
	found := fmt.Sprintf("%.0f to %.0f MHz, %.1f %% from what is set", least/1000, most/1000, 100*off)
	switch {
	case off > 0.05:
		return fail(found, "more than 5 % away from scaling_max_freq")
	case off > 0.003 || most/least > 1.002:
		return warn(found, "more than 0.3 % away from scaling_max_freq, or not equal; CPUs that idle report what they did last")
	default:
		return pass(found)
	}
}

// lookTimeSync asks adjtimex(2) with no mode set, which changes nothing and needs no right.
func lookTimeSync(v *view) Outcome {
	text, bad := v.ask(adjtimexAnswer, "adjtimex(2)", adjtimex)
	if bad != nil {
		return *bad
	}
	var scaled, tick, status int
	if _, err := fmt.Sscanf(text, "freq %d tick %d status %d", &scaled, &tick, &status); err != nil {
		return unknown(text, "parse the answer of adjtimex(2): "+err.Error())
	}
	// freq is in ppm with 16 bits behind the point; tick is 10000 us, of which one is 100 ppm.
	ppm := float64(scaled)/65536 + float64(tick-10000)*100
	found := fmt.Sprintf("%+.1f ppm", ppm)
	const unsynchronised = 0x40 // STA_UNSYNC of timex.h
	switch {
	case math.Abs(ppm) >= 100:
		return warn(found, "the clock is bent by 100 ppm or more")
	case status&unsynchronised != 0:
		return pass(found + ", nobody sets the clock")
	default:
		return pass(found)
	}
}

// lookSMI reads MSR_SMI_COUNT on a CPU that is not reserved: all CPUs go into management mode
// together, and reading interrupts the CPU that is read.
func (v *view) smis() (uint64, *Outcome) {
	if o := v.hypervised(); o != nil {
		return 0, o
	}
	not := func(o Outcome) (uint64, *Outcome) { return 0, &o }
	if len(v.housekeeping) == 0 {
		return not(skip("no CPU is left whose /dev/cpu/[id]/msr may be read without disturbing a run"))
	}
	if !strings.Contains(v.optional("/proc/cpuinfo"), "GenuineIntel") {
		return not(skip("/proc/cpuinfo names no Intel processor; others do not count them"))
	}
	v.saw("/proc/uptime")
	text, bad := v.ask(smiAnswer, "/dev/cpu/[id]/msr", func() ([]byte, error) { return readSMI(v.housekeeping[0]) })
	if bad != nil {
		return 0, bad
	}
	count, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return not(unknown(text, "the register did not answer with a number"))
	}
	return count, nil
}

func lookSMI(v *view) Outcome {
	count, bad := v.smis()
	if bad != nil {
		return *bad
	}
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
		return warn(found, "the firmware takes all CPUs away while judged runs")
	default:
		return warn(found, "some may be from the boot; look again later")
	}
}
