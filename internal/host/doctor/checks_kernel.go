package doctor

import (
	"bytes"
	"compress/gzip"
	"io"
	"path"
	"slices"
	"strings"

	"judged/internal/host/hostfs"
)

func kernelChecks() []check {
	return []check{{
		id: "time-accounting", title: "how the kernel counts time", severity: S2,
		wanted:  "/proc/schedstat, and exact accounting or nohz_full on CPU {R}",
		effect:  "with accounting by ticks the split of user and system time of 15 equal runs spread over 8 to 20 %, their sum over 5 to 11 % (measured); judged decides on the sum",
		confirm: "zgrep -E 'VIRT_CPU_ACCOUNTING_GEN|SCHEDSTATS' /proc/config.gz || grep -E 'VIRT_CPU_ACCOUNTING_GEN|SCHEDSTATS' /boot/config-$(uname -r)",
		fix:     Fix{Boot: "nohz_full={R}, or a kernel with CONFIG_VIRT_CPU_ACCOUNTING_GEN and CONFIG_SCHEDSTATS"},
		look:    lookAccounting,
	}, {
		id: "mitigations", title: "mitigations of processor faults", severity: S2,
		wanted:  "known, complete, and the same on all hosts of a pool",
		effect:  "they make system calls and page faults dearer, by 0.5 to 5 % for programs with many (estimate); one that waits for microcode changes all times when it comes",
		confirm: "grep . /sys/devices/system/cpu/vulnerabilities/*",
		fix:     Fix{Boot: "newer microcode or firmware; the same mitigations= on the kernel command line of every host of the pool"},
		look:    lookMitigations,
	}, {
		id: "ssbd-seccomp", title: "store bypass under seccomp", severity: S1,
		wanted:  "Speculation_Store_Bypass of judged is not mitigated, and the kernel does not force it",
		effect:  "loads then wait for every earlier store: 2 to 10 % for programs that follow pointers (estimate)",
		confirm: "grep Speculation_Store_Bypass /proc/$(pidof -s judged)/status; cat /sys/devices/system/cpu/vulnerabilities/spec_store_bypass",
		fix:     Fix{Runtime: []string{"systemctl restart judged   # after SystemCallFilter= is gone from its unit"}, Boot: "spec_store_bypass_disable=prctl"},
		look:    lookStoreBypass,
	}, {
		id: "tracing-off", title: "tracing and profilers", severity: S2,
		wanted:  "current_tracer nop, no event on, no kprobe, no profiler of the whole system",
		effect:  "each event costs 0.1 to 1 us in the middle of a run, and the function tracer 10 to 50 % of kernel time (estimate; kernel documentation, ftrace)",
		confirm: "cat /sys/kernel/tracing/current_tracer /sys/kernel/tracing/set_event",
		fix: Fix{Runtime: []string{"echo nop > /sys/kernel/tracing/current_tracer", "echo > /sys/kernel/tracing/set_event", "echo > /sys/kernel/tracing/kprobe_events"},
			Boot: "no agent that traces on hosts that judge"},
		look: lookTracing,
	}, {
		id: "debug-kernel", title: "debugging kernel", severity: S1,
		wanted:  "no lock checking, no address sanitizer, no checked allocator",
		effect:  "page faults and system calls take 1.5 to 10 times as long (kernel documentation, dev-tools)",
		confirm: "zgrep -E 'PROVE_LOCKING|KASAN=|SLUB_DEBUG_ON' /proc/config.gz || grep -E 'PROVE_LOCKING|KASAN=|SLUB_DEBUG_ON' /boot/config-$(uname -r)",
		fix:     Fix{Boot: "the distribution's ordinary kernel, without slub_debug= and debug_pagealloc=on"},
		look:    lookDebug,
	}}
}

// kernelConfig finds the configuration of the running kernel; "" if the host does not show it.
func kernelConfig(h hostfs.FS, release string) string {
	if b, err := h.ReadFile("/proc/config.gz"); err == nil {
		if text, err := gunzip(b); err == nil {
			return text
		}
	}
	for _, p := range []string{"/boot/config-" + release, "/lib/modules/" + release + "/config"} {
		if text, err := h.Read(p); err == nil {
			return text
		}
	}
	return ""
}

// gunzip bounds what it unpacks: the largest configuration is below 400 KiB.
func gunzip(b []byte) (string, error) {
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(r, 4<<20))
	return string(text), err
}

// kernelOption is one line of it: "y", "m", a number, or "" for "is not set". A kernel that does
// not have the option at all says nothing of it, which is no different.
func (v *view) kernelOption(name string) (value string, known bool) {
	v.saw("/proc/config.gz", "/boot/config-"+v.top.Kernel)
	if v.config == "" {
		return "", false
	}
	for line := range strings.Lines(v.config) {
		if value, ok := strings.CutPrefix(line, name+"="); ok {
			return strings.TrimSpace(value), true
		}
	}
	return "", true
}

