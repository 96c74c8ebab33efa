package doctor

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"judged/internal/api"

	"judged/internal/base/cpuset"
)

func lookPartitions(v *view) Outcome {
	_, v2 := v.hierarchies()
	if v2 == nil {
		return skip("/proc/mounts has no cgroup v2, so no file cpuset.cpus.partition exists")
	}
	v.saw(v2.Point + "/[cgroup]/cpuset.cpus.partition")
	held, broken := v.partitions(v2.Point)
	for _, list := range [][]string{held, broken} {
		for i, dir := range list {
			list[i] = strings.TrimPrefix(dir, v2.Point) + ": " + v.Optional(dir+"/cpuset.cpus.partition")
		}
	}
	switch {
	case len(broken) > 0:
		return fail(listed(broken), counted(len(broken), "partition")+" invalid: they isolate nothing")
	case len(held) > 0:
		return pass(listed(held))
	default:
		return skip("no " + v2.Point + "/[cgroup]/cpuset.cpus.partition makes a partition of reserved CPUs")
	}
}

// partitions are the groups configured as partitions of reserved CPUs: the valid and the invalid ones.
func (f facts) partitions(point string) (held, broken []string) {
	for _, level := range []string{"/*", "/*/*"} {
		files := f.Glob(point + level + "/cpuset.cpus.partition")
		for _, file := range files {
			kind, dir := f.Optional(file), path.Dir(file)
			cpus, err := cpuset.Parse(f.Optional(dir + "/cpuset.cpus"))
			switch {
			case kind == "" || kind == "member" || err == nil && len(cpus) > 0 && !cpus.Overlaps(f.Reserved):
			case strings.Contains(kind, "invalid"):
				broken = append(broken, dir)
			default:
				held = append(held, dir)
			}
		}
	}
	return held, broken
}

func lookAutogroup(v *view) Outcome {
	o := v.values()
	if o.Status == api.DoctorWarn && len(v.Reserved.Minus(v.alone())) == 0 {
		return pass(o.Found + ", without effect on isolated CPUs")
	}
	return o
}

// alone are the CPUs on which the scheduler places no other task: a partition of type root keeps others out as well,
// and is balanced only inside.
func (f facts) alone() cpuset.Set {
	alone := f.Topology.Isolated
	for _, p := range f.Topology.Partitions {
		if p.Type == "root" {
			alone = alone.Union(p.CPUs)
		}
	}
	return alone
}

func lookRealTime(v *view) Outcome {
	s := v.must("/proc/sys/kernel/sched_rt_runtime_us")
	blind := v.blind()
	var names []string
	for _, t := range v.tasks {
		label := fmt.Sprintf("%s (%s)", t.Name, t.Allowed)
		if !t.Kernel() && t.RealTime && t.Allowed.Overlaps(v.Reserved) && !slices.Contains(names, label) {
			names = append(names, label)
		}
	}
	slices.Sort(names)
	switch {
	case len(names) > 0 && s == "-1":
		return fail(listed(names), "they may keep a run off its CPU forever: kernel.sched_rt_runtime_us is -1")
	case len(names) > 0:
		return warn(listed(names), "they preempt every run, for up to "+s+" us of each second")
	case blind != "":
		return unknown("", blind)
	default:
		return pass("none")
	}
}
