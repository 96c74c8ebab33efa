package settings

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"judged/internal/base/cpuset"
)

// atLeast returns a Want function for numbers that must be at least least.
func atLeast(least int) func(*Host, string, string) (string, string) {
	return func(_ *Host, _, now string) (string, string) {
		n, err := strconv.Atoi(now)
		switch {
		case err != nil:
			return "", strconv.Quote(now) + " is not a number"
		case n >= least:
			return now, ""
		}
		return strconv.Itoa(least), ""
	}
}

// listWithoutReserved removes the reserved CPUs from a list. If no CPU remains, it returns the housekeeping
// CPUs.
func listWithoutReserved(h *Host, _, now string) (string, string) {
	set, err := List.Set(now)
	if err != nil {
		return "", err.Error()
	}
	return h.Others(set).String(), ""
}

// maskWithoutReserved is like listWithoutReserved for a mask.
func maskWithoutReserved(h *Host, _, now string) (string, string) {
	set, err := Mask.Set(now)
	if err != nil {
		return "", err.Error()
	}
	return h.Others(set).Mask(), ""
}

// receiveMask is for a mask that may become empty, which disables steering.
func receiveMask(h *Host, _, now string) (string, string) {
	set, err := Mask.Set(now)
	if err != nil {
		return "", err.Error()
	}
	return set.Minus(h.Reserved).Mask(), ""
}

// transmitMask keeps an empty mask, which disables steering, but never returns an empty mask for another one.
func transmitMask(h *Host, file, now string) (string, string) {
	if set, err := Mask.Set(now); err == nil && len(set) == 0 {
		return now, ""
	}
	return maskWithoutReserved(h, file, now)
}

// choice returns a Want function that chooses value if listFile in the same folder lists it.
func choice(value, listFile string) func(*Host, string, string) (string, string) {
	return func(h *Host, file, now string) (string, string) {
		known, err := h.FS.Read(path.Join(path.Dir(file), listFile))
		if err == nil && !slices.Contains(strings.Fields(known), value) {
			return "", listFile + " does not offer " + value
		}
		return value, ""
	}
}

// smtOff keeps SMT on if turning it off would remove a reserved core: the kernel keeps only the first thread of
// each core. The next setting, smt-sibling-free, then takes the other siblings offline.
func smtOff(h *Host, _, now string) (string, string) {
	var lost cpuset.Set
	for _, id := range h.Reserved {
		if c, ok := h.Topology.CPU(id); ok && !h.Reserved.Contains(c.Siblings[0]) {
			lost = lost.Union(cpuset.New(id))
		}
	}
	switch now {
	case "on":
		if len(lost) > 0 {
			return "", "reserved CPU " + lost.String() + " would go offline: it is not the first thread of its core"
		}
		return "off", ""
	case "off", "forceoff":
		return now, ""
	case "notsupported", "notimplemented":
		return "", "the processor shows no SMT"
	}
	// POWER has the number of threads per core.
	if n, err := strconv.Atoi(now); err == nil {
		return strconv.Itoa(min(n, 1)), ""
	}
	return "", "unknown value " + strconv.Quote(now)
}

// siblingOff keeps reserved CPUs online: a slot uses one CPU of a core, and its sibling idles.
func siblingOff(h *Host, file, now string) (string, string) {
	id, err := strconv.Atoi(strings.TrimPrefix(path.Base(path.Dir(file)), "cpu"))
	if err != nil || h.Reserved.Contains(id) || now != "1" {
		return now, ""
	}
	if c, ok := h.Topology.CPU(id); ok && c.Siblings.Overlaps(h.Reserved) {
		return "0", ""
	}
	return now, ""
}

// processorClock chooses the processor's own clock source if the kernel offers it.
func processorClock(h *Host, file, now string) (string, string) {
	counters := []string{"tsc", "arch_sys_counter", "timebase"}
	if slices.Contains(counters, now) {
		return now, ""
	}
	offered := strings.Fields(h.Optional(path.Join(path.Dir(file), "available_clocksource")))
	for _, name := range counters {
		if slices.Contains(offered, name) {
			return name, ""
		}
	}
	return "", "available_clocksource does not offer the processor's own counter"
}

// fixedGovernor keeps the governor userspace, which means that somebody chose a fixed frequency.
func fixedGovernor(h *Host, file, now string) (string, string) {
	if now == "userspace" {
		return now, ""
	}
	return choice("performance", "scaling_available_governors")(h, file, now)
}

// boostOff ignores policies that have no reserved CPU or an unknown set of CPUs.
func boostOff(h *Host, file, now string) (string, string) {
	related := strings.Fields(h.Optional(path.Join(path.Dir(file), "related_cpus")))
	set, err := cpuset.Parse(strings.Join(related, ","))
	if err != nil || !set.Overlaps(h.Reserved) {
		return now, ""
	}
	return "0", ""
}

// sustainable returns the highest frequency that the processor can sustain. It keeps equal limits that are not
// above it, because somebody chose them.
func sustainable(h *Host, file, now string) (string, string) {
	dir := path.Dir(file)
	base := h.number(dir + "/base_frequency")
	if base == 0 {
		base = 1000 * h.number(path.Dir(dir)+"/acpi_cppc/nominal_freq") // MHz
	}
	top := h.number(dir + "/cpuinfo_max_freq")
	if base == 0 || top > 0 && top < base {
		base = top
	}
	if base == 0 {
		return "", "unknown frequency: base_frequency, nominal_freq and cpuinfo_max_freq are missing"
	}
	least, most := h.number(dir+"/scaling_min_freq"), h.number(dir+"/scaling_max_freq")
	if least == most && most > 0 && most <= base {
		return now, ""
	}
	return strconv.Itoa(h.frequencyStep(dir, base)), ""
}

// frequencyStep returns the highest frequency step of the driver that is not above the wanted one. Otherwise
// the kernel would round the value, which would look like a change by somebody else.
func (h *Host) frequencyStep(dir string, wanted int) int {
	best := 0
	for f := range strings.FieldsSeq(h.Optional(dir + "/scaling_available_frequencies")) {
		if n, err := strconv.Atoi(f); err == nil && n <= wanted {
			best = max(best, n)
		}
	}
	if best == 0 {
		return wanted
	}
	return best
}

// shallowSleep returns 2 us, with which a CPU halts; with n/a it would poll. 0 means no limit
// (Documentation/admin-guide/pm/cpuidle.rst).
func shallowSleep(h *Host, file, now string) (string, string) {
	if len(h.Glob(path.Dir(path.Dir(file))+"/cpuidle/state[0-9]*")) == 0 {
		return "", "the kernel chooses no sleep states here (no cpuidle)"
	}
	if us, err := strconv.Atoi(now); now == "n/a" || err == nil && us > 0 && us <= 2 {
		return now, ""
	}
	return "2", ""
}

func maxUncore(h *Host, file, _ string) (string, string) {
	if most := h.Optional(path.Dir(file) + "/max_freq_khz"); most != "" {
		return most, ""
	}
	return "", "cannot read max_freq_khz"
}
