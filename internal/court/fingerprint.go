package court

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"judged/internal/hostfs"
	"judged/internal/sandbox"
	"judged/internal/slots"
	"judged/internal/topology"
	"judged/internal/turbo"
)

// key is what hosts must have in common for their times to be compared, line by
// line, as far as a host shows it. What is left out may differ: microcode, BIOS,
// who made the memory, the name of the host and of its disks.
type key struct {
	fs    hostfs.FS
	lines []string
}

// fingerprint is 16 hex digits over the key. Hosts with different ones must not
// be compared. canary is the program of judged-init and of the reference kernels.
func fingerprint(fs hostfs.FS, t topology.Topology, planned []slots.Slot, boost turbo.Value, canary []byte) string {
	k := &key{fs: fs}
	k.processor(t)
	k.memory(t)
	k.frequency(planned, boost)
	k.kernel(t)
	k.add("slots", planned)
	k.add("canary", sha256.Sum256(canary))
	sum := sha256.Sum256([]byte(strings.Join(k.lines, "\n")))
	return hex.EncodeToString(sum[:8])
}

func (c *Court) readFingerprint() (string, error) {
	canary, err := sandbox.InitProgram()
	if err != nil {
		return "", fmt.Errorf("read judged-init: %w", err)
	}
	return fingerprint(c.fs, c.topology, c.slots, c.turbo.Value, canary), nil
}

func (k *key) add(name string, value any) {
	k.lines = append(k.lines, fmt.Sprintf("%s: %v", name, value))
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
	k.add("arch", runtime.GOARCH)
	info := k.read("/proc/cpuinfo")
	for _, field := range []string{"vendor_id", "cpu family", "model", "model name", "stepping", "CPU implementer", "CPU part", "CPU variant"} {
		k.add(field, cpuinfo(info, field))
	}
	k.add("hypervisor", hasFlag([]byte(info), "hypervisor"))
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

// cpuinfo is the first value of a field.
func cpuinfo(info, field string) string {
	for line := range strings.Lines(info) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == field {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// memory leaves out how much there is: it differs by a few pages from boot to
// boot.
func (k *key) memory(t topology.Topology) {
	for _, n := range t.Nodes {
		k.add("node", fmt.Sprint(n.ID, n.CPUs, n.Distances))
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
	k.add("cmdline", normalized(k.read("/proc/cmdline")))
	k.add("isolated", t.Isolated)
	k.add("nohz_full", t.NohzFull)
	k.file("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	k.file("/proc/sys/kernel/randomize_va_space")
}

// config is what the kernel was built with that moves times or how they are
// counted. Two builds of one release may differ in it.
func (k *key) config(release string) []string {
	text := k.read("/boot/config-" + release)
	if text == "" {
		text = k.unpack("/proc/config.gz")
	}
	var options []string
	for line := range strings.Lines(text) {
		name, _, _ := strings.Cut(line, "=")
		timing := strings.HasPrefix(name, "CONFIG_HZ") || strings.HasPrefix(name, "CONFIG_PREEMPT") || strings.HasSuffix(name, "_ACCOUNTING") ||
			slices.Contains([]string{"CONFIG_NO_HZ_FULL", "CONFIG_VIRT_CPU_ACCOUNTING_GEN", "CONFIG_SCHEDSTATS", "CONFIG_PSI"}, name)
		if timing && strings.Contains(line, "=") {
			options = append(options, strings.TrimSpace(line))
		}
	}
	slices.Sort(options)
	return options
}

// unpack is empty for what is not there or is not packed.
func (k *key) unpack(path string) string {
	packed, err := k.fs.ReadFile(path)
	if err != nil {
		return ""
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return ""
	}
	const most = 4 << 20 // of bytes: twenty times a configuration
	text, err := io.ReadAll(io.LimitReader(r, most))
	if err != nil {
		return ""
	}
	return string(text)
}

// normalized is a kernel command line in any order and without what names disks
// and consoles.
func normalized(line string) []string {
	words := slices.DeleteFunc(strings.Fields(line), func(w string) bool {
		name, _, _ := strings.Cut(w, "=")
		return slices.Contains([]string{"BOOT_IMAGE", "root", "rootflags", "rootfstype", "ro", "rw", "resume", "initrd", "init", "quiet", "splash",
			"console", "loglevel", "ip", "net.ifnames"}, name) || strings.HasPrefix(name, "rd.") || strings.HasPrefix(name, "systemd.")
	})
	slices.Sort(words)
	return words
}
