package doctor

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
	"judged/internal/host/settings"
)

// mode is how the host's control groups are mounted. The files of a fix depend on it, and paths of the wrong
// mode are dangerous: on v1 and hybrid hosts /sys/fs/cgroup is a tmpfs, in which a write creates a regular
// file.
type mode string

const (
	unified mode = "v2"
	hybrid  mode = "hybrid" // v1, and a v2 mount without controllers
	legacy  mode = "v1"
	absent  mode = "none"
)

// groups holds the state that fixes of control groups depend on.
type groups struct {
	mode    mode
	point   string // mount point of v2, on unified hosts
	systemd bool   // process 1 is systemd, which manages the groups
}

const cgroupDir = "/sys/fs/cgroup"

func (f facts) examineGroups() groups {
	g := groups{mode: absent}
	v1, v2 := f.hierarchies()
	v1Has := slices.ContainsFunc(needed(), func(c string) bool { return v1[c].Point != "" })
	switch {
	case v2 != nil && !v1Has:
		g.mode, g.point = unified, v2.Point
	case v2 != nil:
		g.mode = hybrid
	case v1Has:
		g.mode = legacy
	}
	g.systemd = slices.ContainsFunc(f.tasks, func(t hostfs.Thread) bool { return t.PID == 1 && t.Name == "systemd" })
	return g
}

// ticking holds the permanent fixes for kernels built without CONFIG_NO_HZ_FULL, which ignore nohz_full=.
var ticking = map[string]string{
	"width-vs-isolation": "drop isolcpus= for these CPUs; keep irqaffinity={H}",
	"nohz-full":          "a kernel that is built with CONFIG_NO_HZ_FULL",
	"rcu-offload":        "rcu_nocbs={R}",
	"wq-unbound":         "isolcpus=domain,{R}: the kernel then starts with this mask",
	"kthreads":           "isolcpus=domain,{R}: new kernel threads then start on the other CPUs",
	"time-accounting":    "a kernel with CONFIG_VIRT_CPU_ACCOUNTING_GEN and CONFIG_SCHEDSTATS",
}

// fix returns the fix of a setting on this host. Commands in the catalogue are used only for explanations
// without a host.
func (f facts) fix(s settings.Setting) api.DoctorFix {
	fix := api.DoctorFix{Runtime: s.Commands(), Boot: s.Boot}
	if boot, ok := ticking[s.ID]; ok && !f.FS.Exists(nohzFull) {
		fix.Boot = boot
	}
	switch s.ID {
	case "cgroup-ready":
		return fixControllers(f)
	case "sched-isolated":
		fix.Runtime = f.isolate()
	case "width-vs-isolation":
		fix.Runtime = f.balance()
	case "partition-valid":
		fix.Runtime = f.revalidate()
	case "user-tasks":
		fix.Runtime = f.confine(fix.Runtime)
	case "slot-mems":
		fix.Runtime = f.openNodes()
	case "cpu-throttle-config":
		fix.Runtime = f.liftQuotas()
	case "hugetlb-reserved":
		if f.groups.mode == unified { // they can be listed only with v2
			fix.Boot += "; or, since 6.7, mount -o remount,memory_hugetlb_accounting " + f.groups.point
		}
	case "smt-sibling-free":
		fix.Runtime = nil
		if busy := f.busySiblings(); len(busy) > 0 {
			fix.Runtime = []string{"for c in " + settings.Spaced(busy) +
				"; do echo 0 > /sys/devices/system/cpu/cpu$c/online; done"}
		}
	case "turbo-off":
		fix.Runtime = nil
		for _, v := range s.Values {
			if v.To != "" && f.FS.Exists(v.Pattern) && fix.Runtime == nil {
				fix.Runtime = []string{"echo " + v.To + " > " + v.Pattern}
			}
		}
	}
	return fix
}

// explainFix returns the fix of a setting for any host: for each mode of control groups if they differ and the
// catalogue has no commands.
func explainFix(s settings.Setting) api.DoctorFix {
	if s.ID != "cgroup-ready" && s.ID != "sched-isolated" && s.ID != "user-tasks" {
		return api.DoctorFix{Runtime: s.Commands(), Boot: s.Boot}
	}
	v2, v1 := (facts{groups: groups{unified, cgroupDir, true}}).fix(s), (facts{groups: groups{mode: legacy}}).fix(s)
	all := api.DoctorFix{Boot: v2.Boot, Runtime: append([]string{"# cgroup v2"}, v2.Runtime...)}
	if v1.Boot != v2.Boot {
		all.Boot = "cgroup v2: " + v2.Boot + "; v1 and hybrid: " + v1.Boot
	}
	if len(v1.Runtime) == 0 {
		all.Runtime = append(all.Runtime, "# cgroup v1 and hybrid: no fix at run time")
		return all
	}
	all.Runtime = append(append(all.Runtime, "# cgroup v1 and hybrid"), v1.Runtime...)
	return all
}

