package tune

import (
	"slices"

	"judged/internal/host/settings"
)

// knob is a setting of the catalogue with what only tune knows of it.
type knob struct {
	settings.Setting
	// changesCPUs: it takes CPUs away, so the host has to be examined again.
	changesCPUs bool
	// inOrder: if a value cannot be changed, those after it are kept as well.
	inOrder bool
	// find is for what no pattern names: threads, groups, swap areas.
	find func(*view) proposal
	// valid says whether a place that find may have named could be one of this knob; it guards against a journal that
	// somebody else wrote.
	valid func(*view, entry) bool
}

// IDs are the ids of all settings in the order in which they are applied; restoring goes backwards.
//
// Threads are the first to be changed and the last to be restored, because much of the rest makes the kernel rewrite
// affinities (a CPU that goes offline, a partition that is created or removed): only what was read before is the old
// value, and only what is written after the rest is restored stays. Then SMT, because it takes CPUs and their files
// away. Hints precede the governor, since a driver refuses them while its governor is performance, also when they are
// restored. The partition is last.
func IDs() []string {
	return []string{"user-tasks", "kthreads", "smt-off", "smt-sibling-free", "pref-hints", "governor", "turbo-off",
		"freq-pinned", "cstates",
		"uncore-freq", "irq-affinity", "net-rps-xps", "wq-unbound", "watchdogs", "housekeeping-timers", "autogroup",
		"fair-server",
		"clocksource", "thp", "tmpfs-node", "numa-balancing", "ksm", "compaction", "aslr", "swap", "sched-isolated"}
}

// knobs are the settings in the order of IDs.
func knobs() []knob {
	all := settings.All()
	var list []knob
	for _, id := range IDs() {
		k := knob{Setting: all[slices.IndexFunc(all, func(s settings.Setting) bool { return s.ID == id })]}
		switch id {
		case "user-tasks", "kthreads":
			k.find, k.valid = func(v *view) proposal { return v.moveThreads(id, id == "kthreads") }, validThread
		case "smt-off", "smt-sibling-free":
			k.changesCPUs = true
		case "swap":
			// The area that fills last goes first: whatever stays on then fills before what is restored.
			k.find, k.valid, k.inOrder = (*view).disableSwap, validArea, true
		case "sched-isolated":
			k.find, k.valid = (*view).makePartition, validPartition
		}
		list = append(list, k)
	}
	return list
}
