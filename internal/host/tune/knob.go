package tune

import (
	"slices"

	"judged/internal/host/settings"
)

// knob is a setting of the catalogue and the data that only tune needs.
type knob struct {
	settings.Setting
	// changesCPUs means that the setting takes CPUs offline, so that the host must be examined again.
	changesCPUs bool
	// inOrder means that if a value cannot be changed, the following values are not changed either.
	inOrder bool
	// find finds places that have no pattern: threads, groups, swap areas.
	find func(*view) proposal
	// valid reports whether find could have returned a place. It protects against a forged journal.
	valid func(*view, entry) bool
}

// IDs returns the IDs of all settings in the order in which they are applied. Restoring uses the reverse order.
//
// Threads are changed first and restored last, because other settings make the kernel rewrite affinities, when
// a CPU goes offline or a partition is created or removed. The old affinities must be read before, and restored
// after all that. SMT is next, because it removes CPUs and their files. Hints come before the governor, because
// a driver rejects them while its governor is performance, also when they are restored. The partition is last.
func IDs() []string {
	return []string{"user-tasks", "kthreads", "smt-off", "smt-sibling-free", "pref-hints", "governor", "turbo-off",
		"freq-pinned", "cstates",
		"uncore-freq", "irq-affinity", "net-rps-xps", "wq-unbound", "watchdogs", "housekeeping-timers", "autogroup",
		"fair-server",
		"clocksource", "thp", "tmpfs-node", "numa-balancing", "ksm", "compaction", "aslr", "swap", "sched-isolated"}
}

// knobs returns the settings in the order of IDs.
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
			// Disable the area with the lowest priority first: areas that stay on are then used before those
			// that are restored.
			k.find, k.valid, k.inOrder = (*view).disableSwap, validArea, true
		case "sched-isolated":
			k.find, k.valid = (*view).makePartition, validPartition
		}
		list = append(list, k)
	}
	return list
}
