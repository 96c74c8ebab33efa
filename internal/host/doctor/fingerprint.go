package doctor

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"judged/internal/api"
	"judged/internal/host/hostfs"
	"judged/internal/host/machine"
	"judged/internal/host/slots"
)

// Subject is the input of a fingerprint.
type Subject struct {
	FS       hostfs.FS
	Topology machine.Topology
	Slots    []slots.Slot
	Turbo    machine.TurboState
	Class    string // the operator's name for this kind of host
	Program  []byte // judged-init, which also contains the reference kernels
	// KernelConfig is that of Options.
	KernelConfig func() string
}

// ReadFingerprint returns the fingerprint of a host. Values that the host does not provide are empty.
func ReadFingerprint(s Subject) api.Fingerprint {
	k := &key{fs: s.FS, config: s.KernelConfig, f: api.Fingerprint{Schema: api.FingerprintSchema, Hard: map[string]string{},
		Soft: map[string]string{}}}
	k.processor(s.Topology)
	k.memory(s.Topology)
	k.frequency(s.Slots, s.Turbo)
	k.kernel(s.Topology)
	k.slots(s.Slots)
	k.add("class", s.Class)
	k.add("program", fmt.Sprintf("%x", sha256.Sum256(s.Program)))
	k.soft()
	k.f.Sum = k.f.Digest()
	return k.f
}

// key collects the members of a fingerprint.
type key struct {
	fs     hostfs.FS
	config func() string // Options.KernelConfig
	f      api.Fingerprint
}

func (k *key) add(name string, value any) {
	k.f.Hard[name] = fmt.Sprint(value)
}

// slots adds the CPUs and the memory node of each slot.
func (k *key) slots(planned []slots.Slot) {
	var texts []string
	for _, s := range planned {
		texts = append(texts, fmt.Sprintf("{%v %d}", s.CPUs, s.Node))
	}
	k.add("slots", texts)
}

// file adds the content of a file; a missing file counts as empty.
func (k *key) file(path string) { k.add(path, k.read(path)) }

func (k *key) read(path string) string {
	text, err := k.fs.Read(path)
	if err != nil {
		return ""
	}
	return text
}

// files adds all files that match a pattern.
func (k *key) files(pattern string) {
	paths, err := k.fs.Glob(pattern)
	if err != nil {
		return
	}
	for _, path := range paths {
		k.file(path)
	}
}

func (k *key) processor(t machine.Topology) {
	info := k.read("/proc/cpuinfo")
	for _, field := range []string{"vendor_id", "cpu family", "model", "model name", "stepping", "CPU implementer",
		"CPU part", "CPU variant"} {
		k.add(field, hostfs.CPUInfo(info, field))
	}
	k.add(api.HypervisorMember, machine.Hypervisor(k.fs) != "")
	k.file("/sys/hypervisor/type")
	k.file("/sys/class/dmi/id/sys_vendor")
	k.file("/sys/class/dmi/id/product_name") // the instance type of a rented machine
	k.add("cpus", t.CPUs)
	for _, name := range []string{"level", "type", "size"} {
		k.files("/sys/devices/system/cpu/cpu0/cache/index*/" + name)
	}
	k.file("/sys/devices/system/cpu/smt/active")
	k.files("/sys/devices/system/cpu/vulnerabilities/*")
}

// memory omits the amount of memory, which varies by a few pages between boots.
func (k *key) memory(t machine.Topology) {
	for _, n := range t.Nodes {
		k.add(fmt.Sprintf("node %d", n.ID), fmt.Sprint(n.CPUs, n.Distances))
	}
	for _, name := range []string{"dimm_mem_type", "size", "dimm_location"} {
		k.files("/sys/devices/system/edac/mc/mc*/dimm*/" + name)
		k.files("/sys/devices/system/edac/mc/mc*/rank*/" + name)
	}
	k.file("/sys/kernel/mm/transparent_hugepage/enabled")
	k.file("/proc/sys/kernel/numa_balancing")
}

// frequency adds the frequency of the first slot: nominal, planned, and whether boost is allowed.
func (k *key) frequency(planned []slots.Slot, boost machine.TurboState) {
	k.add("boost", boost)
	for _, s := range planned[:min(1, len(planned))] {
		dir := fmt.Sprintf("/sys/devices/system/cpu/cpu%d/", s.CPUs[0])
		for _, name := range []string{"cpufreq/base_frequency", "acpi_cppc/nominal_freq", "cpufreq/cpuinfo_max_freq",
			"cpufreq/scaling_min_freq", "cpufreq/scaling_max_freq"} {
			k.add(name, k.read(dir+name))
		}
	}
}

func (k *key) kernel(t machine.Topology) {
	k.add("kernel", t.Kernel)
	k.add("config", timingOptions(kernelConfig(k.fs, t.Kernel, k.config)))
	k.add(api.CommandLineMember, normalized(k.read("/proc/cmdline")))
	k.add("isolated", t.Isolated)
	k.add("nohz_full", t.NohzFull)
	k.file("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	k.file("/proc/sys/kernel/randomize_va_space")
}

// soft adds properties that may differ within a pool but can explain different times.
func (k *key) soft() {
	k.f.Soft["microcode"] = hostfs.CPUInfo(k.read("/proc/cpuinfo"), "microcode")
	k.f.Soft[api.KernelBuildMember] = k.read("/proc/version")
	for _, path := range []string{"/sys/class/dmi/id/bios_version", "/sys/class/dmi/id/bios_date",
		"/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver"} {
		k.f.Soft[path] = k.read(path)
	}
}

// timingOptions returns the options of a kernel's configuration that affect times or accounting. Two builds of one
// release may differ in them.
func timingOptions(config string) []string {
	var options []string
	for line := range strings.Lines(config) {
		name, _, _ := strings.Cut(line, "=")
		timing := strings.HasPrefix(name, "CONFIG_HZ") || strings.HasPrefix(name, "CONFIG_PREEMPT") ||
			strings.HasSuffix(name, "_ACCOUNTING") ||
			slices.Contains([]string{"CONFIG_NO_HZ_FULL", "CONFIG_VIRT_CPU_ACCOUNTING_GEN", "CONFIG_SCHEDSTATS",
				"CONFIG_PSI"}, name)
		if timing && strings.Contains(line, "=") {
			options = append(options, strings.TrimSpace(line))
		}
	}
	slices.Sort(options)
	return options
}

// normalized returns the sorted words of a kernel command line, without those that name disks and consoles.
func normalized(line string) []string {
	words := slices.DeleteFunc(strings.Fields(line), func(w string) bool {
		name, _, _ := strings.Cut(w, "=")
		return slices.Contains([]string{"BOOT_IMAGE", "root", "rootflags", "rootfstype", "ro", "rw", "resume", "initrd",
			"init", "quiet", "splash",
			"console", "loglevel", "ip", "net.ifnames"}, name) || strings.HasPrefix(name, "rd.") ||
			strings.HasPrefix(name, "systemd.")
	})
	slices.Sort(words)
	return words
}
