package cgroup

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/containerd/cgroups/v3"

	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
)

// Mode is how a host's hierarchies are mounted.
type Mode string

// The possible modes.
const (
	Unified Mode = "v2"
	Hybrid  Mode = "hybrid"
	Legacy  Mode = "v1"
)

// root is where every distribution mounts the hierarchies, and the only path that containerd/cgroups supports.
const root = "/sys/fs/cgroup"

// Hierarchies are the control group hierarchies mounted on this host, and where trees are created in them.
type Hierarchies struct {
	Mode Mode
	fs   hostfs.FS
	v2   string            // mount point of the v2 hierarchy, or ""
	v1   map[string]string // mount points of the v1 controllers that are used
	base map[string]string // hierarchy, "" for v2 -> parent folder of trees

	// own is the partition created by judged tune, with its CPUs; "" if it does not exist.
	own     string
	ownCPUs cpuset.Set
}

// partitionName is the name of the group that judged tune creates below the root. Slots on its CPUs must be
// below it, because the kernel gives these CPUs to no other group.
const partitionName = "judged"

// leafName is the group that judged moves into when its own group must not contain processes.
const leafName = "daemon"

// weightController is the v1 controller with the weight of preferred slots, which judged does not need.
const weightController = "cpu"

// v1Controllers returns the controllers that a run needs on a host without v2 controllers. cpuacct measures CPU
// time only if there is no v2 group.
func v1Controllers(m Mode) []string {
	if m == Legacy {
		return []string{"cpuset", "memory", "pids", "cpuacct"}
	}
	return []string{"cpuset", "memory", "pids"}
}

// Detect inspects the host. Its error names the missing controller and how to enable it.
func Detect(fs hostfs.FS) (*Hierarchies, error) {
	h := &Hierarchies{fs: fs, v1: map[string]string{}, base: map[string]string{}}
	switch cgroups.Mode() {
	case cgroups.Unified:
		h.Mode, h.v2 = Unified, root
	case cgroups.Hybrid:
		h.Mode, h.v2 = Hybrid, root+"/unified"
	case cgroups.Legacy:
		h.Mode = Legacy
	default:
		return nil, fmt.Errorf("find control groups: no cgroup file system on %s; mount cgroup2 there", root)
	}
	own, err := fs.Read("/proc/self/cgroup")
	if err != nil {
		return nil, fmt.Errorf("read own control groups: %w", err)
	}
	if h.Mode == Unified {
		return h, h.detectV2(hostfs.Cgroups(own)[""])
	}
	return h, h.detectV1(hostfs.Cgroups(own))
}

func (h *Hierarchies) detectV2(own string) error {
	have, err := h.fs.Read(filepath.Join(h.v2, "cgroup.controllers"))
	if err != nil {
		return fmt.Errorf("read v2 controllers: %w", err)
	}
	for _, c := range []string{"cpuset", "memory", "pids"} {
		if !strings.Contains(" "+have+" ", " "+c+" ") {
			return fmt.Errorf("find control groups: v2 controller %q is not available in %s; boot without "+
				"cgroup_disable=%s and with no v1 mount of it", c, h.v2, c)
		}
	}
	// A group with processes cannot enable controllers for its children (the "no internal processes" rule). A unit
	// with Delegate= contains only judged, which moves into a leaf; so does the first process of a container, whose
	// root is a group like any other. Otherwise trees are below the root, which is exempt from the rule, and which
	// also holds the kernel's threads.
	h.base[""] = h.v2
	dir := filepath.Join(h.v2, own)
	switch {
	case !h.alone(dir):
	case filepath.Base(own) == leafName: // it has moved before
		h.base[""] = filepath.Dir(dir)
	default:
		leaf := filepath.Join(dir, leafName)
		if err := os.Mkdir(h.fs.Path(leaf), 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return fmt.Errorf("create control group for judged: %w", err)
		}
		if err := h.fs.Write(filepath.Join(leaf, "cgroup.procs"), "0"); err != nil {
			return fmt.Errorf("move judged into its control group: %w", err)
		}
		h.base[""] = dir
	}
	return h.findPartition()
}

// findPartition finds a valid partition. An invalid one is treated as an ordinary group.
func (h *Hierarchies) findPartition() error {
	dir := filepath.Join(h.v2, partitionName)
	kind, err := h.fs.Read(filepath.Join(dir, "cpuset.cpus.partition"))
	if err != nil || kind != "root" && kind != "isolated" {
		return nil
	}
	cpus, err := h.fs.Read(filepath.Join(dir, "cpuset.cpus.effective"))
	if err == nil {
		h.ownCPUs, err = cpuset.Parse(cpus)
	}
	if err != nil {
		return fmt.Errorf("read partition %s: %w", dir, err)
	}
	h.own = dir
	return nil
}

// baseOf returns the parent folder for the tree of a slot on the given CPUs.
func (h *Hierarchies) baseOf(hierarchy string, cpus cpuset.Set) string {
	if hierarchy == "" && h.own != "" && cpus.IsSubsetOf(h.ownCPUs) {
		return h.own
	}
	return h.base[hierarchy]
}

// bases returns all folders that may contain a tree.
func (h *Hierarchies) bases() []string {
	all := slices.Collect(maps.Values(h.base))
	if h.own != "" {
		all = append(all, h.own)
	}
	return all
}

// alone reports whether this process is the only one in a group.
func (h *Hierarchies) alone(dir string) bool {
	procs, err := h.fs.Read(filepath.Join(dir, "cgroup.procs"))
	return err == nil && procs == strconv.Itoa(os.Getpid())
}

func (h *Hierarchies) detectV1(own map[string]string) error {
	for _, c := range v1Controllers(h.Mode) {
		mount := filepath.Join(root, c)
		if !h.fs.Exists(mount + "/tasks") {
			return fmt.Errorf("find control groups: v1 controller %q is not mounted on %s; mount it with: mount -t "+
				"cgroup -o %s cgroup %s", c, mount, c, mount)
		}
		h.v1[c] = mount
		// Below judged's own group, so that limits set on judged hold for runs too.
		h.base[c] = filepath.Join(mount, own[c])
	}
	if h.Mode == Hybrid {
		h.base[""] = filepath.Join(h.v2, own[""])
		// Only where judged is in one group of both: outside of its unit it changes nothing. A legacy host may mount it
		// together with cpuacct, whose groups are those of single runs.
		mount := filepath.Join(root, weightController)
		if own[weightController] == own["pids"] && h.fs.Exists(mount+"/cpu.shares") {
			h.v1[weightController], h.base[weightController] = mount, filepath.Join(mount, own[weightController])
		}
	}
	return nil
}
