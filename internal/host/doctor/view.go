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
	"judged/internal/host/proc"
	"judged/internal/host/settings"
	"judged/internal/host/turbo"
	"judged/internal/host/virt"
)

const (
	cpuDir  = "/sys/devices/system/cpu"
	nodeDir = "/sys/devices/system/node"
)

// facts is what is read once for all checks.
type facts struct {
	settings.Host
	turbo   turbo.State
	class   class
	daemon  bool
	options Options
	config  string // of the kernel's build; "" if the host does not show it
	mounts  []proc.Mount
	own     map[string]string // controller -> path of this process; "" is v2
	groups  groups
	tasks   []proc.Thread
	counts  Counts  // of this look
	window  *window // since an earlier look; nil if there was none
}

// since names the time that counts cover: since boot where there was no earlier look.
func (f facts) since() string {
	if f.window == nil {
		return "since boot"
	}
	return f.window.String()
}

// view is what a check gets: the facts, and a reader that notes every path it is asked for.
type view struct {
	facts
	setting settings.Setting
	read    []string
	refused *Outcome // of the first file that the check needed and did not get
}

// saw notes paths that were read elsewhere on behalf of the check.
func (v *view) saw(paths ...string) {
	for _, p := range paths {
		v.read = addOnce(v.read, p)
	}
}

// must reads a file that the check needs. If it is missing the check is skipped, if it cannot be read the check warns,
// whatever the look returns then.
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
		o := unknown("", "none of the reserved CPUs is online")
		v.refused = &o
	}
	for _, id := range cpus {
		values[id] = v.must(fmt.Sprintf("%s/cpu%d/%s", cpuDir, id, file))
	}
	return values
}

// tryPerCPU is mustPerCPU for a file that may be missing; nil if it is missing for any CPU.
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
		o := refusal(path, err)
		v.refused = &o
	}
}

func refusal(path string, err error) Outcome {
	if !errors.Is(err, fs.ErrNotExist) {
		return warn("unreadable", err.Error())
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		path = pe.Path // of an answer of the kernel that was kept in a file
	}
	return skip(path + " does not exist")
}

// byValue writes which CPUs have which value: "1024 (CPU 0-3)"; without CPUs when all have the same.
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

// cores counts the physical cores of the reserved CPUs. A slot takes one CPU of a core, so this is how many CPUs can be
// leased.
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

// class is the kind of machine. Both can be set: a container in a virtual machine.
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

// classPaths are the files that decide; none is needed.
func classPaths() []string {
	return append(virt.Paths(), "/proc/2/stat", "/run/.containerenv", "/.dockerenv", "/proc/1/environ")
}

func classify(h hostfs.FS) class {
	host := settings.Host{FS: h}
	c := class{hypervisor: virt.Hypervisor(h)}
	switch environ := host.Optional("/proc/1/environ"); {
	case strings.Contains(host.Optional("/proc/2/stat"), "(kthreadd)"):
		// Only the host's own PID namespace shows kthreadd. Virtual machines whose disk was made from a container image
		// still carry the marks below.
	case h.Exists("/run/.containerenv"):
		c.container = "podman"
	case h.Exists("/.dockerenv"):
		c.container = "docker"
	default:
		c.container = proc.Variable(environ, "container")
	}
	return c
}
