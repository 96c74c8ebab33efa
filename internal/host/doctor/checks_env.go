package doctor

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

func environmentChecks() []check {
	return []check{{
		id: "env-class", title: "kind of machine", severity: Info,
		wanted:  "bare metal, nothing between judged and the processor",
		effect:  "a hypervisor can take the CPU away and hides frequency and caches: an idle virtual machine lost 0.67 % of a spinning core's time, a busy one 2 % with gaps of 3.2 ms (measured)",
		confirm: "systemd-detect-virt",
		fix:     Fix{Boot: "use a dedicated or bare-metal instance; run judged on the host and not in a container"},
		look:    lookClass,
	}, {
		id: "cgroup-ready", title: "control groups", severity: S1,
		wanted:  "cgroup v2 with cpuset, cpu, memory and pids available to judged",
		effect:  "without cpuset a run is not kept on its slot and its neighbours are not kept off: run times rose by 51 to 197 % under load (measured); without memory and pids limits cannot be held at all",
		confirm: "cat /sys/fs/cgroup/cgroup.controllers /sys/fs/cgroup/cgroup.subtree_control",
		mend:    mendGroups,
		look:    lookCgroups,
	}, {
		id: "cpu-throttle-config", title: "no quota above the slots", severity: S1,
		wanted:  "cpu.max and memory.high are max in judged's cgroup and in all above it",
		effect:  "a CPU quota stops a run for the rest of each 100 ms period once it is used up, memory.high makes its allocations sleep: both read as a slow program (kernel documentation, cgroup-v2)",
		confirm: "grep . /sys/fs/cgroup/*/cpu.max /sys/fs/cgroup/*/judged.service/cpu.max",
		fix: Fix{Runtime: []string{setFile("max", "/sys/fs/cgroup/GROUP/cpu.max") + "   # cgroup v2, and so memory.high",
			setFile("-1", "/sys/fs/cgroup/cpu/GROUP/cpu.cfs_quota_us") + "   # cgroup v1 and hybrid"},
			Boot: mendThrottle(facts{}).Boot},
		mend: mendThrottle,
		look: lookThrottle,
	}, {
		id: "kernel-version", title: "kernel release", severity: S1,
		wanted:  "Linux 6.3 or newer; 6.8 with partitions",
		effect:  "below 6.3 lock contention between memory cgroups blocked page faults for seconds and gave false time limits at a regional contest in 2023 (DOMjudge issue 2277); below 5.12 judged does not start: it closes descriptors by close_range (5.11) and binds mounts by mount_setattr (5.12)",
		confirm: "uname -r",
		fix:     Fix{Boot: "install a newer kernel"},
		look:    lookKernel,
	}}
}

func lookClass(v *view) Outcome {
	v.saw(classPaths()...)
	switch {
	case v.class.container != "":
		return warn("container ("+v.class.container+")", "what the host does around the container cannot be seen from inside")
	case v.class.hypervisor != "":
		return warn("virtual machine ("+v.class.hypervisor+")", "the hypervisor decides about frequency, caches and neighbours")
	default:
		return pass("bare metal")
	}
}

// needed are the controllers that a slot uses.
func needed() []string { return []string{"cpuset", "cpu", "memory", "pids"} }

func lookCgroups(v *view) Outcome {
	v.saw("/proc/mounts", "/proc/self/cgroup")
	if len(v.mounts) == 0 {
		return skip("/proc/mounts does not exist or is empty")
	}
	v1, v2 := v.hierarchies()
	if v2 != nil {
		if o, decided := v.lookUnified(*v2, v1); decided {
			return o
		}
	}
	return lookLegacy(v1, v2)
}

// hierarchies finds the mounts: of each v1 controller, and of v2.
func (f facts) hierarchies() (v1 map[string]mount, v2 *mount) {
	v1 = map[string]mount{}
	for _, m := range f.mounts {
		switch m.fstype {
		case "cgroup2":
			if v2 == nil {
				v2 = &m
			}
		case "cgroup":
			for _, o := range m.options {
				v1[o] = m
			}
		}
	}
	return v1, v2
}

// lookUnified decides where v2 has the controllers; a hybrid host mounts it with what v1 left over.
func (v *view) lookUnified(m mount, v1 map[string]mount) (Outcome, bool) {
	all, bad := v.word(m.point + "/cgroup.controllers")
	if bad != nil {
		return *bad, bad.Status == Warn
	}
	if gone := without(all); len(gone) > 0 {
		if slices.ContainsFunc(gone, func(c string) bool { return v1[c].point != "" }) {
			return Outcome{}, false
		}
		return fail("v2 with "+orNone(all), "controllers missing: "+strings.Join(gone, ", ")), true
	}
	if m.has("ro") {
		return fail("v2 on "+m.point+", read-only", "no cgroup can be made; give the container a writable, delegated cgroup"), true
	}
	own, bad := v.word(path.Join(m.point, v.own[""], "cgroup.controllers"))
	if bad != nil {
		return *bad, true
	}
	if gone := without(own); len(gone) > 0 {
		return warn("v2, but "+v.own[""]+" has only "+own, "not delegated to this process: "+strings.Join(gone, ", ")), true
	}
	enabled, bad := v.word(m.point + "/cgroup.subtree_control")
	if bad != nil {
		return *bad, true
	}
	if gone := without(enabled); len(gone) > 0 && v.own[""] != "/" {
		return warn("v2, cgroup.subtree_control: "+enabled, "not enabled below the root: "+strings.Join(gone, ", ")), true
	}
	return pass("v2 with " + strings.Join(needed(), ", ")), true
}

