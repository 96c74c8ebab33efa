package doctor

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"judged/internal/api"

	"judged/internal/host/proc"
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

// hugeLabel shortens ".../node1/hugepages/hugepages-2048kB/nr_hugepages".
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
	areas, err := proc.Swaps(v.must("/proc/swaps"))
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

// swapLimit finds the file that limits swap per cgroup; with v2 every cgroup but the root has it.
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

// lookBalancing only warns where there is one node: the kernel then has nowhere to move pages.
func lookBalancing(v *view) Outcome {
	o := v.values()
	if o.Status == api.DoctorFail && len(v.Topology.Nodes) < 2 {
		o.Status = api.DoctorWarn
	}
	return o
}

// lookStack wants room for the largest stack of any problem; judged then sets the stack of each run.
func lookStack(v *view) Outcome {
	text := v.must("/proc/self/limits")
	_, hard, ok := proc.Limit(text, "Max stack size")
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
