package doctor

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/host/settings"
)

// Outcome is the result of one check.
type Outcome struct {
	Status api.DoctorStatus
	Found  string
	Reason string
}

// looks returns, by ID, the checks that are functions and do not only compare values.
func looks() map[string]func(*view) Outcome {
	return map[string]func(*view) Outcome{
		"env-class": lookClass, "cgroup-ready": lookCgroups, "cpu-throttle-config": lookThrottle,
		"kernel-version": lookKernel,
		"reserved-valid": lookReserved, "smt-off": lookSMT, "smt-sibling-free": lookSiblings,
		"core-homogeneous": lookHomogeneous,
		"slot-one-node":    lookNode, "llc-private": lookCache, "slot-mems": lookMems, "node-symmetric": lookSymmetry,
		"resctrl":        lookDivision,
		"sched-isolated": lookIsolated, "width-vs-isolation": lookWidth, "nohz-full": lookTick,
		"irq-affinity":    lookInterrupts,
		"partition-valid": lookPartitions, "autogroup": lookAutogroup, "rt-throttle": lookRealTime,
		"rcu-offload": lookCallbacks,
		"rlimit-cpu":  lookLimitCPU, "fair-server": lookFairServer, "tick-probe": lookTicks, "watchdogs": lookWatchdogs,
		"irq-managed": lookManaged, "irqbalance": lookBalancer, "user-tasks": lookUserTasks,
		"kthreads":         lookKernelThreads,
		"daemon-placement": lookDaemon, "turbo-off": lookTurbo, "steal": lookSteal, "freq-pinned": lookPinned,
		"pstate-nohz": lookPState,
		"cstates":     lookSleep, "thermal-throttle": lookHeat, "power-limit": lookPower, "effective-freq": lookReached,
		"timesync": lookTimeSync, "smi": lookSMI, "swap": lookSwap, "numa-balancing": lookBalancing,
		"hugetlb-reserved": lookReservedPages, "compaction": lookCompaction, "env-fixed": lookStack,
		"time-accounting": lookAccounting,
		"mitigations":     lookMitigations, "ssbd-seccomp": lookStoreBypass, "tracing-off": lookTracing,
		"debug-kernel": lookDebug,
		"pmu":          lookCounters, "perf-keys": lookHeld, "ecc-mce": lookErrors, "vm-noise": lookBalloon,
		"cmdline-plan":     lookCommandLine,
		"pool-fingerprint": lookPool,
		"languages":        lookLanguages,
	}
}

func (f facts) check(s settings.Setting, look func(*view) Outcome, names *strings.Replacer) api.DoctorCheck {
	v := &view{facts: f, setting: s, read: []string{}}
	o := v.outcome(look)
	return api.DoctorCheck{ID: s.ID, Title: s.Title, Severity: s.Severity, Status: o.Status, Found: o.Found,
		Wanted: names.Replace(s.Wanted),
		Reason: o.Reason, Read: v.read, Effect: s.Effect, Fix: renderFix(f.fix(s), s, names)}
}

// outcome runs a check. If a required file cannot be read, that determines the outcome.
func (v *view) outcome(look func(*view) Outcome) Outcome {
	switch {
	case v.setting.Bare && v.class.hypervisor != "":
		v.saw("/proc/cpuinfo")
		return skip("controlled by the hypervisor")
	case look == nil:
		look = (*view).values
	}
	o := look(v)
	if v.refused != nil {
		return *v.refused
	}
	return o
}

func renderFix(f api.DoctorFix, s settings.Setting, names *strings.Replacer) api.DoctorFix {
	runtime := []string{}
	for _, line := range f.Runtime {
		runtime = append(runtime, names.Replace(line))
	}
	return api.DoctorFix{Runtime: runtime, Boot: names.Replace(f.Boot), Tune: s.Tuned() != ""}
}

func pass(found string) Outcome            { return Outcome{api.DoctorPass, found, ""} }
func warn(found, reason string) Outcome    { return Outcome{api.DoctorWarn, found, reason} }
func fail(found, reason string) Outcome    { return Outcome{api.DoctorFail, found, reason} }
func skip(reason string) Outcome           { return Outcome{api.DoctorSkip, "", reason} }
func unknown(found, reason string) Outcome { return Outcome{api.DoctorUnknown, found, reason} }

// listed joins at most a dozen items, so that the report stays short on a host with a thousand of them.
func listed(items []string) string {
	const most = 12
	if len(items) <= most {
		return strings.Join(items, ", ")
	}
	return strings.Join(items[:most], ", ") + " and " + strconv.Itoa(len(items)-most) + " more"
}

// values compares the setting's files with the wanted values.
func (v *view) values() Outcome {
	o := Outcome{Status: api.DoctorPass}
	var names, found, wrong []string
	for _, value := range v.setting.Values {
		switch {
		case value.Wakes && v.daemon:
			return skip(value.Name() + " interrupts the CPU that it is read from; ask judged doctor between runs")
		case value.Wrong == settings.Ignored:
			continue
		}
		names = append(names, value.Name())
		files := v.group(value)
		for _, now := range slices.Sorted(maps.Keys(files)) {
			text := path.Base(value.Pattern) + " " + now
			if len(files) > 1 {
				text += " (" + where(value, files[now]) + ")"
			}
			found = append(found, text)
			wanted, reason := value.Wanted(&v.Host, files[now][0], now)
			if wanted == now && reason == "" {
				continue
			}
			if wanted != "" {
				text += ", want " + wanted
			}
			wrong = append(wrong, text)
			if o.Status != api.DoctorFail {
				o.Status = api.DoctorWarn
			}
			if value.Wrong == settings.Fails || slices.Contains(value.Worst, now) {
				o.Status = api.DoctorFail
			}
		}
	}
	if len(found) == 0 {
		return skip("no file " + strings.Join(names, " or "))
	}
	o.Found, o.Reason = strings.Join(found, "; "), strings.Join(wrong, "; ")
	return o
}

// group reads the files of a value and groups them by content.
func (v *view) group(value settings.Value) map[string][]string {
	files := map[string][]string{}
	for _, file := range value.Files(&v.Host) {
		if strings.Contains(value.Pattern, "*") {
			v.saw(value.Name())
		} else {
			v.saw(file)
		}
		text, err := v.FS.Read(file)
		if settings.Absent(err) || err == nil && text == "" {
			continue
		}
		if err != nil {
			v.refuse(file, err)
			return nil
		}
		now, err := value.Kind.Meaning(text)
		if err != nil {
			v.refused = new(unknown(text, "parse "+file+": "+err.Error()))
			return nil
		}
		files[now] = append(files[now], file)
	}
	return files
}

// where names files that match a pattern: by their CPUs, or by the variable part of the path.
func where(value settings.Value, files []string) string {
	before, _, perCPU := strings.Cut(value.Pattern, "{cpu}")
	if !perCPU {
		before, _, _ = strings.Cut(value.Pattern, "*")
	}
	var cpus cpuset.Set
	var parts []string
	for _, file := range files {
		part := strings.TrimPrefix(file, before)
		parts = append(parts, part)
		number, _, _ := strings.Cut(part, "/")
		if id, err := strconv.Atoi(number); err == nil {
			cpus = cpus.Union(cpuset.New(id))
		}
	}
	if perCPU {
		return "CPU " + cpus.String()
	}
	return listed(parts)
}
