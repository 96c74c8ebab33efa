package slots

import (
	"fmt"
	"path"

	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
	"judged/internal/host/proc"
	"judged/internal/host/topology"
)

// Allowed returns an error where the control groups of this process cannot have these CPUs, or it has no other. In a
// container with a cpuset the machine has CPUs that the kernel refuses to a group of judged, with no more than
// "permission denied". The error says what to do.
func Allowed(h hostfs.FS, t topology.Topology, cpus cpuset.Set) error {
	file, text := cpusetOf(h)
	if text == "" {
		return nil // nothing limits
	}
	allowed, err := cpuset.Parse(text)
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	// What is in a partition has left the groups above it, and can be used there.
	allowed = allowed.Union(t.Isolated)
	for _, p := range t.Partitions {
		allowed = allowed.Union(p.CPUs)
	}
	if missing := cpus.Minus(allowed); len(missing) > 0 {
		return fmt.Errorf("CPU %s is not in the cpuset of judged: %s is %s; start judged with these CPUs, or name CPUs of "+
			"its cpuset in slots.cpu_list", missing, file, text)
	}
	if !t.Online.Minus(cpus).Overlaps(allowed) {
		return fmt.Errorf("no CPU but %s is in the cpuset of judged: %s is %s; start judged with one more, for itself",
			cpus,
			file, text)
	}
	return nil
}

// cpusetOf is the file with the CPUs of the group that those of judged are below. With v1 that is its own. With v2 it is
// the root that judged sees: that of a container is a group like any other.
func cpusetOf(h hostfs.FS) (file, text string) {
	read := func(path string) string {
		text, _ := h.Read(path) // what is not there limits nothing
		return text
	}
	own := proc.Cgroups(read("/proc/self/cgroup"))["cpuset"]
	for _, m := range proc.Mounts(read("/proc/mounts")) {
		var files []string
		switch {
		case m.FSType == "cgroup" && m.Has("cpuset"):
			files = []string{path.Join(m.Point, own, "cpuset.cpus"), path.Join(m.Point, "cpuset.cpus")}
		case m.FSType == "cgroup2":
			files = []string{path.Join(m.Point, "cpuset.cpus.effective")}
		}
		for _, file := range files {
			if text := read(file); text != "" {
				return file, text
			}
		}
	}
	return "", ""
}
