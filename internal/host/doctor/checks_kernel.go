package doctor

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"judged/internal/base/cpuset"
	"judged/internal/base/text"
	"judged/internal/host/hostfs"
	"judged/internal/host/settings"
)

// kernelOption returns the value of a kernel build option: "y", "m", a number, or "" if the option is not set
// or unknown to this kernel.
func (v *view) kernelOption(name string) (value string, known bool) {
	v.saw("/proc/config.gz", "/boot/config-"+v.Topology.Kernel)
	if v.config == "" {
		return "", false
	}
	// Not line by line: the configuration has 5000 lines, and two dozen options are looked up.
	_, after, _ := strings.Cut(v.config, "\n"+name+"=")
	value, _, _ = strings.Cut(after, "\n")
	return strings.TrimSpace(value), true
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
	found := strings.Join(append(on, "HZ "+cmp.Or(hz, "none")), ", ")
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
	var halfway, strange []string
	vulnerable := 0
	for _, name := range names {
		text := v.must(dir + "/" + name)
		if strings.Contains(text, "no microcode") {
			halfway = append(halfway, name)
		}
		switch {
		case strings.HasPrefix(text, "Vulnerable"):
			vulnerable++
		case !slices.ContainsFunc(mitigationStates(), func(p string) bool { return strings.HasPrefix(text, p) }):
			strange = append(strange, name)
		}
	}
	v.read = slices.DeleteFunc(v.read, func(p string) bool { return path.Dir(p) == dir && path.Base(p) != "[name]" })
	found := text.Count(len(names), "known vulnerability") + ", mitigations=" +
		cmp.Or(hostfs.BootOption(v.Optional("/proc/cmdline"), "mitigations"), "none")
	switch {
	case len(names) == 0:
		return skip(dir + " is empty")
	case len(halfway) > 0:
		return warn(found, "microcode is missing: "+listed(halfway))
	case len(strange) > 0:
		return unknown(found, "these files have an unexpected content: "+listed(strange))
	case vulnerable > 0:
		return pass(found + ", " + strconv.Itoa(vulnerable) + " not mitigated")
	default:
		return pass(found)
	}
}

// mitigationStates returns how the texts in vulnerabilities begin where a program is not vulnerable for certain, see
// Documentation/ABI/testing/sysfs-devices-system-cpu.
func mitigationStates() []string {
	return []string{"Not affected", "Mitigation", "KVM: ", "Processor vulnerable", "Unknown"}
}

// lookStoreBypass: kernels before 5.16 disable store bypass under seccomp. judged installs its filter with
// SECCOMP_FILTER_FLAG_SPEC_ALLOW, so its runs are affected only if judged itself runs under such a filter, for
// example in a unit with SystemCallFilter=.
func lookStoreBypass(v *view) Outcome {
	kernel := v.must(cpuDir + "/vulnerabilities/spec_store_bypass")
	v.saw("/proc/self/status")
	own := hostfs.StatusField(v.Optional("/proc/self/status"), "Speculation_Store_Bypass")
	found := kernel + "; judged: " + cmp.Or(own, "none")
	switch {
	case kernel == "Not affected":
		return pass(kernel)
	case kernel == "Mitigation: Speculative Store Bypass disabled":
		return fail(found, "the kernel forces the mitigation on every program")
	case strings.HasSuffix(own, "mitigated"):
		return fail(found, "every run inherits it from judged")
	case kernel == "Vulnerable": // no program is protected
		return pass(found)
	case !strings.HasPrefix(kernel, "Mitigation: Speculative Store Bypass disabled"), !strings.HasSuffix(own, "vulnerable"):
		return unknown(found, "the file of the kernel or the state of judged has an unexpected content")
	default:
		return pass(found)
	}
}

// profilers returns the names of programs that trace events of the whole system.
func profilers() []string {
	return []string{"perf", "bpftrace", "falco", "tetragon", "sysdig", "tracee", "parca-agent", "pyroscope", "stap"}
}

