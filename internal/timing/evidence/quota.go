package evidence

import (
	"os"
	"path"

	"judged/internal/host/hostfs"
)

// openQuotas opens cpu.stat of this process's cgroups and of their parents. A quota there, such as that of a container,
// throttles runs like judged itself.
func openQuotas(fs hostfs.FS) []*os.File {
	groups, err1 := fs.ReadFile("/proc/self/cgroup")
	mounts, err2 := fs.ReadFile("/proc/mounts")
	if err1 != nil || err2 != nil {
		return nil
	}
	var files []*os.File
	for _, h := range []struct{ controller, fsType, option string }{{"cpu", "cgroup", "cpu"}, {"", "cgroup2", "rw"}} {
		group, member := hostfs.Cgroups(string(groups))[h.controller]
		mount, ok := hostfs.FindMount(hostfs.Mounts(string(mounts)), h.fsType, h.option)
		for ; member && ok; group = path.Dir(group) {
			files = appendOpen(files, fs, path.Join(mount, group, "cpu.stat"))
			member = group != "/"
		}
	}
	return files
}

// throttled returns the sum of the times in nanoseconds for which quotas throttled each group. Time for which a group
// and its parent were both throttled counts twice, so the sum is an upper bound.
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
