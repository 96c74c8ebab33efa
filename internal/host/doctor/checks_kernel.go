package doctor

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"judged/internal/host/boot"
	"judged/internal/host/proc"
)

// kernelOption is an option that the kernel was built with: "y", "m", a number, or "" for "is not set" and for an
// option that this kernel does not have.
func (v *view) kernelOption(name string) (value string, known bool) {
	v.saw("/proc/config.gz", "/boot/config-"+v.Topology.Kernel)
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
		return skip("neither /proc/config.gz nor /boot/config-" + v.Topology.Kernel + " exists")
	}
	var on []string
	for _, name := range []string{"VIRT_CPU_ACCOUNTING_GEN", "IRQ_TIME_ACCOUNTING", "PARAVIRT_TIME_ACCOUNTING",
		"SCHEDSTATS", "PSI"} {
		if value, _ := v.kernelOption("CONFIG_" + name); value == "y" {
			on = append(on, name)
		}
	}
	hz, _ := v.kernelOption("CONFIG_HZ")
	found := strings.Join(append(on, "HZ "+orNone(hz)), ", ")
	v.saw("/proc/schedstat")
	switch {
	case !v.FS.Exists("/proc/schedstat"):
		return warn(found, "/proc/schedstat does not exist: judged cannot see in nanoseconds how long a run waited")
	case exact != "y":
		return warn(found, "the kernel is built without CONFIG_VIRT_CPU_ACCOUNTING_GEN: user and system time are "+
			"sampled by ticks")
	case !v.Reserved.IsSubsetOf(v.Topology.NohzFull):
		return warn(found, "user and system time of CPUs outside nohz_full are sampled by ticks")
	default:
		return pass(found)
	}
}

func lookMitigations(v *view) Outcome {
	const dir = cpuDir + "/vulnerabilities"
	v.saw(dir+"/[name]", "/proc/cmdline")
	names, err := v.FS.ReadDir(dir)
	if err != nil {
		return refusal(dir, err)
	}
	var halfway []string
	vulnerable := 0
	for _, name := range names {
		text := v.must(dir + "/" + name)
		if strings.Contains(text, "no microcode") {
			halfway = append(halfway, name)
		}
		if strings.HasPrefix(text, "Vulnerable") {
			vulnerable++
		}
	}
	v.read = slices.DeleteFunc(v.read, func(p string) bool { return path.Dir(p) == dir && path.Base(p) != "[name]" })
	found := counted(len(names), "known vulnerability") + ", mitigations=" +
		orNone(boot.Option(v.Optional("/proc/cmdline"), "mitigations"))
	switch {
	case len(names) == 0:
		return skip(dir + " is empty")
	case len(halfway) > 0:
		return warn(found, "microcode is missing: "+listed(halfway))
	case vulnerable > 0:
		return pass(found + ", " + strconv.Itoa(vulnerable) + " not mitigated")
	default:
		return pass(found)
	}
}

// lookStoreBypass: kernels before 5.16 forbid store bypass under seccomp. judged installs its filter with
// SECCOMP_FILTER_FLAG_SPEC_ALLOW, so this does not affect its runs, unless judged itself runs under such a filter: in a
// unit with SystemCallFilter=.
func lookStoreBypass(v *view) Outcome {
	kernel := v.must(cpuDir + "/vulnerabilities/spec_store_bypass")
	v.saw("/proc/self/status")
	own := proc.StatusField(v.Optional("/proc/self/status"), "Speculation_Store_Bypass")
	found := kernel + "; judged: " + orNone(own)
	switch {
	case kernel == "Not affected":
		return pass(kernel)
	case kernel == "Mitigation: Speculative Store Bypass disabled":
		return fail(found, "the kernel forces the mitigation on every program")
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
	// The directory below debugfs is an automount: looking there would mount it.
	const automount = "/sys/kernel/debug/tracing"
	dir := "/sys/kernel/tracing"
	if slices.ContainsFunc(v.mounts, func(m proc.Mount) bool { return m.Point == automount }) {
		dir = automount
	}
	tracer := v.must(dir + "/current_tracer")
	v.saw(dir+"/set_event", dir+"/kprobe_events", "/proc/[pid]/stat")
	var on []string
	for _, f := range []string{"set_event", "kprobe_events"} {
		if lines := strings.Fields(v.Optional(dir + "/" + f)); len(lines) > 0 {
			on = append(on, f+" "+lines[0])
		}
	}
	for _, t := range v.tasks {
		if !t.Kernel() && slices.Contains(profilers(), t.Name) && !slices.Contains(on, t.Name+" runs") {
			on = append(on, t.Name+" runs")
		}
	}
	switch {
	case tracer != "nop":
		return fail("tracer "+tracer, "it traces every function or every interrupt of the kernel")
	case len(on) > 0:
		return warn(listed(on), "events of the whole system are recorded")
	default:
		return pass("tracer nop, no event")
	}
}

func lookDebug(v *view) Outcome {
	_, known := v.kernelOption("CONFIG_KASAN")
	var on []string
	for _, name := range []string{"PROVE_LOCKING", "KASAN", "KCSAN", "KMSAN", "DEBUG_PAGEALLOC_ENABLE_DEFAULT",
		"SLUB_DEBUG_ON"} {
		if value, _ := v.kernelOption("CONFIG_" + name); value == "y" {
			on = append(on, "CONFIG_"+name)
		}
	}
	cmdline := v.Optional("/proc/cmdline")
	v.saw("/proc/cmdline")
	for _, option := range []string{"slub_debug", "slab_debug", "debug_pagealloc", "page_owner"} {
		if value := boot.Option(cmdline, option); value != "" && value != "off" && value != "-" {
			on = append(on, option+"="+value)
		}
	}
	switch {
	case len(on) > 0:
		return fail(listed(on), "the kernel checks every allocation or lock")
	case !known:
		return skip("neither /proc/config.gz nor /boot/config-" + v.Topology.Kernel + " exists")
	default:
		return pass("none")
	}
}
