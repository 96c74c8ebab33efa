package settings

import (
	"judged/internal/api"
)

func kernelSettings() []Setting {
	return []Setting{{
		ID: "time-accounting", Title: "accounting of CPU time", Severity: api.SeverityS2,
		Wanted: "/proc/schedstat, and exact accounting or nohz_full on CPU {R}",
		Effect: "with accounting by ticks, user and system time of 15 equal runs spread over 8 to 20 %, their sum over " +
			"5 to 11 % (measured); judged decides on the sum",
		See: "zgrep -E 'VIRT_CPU_ACCOUNTING_GEN|SCHEDSTATS' /proc/config.gz || grep -E " +
			"'VIRT_CPU_ACCOUNTING_GEN|SCHEDSTATS' /boot/config-$(uname -r)",
		Boot: "nohz_full={R}, or a kernel with CONFIG_VIRT_CPU_ACCOUNTING_GEN and CONFIG_SCHEDSTATS",
	}, {
		ID: "mitigations", Title: "mitigations of processor vulnerabilities", Severity: api.SeverityS2,
		Wanted: "known, complete, and equal on all hosts of a pool",
		Effect: "system calls and page faults cost more: 0.5 to 5 % for programs with many of them (estimate); " +
			"an update of missing microcode changes all times",
		See: "grep . /sys/devices/system/cpu/vulnerabilities/*",
		Boot: "newer microcode or firmware; the same mitigations= on the kernel command line of every host of the " +
			"pool",
	}, {
		ID: "ssbd-seccomp", Title: "store bypass under seccomp", Severity: api.SeverityS1,
		Wanted: "Speculation_Store_Bypass of judged is not mitigated, and the kernel does not force it",
		Effect: "loads wait for every earlier store: 2 to 10 % for programs that follow pointers (estimate)",
		See: "grep Speculation_Store_Bypass /proc/$(pidof -s judged)/status; cat " +
			"/sys/devices/system/cpu/vulnerabilities/spec_store_bypass",
		Run:      []string{"systemctl restart judged   # after SystemCallFilter= is removed from its unit"},
		Boot:     "spec_store_bypass_disable=prctl",
		NotTuned: "it is a flag of the filter that the sandbox installs, not of the host",
	}, {
		ID: "tracing-off", Title: "tracing and profilers", Severity: api.SeverityS2,
		Wanted: "current_tracer nop, no event, no kprobe, no profiler of the whole system",
		Effect: "each event costs 0.1 to 1 us during a run, the function tracer 10 to 50 % of kernel time (estimate; " +
			"kernel documentation, ftrace)",
		See: "cat /sys/kernel/tracing/current_tracer /sys/kernel/tracing/set_event",
		Run: []string{"echo nop > /sys/kernel/tracing/current_tracer", "echo > /sys/kernel/tracing/set_event",
			"echo > /sys/kernel/tracing/kprobe_events"},
		Boot:     "no agent that traces on hosts that judge",
		NotTuned: "tracing is active on purpose, and stopping it would lose its data",
	}, {
		ID: "debug-kernel", Title: "debugging kernel", Severity: api.SeverityS1,
		Wanted: "no lock checking, no address sanitizer, no checked allocator",
		Effect: "page faults and system calls take 1.5 to 10 times as long (kernel documentation, dev-tools)",
		See: "zgrep -E 'PROVE_LOCKING|KASAN=|SLUB_DEBUG_ON' /proc/config.gz || grep -E " +
			"'PROVE_LOCKING|KASAN=|SLUB_DEBUG_ON' /boot/config-$(uname -r)",
		Boot: "the distribution's ordinary kernel, without slub_debug= and debug_pagealloc=on",
	}}
}

func deviceSettings() []Setting {
	return []Setting{{
		ID: "pmu", Title: "hardware counters", Severity: api.SeverityInfo,
		Wanted: "a PMU of the processor in /sys/bus/event_source/devices, perf_event_paranoid 2 or less",
		Effect: "instructions and cycles of a run cannot be counted; times are not affected (by definition)",
		See:    "ls /sys/bus/event_source/devices; cat /proc/sys/kernel/perf_event_paranoid",
		Run:    []string{"echo 2 > /proc/sys/kernel/perf_event_paranoid"},
		Boot:   "a virtual PMU in the settings of the virtual machine",
	}, {
		ID: "perf-keys", Title: "counters held open", Severity: api.SeverityS3,
		Wanted: "the daemon holds counters of the kernel open",
		Effect: "the first open event of a kind makes the kernel patch its text and interrupt every CPU, 36 to 65 us " +
			"each time; later ones 5 us (measured)",
		See:      "ls -l /proc/$(pidof -s judged)/fd | grep -c perf_event",
		Run:      []string{"echo 2 > /proc/sys/kernel/perf_event_paranoid", "systemctl restart judged"},
		Boot:     "judged as deploy/judged.service starts it, and no lockdown=confidentiality on the kernel command line",
		NotTuned: "the daemon keeps its own events open",
	}, {
		ID: "ecc-mce", Title: "memory and processor errors", Severity: api.SeverityS2,
		Wanted: "no corrected and no uncorrected error since boot",
		Effect: "each causes an interrupt, and often a copy of a page that is retired: 0.1 to 10 ms during a run (estimate)",
		See:    "grep . /sys/devices/system/edac/mc/mc*/?e_count; grep -E 'MCE|DFR' /proc/interrupts",
		Boot:   "replace the module that rasdaemon or the firmware's log names",
	}, {
		ID: "vm-noise", Title: "memory reclaimed by the hypervisor", Severity: api.SeverityS2,
		Wanted: "no balloon device, no reporting of free pages",
		Effect: "reclaimed memory must be faulted in again: CPU time of a sieve 405 ms instead of 296 " +
			"(measured)",
		See:  "grep -l 0x0005 /sys/bus/virtio/devices/*/device; ls /sys/bus/vmbus/drivers/hv_balloon",
		Run:  []string{"cd /sys/bus/virtio/drivers/virtio_balloon && for d in virtio*; do echo $d > unbind; done"},
		Boot: "no balloon, and locked memory, in the settings of the virtual machine",
	}}
}

