package doctor

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"judged/internal/base/cpuset"
	"judged/internal/base/units"
)

func nodeChecks() []check {
	return []check{{
		id: "slot-mems", title: "memory of the slot's own node", severity: S1,
		wanted:  "judged's cpuset.mems holds the nodes of CPU {R}, and each has 256 MiB free for every slot",
		effect:  "pages from another node cost each access the way there: spread of 20 runs 252 -> 48 ms once bound to one node (published experiment)",
		confirm: "cat /sys/fs/cgroup/cpuset.mems.effective; grep MemFree /sys/devices/system/node/node*/meminfo",
		fix: Fix{Runtime: []string{setFile("$(cat /sys/fs/cgroup/cpuset.mems.effective)", "/sys/fs/cgroup/GROUP/cpuset.mems") + "   # cgroup v2",
			setFile("$(cat /sys/fs/cgroup/cpuset/cpuset.mems)", "/sys/fs/cgroup/cpuset/GROUP/cpuset.mems") + "   # cgroup v1 and hybrid"},
			Boot: mendMems(facts{}).Boot},
		mend: mendMems,
		look: lookMems,
	}, {
		id: "node-symmetric", title: "equal memory of the nodes", severity: S2,
		wanted:  "the same modules at every memory controller, the same memory on every node of CPU {R}",
		effect:  "a node with fewer channels has less bandwidth: 0.5 to 5 % for programs that stream memory (estimate)",
		confirm: "grep MemTotal /sys/devices/system/node/node*/meminfo",
		fix:     Fix{Boot: "put modules of one kind into every channel, or reserve CPUs of one node only"},
		look:    lookSymmetry,
	}, {
		id: "resctrl", title: "division of the last-level cache", severity: S1,
		wanted:  "an L3 that is shared with others is divided: CPU {R} in a resctrl group of mode exclusive",
		effect:  "a neighbour that streams memory through the shared L3 raised CPU time of a run on its own core by 25 % (measured)",
		confirm: "grep . /sys/fs/resctrl/*/cpus_list /sys/fs/resctrl/*/mode",
		fix: Fix{Runtime: []string{"mountpoint -q /sys/fs/resctrl || mount -t resctrl resctrl /sys/fs/resctrl", "mkdir -p /sys/fs/resctrl/judged",
			"echo {R} > /sys/fs/resctrl/judged/cpus_list", "echo L3:0=fff00 > /sys/fs/resctrl/judged/schemata   # the ways of each L3",
			"echo exclusive > /sys/fs/resctrl/judged/mode"}, Boot: "rdt=l3cat,mba on the kernel command line"},
		look: lookDivision,
	}}
}

// perSlot is the memory limit that problems have most often: less than that free on the node and
// the kernel has to make room in the middle of the run.
const perSlot = 256 << 20

func lookMems(v *view) Outcome {
	v.saw(nodeDir + "/node[id]/meminfo")
	file := v.memsFile()
	if file == "" {
		return skip("/proc/mounts has no cgroup with cpuset, so no file cpuset.mems exists")
	}
	text, bad := v.word(file)
	if bad != nil {
		return *bad
	}
	open, err := cpuset.Parse(text)
	if err != nil {
		return unknown(text, "parse "+file+": "+err.Error())
	}
	found := "nodes " + orNone(open.String())
	for _, id := range v.top.NodesOf(v.reserved) {
		n, _ := v.top.Node(id)
		free := meminfoBytes(v.optional(fmt.Sprintf("%s/node%d/meminfo", nodeDir, id)), "MemFree")
		slots := max(v.cores(n.CPUs)/v.width, 1)
		switch {
		case !open.Contains(id) && len(open) > 0:
			return fail(found, fmt.Sprintf("node %d, on which reserved CPUs lie, is closed to judged", id))
		case free > 0 && free < units.Bytes(slots)*perSlot:
			return warn(fmt.Sprintf("%s; node %d has %d MiB free", found, id, free>>20), fmt.Sprintf("less than 256 MiB for each of %s", counted(slots, "slot")))
		}
	}
	if len(open) == 0 {
		return unknown(found, file+" is empty: the cgroup takes what the one above has")
	}
	return pass(found)
}

