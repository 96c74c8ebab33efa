package doctor

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"judged/internal/base/cpuset"
	"judged/internal/base/units"
	"judged/internal/host/proc"
)

// perSlot is the most common memory limit of problems: with less than that free on the node, the kernel has to reclaim
// memory during the run.
const perSlot = 256 << 20

func lookMems(v *view) Outcome {
	v.saw(nodeDir + "/node[id]/meminfo")
	file := v.memsFile()
	if file == "" {
		return skip("/proc/mounts has no cgroup with cpuset, so no file cpuset.mems exists")
	}
	text := v.must(file)
	open, err := cpuset.Parse(text)
	if err != nil {
		return unknown(text, "parse "+file+": "+err.Error())
	}
	found := "nodes " + orNone(open.String())
	for _, id := range v.Topology.NodesOf(v.Reserved) {
		n, _ := v.Topology.Node(id)
		free := proc.Meminfo(v.Optional(fmt.Sprintf("%s/node%d/meminfo", nodeDir, id)), "MemFree")
		slots := max(v.cores(n.CPUs)/v.Width, 1)
		switch {
		case !open.Contains(id) && len(open) > 0:
			return fail(found, fmt.Sprintf("judged may not use the memory of node %d, which has reserved CPUs", id))
		case free > 0 && free < units.Bytes(slots)*perSlot:
			return warn(fmt.Sprintf("%s; node %d has %d MiB free", found, id, free>>20),
				fmt.Sprintf("less than 256 MiB for each of %s", counted(slots, "slot")))
		}
	}
	if len(open) == 0 {
		return unknown(found, file+" is empty: the cgroup has the nodes of its parent")
	}
	return pass(found)
}

// memsFile is the file with the nodes that this process may use.
func (v *view) memsFile() string {
	v1, v2 := v.hierarchies()
	if m, ok := v1["cpuset"]; ok {
		return path.Join(m.Point, v.own["cpuset"], "cpuset.mems")
	}
	if v2 != nil {
		return path.Join(v2.Point, v.own[""], "cpuset.mems.effective")
	}
	return ""
}

func lookSymmetry(v *view) Outcome {
	v.saw(nodeDir+"/node[id]/meminfo", "/sys/devices/system/edac/mc/mc[id]/dimm[id]/size")
	controllers := map[string]string{}
	files := v.Glob("/sys/devices/system/edac/mc/mc[0-9]*/dimm*/size")
	for _, f := range files {
		// Empty slots are listed with size 0.
		if size := v.Optional(f); size != "0" {
			mc := path.Base(path.Dir(path.Dir(f)))
			controllers[mc] = strings.TrimSpace(controllers[mc] + " " + size)
		}
	}
	var least, most units.Bytes
	nodes := v.Topology.NodesOf(v.Reserved)
	for _, id := range nodes {
		n, _ := v.Topology.Node(id)
		if least == 0 || n.MemTotal < least {
			least = n.MemTotal
		}
		most = max(most, n.MemTotal)
	}
	found := fmt.Sprintf("%s of %d to %d MiB, %s", counted(len(nodes), "node"), least>>20, most>>20,
		counted(len(controllers), "memory controller"))
	switch kinds := slices.Compact(slices.Sorted(maps.Values(controllers))); {
	case len(nodes) < 2 && len(files) == 0:
		return skip("one node only, and /sys/devices/system/edac/mc does not show its modules")
	case len(kinds) > 1:
		return warn(found, "modules differ (MiB): "+strings.Join(kinds, " and "))
	case float64(least) < 0.95*float64(most):
		return warn(found, "more than 5 % between the nodes")
	default:
		return pass(found)
	}
}

func lookDivision(v *view) Outcome {
	v.saw("/proc/cpuinfo", cpuDir+"/cpu[id]/cache/index3/shared_cpu_list", "/sys/fs/resctrl/[group]/mode",
		"/sys/fs/resctrl/[group]/cpus_list")
	var shared []string
	for _, id := range v.Reserved {
		if c, ok := v.Topology.CPU(id); ok && c.L3.Overlaps(v.Housekeeping) {
			shared = append(shared, strconv.Itoa(id))
		}
	}
	switch {
	case !v.FS.Exists("/proc/cpuinfo") || !proc.HasFlag(v.Optional("/proc/cpuinfo"), "cat_l3"):
		return skip("/proc/cpuinfo has no flag cat_l3: the processor cannot partition its cache")
	case len(shared) == 0:
		return pass("no L3 is shared with other CPUs")
	case !v.FS.Exists("/sys/fs/resctrl/schemata"):
		return warn("/sys/fs/resctrl is not mounted",
			"CPU "+strings.Join(shared, ",")+" share an L3 with other work, and the processor could partition it")
	}
	var alone cpuset.Set
	groups := v.Glob("/sys/fs/resctrl/*/mode")
	for _, g := range groups {
		set, err := cpuset.Parse(v.Optional(path.Dir(g) + "/cpus_list"))
		if v.Optional(g) == "exclusive" && err == nil {
			alone = alone.Union(set)
		}
	}
	found := "exclusive groups for CPU " + orNone(alone.String())
	if missing := v.Reserved.Intersect(v.Topology.Online).Minus(alone); len(missing) > 0 {
		return warn(found, "CPU "+missing.String()+" share the ways of an L3 with other work")
	}
	return pass(found)
}
