package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/base/text"
	"judged/internal/base/units"
	"judged/internal/host/hostfs"
)

func lookReservedPages(v *view) Outcome {
	const dir = "/sys/kernel/mm/hugepages"
	v.saw(dir+"/[size]/{nr,nr_overcommit,surplus}_hugepages",
		nodeDir+"/node[id]/hugepages/[size]/{nr,surplus}_hugepages", "/proc/mounts")
	var held []string
	seen := 0
	for _, p := range []string{dir + "/hugepages-*/nr_hugepages", dir + "/hugepages-*/nr_overcommit_hugepages",
		dir + "/hugepages-*/surplus_hugepages",
		nodeDir + "/node[0-9]*/hugepages/hugepages-*/nr_hugepages", nodeDir +
			"/node[0-9]*/hugepages/hugepages-*/surplus_hugepages"} {
		for _, f := range v.Glob(p) {
			text, err := v.FS.Read(f)
			if err != nil {
				return refusal(f, err)
			}
			seen++
			if text != "0" {
				held = append(held, hugeLabel(f)+" "+text)
			}
		}
	}
	v1, v2 := v.hierarchies()
	_, legacy := v1["memory"]
	accounted := !legacy && v2 != nil && v2.Has("memory_hugetlb_accounting")
	switch {
	case seen == 0:
		return skip(dir + " does not exist")
	case len(held) > 0 && accounted:
		return pass(listed(held) + "; counted by the memory cgroup")
	case len(held) > 0:
		return fail(listed(held), "the memory cgroup does not count them: a run can use them beyond its limit")
	default:
		return pass("none")
	}
}

// hugeLabel shortens a path such as ".../node1/hugepages/hugepages-2048kB/nr_hugepages".
func hugeLabel(file string) string {
	size := strings.TrimPrefix(path.Base(path.Dir(file)), "hugepages-")
	label := size + " " + strings.TrimSuffix(path.Base(file), "_hugepages")
	if node := path.Base(path.Dir(path.Dir(path.Dir(file)))); strings.HasPrefix(node, "node") {
		label = node + " " + label
	}
	return label
}

func lookCompaction(v *view) Outcome {
	o := v.values()
	for _, t := range v.tasks {
		if t.Kernel() && strings.HasPrefix(t.Name,
			"kdamond") && t.Allowed.Overlaps(v.Reserved) && o.Status != api.DoctorSkip {
			return warn(o.Found, strings.TrimPrefix(o.Reason+"; "+t.Name+" may run on CPU "+t.Allowed.String(), "; "))
		}
	}
	return o
}

func lookSwap(v *view) Outcome {
	areas, err := hostfs.Swaps(v.must("/proc/swaps"))
	var names []string
	for _, a := range areas {
		names = append(names, a.Path)
	}
	switch {
	case err != nil:
		return unknown("", err.Error())
	case len(areas) == 0:
		return pass("none")
	case v.swapLimit() != "":
		return warn(listed(names), path.Base(v.swapLimit())+" keeps runs out of it, but not their checkers and not "+
			"judged")
	default:
		return fail(listed(names), "no cgroup of this host has memory.swap.max or memory.memsw.limit_in_bytes to keep "+
			"runs out of it")
	}
}

// swapLimit returns the file that limits swap per cgroup. With v2 all cgroups except the root have it.
func (v *view) swapLimit() string {
	v1, v2 := v.hierarchies()
	var patterns []string
	if v2 != nil {
		patterns = append(patterns, path.Join(v2.Point, v.own[""], "memory.swap.max"), v2.Point+"/*/memory.swap.max")
	}
	if m, ok := v1["memory"]; ok {
		patterns = append(patterns, m.Point+"/memory.memsw.limit_in_bytes")
	}
	for _, p := range patterns {
		v.saw(strings.Replace(p, "*", "[cgroup]", 1))
		if found := v.Glob(p); len(found) > 0 {
			return found[0]
		}
	}
	return ""
}

// lookBalancing only warns if there is one node, because pages cannot be moved then.
func lookBalancing(v *view) Outcome {
	o := v.values()
	if o.Status == api.DoctorFail && len(v.Topology.Nodes) < 2 {
		o.Status = api.DoctorWarn
	}
	return o
}

// lookStack checks that the stack limit allows the largest stack of any problem. judged sets the stack of each
// run.
func lookStack(v *view) Outcome {
	text := v.must("/proc/self/limits")
	_, hard, ok := hostfs.ProcessLimit(text, "Max stack size")
	if !ok {
		return unknown("", `/proc/self/limits has no line "Max stack size"`)
	}
	if hard == "unlimited" {
		return pass(hard)
	}
	bytes, err := strconv.ParseInt(hard, 10, 64)
	if err != nil {
		return unknown(hard, "the hard limit is not a number")
	}
	return warn(fmt.Sprintf("%d MiB", bytes>>20), "problems with a larger stack limit cannot be judged here")
}

// perSlot is the most common memory limit of problems. If less is free on the node, the kernel has to reclaim
// memory during the run.
const perSlot = 256 << 20

func lookMems(v *view) Outcome {
	v.saw(nodeDir + "/node[id]/meminfo")
	file := v.memsFile()
	if file == "" {
		return skip("/proc/mounts has no cgroup with cpuset, so no file cpuset.mems exists")
	}
	allowed := v.must(file)
	open, err := cpuset.Parse(allowed)
	if err != nil {
		return unknown(allowed, "parse "+file+": "+err.Error())
	}
	found := "nodes " + cmp.Or(open.String(), "none")
	for _, id := range v.Topology.NodesOf(v.Reserved) {
		n, _ := v.Topology.Node(id)
		free := hostfs.Meminfo(v.Optional(fmt.Sprintf("%s/node%d/meminfo", nodeDir, id)), "MemFree")
		slots := max(v.cores(n.CPUs)/v.Width, 1)
		switch {
		case !open.Contains(id) && len(open) > 0:
			return fail(found, fmt.Sprintf("judged may not use the memory of node %d, which has reserved CPUs", id))
		case free == 0:
			return unknown(found, fmt.Sprintf("node %d has no MemFree in its file meminfo", id))
		case free < units.Bytes(slots)*perSlot:
			return warn(fmt.Sprintf("%s; node %d has %d MiB free", found, id, free>>20),
				fmt.Sprintf("less than 256 MiB for each of %s", text.Count(slots, "slot")))
		}
	}
	if len(open) == 0 {
		return unknown(found, file+" is empty: the cgroup has the nodes of its parent")
	}
	return pass(found)
}

// memsFile returns the file that lists the memory nodes that this process may use.
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
	for i, id := range nodes {
		n, _ := v.Topology.Node(id)
		if i == 0 || n.MemTotal < least {
			least = n.MemTotal
		}
		most = max(most, n.MemTotal)
	}
	found := fmt.Sprintf("%s of %d to %d MiB, %s", text.Count(len(nodes), "node"), least>>20, most>>20,
		text.Count(len(controllers), "memory controller"))
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
	case !v.FS.Exists("/proc/cpuinfo") || !hostfs.HasCPUFlag(v.Optional("/proc/cpuinfo"), "cat_l3"):
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
	found := "exclusive groups for CPU " + cmp.Or(alone.String(), "none")
	if missing := v.Reserved.Intersect(v.Topology.Online).Minus(alone); len(missing) > 0 {
		return warn(found, "CPU "+missing.String()+" share the ways of an L3 with other work")
	}
	return pass(found)
}
