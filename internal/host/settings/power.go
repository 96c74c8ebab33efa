package settings

import (
	"judged/internal/api"
)

const (
	cpuDir  = "/sys/devices/system/cpu"
	freqDir = cpuDir + "/cpu{cpu}/cpufreq"
)

func powerSettings() []Setting {
	return []Setting{{
		ID: "turbo-off", Title: "turbo (boost)", Severity: api.SeverityS1, Bare: true,
		Wanted: "off on every reserved CPU",
		Effect: "the frequency follows the load of the other cores: spread of 20 runs 1354 -> 252 ms with turbo off " +
			"(published experiment)",
		// The switch of each policy comes before the global one, which disables them all.
		Values: []Value{
			{Pattern: cpuDir + "/cpufreq/policy[0-9]*/boost", Kind: Word, Want: boostOff},
			{Pattern: cpuDir + "/cpufreq/boost", Kind: Word, To: "0"},
			{Pattern: cpuDir + "/intel_pstate/no_turbo", Kind: Word, To: "1"},
		},
		See:  "grep . /sys/devices/system/cpu/intel_pstate/no_turbo /sys/devices/system/cpu/cpufreq/boost",
		Boot: "turbo or core performance boost off in the firmware",
		Risk: "everything on this host loses the speed that turbo gave",
	}, {
		ID: "governor", Title: "frequency governor", Severity: api.SeverityS1, Bare: true,
		Wanted: "performance (or userspace with a fixed speed) on every reserved CPU",
		Effect: "other governors raise the frequency only after a while: a core at its lowest speed is 2 to 4 times " +
			"slower (ratio of the processors' own limits)",
		Values: []Value{{Pattern: freqDir + "/scaling_governor", Kind: Word, To: "performance", Want: fixedGovernor,
			Wrong: Fails}},
		Boot: "cpufreq.default_governor=performance",
		Risk: "the reserved CPUs need more power and get hotter",
	}, {
		ID: "clocksource", Title: "clock source", Severity: api.SeverityS2,
		Wanted: "tsc on x86, arch_sys_counter on ARM",
		Effect: "every reading of another clock is a trap or a slow device access of 0.5 to 4 us (estimate)",
		Values: []Value{{Pattern: "/sys/devices/system/clocksource/clocksource0/current_clocksource", Kind: Word,
			To: "tsc", Want: processorClock,
			Wrong: Warns, Worst: []string{"hpet", "acpi_pm", "jiffies", "refined-jiffies"}}},
		Boot: "tsc=reliable",
		Risk: "the kernel abandons a counter that it finds unstable, and logs it",
	}, {
		ID: "steal", Title: "time taken by the hypervisor", Severity: api.SeverityS1,
		Wanted: "no stolen time on CPU {R}",
		Effect: "stolen time is added to wall time, and to CPU time through cold caches: without the runs that had any, " +
			"the spread of a sieve fell from 21 to 9 % (measured)",
		See:  "vmstat 1 5   # column st",
		Boot: "a dedicated host, or an instance without shared CPUs",
	}}
}

