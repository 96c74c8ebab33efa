package doctor

import (
	"slices"
	"strings"

	"judged/internal/host/boot"
)

func lookCommandLine(v *view) Outcome {
	cmdline := v.must("/proc/cmdline")
	v.saw(cpuDir+"/isolated", nohzFull)
	var missing []string
	if !v.Reserved.IsSubsetOf(boot.OptionCPUs(cmdline, "nohz_full")) && v.FS.Exists(nohzFull) {
		missing = append(missing, "nohz_full="+v.Reserved.String())
	}
	if targets := boot.OptionCPUs(cmdline, "irqaffinity"); len(targets) == 0 || targets.Overlaps(v.Reserved) {
		missing = append(missing, "irqaffinity="+v.Housekeeping.String())
	}
	isolated := boot.OptionCPUs(cmdline, "isolcpus")
	apart := len(v.Reserved.Minus(v.alone())) == 0
	if !apart && v.Width == 1 {
		missing = append(missing, "isolcpus=managed_irq,domain,"+v.Reserved.String())
	}
	var extra []string
	if strings.Contains(boot.Option(cmdline, "isolcpus"), "domain") && v.Width > 1 && isolated.Overlaps(v.Reserved) {
		extra = append(extra, "isolcpus=domain")
	}
	found := orNone(strings.TrimSpace(keepWords(cmdline, func(name string) bool {
		return slices.Contains([]string{"isolcpus", "nohz_full", "irqaffinity", "rcu_nocbs"}, name)
	})))
	reason := "missing: " + orNone(strings.Join(missing, " "))
	if len(extra) > 0 {
		reason += "; wrong for slots of several CPUs: " + strings.Join(extra, " ")
	}
	switch {
	case len(missing)+len(extra) == 0:
		return pass(found)
	case !apart:
		return fail(found, reason+"; nothing else isolates the reserved CPUs")
	default:
		return warn(found, reason)
	}
}

// bootNames are the options of the kernel that checks use; a capture keeps no others.
func bootNames() []string {
	return []string{"isolcpus", "nohz_full", "irqaffinity", "rcu_nocbs", "mitigations", "nosmt", "nowatchdog",
		"nmi_watchdog", "transparent_hugepage",
		"hugepages", "tsc", "skew_tick", "slub_debug", "slab_debug", "debug_pagealloc", "page_owner", "intel_pstate",
		"amd_pstate", "psi", "swapaccount"}
}
