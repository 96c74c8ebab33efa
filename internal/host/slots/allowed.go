package slots

import (
	"fmt"
	"path"

	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
	"judged/internal/host/machine"
)

// Allowed returns an error if control groups of this process cannot use cpus, or can use no other CPU. In a
// container with a cpuset the kernel rejects other CPUs of the machine with a mere "permission denied". The
// error says how to fix this.
func Allowed(h hostfs.FS, t machine.Topology, cpus cpuset.Set) error {
	file, text := cpusetOf(h)
	if text == "" {
		return nil // no limit
	}
	allowed, err := cpuset.Parse(text)
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	// CPUs of a partition are not in the groups above it but can be used there.
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
			cpus, file, text)
	}
	return nil
}

// cpusetOf returns the cpuset file that limits judged's control groups. With v1 it is that of judged's own
// group. With v2 it is that of the visible root, which in a container is an ordinary group.
func cpusetOf(h hostfs.FS) (file, text string) {
	read := func(path string) string {
		text, _ := h.Read(path) // a missing file means no limit
		return text
	}
	own := hostfs.Cgroups(read("/proc/self/cgroup"))["cpuset"]
	for _, m := range hostfs.Mounts(read("/proc/mounts")) {
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
