package boot

import (
	"fmt"
	"strings"
)

// candidate is a parameter that a host may need.
type candidate struct {
	Parameter
	unfit string // why it makes no sense here; "" if it does
}

// candidates is the list, in the order in which it is printed.
func (l layout) candidates() []candidate {
	reserved := l.reserved.String()
	return []candidate{
		l.isolation(),
		{Parameter{Name: "nohz_full", Value: reserved, Why: "a CPU with one task gets no timer tick, and its RCU callbacks run elsewhere"},
			unless(l.host.NohzFull, "the kernel is built without CONFIG_NO_HZ_FULL")},
		{Parameter{Name: "irqaffinity", Value: l.housekeeping.String(), Why: "interrupts of devices start on the other CPUs"}, ""},
		l.siblings(),
		{Parameter{Name: "nowatchdog", Why: "no watchdog holds a hardware counter or wakes a reserved CPU"}, ""},
		{Parameter{Name: "skew_tick", Value: "1", Why: "CPUs do not tick at the same moment and queue for the same locks"}, ""},
		{Parameter{Name: "transparent_hugepage", Value: "never", Why: "whether a program gets huge pages is chance, and moves its time by half"},
			unless(l.host.HugePages, "the kernel has no transparent huge pages")},
		l.clock(),
		{Parameter{Name: "systemd.unified_cgroup_hierarchy", Value: "1", Why: "cgroup v2: partitions, and pressure for each run"},
			unless(l.host.LegacyCPU, "cpuset is not a v1 controller here")},
	}
}

func unless(fit bool, reason string) string {
	if fit {
		return ""
	}
	return reason
}

// isolation knows that the kernel drops all of isolcpus= over a flag that it does not know:
// managed_irq came with Linux 5.6.
func (l layout) isolation() candidate {
	c := candidate{Parameter: Parameter{Name: "isolcpus"}}
	var flags []string
	if l.host.newer(5, 6) {
		flags = append(flags, "managed_irq")
		c.Why = "queues of disks and network cards keep off"
	}
	if l.width == 1 {
		flags = append(flags, "domain")
		c.Why = strings.TrimPrefix(c.Why+"; the scheduler puts nothing on these CPUs by itself", "; ")
	}
	if len(flags) == 0 {
		c.unfit = "slots of several CPUs must not be without a scheduling domain, and Linux before 5.6 has no managed_irq"
	}
	c.Value = strings.Join(append(flags, l.reserved.String()), ",")
	return c
}

func (l layout) siblings() candidate {
	c := candidate{Parameter: Parameter{Name: "nosmt", Why: "no second thread shares the units and caches of a core with a run"}}
	switch {
	case l.nosmt:
	case l.host.Threads == NoThreads:
		c.unfit = "the kernel shows no second threads"
	default:
		c.unfit = fmt.Sprintf("it would take the reserved CPUs %s offline, which are second threads; reserve whole cores", l.split)
	}
	return c
}

func (l layout) clock() candidate {
	c := candidate{Parameter: Parameter{Name: "tsc", Value: "reliable", Why: "no clock watchdog on every CPU, and no fall to a slow clock"}}
	switch {
	case l.host.Arch != X86:
		c.unfit = "only x86 has this clock"
	case l.host.Virtual:
		c.unfit = "the hypervisor answers for the clock"
	case !l.host.SteadyTSC:
		c.unfit = "the processor does not promise a steady counter (constant_tsc, nonstop_tsc)"
	}
	return c
}
