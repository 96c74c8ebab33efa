package evidence

import (
	"os"
	"strings"

	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
)

func open(fs hostfs.FS, path string) *os.File {
	f, err := fs.Open(path)
	if err != nil {
		return nil
	}
	return f
}

// swapping reports whether the host can swap. Reading /proc/vmstat takes 20 µs, and more with each CPU whose counters
// the kernel adds up, so it is not read on hosts without swap.
func swapping(fs hostfs.FS) bool {
	swaps, err := fs.Read("/proc/swaps")
	return err == nil && strings.Contains(swaps, "\n") // below the header
}

// cpuacctMount returns the v1 hierarchy that has cpuacct, alone or together with cpu.
func cpuacctMount(fs hostfs.FS) (string, bool) {
	mounts, err := fs.ReadFile("/proc/mounts")
	if err != nil {
		return "", false
	}
	return hostfs.FindMount(hostfs.Mounts(string(mounts)), "cgroup", "cpuacct")
}

// possiblePositions returns the position of each CPU in cpuacct.usage_percpu. Without the list of possible CPUs, which
// every kernel with sysfs has, the CPUs are assumed to be numbered without gaps.
func possiblePositions(fs hostfs.FS, cpus cpuset.Set) ([]int, bool) {
	text, err := fs.Read("/sys/devices/system/cpu/possible")
	if err != nil {
		return cpus, true
	}
	possible, err := cpuset.Parse(text)
	if err != nil {
		return nil, false
	}
	var positions []int
	for i, cpu := range possible {
		if cpus.Contains(cpu) {
			positions = append(positions, i)
		}
	}
	return positions, len(positions) == len(cpus)
}
