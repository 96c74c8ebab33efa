package tune

import (
	"strconv"
	"strings"

	"judged/internal/host/hostfs"
	"judged/internal/host/machine"
	"judged/internal/host/settings"
)

// bootFacts are the properties of a host that a plan depends on.
type bootFacts struct {
	settings.Host
	CommandLine string // /proc/cmdline

	Arch      arch
	Intel     bool // the processor is made by Intel
	Virtual   bool // the host is a virtual machine
	Container bool // judged runs in a container
	WSL       bool // Windows, not a boot loader, starts the kernel
	LegacyCPU bool // cpuset is a v1 controller

	Threads   threadState
	NohzFull  bool // the kernel can stop the tick of a busy CPU
	HugePages bool // the kernel supports transparent huge pages
	SteadyTSC bool // the TSC runs at a constant rate and never stops
	Governors bool // the kernel controls the frequencies

	// Sysctl and Sysfs are the values that judged tune sets in one file each, such as "vm.stat_interval=10" and
	// "/sys/…=0".
	Sysctl, Sysfs []string
}

// arch is the architecture of the examined host, which may differ from that of this program.
type arch string

// The architectures with different parameters.
const (
	x86      arch = "x86"
	arm64    arch = "arm64"
	otherCPU arch = "other"
)

// threadState is the state of SMT in smt/control: whether cores have second threads that nosmt can take offline.
type threadState string

// The states. noThreads covers the kernel's notsupported and notimplemented.
const (
	threadsOn  threadState = "on"
	threadsOff threadState = "off"
	noThreads  threadState = "none"
)

const cpuDir = "/sys/devices/system/cpu"

// readFacts reads the facts of a host. If a file is missing or unreadable, the kernel is assumed to lack the
// feature.
func readFacts(h settings.Host) bootFacts {
	info, hypervisor := h.Optional("/proc/cpuinfo"), machine.Hypervisor(h.FS)
	_, legacy := hostfs.FindMount(hostfs.Mounts(h.Optional("/proc/mounts")), "cgroup", "cpuset")
	host := bootFacts{
		Host: h, CommandLine: h.Optional("/proc/cmdline"),
		Arch: architecture(info), Intel: strings.Contains(info, "GenuineIntel"),
		Virtual: hypervisor != "", WSL: hypervisor == machine.WSL, LegacyCPU: legacy,
		// Only the host's own PID namespace shows kthreadd.
		Container: !strings.Contains(h.Optional("/proc/2/stat"), "(kthreadd)"),
		Threads:   threads(h.Optional(cpuDir + "/smt/control")),
		NohzFull:  h.FS.Exists(cpuDir + "/nohz_full"),
		HugePages: h.FS.Exists("/sys/kernel/mm/transparent_hugepage/enabled"),
		SteadyTSC: hostfs.HasCPUFlag(info, "constant_tsc") && hostfs.HasCPUFlag(info, "nonstop_tsc"),
		Governors: h.FS.Exists(cpuDir + "/cpu0/cpufreq/scaling_governor"),
	}
	host.readValues()
	return host
}

// readValues collects the settings of the catalogue that are a single file. Values in brackets have boot
// parameters instead.
func (h *bootFacts) readValues() {
	for _, s := range settings.All() {
		for _, v := range s.Values {
			now, err := h.FS.Read(v.Pattern)
			if s.Risk == "" || s.Bare && h.Virtual || v.Kind == settings.Token || err != nil {
				continue
			}
			if now, err = v.Kind.Meaning(now); err != nil {
				continue
			}
			to, reason := v.Wanted(&h.Host, v.Pattern, now)
			name, sysctl := strings.CutPrefix(v.Pattern, "/proc/sys/")
			switch {
			case reason != "":
			case sysctl:
				h.Sysctl = append(h.Sysctl, strings.ReplaceAll(name, "/", ".")+"="+to)
			case strings.HasPrefix(v.Pattern, "/sys/"):
				h.Sysfs = append(h.Sysfs, v.Pattern+"="+to)
			}
		}
	}
}

func architecture(cpuinfo string) arch {
	switch {
	case strings.Contains(cpuinfo, "CPU implementer"):
		return arm64
	case strings.Contains(cpuinfo, "vendor_id") && strings.Contains(cpuinfo, "flags"):
		return x86
	default:
		return otherCPU
	}
}

func threads(control string) threadState {
	switch control {
	case "on":
		return threadsOn
	case "off", "forceoff":
		return threadsOff
	default:
		return noThreads
	}
}

// newer reports whether the kernel has this release or a later one. An unknown release counts as new.
func (h bootFacts) newer(major, minor int) bool {
	first, rest, _ := strings.Cut(h.Topology.Kernel, ".")
	second, _, _ := strings.Cut(rest, ".")
	a, errA := strconv.Atoi(first)
	b, errB := strconv.Atoi(second)
	return errA != nil || errB != nil || a > major || a == major && b >= minor
}
