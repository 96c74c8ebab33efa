package boot

import (
	"slices"
	"strconv"
	"strings"

	"judged/internal/host/hostfs"
	"judged/internal/host/topology"
	"judged/internal/host/virt"
)

// Host is what a plan depends on.
type Host struct {
	Topology    topology.Topology
	CommandLine string // /proc/cmdline as it is

	Arch      Arch
	Intel     bool // the processor is Intel's
	Virtual   bool // a hypervisor shows itself
	Container bool // this is no host but a container on one
	WSL       bool // Windows starts the kernel, not a boot loader
	LegacyCPU bool // cpuset is a v1 controller

	Threads    Threads
	NohzFull   bool   // the kernel can stop the tick of a busy CPU
	HugePages  bool   // the kernel has transparent huge pages
	SteadyTSC  bool   // the counter runs at one speed and does not stop
	Balancing  bool   // the kernel can move pages between nodes
	Compaction bool   // the kernel compacts memory ahead of need
	Turbo      string // the switch of the frequencies above nominal, a path; "" if there is none
	Governors  bool   // the kernel decides about frequencies
}

// Arch is the architecture of the examined host, which need not be that of this program.
type Arch string

// The architectures that parameters differ for.
const (
	X86      Arch = "x86"
	ARM64    Arch = "arm64"
	OtherCPU Arch = "other"
)

// Threads is what smt/control says: whether cores have second threads that nosmt can take offline.
type Threads string

// The states; the kernel's notsupported and notimplemented are both NoThreads.
const (
	ThreadsOn  Threads = "on"
	ThreadsOff Threads = "off"
	NoThreads  Threads = "none"
)

const (
	cpuDir   = "/sys/devices/system/cpu"
	noTurbo  = cpuDir + "/intel_pstate/no_turbo"
	boostAll = cpuDir + "/cpufreq/boost"
)

// Read looks once. A file that is missing or closed leaves its member at what says least.
func Read(h hostfs.FS, t topology.Topology) Host {
	read := func(path string) string {
		text, err := h.Read(path)
		if err != nil {
			return ""
		}
		return text
	}
	info, hypervisor := read("/proc/cpuinfo"), virt.Hypervisor(h)
	host := Host{
		Topology: t, CommandLine: read("/proc/cmdline"),
		Arch: architecture(info), Intel: strings.Contains(info, "GenuineIntel"),
		Virtual: hypervisor != "", WSL: hypervisor == virt.WSL,
		// Who sees kthreadd is in the host's own PID namespace.
		Container: !strings.Contains(read("/proc/2/stat"), "(kthreadd)"),
		LegacyCPU: legacy(read("/proc/mounts")),
		Threads:   threads(read(cpuDir + "/smt/control")),
		NohzFull:  h.Exists(cpuDir + "/nohz_full"), HugePages: h.Exists("/sys/kernel/mm/transparent_hugepage/enabled"),
		SteadyTSC: hasFlag(info, "constant_tsc") && hasFlag(info, "nonstop_tsc"),
		Balancing: h.Exists("/proc/sys/kernel/numa_balancing"), Compaction: h.Exists("/proc/sys/vm/compaction_proactiveness"),
		Governors: h.Exists(cpuDir + "/cpu0/cpufreq/scaling_governor"),
	}
	for _, path := range []string{noTurbo, boostAll} {
		if host.Turbo == "" && h.Exists(path) {
			host.Turbo = path
		}
	}
	return host
}

func architecture(cpuinfo string) Arch {
	switch {
	case strings.Contains(cpuinfo, "CPU implementer"):
		return ARM64
	case strings.Contains(cpuinfo, "vendor_id") && strings.Contains(cpuinfo, "flags"):
		return X86
	default:
		return OtherCPU
	}
}

func threads(control string) Threads {
	switch control {
	case "on":
		return ThreadsOn
	case "off", "forceoff":
		return ThreadsOff
	default:
		return NoThreads
	}
}

// legacy reports whether /proc/mounts has a v1 hierarchy with cpuset.
func legacy(mounts string) bool {
	for line := range strings.Lines(mounts) {
		f := strings.Fields(line)
		if len(f) > 3 && f[2] == "cgroup" && slices.Contains(strings.Split(f[3], ","), "cpuset") {
			return true
		}
	}
	return false
}

func hasFlag(cpuinfo, flag string) bool {
	for line := range strings.Lines(cpuinfo) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "flags" {
			return slices.Contains(strings.Fields(value), flag)
		}
	}
	return false
}

// newer reports whether the kernel is of that release or a later one; one that tells none is taken
// for new.
func (h Host) newer(major, minor int) bool {
	first, rest, _ := strings.Cut(h.Topology.Kernel, ".")
	second, _, _ := strings.Cut(rest, ".")
	a, errA := strconv.Atoi(first)
	b, errB := strconv.Atoi(second)
	return errA != nil || errB != nil || a > major || a == major && b >= minor
}
