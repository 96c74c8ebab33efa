package doctor

import "strings"

// probePrefix begins the ids of what is tried out and not read.
const probePrefix = "probe-"

// probeChecks are the rows of what judged doctor --probe tries out; package probe does it. They need
// the slots for themselves for seconds, so a report without them is complete.
func probeChecks() []check {
	return []check{{
		id: "probe-gap", title: "time that a busy CPU loses", severity: S1,
		wanted:  "of a program that only looks at the clock: 0.01 % lost on tuned bare metal, 0.1 % untuned, 1 % in a virtual machine; no gap of 1 ms",
		effect:  "what is lost is in the wall time of every run: 0.67 % on an idle virtual machine, 2 % with others at work, 38 % beside a load that nothing keeps off (measured)",
		confirm: "judged doctor --probe=probe-gap",
		fix:     Fix{Runtime: []string{"judged doctor   # the checks on isolation name what can be kept off"}, Boot: "judged tune plan --boot"},
	}, {
		id: "probe-osnoise", title: "what takes the time, by the kernel's own tracer", severity: S2,
		wanted:  "as of probe-gap, told apart by hardware, NMI, interrupt, softirq and thread",
		effect:  "as of probe-gap; in a virtual machine what the hypervisor takes is told as hardware (kernel documentation, osnoise-tracer)",
		confirm: "judged doctor --probe=probe-osnoise",
		fix: Fix{Runtime: []string{"rmdir /sys/kernel/tracing/instances/judged-probe   # if judged was killed while it looked: its threads stay busy"},
			Boot: "a kernel with CONFIG_OSNOISE_TRACER, tracefs on /sys/kernel/tracing"},
	}, {
		id: "probe-canary", title: "slots as fast as each other, and as the pool", severity: S1,
		wanted:  "medians of the reference kernels that no neighbour reaches within 0.3 % of each other, and of the pool member's, on bare metal, 2 % in a virtual machine",
		effect:  "the same program gets another time on another slot, by this ratio (by definition)",
		confirm: "judged doctor --probe=probe-canary",
		fix:     Fix{Runtime: []string{"judged doctor   # turbo-off, governor, freq-pinned, core-homogeneous"}, Boot: "reserve cores of one kind"},
	}, {
		id: "probe-neighbour", title: "what the other slots do to a run", severity: S2,
		wanted:  "caches and memory at most 1 % slower while all other slots copy memory, 10 % where slots share a last-level cache or a hypervisor is between",
		effect:  "a run beside others takes longer by up to this ratio, and nothing in its evidence tells: 25 % for a sieve (measured)",
		confirm: "judged doctor --probe=probe-neighbour",
		fix:     Fix{Boot: "fewer slots: one for each last-level cache (llc-private), or parts of it by resctrl"},
	}, {
		id: "probe-limits", title: "the sandbox as a run finds it", severity: S1,
		wanted:  "the slot's CPUs and memory, no RLIMIT_CPU, the seccomp filter without forced store bypass mitigation, no waiting",
		effect:  "the end of it all: RLIMIT_CPU brings the tick back, 250 a second (measured), forced mitigation costs 2 to 10 % on pointers (estimate)",
		confirm: "judged doctor --probe=probe-limits",
		fix:     Fix{Runtime: []string{"judged doctor   # cgroup-ready, slot-mems, rlimit-cpu, ssbd-seccomp, user-tasks"}, Boot: "see the same checks"},
	}}
}

// ProbeIDs are the ids of all probes.
func ProbeIDs() []string {
	var ids []string
	for _, c := range probeChecks() {
		ids = append(ids, c.id)
	}
	return ids
}

// AddProbe adds what came of a probe and decides anew whether the host is ready. It reports whether
// there is a probe of that id.
func (r *Report) AddProbe(id string, o Outcome, read []string) bool {
	for _, c := range probeChecks() {
		if c.id != id {
			continue
		}
		names := strings.NewReplacer("{R}", r.CPUs)
		r.Checks = append(r.Checks, Check{ID: id, Title: c.title, Severity: c.severity, Status: o.Status, Found: o.Found, Wanted: c.wanted,
			Reason: o.Reason, Read: append([]string{}, read...), Effect: c.effect, Fix: c.fix.render(c.id, names)})
		r.Ready = r.blocking() == 0
		return true
	}
	return false
}

func (c Check) probe() bool { return strings.HasPrefix(c.ID, probePrefix) }
