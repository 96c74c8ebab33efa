package doctor

import (
	"strings"

	"judged/internal/base/cpuset"
)

func planChecks() []check {
	return []check{{
		id: "cmdline-plan", title: "kernel command line", severity: Info,
		wanted:  "nohz_full={R} irqaffinity={H}, and for slots of one CPU isolcpus=managed_irq,domain,{R} unless a partition isolates them",
		effect:  "what these options do cannot all be done later: ticks, managed interrupts, kernel threads that start at boot; each has a check of its own with its figure (nohz-full, irq-managed, kthreads: measured)",
		confirm: "cat /proc/cmdline",
		fix:     Fix{Boot: "what judged tune plan --boot prints for this host: the whole line, and the same as a drop-in for GRUB"},
		look:    lookCommandLine,
	}}
}

func lookCommandLine(v *view) Outcome {
	cmdline, bad := v.word("/proc/cmdline")
	if bad != nil {
		return *bad
	}
	v.saw(cpuDir + "/isolated")
	var missing []string
	if !v.reserved.IsSubsetOf(bootCPUs(cmdline, "nohz_full")) {
		missing = append(missing, "nohz_full="+v.reserved.String())
	}
	if targets := bootCPUs(cmdline, "irqaffinity"); len(targets) == 0 || targets.Overlaps(v.reserved) {
		missing = append(missing, "irqaffinity="+v.housekeeping.String())
	}
	isolated := bootCPUs(cmdline, "isolcpus")
	apart := len(v.reserved.Minus(v.alone())) == 0
	if !apart && v.width == 1 {
		missing = append(missing, "isolcpus=managed_irq,domain,"+v.reserved.String())
	}
	var extra []string
	if strings.Contains(bootOption(cmdline, "isolcpus"), "domain") && v.width > 1 && isolated.Overlaps(v.reserved) {
		extra = append(extra, "isolcpus=domain")
	}
	found := orNone(strings.Join(planTokens(cmdline), " "))
	reason := "missing: " + orNone(strings.Join(missing, " "))
	if len(extra) > 0 {
		reason += "; too much for slots of several CPUs: " + strings.Join(extra, " ")
	}
	switch {
	case len(missing)+len(extra) == 0:
		return pass(found)
	case !apart:
		return fail(found, reason+"; and nothing else isolates the reserved CPUs")
	default:
		return warn(found, reason)
	}
}

// bootNames are the options of the kernel that checks look at; a capture keeps no others.
func bootNames() []string {
	return []string{"isolcpus", "nohz_full", "irqaffinity", "rcu_nocbs", "mitigations", "nosmt", "nowatchdog", "nmi_watchdog", "transparent_hugepage",
		"hugepages", "tsc", "skew_tick", "slub_debug", "slab_debug", "debug_pagealloc", "page_owner", "intel_pstate", "amd_pstate", "psi", "swapaccount"}
}

// planTokens are the words of the command line that say how CPUs are set apart.
func planTokens(cmdline string) []string {
	var tokens []string
	for word := range strings.FieldsSeq(cmdline) {
		switch name, _, _ := strings.Cut(word, "="); name {
		case "isolcpus", "nohz_full", "irqaffinity", "rcu_nocbs":
			tokens = append(tokens, word)
		}
	}
	return tokens
}

// bootOption is the value of an option of the kernel command line, the last one if there are more;
// "-" for one without a value, "" for none. What follows "--" is for init.
func bootOption(cmdline, name string) string {
	value := ""
	for word := range strings.FieldsSeq(cmdline) {
		if word == "--" {
			break
		}
		if word == name {
			value = "-"
		}
		if v, ok := strings.CutPrefix(word, name+"="); ok {
			value = v
		}
	}
	return value
}

// bootCPUs reads a list of CPUs, behind flags as isolcpus= has them. A list that makes no sense is
// empty, as it is for the kernel.
func bootCPUs(cmdline, name string) cpuset.Set {
	var lists []string
	for part := range strings.SplitSeq(bootOption(cmdline, name), ",") {
		if part != "" && part[0] >= '0' && part[0] <= '9' {
			lists = append(lists, part)
		}
	}
	set, err := cpuset.Parse(strings.Join(lists, ","))
	if err != nil {
		return nil
	}
	return set
}