func lookLegacy(v1 map[string]mount, v2 *mount) Outcome {
	kind := "v1"
	if v2 != nil {
		kind = "hybrid"
	}
	var gone, closed []string
	for _, c := range needed() {
		switch m, ok := v1[c]; {
		case !ok:
			gone = append(gone, c)
		case m.has("ro"):
			closed = append(closed, c)
		}
	}
	switch {
	case len(v1) == 0 && v2 == nil:
		return fail("no cgroup file system", "none is mounted; mount cgroup2 on /sys/fs/cgroup")
	case len(gone) > 0:
		return fail(kind, "controllers missing: "+strings.Join(gone, ", "))
	case len(closed) > 0:
		return fail(kind+", read-only: "+strings.Join(closed, ", "), "no cgroup can be made; give the container a writable, delegated cgroup")
	default:
		return warn(kind+" with "+strings.Join(needed(), ", "), "judged works, but v1 has no partitions and no pressure per cgroup")
	}
}

// without returns the needed controllers that a list lacks.
func without(list string) []string {
	have := strings.Fields(list)
	return slices.DeleteFunc(needed(), func(c string) bool { return slices.Contains(have, c) })
}

// lookThrottle walks from judged's own cgroup up to the mount.
func lookThrottle(v *view) Outcome {
	_, v2 := v.hierarchies()
	v.saw("/proc/mounts", "/proc/self/cgroup")
	var limits []string
	seen := 0
	for _, f := range v.throttleFiles() {
		value, bad := v.word(f)
		if bad != nil && bad.Status == Warn {
			return *bad
		}
		if bad != nil {
			continue
		}
		seen++
		if throttles(value) {
			limits = append(limits, f+" = "+value)
		}
	}
	switch {
	case len(limits) > 0:
		return fail(strings.Join(limits, "; "), "runs are slowed down by a limit that is not theirs")
	case seen > 0:
		return pass("no quota")
	case v2 != nil && v.own[""] == "/" && !v.fs.Exists(v2.point+"/cgroup.type"):
		// The true root has neither file, and cgroup.type exists everywhere but there; inside a
		// cgroup namespace "/" is an ordinary cgroup.
		return pass("this process is in the root cgroup, which has no limits")
	default:
		return skip("no file cpu.max or cpu.cfs_quota_us exists on the way up from this process's cgroup")
	}
}

// quotaV1 is v1's file of the CPU quota.
const quotaV1 = "cpu.cfs_quota_us"

// throttleFiles are those that can slow this process down, from its own groups up.
func (f facts) throttleFiles() []string {
	var files []string
	v1, v2 := f.hierarchies()
	if m, ok := v1["cpu"]; ok {
		files = append(files, upwards(m.point, f.own["cpu"], quotaV1)...)
	}
	if v2 != nil {
		files = append(files, upwards(v2.point, f.own[""], "cpu.max")...)
		files = append(files, upwards(v2.point, f.own[""], "memory.high")...)
	}
	return files
}

// throttles reports whether such a file holds a limit: v2 writes "max 100000" for none, v1 -1.
func throttles(value string) bool {
	first, _, _ := strings.Cut(value, " ")
	return first != "" && first != "max" && first != "-1"
}

// upwards lists the file in a cgroup and in every one above it. A path that leads out of the cgroup
// namespace ("/../x") is cut at the mount.
func upwards(mountPoint, own, file string) []string {
	var files []string
	for dir := path.Clean("/" + own); ; dir = path.Dir(dir) {
		files = append(files, path.Join(mountPoint, dir, file))
		if dir == "/" {
			return files
		}
	}
}

func lookKernel(v *view) Outcome {
	text, bad := v.word("/proc/sys/kernel/osrelease")
	if bad != nil {
		return *bad
	}
	major, minor, ok := release(text)
	older := func(a, b int) bool { return major < a || major == a && minor < b }
	switch {
	case !ok:
		return unknown(text, fmt.Sprintf("%q does not begin with a version", text))
	case older(5, 12):
		return fail(text, "below 5.12, judged does not start: close_range and mount_setattr are missing")
	case older(6, 3):
		return warn(text, "below 6.3, page faults can wait for the locks of other cgroups")
	case older(6, 8) && len(v.top.PartitionIsolated) > 0:
		return warn(text, "below 6.8, an isolated partition does not keep unbound kernel workers away")
	default:
		return pass(text)
	}
}