func lookAccounting(v *view) Outcome {
	exact, known := v.kernelOption("CONFIG_VIRT_CPU_ACCOUNTING_GEN")
	if !known {
		return skip("neither /proc/config.gz nor /boot/config-" + v.top.Kernel + " exists")
	}
	var on []string
	for _, name := range []string{"VIRT_CPU_ACCOUNTING_GEN", "IRQ_TIME_ACCOUNTING", "PARAVIRT_TIME_ACCOUNTING", "SCHEDSTATS", "PSI"} {
		if value, _ := v.kernelOption("CONFIG_" + name); value == "y" {
			on = append(on, name)
		}
	}
	hz, _ := v.kernelOption("CONFIG_HZ")
	found := strings.Join(append(on, "HZ "+orNone(hz)), ", ")
	v.saw("/proc/schedstat")
	switch {
	case !v.fs.Exists("/proc/schedstat"):
		return warn(found, "/proc/schedstat does not exist: time that others took from a run is not seen to the nanosecond")
	case exact != "y":
		return warn(found, "the kernel is built without CONFIG_VIRT_CPU_ACCOUNTING_GEN: user and system time are sampled by ticks")
	case !v.reserved.IsSubsetOf(v.top.NohzFull):
		return warn(found, "user and system time are sampled by ticks where nohz_full does not reach")
	default:
		return pass(found)
	}
}

func lookMitigations(v *view) Outcome {
	const dir = cpuDir + "/vulnerabilities"
	v.saw(dir+"/[name]", "/proc/cmdline")
	names, err := v.fs.ReadDir(dir)
	if err != nil {
		return *refusal(dir, err)
	}
	var halfway []string
	vulnerable := 0
	for _, name := range names {
		text, bad := v.word(dir + "/" + name)
		if bad != nil {
			return *bad
		}
		if strings.Contains(text, "no microcode") {
			halfway = append(halfway, name)
		}
		if strings.HasPrefix(text, "Vulnerable") {
			vulnerable++
		}
	}
	v.read = slices.DeleteFunc(v.read, func(p string) bool { return path.Dir(p) == dir && path.Base(p) != "[name]" })
	found := counted(len(names), "known fault") + ", mitigations=" + orNone(bootOption(v.optional("/proc/cmdline"), "mitigations"))
	switch {
	case len(names) == 0:
		return skip(dir + " is empty")
	case len(halfway) > 0:
		return warn(found, "waits for microcode: "+listed(halfway))
	case vulnerable > 0:
		return pass(found + ", " + counted(vulnerable, "fault") + " left open")
	default:
		return pass(found)
	}
}

// lookStoreBypass: judged installs its filter with SECCOMP_FILTER_FLAG_SPEC_ALLOW, so the rule of
// kernels before 5.16, seccomp means no store bypass, does not reach its runs. What judged itself
// inherited does: a unit with SystemCallFilter= on such a kernel.
func lookStoreBypass(v *view) Outcome {
	kernel, bad := v.word(cpuDir + "/vulnerabilities/spec_store_bypass")
	if bad != nil {
		return *bad
	}
	v.saw("/proc/self/status")
	own := statusField(v.optional("/proc/self/status"), "Speculation_Store_Bypass")
	found := kernel + "; judged: " + orNone(own)
	switch {
	case kernel == "Not affected":
		return pass(kernel)
	case kernel == "Mitigation: Speculative Store Bypass disabled":
		return fail(found, "the kernel forces it on everything")
	case strings.HasSuffix(own, "mitigated"):
		return fail(found, "every run inherits it from judged")
	default:
		return pass(found)
	}
}

// profilers are programs that attach to events of the whole system.
func profilers() []string {
	return []string{"perf", "bpftrace", "falco", "tetragon", "sysdig", "tracee", "parca-agent", "pyroscope", "stap"}
}

func lookTracing(v *view) Outcome {
	// The place below debugfs is an automount: only to look there mounts it.
	const automount = "/sys/kernel/debug/tracing"
	dir := "/sys/kernel/tracing"
	if slices.ContainsFunc(v.mounts, func(m mount) bool { return m.point == automount }) {
		dir = automount
	}
	tracer, bad := v.word(dir + "/current_tracer")
	if bad != nil {
		return *bad
	}
	v.saw(dir+"/set_event", dir+"/kprobe_events", "/proc/[pid]/stat")
	var on []string
	for _, f := range []string{"set_event", "kprobe_events"} {
		if lines := strings.Fields(v.optional(dir + "/" + f)); len(lines) > 0 {
			on = append(on, f+" "+lines[0])
		}
	}
	for _, t := range v.tasks {
		if !t.kernel() && slices.Contains(profilers(), t.comm) && !slices.Contains(on, t.comm+" runs") {
			on = append(on, t.comm+" runs")
		}
	}
	switch {
	case tracer != "nop":
		return fail("tracer "+tracer, "every function or every interrupt of the kernel is traced")
	case len(on) > 0:
		return warn(listed(on), "events of the whole system are recorded")
	default:
		return pass("tracer nop, no event")
	}
}

func lookDebug(v *view) Outcome {
	_, known := v.kernelOption("CONFIG_KASAN")
	var on []string
	for _, name := range []string{"PROVE_LOCKING", "KASAN", "KCSAN", "KMSAN", "DEBUG_PAGEALLOC_ENABLE_DEFAULT", "SLUB_DEBUG_ON"} {
		if value, _ := v.kernelOption("CONFIG_" + name); value == "y" {
			on = append(on, "CONFIG_"+name)
		}
	}
	cmdline := v.optional("/proc/cmdline")
	v.saw("/proc/cmdline")
	for _, option := range []string{"slub_debug", "slab_debug", "debug_pagealloc", "page_owner"} {
		if value := bootOption(cmdline, option); value != "" && value != "off" && value != "-" {
			on = append(on, option+"="+value)
		}
	}
	switch {
	case len(on) > 0:
		return fail(listed(on), "the kernel checks itself at every allocation or lock")
	case !known:
		return skip("neither /proc/config.gz nor /boot/config-" + v.top.Kernel + " exists")
	default:
		return pass("none")
	}
}
