package doctor

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"judged/internal/base/cpuset"
)

// mode is how the host's control groups are mounted. The same remedy has other files in each, and a path of another
// mode is a danger: below /sys/fs/cgroup of v1 and hybrid hosts is a tmpfs, in which a write makes a plain file.
type mode string

const (
	unified mode = "v2"
	hybrid  mode = "hybrid" // v1 with a v2 mount that has no controller
	legacy  mode = "v1"
	absent  mode = "none"
)

// groups is what remedies that concern control groups depend on.
type groups struct {
	mode    mode
	point   string // where v2 is mounted, on unified hosts
	systemd bool   // process 1 is systemd, so that its groups are set through it
}

const cgroupDir = "/sys/fs/cgroup"

func (f facts) examineGroups() groups {
	g := groups{mode: absent}
	v1, v2 := f.hierarchies()
	v1Has := slices.ContainsFunc(needed(), func(c string) bool { return v1[c].point != "" })
	switch {
	case v2 != nil && !v1Has:
		g.mode, g.point = unified, v2.point
	case v2 != nil:
		g.mode = hybrid
	case v1Has:
		g.mode = legacy
	}
	g.systemd = slices.ContainsFunc(f.tasks, func(t task) bool { return t.pid == 1 && t.comm == "systemd" })
	return g
}

// setFile is a command that shows the value it replaces. It fails where there is no such file: the shell would make one.
func setFile(value, file string) string {
	return fmt.Sprintf("cat %[1]s && echo %[2]s > %[1]s", file, value)
}

// imagined are the hosts that a remedy is explained for where no host is looked at.
func imagined() []facts {
	var all []facts
	for _, g := range []groups{{unified, cgroupDir, true}, {mode: legacy}} {
		all = append(all, facts{groups: g})
	}
	return all
}

