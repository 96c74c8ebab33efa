package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"syscall"

	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
)

// TurboState is the state of turbo as written in reports and metrics.
type TurboState string

// The states. TurboUnknown must not be treated as TurboOff.
const (
	TurboOn      TurboState = "on"
	TurboOff     TurboState = "off"
	TurboUnknown TurboState = "unknown"
)

// Turbo is the combined state of all switches.
type Turbo struct {
	Value  TurboState
	Source string // path of the deciding switch, or ""
	Reason string // one clause for display
}

const (
	cpufreqDir  = "/sys/devices/system/cpu/cpufreq"
	globalBoost = cpufreqDir + "/boost"
	noTurbo     = "/sys/devices/system/cpu/intel_pstate/no_turbo"
	amdStatus   = "/sys/devices/system/cpu/amd_pstate/status"
)

// switchState is the state of one switch: whether it is off, and the CPUs that it applies to (all if global).
type switchState struct {
	path   string
	off    bool
	err    error
	global bool
	cpus   cpuset.Set
}

// ReadTurbo reads all switches that apply to any of the CPUs (to all CPUs if the set is empty). The result is
// TurboOff only if all of them are off and each CPU is covered: depending on driver and version, the switch of a
// policy can override the global switch or the reverse.
func ReadTurbo(h hostfs.FS, cpus cpuset.Set) Turbo {
	readings := collectSwitches(h, cpus)
	var decided switchState
	covered := cpuset.Set(nil)
	global := false
	for _, r := range readings {
		switch {
		case r.err != nil:
			continue
		case !r.off:
			return Turbo{Value: TurboOn, Source: r.path, Reason: r.path + " allows it"}
		}
		if decided.path == "" {
			decided = r
		}
		global = global || r.global
		covered = covered.Union(r.cpus)
	}
	for _, r := range readings {
		if r.err != nil {
			return Turbo{Value: TurboUnknown, Source: r.path, Reason: "cannot read its switch: " + r.err.Error()}
		}
	}
	switch {
	case decided.path == "":
		return Turbo{Value: TurboUnknown, Reason: whyNoSource(h)}
	case !global && !cpus.IsSubsetOf(covered):
		return Turbo{Value: TurboUnknown, Source: decided.path,
			Reason: fmt.Sprintf("no switch covers CPU %s", cpus.Minus(covered))}
	default:
		return Turbo{Value: TurboOff, Source: decided.path, Reason: decided.path + " forbids it"}
	}
}

func collectSwitches(h hostfs.FS, cpus cpuset.Set) []switchState {
	var all []switchState
	// intel_pstate returns EAGAIN while another driver is active; it is not a source then.
	if r, ok := readSwitch(h, noTurbo, "1"); ok && !errors.Is(r.err, syscall.EAGAIN) {
		r.global = true
		all = append(all, r)
	}
	if r, ok := readSwitch(h, globalBoost, "0"); ok {
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
		if r, ok := readSwitch(h, p, "0"); ok {
			r.cpus = covers
			all = append(all, r)
		}
	}
	return all
}

// readSwitch reads one switch. It returns false if the switch does not exist.
func readSwitch(h hostfs.FS, path, off string) (switchState, bool) {
	s, err := h.Read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return switchState{}, false
	case err == nil && s != "0" && s != "1":
		err = fmt.Errorf("parse %s: %q is neither 0 nor 1", path, s)
	}
	return switchState{path: path, off: s == off, err: err}, true
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
	if Hypervisor(h) != "" {
		return "controlled by the hypervisor"
	}
	return "no switch found: neither " + noTurbo + " nor " + globalBoost + " nor a boost file of a policy exists"
}
