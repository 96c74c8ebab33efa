package turbo

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"syscall"

	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
	"judged/internal/host/virt"
)

// Value is the state of turbo as written in reports and metrics.
type Value string

// The states. Unknown must not be treated as Off.
const (
	On      Value = "on"
	Off     Value = "off"
	Unknown Value = "unknown"
)

// State is the combined state of all switches.
type State struct {
	Value  Value
	Source string // path of the deciding switch, or ""
	Reason string // one clause for display
}

const (
	cpufreqDir  = "/sys/devices/system/cpu/cpufreq"
	globalBoost = cpufreqDir + "/boost"
	noTurbo     = "/sys/devices/system/cpu/intel_pstate/no_turbo"
	amdStatus   = "/sys/devices/system/cpu/amd_pstate/status"
)

// reading is the state of one switch: whether it is off, and the CPUs that it applies to (all if global).
type reading struct {
	path   string
	off    bool
	err    error
	global bool
	cpus   cpuset.Set
}

// Read reads all switches that apply to any of the CPUs (to all CPUs if the set is empty). The result is Off
// only if all of them are off and each CPU is covered: depending on driver and version, the switch of a policy
// can override the global switch or the reverse.
func Read(h hostfs.FS, cpus cpuset.Set) State {
	readings := collect(h, cpus)
	var decided reading
	covered := cpuset.Set(nil)
	global := false
	for _, r := range readings {
		switch {
		case r.err != nil:
			continue
		case !r.off:
			return State{Value: On, Source: r.path, Reason: r.path + " allows it"}
		}
		if decided.path == "" {
			decided = r
		}
		global = global || r.global
		covered = covered.Union(r.cpus)
	}
	for _, r := range readings {
		if r.err != nil {
			return State{Value: Unknown, Source: r.path, Reason: "cannot read its switch: " + r.err.Error()}
		}
	}
	switch {
	case decided.path == "":
		return State{Value: Unknown, Reason: whyNoSource(h)}
	case !global && !cpus.IsSubsetOf(covered):
		return State{Value: Unknown, Source: decided.path,
			Reason: fmt.Sprintf("no switch covers CPU %s", cpus.Minus(covered))}
	default:
		return State{Value: Off, Source: decided.path, Reason: decided.path + " forbids it"}
	}
}

func collect(h hostfs.FS, cpus cpuset.Set) []reading {
	var all []reading
	// intel_pstate returns EAGAIN while another driver is active; it is not a source then.
	if r, ok := read(h, noTurbo, "1"); ok && !errors.Is(r.err, syscall.EAGAIN) {
		r.global = true
		all = append(all, r)
	}
	if r, ok := read(h, globalBoost, "0"); ok {
		r.global = true
		all = append(all, r)
	}
	// The pattern is constant and valid.
	policies, _ := h.Glob(cpufreqDir + "/policy[0-9]*/boost")
	for _, p := range policies {
		covers, known := policyCPUs(h, strings.TrimSuffix(p, "/boost"))
		// A policy with unknown CPUs is included, because its switch may be on.
		if known && len(cpus) > 0 && !covers.Overlaps(cpus) {
			continue
		}
		if r, ok := read(h, p, "0"); ok {
			r.cpus = covers
			all = append(all, r)
		}
	}
	return all
}

// read reads one switch. It returns false if the switch does not exist.
func read(h hostfs.FS, path, off string) (reading, bool) {
	s, err := h.Read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return reading{}, false
	case err == nil && s != "0" && s != "1":
		err = fmt.Errorf("parse %s: %q is neither 0 nor 1", path, s)
	}
	return reading{path: path, off: s == off, err: err}, true
}

// policyCPUs reads related_cpus. Its list is separated by spaces ("0 1 2"), unlike other lists in sysfs.
func policyCPUs(h hostfs.FS, dir string) (covers cpuset.Set, known bool) {
	s, err := h.Read(dir + "/related_cpus")
	if err != nil {
		return nil, false
	}
	var ids []int
	for _, f := range strings.Fields(s) {
		if id, err := strconv.Atoi(f); err == nil && id >= 0 {
			ids = append(ids, id)
		}
	}
	return cpuset.New(ids...), true
}

func whyNoSource(h hostfs.FS) string {
	if status, err := h.Read(amdStatus); err == nil && status != "disable" {
		return fmt.Sprintf("amd_pstate is %s and shows no boost switch (it does since Linux 6.11); boot with "+
			"amd_pstate=passive or switch boost off in the firmware", status)
	}
	if virt.Hypervisor(h) != "" {
		return "controlled by the hypervisor"
	}
	return "no switch found: neither " + noTurbo + " nor " + globalBoost + " nor a boost file of a policy exists"
}