func poolSettings() []Setting {
	return []Setting{{
		ID: "cmdline-plan", Title: "kernel command line", Severity: api.SeverityInfo,
		Wanted: "irqaffinity={H}, nohz_full={R} if the kernel has it, and for slots of one CPU " +
			"isolcpus=managed_irq,domain,{R} unless a partition isolates them",
		Effect: "ticks, managed interrupts and early kernel threads can be set at boot only (nohz-full, irq-managed, " +
			"kthreads: measured)",
		See:  "cat /proc/cmdline",
		Boot: "the output of judged tune plan --boot: the whole line, and a drop-in for GRUB",
	}, {
		ID: "pool-fingerprint", Title: "equality with the hosts of the pool", Severity: api.SeverityS1,
		Wanted: "the same fingerprint as in slots.pool_member",
		Effect: "a limit for one kind of host is wrong on another: a newer processor may be twice as fast, other " +
			"mitigations move system calls by 5 to 30 % (estimate)",
		See: "judged doctor --fingerprint",
		Run: []string{"judged doctor --fingerprint > member.json   # on a host whose times count, for the others"},
		Boot: "the same hardware, kernel and command line on all hosts of slots.pool, or another slots.pool for this " +
			"one",
	}}
}

func sourceSettings() []Setting {
	return []Setting{{
		ID: "languages", Title: "available languages", Severity: api.SeverityInfo,
		Wanted: "the compilers and interpreters of the languages that contestants use",
		Effect: "a job with a source in a missing language is refused (by definition)",
		See:    `curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:8080/v1/languages   # with versions`,
		Boot:   "their packages, installed below /usr; the list is languages.file, or configs/languages.toml",
	}}
}

// FrontSettings is the row of fronts that share a database. Only a daemon knows the others, see GET /v1/doctor.
func FrontSettings() Setting {
	return Setting{
		ID: "front-settings", Title: "equality with the other fronts of the database", Severity: api.SeverityS1,
		Wanted: "the same limits, repeats, queue, retention, blobs, pools and tenants on all fronts of a database",
		Effect: "which limits a job gets, and whether it is refused, depends on the front that it is submitted to (by " +
			"definition)",
		See: "judged doctor --url URL   # of each front",
		Run: []string{"systemctl restart judged   # on the front whose settings are wrong, after correcting " +
			"/etc/judged/judged.toml"},
	}
}

// Probes returns the rows of judged doctor --probe (package lab/probe), which uses the slots exclusively for
// seconds.
func Probes() []Setting {
	return []Setting{{
		ID: "probe-gap", Title: "time lost on a busy CPU", Severity: api.SeverityS1,
		Wanted: "0.01 % lost on tuned bare metal, 0.1 % untuned, 1 % in a virtual machine; no gap of 1 ms",
		Effect: "lost time is in the wall time of every run: 0.67 % on an idle virtual machine, 2 % on a busy one, 38 % " +
			"with an unconfined load (measured)",
		Run:  []string{"judged doctor   # the checks on isolation say what can be moved away"},
		Boot: "judged tune plan --boot",
	}, {
		ID: "probe-osnoise", Title: "lost time by cause, from the kernel's tracer", Severity: api.SeverityS2,
		Wanted: "as for probe-gap, by hardware, NMI, interrupt, softirq and thread",
		Effect: "as for probe-gap; in a virtual machine, time taken by the hypervisor counts as hardware (kernel " +
			"documentation, osnoise-tracer)",
		Run: []string{"rmdir /sys/kernel/tracing/instances/judged-probe   # if judged was killed during the probe: " +
			"its threads stay busy"},
		Boot: "a kernel with CONFIG_OSNOISE_TRACER, tracefs on /sys/kernel/tracing",
	}, {
		ID: "probe-canary", Title: "equal speed of the slots and of the pool", Severity: api.SeverityS1,
		Wanted: "medians of the reference kernels within 0.3 % of each other and of the pool member's on bare metal, 2 " +
			"% in a virtual machine",
		Effect: "the same program takes a different time on another slot, by this ratio (by definition)",
		Run:    []string{"judged doctor   # turbo-off, governor, freq-pinned, core-homogeneous"},
		Boot:   "reserve cores of one kind",
	}, {
		ID: "probe-neighbour", Title: "influence of the other slots on a run", Severity: api.SeverityS2,
		Wanted: "caches and memory at most 1 % slower while all other slots copy memory; 10 % with a shared last-level " +
			"cache or a hypervisor",
		Effect: "a run with busy neighbours takes longer by up to this ratio, without a trace in its evidence: 25 % for " +
			"a sieve (measured)",
		Boot: "fewer slots: one for each last-level cache (llc-private), or parts of it by resctrl",
	}, {
		ID: "probe-limits", Title: "the sandbox as a run sees it", Severity: api.SeverityS1,
		Wanted: "the slot's CPUs and memory, no RLIMIT_CPU, the seccomp filter without forced store bypass mitigation, " +
			"no waiting",
		Effect: "RLIMIT_CPU turns the tick on, 250 a second (measured); forced mitigation costs 2 to 10 % on pointers " +
			"(estimate)",
		Run:  []string{"judged doctor   # cgroup-ready, slot-mems, rlimit-cpu, ssbd-seccomp, user-tasks"},
		Boot: "see the same checks",
	}}
}