func lookTracing(v *view) Outcome {
	// automount is the tracing directory below debugfs. Reading it would mount it.
	const automount = "/sys/kernel/debug/tracing"
	dir := "/sys/kernel/tracing"
	if slices.ContainsFunc(v.mounts, func(m hostfs.Mount) bool { return m.Point == automount }) {
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
		if value := hostfs.BootOption(cmdline, option); value != "" && value != "off" && value != "-" {
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

func lookIsolated(v *view) Outcome {
	v.saw(cpuDir + "/isolated")
	if _, v2 := v.hierarchies(); v2 != nil {
		v.saw(v2.Point+"/cpuset.cpus.isolated", v2.Point+"/[cgroup]/cpuset.cpus.partition")
	}
	by := []string{}
	if v.Topology.BootIsolated.Overlaps(v.Reserved) {
		by = append(by, "isolcpus "+v.Topology.BootIsolated.String())
	}
	if v.Topology.PartitionIsolated.Overlaps(v.Reserved) {
		by = append(by, "partition isolated "+v.Topology.PartitionIsolated.String())
	}
	for _, p := range v.Topology.Partitions {
		if p.Type == "root" && p.CPUs.Overlaps(v.Reserved) {
			by = append(by, "partition root "+p.CPUs.String())
		}
	}
	missing := v.Reserved.Minus(v.alone())
	found := strings.Join(by, ", ")
	if found == "" {
		found = "nothing isolated"
	}
	if len(missing) > 0 {
		return fail(found, "the scheduler places any task on CPU "+missing.String())
	}
	return pass(found)
}

func lookWidth(v *view) Outcome {
	v.saw(cpuDir + "/isolated")
	isolated := v.Reserved.Intersect(v.Topology.Isolated)
	found := fmt.Sprintf("width %d, isolated %s", v.Width, cmp.Or(isolated.String(), "none"))
	if v.Width > 1 && len(isolated) > 0 {
		return fail(found, "threads of a run stay on the CPU on which they started")
	}
	return pass(found)
}

// nohzFull exists if the kernel was built with CONFIG_NO_HZ_FULL.
const nohzFull = cpuDir + "/nohz_full"

func lookTick(v *view) Outcome {
	set, ok := v.try(nohzFull)
	switch {
	case !ok:
		// Not a skip: all kernels with CONFIG_NO_HZ_FULL have the file, so a missing file is a result.
		return warn("not built in", nohzFull+" does not exist: the kernel is built without CONFIG_NO_HZ_FULL")
	case set == "(null)" || set == "":
		return warn("not in use", "the kernel supports it, but nohz_full= is not on its command line")
	}
	if missing := v.Reserved.Minus(v.Topology.NohzFull); len(missing) > 0 {
		return warn(set, "the tick of CPU "+missing.String()+" does not stop")
	}
	return pass(set)
}

// lookInterrupts uses the effective affinity, which determines where an interrupt is delivered. The requested
// affinity may contain more CPUs.
func lookInterrupts(v *view) Outcome {
	v.saw("/proc/irq/[irq]/effective_affinity_list", "/proc/interrupts", "/proc/irq/default_smp_affinity")
	dirs, err := v.FS.Glob("/proc/irq/[0-9]*")
	if err != nil || len(dirs) == 0 {
		return skip("/proc/irq/[irq] does not exist")
	}
	rows, earlier := parseInterrupts(v.Optional("/proc/interrupts")), map[string]irqRow{}
	if v.window != nil {
		earlier = parseInterrupts(v.window.before.interrupts)
	}
	var aimed, hit, unread []string
	for _, dir := range dirs {
		irq := dir[strings.LastIndexByte(dir, '/')+1:]
		target, err := v.irqTarget(dir)
		if err != nil {
			unread = append(unread, irq)
			continue
		}
		on := target.Intersect(v.Reserved)
		if len(on) == 0 {
			continue
		}
		label, count := describeIRQ(irq, rows[irq], on)
		aimed = append(aimed, label)
		if _, before := describeIRQ(irq, earlier[irq], on); count > before {
			hit = append(hit, label)
		}
	}
	slices.SortFunc(aimed, text.Natural)
	slices.SortFunc(hit, text.Natural)
	future, err := settings.Mask.Set(v.Optional("/proc/irq/default_smp_affinity"))
	switch {
	case len(hit) > 0:
		return fail(listed(hit), text.Count(len(hit), "interrupt")+" aimed at reserved CPUs and raised there "+v.since())
	case len(aimed) > 0:
		return warn(listed(aimed), text.Count(len(aimed),
			"interrupt")+" aimed at reserved CPUs, none raised there "+v.since())
	case len(unread) > 0:
		return warn("unreadable", "cannot read the affinity of interrupt "+listed(unread))
	case err != nil:
		return warn("none on CPU "+v.Reserved.String(), "cannot read /proc/irq/default_smp_affinity")
	case future.Overlaps(v.Reserved):
		return warn("none on CPU "+v.Reserved.String()+", default "+future.String(),
			"a device that is added later may interrupt reserved CPUs")
	default:
		return pass(fmt.Sprintf("%s, none on CPU %s", text.Count(len(dirs), "interrupt"), v.Reserved))
	}
}

// irqTarget falls back to the requested affinity if the kernel does not report the effective one.
func (v *view) irqTarget(dir string) (cpuset.Set, error) {
	file := dir + "/effective_affinity_list"
	if !v.FS.Exists(file) {
		file = dir + "/smp_affinity_list"
	}
	s, err := v.FS.Read(file)
	if err != nil {
		return nil, err
	}
	return cpuset.Parse(s)
}

func describeIRQ(irq string, row irqRow, on cpuset.Set) (string, uint64) {
	var count uint64
	for _, id := range on {
		count += row.counts[id]
	}
	name := row.name
	if name == "" {
		name = "unnamed"
	}
	return fmt.Sprintf("%s %s on CPU %s (%d)", irq, name, on, count), count
}

func lookCommandLine(v *view) Outcome {
	cmdline := v.must("/proc/cmdline")
	v.saw(cpuDir+"/isolated", nohzFull)
	var missing []string
	if !v.Reserved.IsSubsetOf(hostfs.BootOptionCPUs(cmdline, "nohz_full")) && v.FS.Exists(nohzFull) {
		missing = append(missing, "nohz_full="+v.Reserved.String())
	}
	if targets := hostfs.BootOptionCPUs(cmdline, "irqaffinity"); len(targets) == 0 || targets.Overlaps(v.Reserved) {
		missing = append(missing, "irqaffinity="+v.Housekeeping.String())
	}
	isolated := hostfs.BootOptionCPUs(cmdline, "isolcpus")
	apart := len(v.Reserved.Minus(v.alone())) == 0
	if !apart && v.Width == 1 {
		missing = append(missing, "isolcpus=managed_irq,domain,"+v.Reserved.String())
	}
	var extra []string
	if strings.Contains(hostfs.BootOption(cmdline, "isolcpus"), "domain") && v.Width > 1 && isolated.Overlaps(v.Reserved) {
		extra = append(extra, "isolcpus=domain")
	}
	found := cmp.Or(strings.TrimSpace(filterWords(cmdline, func(name string) bool {
		return slices.Contains([]string{"isolcpus", "nohz_full", "irqaffinity", "rcu_nocbs"}, name)
	})), "none")
	reason := "missing: " + cmp.Or(strings.Join(missing, " "), "none")
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

// bootNames returns the kernel options that checks use. A capture contains no others.
func bootNames() []string {
	return []string{"isolcpus", "nohz_full", "irqaffinity", "rcu_nocbs", "mitigations", "nosmt", "nowatchdog",
		"nmi_watchdog", "transparent_hugepage",
		"hugepages", "tsc", "skew_tick", "slub_debug", "slab_debug", "debug_pagealloc", "page_owner", "intel_pstate",
		"amd_pstate", "psi", "swapaccount"}
}
