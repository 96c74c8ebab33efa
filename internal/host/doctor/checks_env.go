package doctor

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"judged/internal/host/hostfs"
	"judged/internal/host/machine"
)

func lookClass(v *view) Outcome {
	v.saw(classPaths()...)
	switch {
	case v.class.container != "":
		return warn("container ("+v.class.container+")", "a container does not show what the host does around it")
	case v.class.hypervisor != "":
		return warn("virtual machine ("+v.class.hypervisor+")",
			"the hypervisor controls frequency, caches and neighbours")
	case !machine.Described(v.FS):
		return unknown("no hypervisor", "/proc/cpuinfo has no flags of the processor, and the firmware "+
			"provides no device tree")
	default:
		return pass("bare metal")
	}
}

// needed returns the controllers that a slot uses.
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

// hierarchies returns the mount of each v1 controller and the mount of v2.
func (f facts) hierarchies() (v1 map[string]hostfs.Mount, v2 *hostfs.Mount) {
	v1 = map[string]hostfs.Mount{}
	for _, m := range f.mounts {
		switch m.FSType {
		case "cgroup2":
			if v2 == nil {
				v2 = &m
			}
		case "cgroup":
			for _, o := range m.Options {
				v1[o] = m
			}
		}
	}
	return v1, v2
}

// lookUnified decides for hosts whose v2 hierarchy has the controllers. On a hybrid host v2 has only the
// controllers that v1 does not use.
func (v *view) lookUnified(m hostfs.Mount, v1 map[string]hostfs.Mount) (Outcome, bool) {
	all, ok := v.try(m.Point + "/cgroup.controllers")
	if !ok {
		return Outcome{}, false
	}
	if gone := without(all); len(gone) > 0 {
		if slices.ContainsFunc(gone, func(c string) bool { return v1[c].Point != "" }) {
			return Outcome{}, false
		}
		return fail("v2 with "+cmp.Or(all, "none"), "controllers missing: "+strings.Join(gone, ", ")), true
	}
	if m.Has("ro") {
		return fail("v2 on "+m.Point+", read-only",
			"judged cannot create cgroups; give the container a writable, delegated cgroup"), true
	}
	own := v.must(path.Join(m.Point, v.own[""], "cgroup.controllers"))
	if gone := without(own); len(gone) > 0 {
		return warn("v2, but "+v.own[""]+" has only "+own, "not delegated to this process: "+strings.Join(gone, ", ")),
			true
	}
	enabled := v.must(m.Point + "/cgroup.subtree_control")
	if gone := without(enabled); len(gone) > 0 && v.own[""] != "/" {
		return warn("v2, cgroup.subtree_control: "+enabled, "not enabled below the root: "+strings.Join(gone, ", ")),
			true
	}
	return pass("v2 with " + strings.Join(needed(), ", ")), true
}

func lookLegacy(v1 map[string]hostfs.Mount, v2 *hostfs.Mount) Outcome {
	kind := "v1"
	if v2 != nil {
		kind = "hybrid"
	}
	var gone, closed []string
	for _, c := range needed() {
		switch m, ok := v1[c]; {
		case !ok:
			gone = append(gone, c)
		case m.Has("ro"):
			closed = append(closed, c)
		}
	}
	switch {
	case len(v1) == 0 && v2 == nil:
		return fail("no cgroup file system", "none is mounted; mount cgroup2 on /sys/fs/cgroup")
	case len(gone) > 0:
		return fail(kind, "controllers missing: "+strings.Join(gone, ", "))
	case len(closed) > 0:
		return fail(kind+", read-only: "+strings.Join(closed, ", "),
			"judged cannot create cgroups; give the container a writable, delegated cgroup")
	default:
		return warn(kind+" with "+strings.Join(needed(), ", "),
			"judged works, but v1 has no partitions and no pressure per cgroup")
	}
}

// without returns the needed controllers that are not in list.
func without(list string) []string {
	have := strings.Fields(list)
	return slices.DeleteFunc(needed(), func(c string) bool { return slices.Contains(have, c) })
}

// lookThrottle checks each cgroup from judged's own up to the mount.
func lookThrottle(v *view) Outcome {
	_, v2 := v.hierarchies()
	v.saw("/proc/mounts", "/proc/self/cgroup")
	if v.ownUnknown() {
		return unknown("", "/proc/self/cgroup has no path of this process")
	}
	var limits []string
	seen := 0
	for _, f := range v.throttleFiles() {
		value, ok := v.try(f)
		if ok {
			seen++
		}
		if throttles(value) {
			limits = append(limits, f+" = "+value)
		}
	}
	switch {
	case len(limits) > 0:
		return fail(strings.Join(limits, "; "), "a limit above the slots slows runs down")
	case seen > 0:
		return pass("no quota")
	case v2 != nil && v.own[""] == "/" && !v.FS.Exists(v2.Point+"/cgroup.type"):
		// The root has neither file. Inside a cgroup namespace "/" is an ordinary cgroup, with cgroup.type.
		return pass("this process is in the root cgroup, which has no limits")
	default:
		return skip("no file cpu.max or cpu.cfs_quota_us in this process's cgroup and those above it")
	}
}

// ownUnknown reports whether a hierarchy that limits CPU time is mounted, and this process has no path in it.
func (f facts) ownUnknown() bool {
	v1, v2 := f.hierarchies()
	return v1["cpu"].Point != "" && f.own["cpu"] == "" || v2 != nil && f.own[""] == ""
}

// quotaV1 is the CPU quota file of v1.
const quotaV1 = "cpu.cfs_quota_us"

// throttleFiles returns the files that can throttle this process, from its own cgroups upwards.
func (f facts) throttleFiles() []string {
	var files []string
	v1, v2 := f.hierarchies()
	if m, ok := v1["cpu"]; ok {
		files = append(files, upwards(m.Point, f.own["cpu"], quotaV1)...)
	}
	if v2 != nil {
		files = append(files, upwards(v2.Point, f.own[""], "cpu.max")...)
		files = append(files, upwards(v2.Point, f.own[""], "memory.high")...)
	}
	return files
}

// throttles reports whether a value is a limit. Without a limit v2 has "max 100000" and v1 has -1.
func throttles(value string) bool {
	first, _, _ := strings.Cut(value, " ")
	return first != "" && first != "max" && first != "-1"
}

// upwards returns the paths of file in a cgroup and all its ancestors. It stops at the mount for a path outside
// the cgroup namespace ("/../x").
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
	text := v.must("/proc/sys/kernel/osrelease")
	major, minor, ok := release(text)
	older := func(a, b int) bool { return major < a || major == a && minor < b }
	switch {
	case !ok:
		return unknown(text, fmt.Sprintf("%q does not begin with a version", text))
	case older(5, 12):
		return fail(text, "below 5.12, judged does not start: close_range and mount_setattr are missing")
	case older(6, 3):
		return warn(text, "below 6.3, page faults can wait for locks of other cgroups")
	case older(6, 8) && len(v.Topology.PartitionIsolated) > 0:
		return warn(text, "below 6.8, an isolated partition does not keep unbound kernel workers away")
	default:
		return pass(text)
	}
}

// release parses the first two numbers of a kernel release such as 6.1.0-56-cloud-amd64.
func release(s string) (major, minor int, ok bool) {
	var rest string
	n, err := fmt.Sscanf(s, "%d.%d%s", &major, &minor, &rest)
	// "6.18" has no rest, for which Sscanf returns an error after two conversions.
	return major, minor, n >= 2 || err == nil
}