// fixControllers enables the controllers that runs need.
func fixControllers(f facts) api.DoctorFix {
	const delegate = "Delegate=yes in judged's unit"
	if f.groups.mode == unified {
		return api.DoctorFix{Runtime: []string{settings.SetFile(`"+cpuset +cpu +memory +pids"`,
			f.groups.point+"/cgroup.subtree_control")}, Boot: delegate}
	}
	fix := api.DoctorFix{Boot: "systemd.unified_cgroup_hierarchy=1 on the kernel command line, " + delegate}
	if f.groups.mode == absent {
		fix.Runtime = []string{"mount -t cgroup2 cgroup2 " + cgroupDir}
		return fix
	}
	v1, _ := f.hierarchies()
	for _, c := range needed() {
		if _, mounted := v1[c]; !mounted {
			dir := cgroupDir + "/" + c
			fix.Runtime = append(fix.Runtime, fmt.Sprintf("mkdir -p %s && mount -t cgroup -o %s cgroup %s", dir, c,
				dir))
		}
	}
	return fix
}

// isolate returns commands that create a partition, which v1 does not support.
func (f facts) isolate() []string {
	if f.groups.mode != unified {
		return nil
	}
	group := f.groups.point + "/judged"
	return []string{settings.SetFile("+cpuset", f.groups.point+"/cgroup.subtree_control"),
		fmt.Sprintf("cat %s/cgroup.controllers && mkdir -p %s", f.groups.point, group),
		settings.SetFile("{R}", group+"/cpuset.cpus"), settings.SetFile("{P}", group+"/cpuset.cpus.partition"),
		settings.CheckPartition(group)}
}

// balance returns commands that make the scheduler balance the CPUs of a partition. CPUs isolated by isolcpus=
// stay isolated until the next boot.
func (f facts) balance() (commands []string) {
	for _, p := range f.Topology.Partitions {
		if f.groups.mode == unified && p.Type == "isolated" && p.CPUs.Overlaps(f.Reserved) {
			commands = append(commands, settings.SetFile("root", p.Path+"/cpuset.cpus.partition"))
		}
	}
	return commands
}

// revalidate returns commands that remove the reserved CPUs from the sibling groups of a broken partition and
// set its type again.
func (f facts) revalidate() (commands []string) {
	if f.groups.mode != unified {
		return nil
	}
	_, broken := f.partitions(f.groups.point)
	for _, group := range broken {
		commands = append(commands, "cat "+group+"/cpuset.cpus.partition   # shows the reason in parentheses")
		for _, file := range f.Glob(path.Dir(group) + "/*/cpuset.cpus") {
			cpus, err := cpuset.Parse(f.Optional(file))
			if dir := path.Dir(file); dir != group && err == nil && cpus.Overlaps(f.Reserved) {
				commands = append(commands, f.narrow(dir))
			}
		}
		kind, _, _ := strings.Cut(f.Optional(group+"/cpuset.cpus.partition"), " ")
		// Setting a broken partition to its current type has no effect (Linux 6.1).
		commands = append(commands, settings.SetFile("member", group+"/cpuset.cpus.partition"),
			settings.SetFile(kind, group+"/cpuset.cpus.partition"),
			strings.ReplaceAll(settings.CheckPartition(group), "{P}", kind))
	}
	return commands
}

// narrow returns a command that limits a group to the CPUs that are not reserved. systemd would overwrite files
// of its groups.
func (f facts) narrow(group string) string {
	unit := path.Base(group)
	if f.groups.systemd && slices.Contains([]string{".slice", ".scope", ".service"}, path.Ext(unit)) {
		return "systemctl set-property --runtime " + unit + " AllowedCPUs={H}"
	}
	return settings.SetFile("{H}", group+"/cpuset.cpus")
}

// confine returns commands that keep other tasks off the reserved CPUs. AllowedCPUs= has no effect with cpuset
// v1; there, tune sets the affinity of each task.
func (f facts) confine(tune []string) []string {
	if f.groups.mode != unified || !f.groups.systemd {
		return tune
	}
	var commands []string
	for _, unit := range []string{"system.slice", "user.slice", "init.scope"} {
		commands = append(commands, "systemctl set-property --runtime "+unit+" AllowedCPUs={H}")
	}
	return commands
}

// openNodes returns commands that add memory nodes to this process's group, starting at the root, because a
// group cannot have more than its parent.
func (f facts) openNodes() (commands []string) {
	v1, _ := f.hierarchies()
	m, ok := v1["cpuset"]
	point, own, suffix := m.Point, f.own["cpuset"], ""
	if !ok {
		point, own, suffix = f.groups.point, f.own[""], ".effective"
	}
	if !ok && f.groups.mode != unified {
		return nil
	}
	files := upwards(point, own, "cpuset.mems")
	slices.Reverse(files)
	for i, file := range files[1:] {
		// With v2 an empty file means the nodes of the parent, but the kernel rejects an empty value while the
		// group has processes.
		parent, now := files[i]+suffix, f.Optional(file)
		if now != f.Optional(parent) && (ok || now != "") {
			commands = append(commands, settings.SetFile("$(cat "+parent+")", file))
		}
	}
	return commands
}

// liftQuotas returns commands that remove the limits that were found.
func (f facts) liftQuotas() (commands []string) {
	for _, file := range f.throttleFiles() {
		none := "max"
		if path.Base(file) == quotaV1 {
			none = "-1"
		}
		if throttles(f.Optional(file)) {
			commands = append(commands, settings.SetFile(none, file))
		}
	}
	return commands
}
