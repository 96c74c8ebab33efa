package fingerprint

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"judged/internal/api/hosts"

	"judged/internal/host/hostfs"
	"judged/internal/host/proc"
	"judged/internal/host/slots"
	"judged/internal/host/topology"
	"judged/internal/host/turbo"
	"judged/internal/host/virt"
)

// Subject is what a fingerprint is taken of.
type Subject struct {
	FS       hostfs.FS
	Topology topology.Topology
	Slots    []slots.Slot
	Turbo    turbo.Value
	Class    string // what the operator calls hosts of this kind
	Program  []byte // judged-init, which is the program of the reference kernels too
}

// Take reads a host once. What it does not show is empty.
func Take(s Subject) hosts.Fingerprint {
	k := &key{fs: s.FS, f: hosts.Fingerprint{Schema: hosts.Schema, Hard: map[string]string{}, Soft: map[string]string{}}}
	k.processor(s.Topology)
	k.memory(s.Topology)
	k.frequency(s.Slots, s.Turbo)
	k.kernel(s.Topology)
	k.slots(s.Slots)
	k.add("class", s.Class)
	k.add("program", hex.EncodeToString(digest(s.Program)))
	k.soft()
	k.f.Sum = k.f.Digest()
	return k.f
}

func digest(program []byte) []byte {
	sum := sha256.Sum256(program)
	return sum[:]
}

// key gathers the members.
type key struct {
	fs hostfs.FS
	f  hosts.Fingerprint
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

// file adds the content of a file; what a host does not have is empty.
func (k *key) file(path string) { k.add(path, k.read(path)) }

func (k *key) read(path string) string {
	text, err := k.fs.Read(path)
	if err != nil {
		return ""
	}
	return text
}

// files adds all files of a pattern.
func (k *key) files(pattern string) {
	paths, err := k.fs.Glob(pattern)
	if err != nil {
		return
	}
	for _, path := range paths {
		k.file(path)
	}
}

func (k *key) processor(t topology.Topology) {
	info := k.read("/proc/cpuinfo")
	for _, field := range []string{"vendor_id", "cpu family", "model", "model name", "stepping", "CPU implementer",
		"CPU part", "CPU variant"} {
		k.add(field, proc.CPUInfo(info, field))
	}
	k.add(hosts.Hypervisor, virt.Hypervisor(k.fs) != "")
	k.file("/sys/hypervisor/type")
	k.file("/sys/class/dmi/id/sys_vendor")
	k.file("/sys/class/dmi/id/product_name") // of a rented machine its type
	k.add("cpus", t.CPUs)
	for _, name := range []string{"level", "type", "size"} {
		k.files("/sys/devices/system/cpu/cpu0/cache/index*/" + name)
	}
	k.file("/sys/devices/system/cpu/smt/active")
	k.files("/sys/devices/system/cpu/vulnerabilities/*")
}

// memory leaves out how much there is: it differs by a few pages from boot to
// boot.
func (k *key) memory(t topology.Topology) {
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

// frequency is that of the first slot: nominal, planned, and whether it may be
// exceeded.
func (k *key) frequency(planned []slots.Slot, boost turbo.Value) {
	k.add("boost", boost)
	for _, s := range planned[:min(1, len(planned))] {
		dir := fmt.Sprintf("/sys/devices/system/cpu/cpu%d/", s.CPUs[0])
		for _, name := range []string{"cpufreq/base_frequency", "acpi_cppc/nominal_freq", "cpufreq/cpuinfo_max_freq",
			"cpufreq/scaling_min_freq", "cpufreq/scaling_max_freq"} {
			k.add(name, k.read(dir+name))
		}
	}
}

func (k *key) kernel(t topology.Topology) {
	k.add("kernel", t.Kernel)
	k.add("config", k.config(t.Kernel))
	k.add(hosts.CommandLine, normalized(k.read("/proc/cmdline")))
	k.add("isolated", t.Isolated)
	k.add("nohz_full", t.NohzFull)
	k.file("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	k.file("/proc/sys/kernel/randomize_va_space")
}

// soft is what may differ within a pool, and is worth knowing when times do.
func (k *key) soft() {
	k.f.Soft["microcode"] = proc.CPUInfo(k.read("/proc/cpuinfo"), "microcode")
	k.f.Soft[hosts.KernelBuild] = k.read("/proc/version")
	for _, path := range []string{"/sys/class/dmi/id/bios_version", "/sys/class/dmi/id/bios_date",
		"/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver"} {
		k.f.Soft[path] = k.read(path)
	}
}

// config is what the kernel was built with that moves times or how they are
// counted. Two builds of one release may differ in it.
func (k *key) config(release string) []string {
	var options []string
	for line := range strings.Lines(proc.KernelConfig(k.fs, release)) {
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

// normalized is a kernel command line in any order and without what names disks
// and consoles.
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