// explainFix is a check's remedy for any host: in each mode where that makes a difference.
func (c check) explainFix() Fix {
	if c.mend == nil || len(c.fix.Runtime) > 0 {
		return c.fix
	}
	hosts := imagined()
	v2, v1 := c.mend(hosts[0]), c.mend(hosts[1])
	all := Fix{Boot: v2.Boot}
	if v1.Boot != v2.Boot {
		all.Boot = fmt.Sprintf("cgroup v2: %s; v1 and hybrid: %s", orNothing(v2.Boot), orNothing(v1.Boot))
	}
	if slices.Equal(v1.Runtime, v2.Runtime) {
		all.Runtime = v2.Runtime
		return all
	}
	for _, part := range []struct {
		name     string
		commands []string
	}{{"cgroup v2", v2.Runtime}, {"cgroup v1 and hybrid", v1.Runtime}} {
		if len(part.commands) == 0 {
			all.Runtime = append(all.Runtime, "# "+part.name+": nothing helps at run time")
			continue
		}
		all.Runtime = append(append(all.Runtime, "# "+part.name), part.commands...)
	}
	return all
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

// mendGroups makes the controllers available that runs need.
func mendGroups(f facts) Fix {
	const delegate = "Delegate=yes in judged's unit"
	if f.groups.mode == unified {
		return Fix{Runtime: []string{setFile(`"+cpuset +cpu +memory +pids"`, f.groups.point+"/cgroup.subtree_control")}, Boot: delegate}
	}
	fix := Fix{Boot: "systemd.unified_cgroup_hierarchy=1 on the kernel command line, " + delegate}
	if f.groups.mode == absent {
		fix.Runtime = []string{"mount -t cgroup2 cgroup2 " + cgroupDir}
		return fix
	}
	v1, _ := f.hierarchies()
	for _, c := range needed() {
		if _, mounted := v1[c]; !mounted {
			dir := cgroupDir + "/" + c
			fix.Runtime = append(fix.Runtime, fmt.Sprintf("mkdir -p %s && mount -t cgroup -o %s cgroup %s", dir, c, dir))
		}
	}
	return fix
}

// mendIsolation makes a partition, which v1 has not.
func mendIsolation(f facts) Fix {
	fix := Fix{Boot: "isolcpus=managed_irq,domain,{R} (for slots of one CPU only)"}
	if f.groups.mode == unified {
		group := f.groups.point + "/judged"
		fix.Runtime = []string{setFile("+cpuset", f.groups.point+"/cgroup.subtree_control"),
			fmt.Sprintf("cat %s/cgroup.controllers && mkdir -p %s", f.groups.point, group),
			setFile("{R}", group+"/cpuset.cpus"), setFile("{P}", group+"/cpuset.cpus.partition"), holds(group)}
	}
	return fix
}

// holds shows the kernel's own word about a partition, and fails where it does not keep it.
func holds(group string) string {
	return fmt.Sprintf("cat %[1]s/cpuset.cpus.partition; grep -qx {P} %[1]s/cpuset.cpus.partition   # fails if the kernel does not keep it", group)
}

// mendWidth has the CPUs of a partition balanced. What isolcpus= isolates stays so until the next boot.
func mendWidth(f facts) Fix {
	fix := Fix{Boot: "drop isolcpus= for these CPUs; keep nohz_full={R} irqaffinity={H}"}
	for _, p := range f.top.Partitions {
		if f.groups.mode == unified && p.Type == "isolated" && p.CPUs.Overlaps(f.reserved) {
			fix.Runtime = append(fix.Runtime, setFile("root", p.Path+"/cpuset.cpus.partition"))
		}
	}
	return fix
}

// mendPartitions takes the reserved CPUs from the sibling groups of a broken partition and makes it again.
func mendPartitions(f facts) Fix {
	if f.groups.mode != unified {
		return Fix{}
	}
	var fix Fix
	_, broken := f.partitions(f.groups.point)
	for _, group := range broken {
		fix.Runtime = append(fix.Runtime, "cat "+group+"/cpuset.cpus.partition   # names the reason in parentheses")
		beside, _ := f.fs.Glob(path.Dir(group) + "/*/cpuset.cpus")
		for _, file := range beside {
			cpus, err := cpuset.Parse(f.optional(file))
			if dir := path.Dir(file); dir != group && err == nil && cpus.Overlaps(f.reserved) {
				fix.Runtime = append(fix.Runtime, f.narrow(dir))
			}
		}
		kind, _, _ := strings.Cut(f.optional(group+"/cpuset.cpus.partition"), " ")
		// A broken partition that is told its own type stays broken (Linux 6.1).
		fix.Runtime = append(fix.Runtime, setFile("member", group+"/cpuset.cpus.partition"), setFile(kind, group+"/cpuset.cpus.partition"),
			strings.ReplaceAll(holds(group), "{P}", kind))
	}
	return fix
}

// narrow leaves a group the CPUs that are not reserved. A group of systemd is told through it, which would write over
// the file.
func (f facts) narrow(group string) string {
	unit := path.Base(group)
	if f.groups.systemd && slices.Contains([]string{".slice", ".scope", ".service"}, path.Ext(unit)) {
		return "systemctl set-property --runtime " + unit + " AllowedCPUs={H}"
	}
	return setFile("{H}", group+"/cpuset.cpus")
}

// mendTasks moves tasks of others. AllowedCPUs= has no effect where cpuset is of v1; there, tune sets each task.
func mendTasks(f facts) Fix {
	fix := Fix{Boot: "CPUAffinity={H} in /etc/systemd/system.conf", Runtime: []string{"judged tune apply --cpus {R} --only user-tasks"}}
	if f.groups.mode == unified && f.groups.systemd {
		fix.Runtime = []string{"systemctl set-property --runtime system.slice AllowedCPUs={H}",
			"systemctl set-property --runtime user.slice AllowedCPUs={H}", "systemctl set-property --runtime init.scope AllowedCPUs={H}"}
	}
	return fix
}

// mendMems opens the nodes of this process's group, from the top down: no group may have more than the one above.
func mendMems(f facts) Fix {
	fix := Fix{Boot: "no AllowedMemoryNodes= in judged's unit and in the slices above it, no --cpuset-mems on a container"}
	v1, _ := f.hierarchies()
	switch m, ok := v1["cpuset"]; {
	case ok:
		files := upwards(m.point, f.own["cpuset"], "cpuset.mems")
		slices.Reverse(files)
		for i, file := range files[1:] {
			if f.optional(file) != f.optional(files[i]) {
				fix.Runtime = append(fix.Runtime, setFile("$(cat "+files[i]+")", file))
			}
		}
	case f.groups.mode == unified:
		files := upwards(f.groups.point, f.own[""], "cpuset.mems")
		slices.Reverse(files)
		for i, file := range files[1:] {
			// Empty would stand for the same, and is refused where processes are in the group.
			if above := files[i] + ".effective"; f.optional(file) != "" && f.optional(file) != f.optional(above) {
				fix.Runtime = append(fix.Runtime, setFile("$(cat "+above+")", file))
			}
		}
	}
	return fix
}

// mendThrottle lifts the limits that were found.
func mendThrottle(f facts) Fix {
	fix := Fix{Boot: "no CPUQuota= and no MemoryHigh= in judged's unit and in the slices above it, no --cpus limit on a container"}
	for _, file := range f.throttleFiles() {
		if !throttles(f.optional(file)) {
			continue
		}
		none := "max"
		if path.Base(file) == quotaV1 {
			none = "-1"
		}
		fix.Runtime = append(fix.Runtime, setFile(none, file))
	}
	return fix
}

// mendReservedPages gives huge pages back; only v2 can count them.
func mendReservedPages(f facts) Fix {
	fix := Fix{Runtime: []string{"for f in /sys/kernel/mm/hugepages/*/nr_hugepages /sys/kernel/mm/hugepages/*/nr_overcommit_hugepages; do echo 0 > $f; done"},
		Boot: "no hugepages= on the kernel command line, no vm.nr_hugepages in /etc/sysctl.d"}
	if f.groups.mode == unified {
		fix.Boot += "; or, from 6.7 on, mount -o remount,memory_hugetlb_accounting " + f.groups.point
	}
	return fix
}

// mendSiblings takes the siblings off that were found.
func mendSiblings(f facts) Fix {
	fix := Fix{Boot: "nosmt, or reserve whole cores"}
	if busy := f.busySiblings(); len(busy) > 0 {
		fix.Runtime = []string{"for c in " + words(busy) + "; do echo 0 > /sys/devices/system/cpu/cpu$c/online; done"}
	}
	return fix
}

// words are the CPUs of a set for a loop of the shell.
func words(set cpuset.Set) string { return strings.Trim(fmt.Sprint([]int(set)), "[]") }

// mendTurbo names the switch that the host has.
func mendTurbo(f facts) Fix {
	fix := Fix{Boot: "switch turbo or core performance boost off in the firmware"}
	switch {
	case f.fs.Exists(cpuDir + "/intel_pstate/no_turbo"):
		fix.Runtime = []string{"echo 1 > " + cpuDir + "/intel_pstate/no_turbo"}
	case f.fs.Exists(cpuDir + "/cpufreq/boost"):
		fix.Runtime = []string{"echo 0 > " + cpuDir + "/cpufreq/boost"}
	}
	return fix
}
