package evidence

import (
	"bytes"
	"os"
	"path"
	"strings"

	"judged/internal/host/hostfs"
)

// openQuotas opens cpu.stat of this process's cgroups and of their parents. A quota there, such as that of a container,
// throttles runs as it throttles judged.
func openQuotas(fs hostfs.FS) []*os.File {
	groups, err := fs.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	mounts, err := fs.ReadFile("/proc/mounts")
	if err != nil {
		return nil
	}
	var files []*os.File
	for line := range bytes.Lines(groups) {
		// "id:controllers:path"; the controllers of v2 are empty.
		f := strings.SplitN(strings.TrimSuffix(string(line), "\n"), ":", 3)
		if len(f) != 3 || !strings.HasPrefix(f[2], "/") {
			continue
		}
		mount, ok := mountOf(mounts, "cgroup2", "rw")
		if f[1] != "" {
			mount, ok = mountOf(mounts, "cgroup", "cpu")
			ok = ok && strings.Contains(","+f[1]+",", ",cpu,")
		}
		if !ok {
			continue
		}
		for group := f[2]; ; group = path.Dir(group) {
			files = appendOpen(files, fs, path.Join(mount, group, "cpu.stat"))
			if group == "/" {
				break
			}
		}
	}
	return files
}

// throttled sums the time in nanoseconds for which quotas throttled each group. Time for which a group and its parent were
// both throttled counts twice: the sum is an upper bound.
func (r *Reader) throttled() tally {
	var t tally
	for _, f := range r.quotas {
		for b := r.read(f); len(b) > 0; {
			var line []byte
			line, b = cutLine(b)
			key, count := cutWord(line)
			switch string(key) {
			case "throttled_time": // v1
				t.addField(count, 0)
			case "throttled_usec": // v2
				var usec tally
				usec.addField(count, 0)
				t.sum, t.cpus = t.sum+1000*usec.sum, t.cpus+usec.cpus
			}
		}
	}
	return t
}
