package doctor

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"judged/internal/base/cpuset"
)

func schedulerChecks() []check {
	return []check{{
		id: "partition-valid", title: "partitions that hold", severity: S1,
		wanted:  "cpuset.cpus.partition of every cgroup with CPU {R} reads root or isolated, not invalid",
		effect:  "an invalid partition is no partition, though the write that made it succeeded: spread of 20 runs 375 -> 2230 ms without isolation (published experiment)",
		confirm: "grep . /sys/fs/cgroup/*/cpuset.cpus.partition",
		fix: Fix{Runtime: []string{"cat /sys/fs/cgroup/judged/cpuset.cpus.partition   # names the reason in parentheses; only cgroup v2 has partitions",
			"systemctl set-property --runtime system.slice AllowedCPUs={H}", setFile("member", "/sys/fs/cgroup/judged/cpuset.cpus.partition"),
			setFile("{P}", "/sys/fs/cgroup/judged/cpuset.cpus.partition"),
			holds("/sys/fs/cgroup/judged")}},
		mend: mendPartitions,
		look: lookPartitions,
	}, {
		id: "autogroup", title: "automatic groups of the scheduler", severity: S2,
		wanted:  "off, or CPU {R} isolated",
		effect:  "where runs share a CPU, nice has no effect between sessions: with nice -20 wall time was 937 ms, without 957 (measured)",
		confirm: "cat /proc/sys/kernel/sched_autogroup_enabled",
		fix:     Fix{Runtime: []string{"echo 0 > /proc/sys/kernel/sched_autogroup_enabled"}, Boot: "noautogroup"},
		look:    lookAutogroup,
	}, {
		id: "rt-throttle", title: "real-time tasks on reserved CPUs", severity: S1,
		wanted:  "no task of policy SCHED_FIFO or SCHED_RR may run on CPU {R}, but for the kernel's own",
		effect:  "such a task keeps a run off its CPU for up to 950 ms of each second, what kernel.sched_rt_runtime_us leaves it (kernel documentation, sched-rt-group)",
		confirm: "ps -eLo cls,psr,comm | grep -E 'FF|RR'",
		fix:     Fix{Runtime: []string{"judged tune apply --cpus {R} --only user-tasks"}, Boot: "CPUAffinity={H} in /etc/systemd/system.conf"},
		look:    lookRealTime,
	}}
}

func lookPartitions(v *view) Outcome {
	_, v2 := v.hierarchies()
	if v2 == nil {
		return skip("/proc/mounts has no cgroup v2, so no file cpuset.cpus.partition exists")
	}
	v.saw(v2.point + "/[cgroup]/cpuset.cpus.partition")
	held, broken := v.partitions(v2.point)
	for _, list := range [][]string{held, broken} {
		for i, dir := range list {
			list[i] = strings.TrimPrefix(dir, v2.point) + ": " + v.optional(dir+"/cpuset.cpus.partition")
		}
	}
	switch {
	case len(broken) > 0:
		return fail(listed(broken), "the kernel does not keep others out of "+counted(len(broken), "partition"))
	case len(held) > 0:
		return pass(listed(held))
	default:
		return skip("no " + v2.point + "/[cgroup]/cpuset.cpus.partition makes a partition of reserved CPUs")
	}
}

// partitions are the groups that are to be partitions of reserved CPUs: those that the kernel keeps, and the others.
func (f facts) partitions(point string) (held, broken []string) {
	for _, level := range []string{"/*", "/*/*"} {
		// An unreadable pattern cannot happen but for a mount point with a bracket in its name.
		files, _ := f.fs.Glob(point + level + "/cpuset.cpus.partition")
		for _, file := range files {
			kind, dir := f.optional(file), path.Dir(file)
			cpus, err := cpuset.Parse(f.optional(dir + "/cpuset.cpus"))
			switch {
			case kind == "" || kind == "member" || err == nil && len(cpus) > 0 && !cpus.Overlaps(f.reserved):
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
	s, bad := v.word("/proc/sys/kernel/sched_autogroup_enabled")
	switch {
	case bad != nil:
		return *bad
	case s == "0":
		return pass("off")
	case len(v.reserved.Minus(v.alone())) == 0:
		return pass("on, without effect on isolated CPUs")
	default:
		return warn("on", "weights between runs and other sessions do not follow nice")
	}
}

// alone are the CPUs that the scheduler gives to nobody by itself: a partition of type root keeps
// everybody else out as well; only inside it is balanced.
func (f facts) alone() cpuset.Set {
	alone := f.top.Isolated
	for _, p := range f.top.Partitions {
		if p.Type == "root" {
			alone = alone.Union(p.CPUs)
		}
	}
	return alone
}

func lookRealTime(v *view) Outcome {
	s, bad := v.word("/proc/sys/kernel/sched_rt_runtime_us")
	if bad != nil {
		return *bad
	}
	blind := v.blind()
	var names []string
	for _, t := range v.tasks {
		label := fmt.Sprintf("%s (%s)", t.comm, t.allowed)
		if !t.kernel() && t.realTime && t.allowed.Overlaps(v.reserved) && !slices.Contains(names, label) {
			names = append(names, label)
		}
	}
	slices.Sort(names)
	switch {
	case len(names) > 0 && s == "-1":
		return fail(listed(names), "they may keep a run off its CPU for ever: kernel.sched_rt_runtime_us is -1")
	case len(names) > 0:
		return warn(listed(names), "they go before every run, up to "+s+" us of each second")
	case blind != "":
		return unknown("", blind)
	default:
		return pass("none")
	}
}