// memsFile is where the kernel says which nodes this process may use.
func (v *view) memsFile() string {
	v1, v2 := v.hierarchies()
	if m, ok := v1["cpuset"]; ok {
		return path.Join(m.point, v.own["cpuset"], "cpuset.mems")
	}
	if v2 != nil {
		return path.Join(v2.point, v.own[""], "cpuset.mems.effective")
	}
	return ""
}

// meminfoBytes finds a line of a meminfo file, of the host or of a node; 0 if there is none.
func meminfoBytes(text, key string) units.Bytes {
	for line := range strings.Lines(text) {
		if _, value, ok := strings.Cut(line, key+":"); ok {
			n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 53)
			if err != nil {
				return 0
			}
			return units.Bytes(n) << 10
		}
	}
	return 0
}

func lookSymmetry(v *view) Outcome {
	v.saw(nodeDir+"/node[id]/meminfo", "/sys/devices/system/edac/mc/mc[id]/dimm[id]/size")
	controllers := map[string]string{}
	// An unreadable pattern cannot happen: it is a constant. So below.
	files, _ := v.fs.Glob("/sys/devices/system/edac/mc/mc[0-9]*/dimm*/size")
	for _, f := range files {
		// Empty slots are listed with size 0.
		if size := v.optional(f); size != "0" {
			mc := path.Base(path.Dir(path.Dir(f)))
			controllers[mc] = strings.TrimSpace(controllers[mc] + " " + size)
		}
	}
	var least, most units.Bytes
	nodes := v.top.NodesOf(v.reserved)
	for _, id := range nodes {
		n, _ := v.top.Node(id)
		if least == 0 || n.MemTotal < least {
			least = n.MemTotal
		}
		most = max(most, n.MemTotal)
	}
	found := fmt.Sprintf("%s of %d to %d MiB, %s", counted(len(nodes), "node"), least>>20, most>>20, counted(len(controllers), "memory controller"))
	switch kinds := distinct(controllers); {
	case len(nodes) < 2 && len(files) == 0:
		return skip("there is one node, and /sys/devices/system/edac/mc does not show its modules")
	case len(kinds) > 1:
		return warn(found, "modules differ (MiB): "+strings.Join(kinds, " against "))
	case float64(least) < 0.95*float64(most):
		return warn(found, "more than 5 % between the nodes")
	default:
		return pass(found)
	}
}

func lookDivision(v *view) Outcome {
	v.saw("/proc/cpuinfo", cpuDir+"/cpu[id]/cache/index3/shared_cpu_list", "/sys/fs/resctrl/[group]/mode", "/sys/fs/resctrl/[group]/cpus_list")
	var shared []string
	for _, id := range v.reserved {
		if c, ok := v.top.CPU(id); ok && c.L3.Overlaps(v.housekeeping) {
			shared = append(shared, strconv.Itoa(id))
		}
	}
	switch {
	case v.class.hypervisor != "":
		return skip("controlled by the hypervisor")
	case !v.fs.Exists("/proc/cpuinfo") || !hasFlag(v.optional("/proc/cpuinfo"), "cat_l3"):
		return skip("/proc/cpuinfo has no flag cat_l3: the processor cannot divide its cache")
	case len(shared) == 0:
		return pass("nothing to divide: no L3 is shared with other CPUs")
	case !v.fs.Exists("/sys/fs/resctrl/schemata"):
		return warn("/sys/fs/resctrl is not mounted", "CPU "+strings.Join(shared, ",")+" share an L3 with other work, and the processor could divide it")
	}
	var alone cpuset.Set
	groups, _ := v.fs.Glob("/sys/fs/resctrl/*/mode")
	for _, g := range groups {
		set, err := cpuset.Parse(v.optional(path.Dir(g) + "/cpus_list"))
		if v.optional(g) == "exclusive" && err == nil {
			alone = alone.Union(set)
		}
	}
	found := "exclusive groups for CPU " + orNone(alone.String())
	if missing := v.reserved.Intersect(v.top.Online).Minus(alone); len(missing) > 0 {
		return warn(found, "CPU "+missing.String()+" share the ways of an L3 with other work")
	}
	return pass(found)
}
