package boot

import (
	"strconv"
	"strings"

	"judged/internal/host/proc"
	"judged/internal/host/settings"
	"judged/internal/host/virt"
)

// Facts are what a plan depends on.
type Facts struct {
	settings.Host
	CommandLine string // /proc/cmdline

	Arch      Arch
	Intel     bool // the processor is Intel's
	Virtual   bool // there is a hypervisor
	Container bool // this is not a host but a container on one
	WSL       bool // Windows starts the kernel, not a boot loader
	LegacyCPU bool // cpuset is a v1 controller

	Threads   Threads
	NohzFull  bool // the kernel can stop the tick of a busy CPU
	HugePages bool // the kernel has transparent huge pages
	SteadyTSC bool // the counter runs at constant speed and does not stop
	Governors bool // the kernel controls the frequencies

	// Sysctl and Sysfs are the values that judged tune sets in one file each, as "vm.stat_interval=10" and "/sys/…=0".
	Sysctl, Sysfs []string
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

const cpuDir = "/sys/devices/system/cpu"

// Read looks once. A missing or unreadable file counts as if the kernel did not have the feature.
func Read(h settings.Host) Facts {
	info, hypervisor := h.Optional("/proc/cpuinfo"), virt.Hypervisor(h.FS)
	_, legacy := proc.FindMount(proc.Mounts(h.Optional("/proc/mounts")), "cgroup", "cpuset")
	host := Facts{
		Host: h, CommandLine: h.Optional("/proc/cmdline"),
		Arch: architecture(info), Intel: strings.Contains(info, "GenuineIntel"),
		Virtual: hypervisor != "", WSL: hypervisor == virt.WSL, LegacyCPU: legacy,
		// Only the host's own PID namespace shows kthreadd.
		Container: !strings.Contains(h.Optional("/proc/2/stat"), "(kthreadd)"),
		Threads:   threads(h.Optional(cpuDir + "/smt/control")),
		NohzFull:  h.FS.Exists(cpuDir + "/nohz_full"),
		HugePages: h.FS.Exists("/sys/kernel/mm/transparent_hugepage/enabled"),
		SteadyTSC: proc.HasFlag(info, "constant_tsc") && proc.HasFlag(info, "nonstop_tsc"),
		Governors: h.FS.Exists(cpuDir + "/cpu0/cpufreq/scaling_governor"),
	}
	host.readValues()
	return host
}

// readValues collects the values of the catalogue that are one file. Words in brackets have boot parameters.
func (h *Facts) readValues() {
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

// newer reports whether the kernel is of that release or a later one; an unknown one counts as new.
func (h Facts) newer(major, minor int) bool {
	first, rest, _ := strings.Cut(h.Topology.Kernel, ".")
	second, _, _ := strings.Cut(rest, ".")
	a, errA := strconv.Atoi(first)
	b, errB := strconv.Atoi(second)
	return errA != nil || errB != nil || a > major || a == major && b >= minor
}
