package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
	"judged/internal/host/topology"
	"judged/internal/host/turbo"
	"judged/internal/host/virt"
)

const (
	cpuDir  = "/sys/devices/system/cpu"
	nodeDir = "/sys/devices/system/node"
)

// facts is what is read once for all checks.
type facts struct {
	fs           hostfs.FS
	top          topology.Topology
	turbo        turbo.State
	class        class
	reserved     cpuset.Set // may hold offline CPUs when the caller named them
	housekeeping cpuset.Set // the other online ones
	width        int
	daemon       bool
	options      Options
	config       string // of the kernel's build; "" if it is not shown
	mounts       []mount
	own          map[string]string // controller -> path of this process; "" is v2
	groups       groups
	tasks        []task
	counts       Counts  // of this look
	window       *window // since an earlier look; nil if there was none
}

// ever is the time that counts are of where there was no earlier look.
func (f facts) ever() string {
	if f.window == nil {
		return "since boot"
	}
	return f.window.String()
}

// view is what a check gets: the facts, and a reader that notes every path it was asked for.
type view struct {
	facts
	read []string
}

// saw notes paths that were read elsewhere on behalf of the check.
func (v *view) saw(paths ...string) {
	for _, p := range paths {
		if !slices.Contains(v.read, p) {
			v.read = append(v.read, p)
		}
	}
}

// word reads one file, trimmed. If it cannot, the second result is the outcome by the house rule:
// missing is skip, unreadable is warn, each with the path.
func (v *view) word(path string) (string, *Outcome) {
	v.saw(path)
	s, err := v.fs.Read(path)
	if err != nil {
		return "", refusal(path, err)
	}
	return s, nil
}

func refusal(path string, err error) *Outcome {
	o := warn("unreadable", "cannot look: "+err.Error())
	if errors.Is(err, fs.ErrNotExist) {
		if pe, ok := errors.AsType[*fs.PathError](err); ok {
			path = pe.Path // for an answer of the kernel that was kept in a file
		}
		o = skip(path + " does not exist")
	}
	return &o
}

// optional reads a file that is allowed to be missing or closed: then it is "".
func (f facts) optional(path string) string {
	s, err := f.fs.Read(path)
	if err != nil {
		return ""
	}
	return s
}

// hypervised is the outcome of every check of frequency and power inside a virtual machine.
func (v *view) hypervised() *Outcome {
	if v.class.hypervisor == "" {
		return nil
	}
	v.saw("/proc/cpuinfo")
	o := skip("controlled by the hypervisor")
	return &o
}

// perCPU reads a file of each reserved online CPU; it stops at the first that cannot be read.
func (v *view) perCPU(file string) (map[int]string, *Outcome) {
	values := map[int]string{}
	cpus := v.reserved.Intersect(v.top.Online)
	if len(cpus) == 0 {
		o := unknown("", "none of the reserved CPUs is online")
		return nil, &o
	}
	for _, id := range cpus {
		s, bad := v.word(fmt.Sprintf("%s/cpu%d/%s", cpuDir, id, file))
		if bad != nil {
			return nil, bad
		}
		values[id] = s
	}
	return values, nil
}

// cores groups the reserved CPUs by physical core. A slot takes one CPU of a core, so the number of
// cores is what can be leased.
func (f facts) cores(within cpuset.Set) int {
	cores := map[int]bool{}
	for _, id := range f.reserved.Intersect(within) {
		if c, ok := f.top.CPU(id); ok {
			cores[c.Core] = true
		}
	}
	return len(cores)
}

func (f facts) describe() Host {
	return Host{
		Name: f.optional("/proc/sys/kernel/hostname"), Kernel: f.top.Kernel, CPUModel: f.top.Model,
		Class: f.class.String(), CPUs: len(f.top.Online), NUMANodes: len(f.top.Nodes),
		Isolation: f.top.IsolationKind(), Turbo: string(f.turbo.Value),
	}
}

// class is what kind of machine this is. Both can be set: a container in a virtual machine.
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

// classPaths are looked at in turn; each speaks for itself, none is needed.
func classPaths() []string {
	return append(virt.Paths(), "/proc/2/stat", "/run/.containerenv", "/.dockerenv", "/proc/1/environ")
}

func classify(h hostfs.FS) class {
	f := facts{fs: h}
	c := class{hypervisor: virt.Hypervisor(h)}
	switch env := f.optional("/proc/1/environ"); {
	case strings.Contains(f.optional("/proc/2/stat"), "(kthreadd)"):
		// Who sees kthreadd is in the host's own PID namespace. Virtual machines whose disk was made
		// from a container image still carry the marks below.
	case h.Exists("/run/.containerenv"):
		c.container = "podman"
	case h.Exists("/.dockerenv"):
		c.container = "docker"
	default:
		// Only this one variable is looked at; the rest of the environment is not ours to show.
		for e := range strings.SplitSeq(env, "\x00") {
			if name, ok := strings.CutPrefix(e, "container="); ok && name != "" {
				c.container = name
			}
		}
	}
	return c
}
