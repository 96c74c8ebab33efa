package tune

import (
	"path"
	"strconv"
	"strings"

	"judged/internal/base/cpuset"
)

// frequencyKnobs: hints come before the governor, since a driver refuses them while its governor is
// performance, also when they are put back; and a policy's own boost before the global one, which
// forbids them all.
func frequencyKnobs() []knob {
	return []knob{{
		id: "pref-hints", title: "hints to the processor",
		why:  "told to save, the firmware slows clocks down and ramps them up late",
		risk: "the reserved CPUs need more power and get hotter",
		rows: []row{
			{pattern: cpuDir + "/cpu{cpu}/cpufreq/energy_performance_preference", kind: word, wakes: true,
				to: choice("performance", "energy_performance_available_preferences")},
			{pattern: cpuDir + "/cpu{cpu}/power/energy_perf_bias", kind: word, to: always("0"), wakes: true},
			{pattern: "/sys/firmware/acpi/platform_profile", kind: word, to: choice("performance", "platform_profile_choices")},
		},
	}, {
		id: "governor", title: "frequency governor",
		why:  "other governors raise the frequency only after a program has run for a while",
		risk: "the reserved CPUs need more power and get hotter",
		rows: []row{{pattern: cpuDir + "/cpu{cpu}/cpufreq/scaling_governor", kind: word, to: steady}},
	}, {
		id: "turbo-off", title: "turbo (boost)",
		why:  "the frequency follows what the other cores do: spread 1354 -> 252 ms without",
		risk: "everything on this host is slower by what turbo gave",
		rows: []row{
			{pattern: cpuDir + "/cpufreq/policy[0-9]*/boost", kind: word, to: boostOff},
			{pattern: cpuDir + "/cpufreq/boost", kind: word, to: always("0")},
			{pattern: cpuDir + "/intel_pstate/no_turbo", kind: word, to: always("1")},
		},
	}, {
		id: "freq-pinned", title: "one fixed frequency",
		why:  "between two limits the processor chooses by load, temperature and power",
		risk: "an idle reserved CPU does not clock down",
		rows: []row{
			// First the upper limit: the lower one may not pass it, and on the way back it goes down first.
			{pattern: cpuDir + "/cpu{cpu}/cpufreq/scaling_max_freq", kind: word, to: pinned},
			{pattern: cpuDir + "/cpu{cpu}/cpufreq/scaling_min_freq", kind: word, to: pinned},
		},
	}, {
		id: "cstates", title: "sleep states",
		why:  "a run that sleeps or waits for another thread pays 50 to 200 us at each wake-up from a deep state",
		risk: "idle reserved CPUs need more power, and leave less of it to the others",
		rows: []row{{pattern: cpuDir + "/cpu{cpu}/power/pm_qos_resume_latency_us", kind: word, to: shallow}},
	}, {
		id: "uncore-freq", title: "frequency of caches and memory controller",
		why:  "otherwise the latency of L3 and memory follows what the other cores do",
		risk: "the package needs more power",
		rows: []row{{pattern: cpuDir + "/intel_uncore_frequency/package_*/min_freq_khz", kind: word, to: uncoreTop}},
	}}
}

func steady(v *view, file, now string) (string, string) {
	if now == "userspace" {
		return now, "" // a fixed speed that somebody chose
	}
	return choice("performance", "scaling_available_governors")(v, file, now)
}

// boostOff leaves policies alone that hold no reserved CPU, or do not say which they hold.
func boostOff(v *view, file, now string) (string, string) {
	text, err := v.fs.Read(path.Join(path.Dir(file), "related_cpus"))
	if err != nil {
		return now, ""
	}
	set, err := cpuset.Parse(strings.Join(strings.Fields(text), ","))
	if err != nil || !set.Overlaps(v.reserved) {
		return now, ""
	}
	return "0", ""
}

// pinned is the frequency that can be held at all times. Both limits that are equal already, and not
// above it, are somebody's choice.
func pinned(v *view, file, now string) (string, string) {
	dir := path.Dir(file)
	base := v.number(dir + "/base_frequency")
	if base == 0 {
		base = 1000 * v.number(path.Dir(dir)+"/acpi_cppc/nominal_freq") // MHz
	}
	top := v.number(dir + "/cpuinfo_max_freq")
	if base == 0 || top > 0 && top < base {
		base = top
	}
	if base == 0 {
		return "", "neither base_frequency nor nominal_freq nor cpuinfo_max_freq tells the frequency that can be held"
	}
	least, most := v.number(dir+"/scaling_min_freq"), v.number(dir+"/scaling_max_freq")
	if least == most && most > 0 && most <= base {
		return now, ""
	}
	return strconv.Itoa(v.offered(dir, base)), ""
}

// offered is the highest frequency of a driver with fixed steps that is not above the wanted one: the
// kernel would round, and what it made of a value could not be told from a change by others.
func (v *view) offered(dir string, wanted int) int {
	steps, err := v.fs.Read(dir + "/scaling_available_frequencies")
	if err != nil {
		return wanted
	}
	best := 0
	for f := range strings.FieldsSeq(steps) {
		if n, err := strconv.Atoi(f); err == nil && n <= wanted {
			best = max(best, n)
		}
	}
	if best == 0 {
		return wanted
	}
	return best
}

// shallow wants 2 us: it lets a CPU halt, while n/a would have it spin. 0 is no limit at all
// (Documentation/admin-guide/pm/cpuidle.rst).
func shallow(v *view, file, now string) (string, string) {
	states, err := v.fs.Glob(path.Dir(path.Dir(file)) + "/cpuidle/state[0-9]*")
	if err != nil || len(states) == 0 {
		return "", "the kernel chooses no sleep states here (no cpuidle)"
	}
	if now == "n/a" {
		return now, ""
	}
	if us, err := strconv.Atoi(now); err == nil && us > 0 && us <= 2 {
		return now, ""
	}
	return "2", ""
}

func uncoreTop(v *view, file, now string) (string, string) {
	most, err := v.fs.Read(path.Dir(file) + "/max_freq_khz")
	if err != nil {
		return "", "max_freq_khz cannot be read: " + cause(err)
	}
	return most, ""
}

// number is 0 where there is none.
func (v *view) number(file string) int {
	n, err := v.fs.ReadInt(file)
	if err != nil {
		return 0
	}
	return int(n)
}
