package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
	"judged/internal/host/machine"
	"judged/internal/host/settings"
)

const (
	cpuDir  = "/sys/devices/system/cpu"
	nodeDir = "/sys/devices/system/node"
)

// facts holds the data that is read once for all checks.
type facts struct {
	settings.Host
	turbo   machine.Turbo
	class   class
	daemon  bool
	options Options
	config  string // the kernel's build configuration, after a newline; "" if unavailable
	mounts  []hostfs.Mount
	own     map[string]string // controller -> path of this process; the key of v2 is ""
	groups  groups
	tasks   []hostfs.Thread
	counts  Counts  // the current reading
	window  *window // since an earlier reading; nil if there was none
}

// since names the period that the counters cover: since boot if there was no earlier reading.
func (f facts) since() string {
	if f.window == nil {
		return "since boot"
	}
	return f.window.String()
}

// view is the host as one check sees it: the facts, and a reader that records all requested paths.
type view struct {
	facts
	setting settings.Setting
	read    []string
	refused *Outcome // for the first required file that could not be read
}

// saw records paths that were read elsewhere on behalf of the check.
func (v *view) saw(paths ...string) {
	for _, p := range paths {
		if !slices.Contains(v.read, p) {
			v.read = append(v.read, p)
		}
	}
}

// must reads a file that the check requires. If it is missing the check is skipped, and if it cannot be read
// the check warns, regardless of what the check function returns.
func (v *view) must(path string) string {
	v.saw(path)
	s, err := v.FS.Read(path)
	if err != nil {
		v.refuse(path, err)
	}
	return s
}

// try reads a file that may be missing, but must be readable if it exists.
func (v *view) try(path string) (string, bool) {
	v.saw(path)
	s, err := v.FS.Read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		v.refuse(path, err)
	}
	return s, err == nil
}

// mustPerCPU reads a file of each reserved online CPU.
func (v *view) mustPerCPU(file string) map[int]string {
	values := map[int]string{}
	cpus := v.Reserved.Intersect(v.Topology.Online)
	if len(cpus) == 0 && v.refused == nil {
		v.refused = new(unknown("", "none of the reserved CPUs is online"))
	}
	for _, id := range cpus {
		values[id] = v.must(fmt.Sprintf("%s/cpu%d/%s", cpuDir, id, file))
	}
	return values
}

// tryPerCPU is like mustPerCPU for an optional file. It returns nil if the file is missing for any CPU.
func (v *view) tryPerCPU(file string) map[int]string {
	for _, id := range v.Reserved.Intersect(v.Topology.Online) {
		if path := fmt.Sprintf("%s/cpu%d/%s", cpuDir, id, file); !v.FS.Exists(path) {
			v.saw(path)
			return nil
		}
	}
	return v.mustPerCPU(file)
}

func (v *view) refuse(path string, err error) {
	if v.refused == nil {
		v.refused = new(refusal(path, err))
	}
}

func refusal(path string, err error) Outcome {
	if !errors.Is(err, fs.ErrNotExist) {
		return warn("unreadable", err.Error())
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		path = pe.Path // a value of the kernel that a capture stored in a file
	}
	return skip(path + " does not exist")
}

// byValue lists which CPUs have which value: "1024 (CPU 0-3)". It omits the CPUs if all have the same value.
func byValue(values map[int]string) []string {
	by := map[string]cpuset.Set{}
	for id, s := range values {
		by[s] = by[s].Union(cpuset.New(id))
	}
	var kinds []string
	for _, s := range slices.Sorted(maps.Keys(by)) {
		if len(by) > 1 {
			s = fmt.Sprintf("%s (CPU %s)", s, by[s])
		}
		kinds = append(kinds, s)
	}
	return kinds
}

// cores returns the number of physical cores of the reserved CPUs. A slot uses one CPU per core, so this is how
// many CPUs can be leased.
func (f facts) cores(within cpuset.Set) int {
	cores := map[int]bool{}
	for _, id := range f.Reserved.Intersect(within) {
		if c, ok := f.Topology.CPU(id); ok {
			cores[c.Core] = true
		}
	}
	return len(cores)
}

func (f facts) describe() api.DoctorHostSummary {
	return api.DoctorHostSummary{
		Name: f.Optional("/proc/sys/kernel/hostname"), Kernel: f.Topology.Kernel, CPUModel: f.Topology.Model,
		Class: f.class.String(), CPUs: len(f.Topology.Online), NUMANodes: len(f.Topology.Nodes),
		Isolation: f.Topology.IsolationKind(), Turbo: string(f.turbo.Value),
	}
}

// class is the kind of machine. Both fields can be set, for a container in a virtual machine.
type class struct{ hypervisor, container string }

func (c class) String() string {
	switch {
	case c.container != "":
		return "container"
	case c.hypervisor != "":
		return "vm"
	default:
		return "bare"
	}
}

// classPaths returns the files that determine the class. All are optional.
func classPaths() []string {
	return append(machine.HypervisorPaths(), "/proc/2/stat", "/run/.containerenv", "/.dockerenv", "/proc/1/environ")
}

func classify(h hostfs.FS) class {
	host := settings.Host{FS: h}
	c := class{hypervisor: machine.Hypervisor(h)}
	switch environ := host.Optional("/proc/1/environ"); {
	case strings.Contains(host.Optional("/proc/2/stat"), "(kthreadd)"):
		// Only the host's own PID namespace shows kthreadd. Virtual machines whose disk image was made from a
		// container image also have the files below.
	case h.Exists("/run/.containerenv"):
		c.container = "podman"
	case h.Exists("/.dockerenv"):
		c.container = "docker"
	default:
		c.container = hostfs.ProcessVariable(environ, "container")
	}
	return c
}