func frequencySettings() []Setting {
	const uncore = cpuDir + "/intel_uncore_frequency"
	return []Setting{{
		ID: "freq-pinned", Title: "fixed frequency", Severity: api.SeverityS2, Bare: true,
		Wanted: "scaling_min_freq = scaling_max_freq, not above the base frequency, on CPU {R}",
		Effect: "between two limits, load, temperature and power decide the frequency: 0.5 to 5 % of CPU time with " +
			"turbo off (estimate)",
		// The upper limit comes first, because the lower one may not exceed it. Restoring uses the reverse
		// order.
		Values: []Value{{Pattern: freqDir + "/scaling_max_freq", Kind: Word, Want: sustainable},
			{Pattern: freqDir + "/scaling_min_freq", Kind: Word, Want: sustainable}},
		See: "grep . /sys/devices/system/cpu/cpu*/cpufreq/scaling_m??_freq",
		Run: []string{"cd /sys/devices/system/cpu/cpufreq && for p in policy*; do f=$(cat $p/base_frequency 2> " +
			"/dev/null || cat $p/cpuinfo_max_freq); " +
			"echo $f > $p/scaling_max_freq; echo $f > $p/scaling_min_freq; done"},
		Risk: "an idle reserved CPU does not clock down",
	}, {
		ID: "pref-hints", Title: "hints to the processor", Severity: api.SeverityS2, Bare: true,
		Wanted: "energy_performance_preference performance, energy_perf_bias 0, platform profile performance",
		Effect: "when asked to save energy, the firmware slows clocks down and raises them late: 0.5 to 5 % (estimate; " +
			"kernel documentation, intel_pstate)",
		Values: []Value{
			{Pattern: freqDir + "/energy_performance_preference", Kind: Word, To: "performance", Wakes: true,
				Wrong: Fails,
				Want:  choice("performance", "energy_performance_available_preferences")},
			{Pattern: cpuDir + "/cpu{cpu}/power/energy_perf_bias", Kind: Word, To: "0", Wakes: true, Wrong: Fails},
			{Pattern: "/sys/firmware/acpi/platform_profile", Kind: Word, To: "performance", Wrong: Fails,
				Want: choice("performance", "platform_profile_choices")},
		},
		Boot: "the profile for maximum performance in the firmware",
		Risk: "the reserved CPUs need more power and get hotter",
	}, {
		ID: "pstate-nohz", Title: "frequency driver on CPUs without a tick", Severity: api.SeverityS2, Bare: true,
		Wanted: "hardware-managed P-states (HWP), another driver, or a fixed frequency on CPU {R}",
		Effect: "without HWP intel_pstate chooses the frequency from the tick, which nohz_full stops: a run keeps the " +
			"frequency of the previous run (Red Hat bug 1378529)",
		See:      "cat /sys/devices/system/cpu/cpu*/cpufreq/scaling_driver; grep -c hwp /proc/cpuinfo",
		Run:      []string{"echo passive > /sys/devices/system/cpu/intel_pstate/status"},
		Boot:     "intel_pstate=disable",
		NotTuned: "a change of the frequency driver resets all of its settings; freq-pinned is sufficient",
	}, {
		ID: "cstates", Title: "sleep states", Severity: api.SeverityS3, Bare: true,
		Wanted: "no enabled state of CPU {R} takes more than 2 us to leave",
		Effect: "each wake-up of a run that sleeps or waits costs 50 to 200 us from the deep states (cpuidle's own " +
			"figures)",
		Values: []Value{{Pattern: cpuDir + "/cpu{cpu}/power/pm_qos_resume_latency_us", Kind: Word, To: "2",
			Want: shallowSleep}},
		See: "grep . /sys/devices/system/cpu/cpu*/cpuidle/state*/latency " +
			"/sys/devices/system/cpu/cpu*/power/pm_qos_resume_latency_us",
		Boot: "intel_idle.max_cstate=1 processor.max_cstate=1",
		Risk: "idle reserved CPUs need more power, and leave less of it to the others",
	}, {
		ID: "uncore-freq", Title: "frequency of caches and memory controller", Severity: api.SeverityS2, Bare: true,
		Wanted: "min_freq_khz = max_freq_khz for every package",
		Effect: "the latency of L3 and memory follows the load of the other cores: 0.5 to 5 % for programs that miss " +
			"their caches (estimate; kernel documentation, intel_uncore_frequency)",
		Values: []Value{{Pattern: uncore + "/package_*/min_freq_khz", Kind: Word, Want: maxUncore, Wrong: Warns}},
		See:    "grep . " + uncore + "/package_*/m??_freq_khz",
		Run:    []string{"cd " + uncore + " && for d in package_*; do cat $d/max_freq_khz > $d/min_freq_khz; done"},
		Boot:   "uncore frequency fixed in the firmware (AMD: APBDIS=1 with a fixed fabric P-state)",
		Risk:   "the package needs more power",
	}}
}

func thermalSettings() []Setting {
	return []Setting{{
		ID: "thermal-throttle", Title: "thermal throttling", Severity: api.SeverityS1, Bare: true,
		Wanted: "no throttling of CPU {R}",
		Effect: "a core that is too hot loses 10 to 60 % of its clock for seconds (estimate)",
		See:    "grep . /sys/devices/system/cpu/cpu*/thermal_throttle/*_throttle_count",
		Boot:   "clean the fans, lower the load or the frequency (freq-pinned), or retire the host",
	}, {
		ID: "power-limit", Title: "power limit", Severity: api.SeverityS2, Bare: true,
		Wanted: "mains power, and the long-term limit of each package not below its specification",
		Effect: "at its power limit, the package lowers the frequency of all cores by their total load: 0.5 to 5 % " +
			"(estimate)",
		See: "grep . /sys/class/powercap/intel-rapl:?/constraint_0_*power*_uw /sys/class/power_supply/*/online",
		Run: []string{"cd /sys/class/powercap && for d in intel-rapl:?; do cat $d/constraint_0_max_power_uw > " +
			"$d/constraint_0_power_limit_uw; done"},
		Boot: "the long-term power limit (PL1) of the firmware at the processor's TDP",
	}, {
		ID: "effective-freq", Title: "effective frequency", Severity: api.SeverityS1, Bare: true,
		Wanted: "cpuinfo_avg_freq of CPU {R} within 0.3 % of scaling_max_freq, and equal within 0.2 %",
		Effect: "CPU time is work divided by this frequency: 1 % of it is 1 % of every time (by definition)",
		See:    "grep . /sys/devices/system/cpu/cpu*/cpufreq/cpuinfo_avg_freq",
		Run:    []string{"judged doctor --explain turbo-off"},
		Boot:   "see turbo-off, governor, freq-pinned and power-limit; if they pass, the firmware limits it",
	}, {
		ID: "timesync", Title: "slewing of the clock", Severity: api.SeverityS3,
		Wanted: "the kernel's clock is corrected by less than 100 ppm",
		Effect: "wall times are off by the correction, 0.05 % for 500 ppm; CPU times are not (kernel documentation, " +
			"timekeeping)",
		See:  "adjtimex --print, or chronyc tracking",
		Run:  []string{"chronyc burst 4/8"},
		Boot: "makestep 1 3 in chrony.conf, so that it steps at boot only",
	}, {
		ID: "smi", Title: "system management interrupts", Severity: api.SeverityS2, Bare: true,
		Wanted: "none",
		Effect: "system management mode stops all CPUs for 10 to 300 us and more, invisible to the kernel (kernel " +
			"documentation, hwlat_detector)",
		See:  "rdmsr -d 0x34, twice, 10 s apart",
		Run:  []string{"modprobe msr   # needed by this check"},
		Boot: "USB legacy support and power capping off in the firmware; ask its vendor",
	}}
}
