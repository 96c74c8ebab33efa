package tune

import (
	"fmt"
	"strings"

	"judged/internal/host/settings"
)

// candidate is a parameter that a host may need.
type candidate struct {
	BootParameter
	unfit string // why it has no use on this host; "" if it does
}

// candidates returns the possible parameters in the order in which they are printed.
func (l layout) candidates() []candidate {
	reserved := l.Reserved.String()
	return []candidate{
		l.isolation(),
		{of("nohz_full", reserved, "nohz-full"), unless(l.NohzFull, "the kernel is built without CONFIG_NO_HZ_FULL")},
		{of("irqaffinity", l.Housekeeping.String(), "irq-affinity"), ""},
		l.siblings(),
		{of("nowatchdog", "", "watchdogs"), ""},
		{BootParameter{Name: "skew_tick", Value: "1",
			Why: "CPUs do not tick at the same moment and wait for the same locks"}, ""},
		{of("transparent_hugepage", "never", "thp"), unless(l.HugePages, "the kernel has no transparent huge pages")},
		l.clock(),
		{of("systemd.unified_cgroup_hierarchy", "1", "cgroup-ready"),
			unless(l.LegacyCPU, "cpuset is not a v1 controller here")},
	}
}

// of returns a parameter for a setting of the catalogue.
func of(name, value, setting string) BootParameter {
	s, _ := settings.Get(setting)
	return BootParameter{Name: name, Value: value, Why: s.Effect}
}

func unless(fit bool, reason string) string {
	if fit {
		return ""
	}
	return reason
}

// isolation returns the isolcpus= parameter. The kernel ignores the whole option if it has an unknown flag;
// managed_irq needs Linux 5.6.
func (l layout) isolation() candidate {
	c := candidate{BootParameter: BootParameter{Name: "isolcpus"}}
	var flags []string
	if l.newer(5, 6) {
		flags = append(flags, "managed_irq")
		c.Why = "queues of disks and network cards stay off these CPUs"
	}
	if l.Width == 1 {
		flags = append(flags, "domain")
		c.Why = strings.TrimPrefix(c.Why+"; the scheduler places no task on them", "; ")
	}
	if len(flags) == 0 {
		c.unfit = "slots of several CPUs need a scheduling domain, and Linux before 5.6 has no managed_irq"
	}
	c.Value = strings.Join(append(flags, l.Reserved.String()), ",")
	return c
}

func (l layout) siblings() candidate {
	c := candidate{BootParameter: of("nosmt", "", "smt-off")}
	switch {
	case l.nosmt:
	case l.Threads == noThreads:
		c.unfit = "the kernel shows no second threads"
	default:
		c.unfit = fmt.Sprintf("it takes the reserved CPUs %s offline, which are second threads; reserve whole cores",
			l.split)
	}
	return c
}

func (l layout) clock() candidate {
	c := candidate{BootParameter: of("tsc", "reliable", "clocksource")}
	switch {
	case l.Arch != x86:
		c.unfit = "only x86 has this clock"
	case l.Virtual:
		c.unfit = "the hypervisor controls the clock"
	case !l.SteadyTSC:
		c.unfit = "the processor does not promise a steady counter (constant_tsc, nonstop_tsc)"
	}
	return c
}
