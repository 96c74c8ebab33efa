package slots

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
	"judged/internal/host/machine"
)

// TestAllowed: if a cpuset lacks the slot's CPU or has no other CPU, the error names the file.
func TestAllowed(t *testing.T) {
	const v1, v2 = "cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"
	isolated := machine.Topology{Online: cpuset.New(0, 1, 2, 3), Isolated: cpuset.New(3)}
	parted := machine.Topology{Online: cpuset.New(0, 1, 2, 3),
		Partitions: []machine.Partition{{Type: "root", CPUs: cpuset.New(3)}}}
	for _, tt := range []struct {
		name   string
		top    machine.Topology
		mounts string
		files  map[string]string
		says   string // "" means no error
	}{
		{"no groups", parted, "", nil, ""},
		{"v1, all", parted, v1, map[string]string{"cpuset/judges/cpuset.cpus": "0-3"}, ""},
		{"v1, CPU 0 only", machine.Topology{Online: cpuset.New(0, 1, 2, 3)}, v1,
			map[string]string{"cpuset/judges/cpuset.cpus": "0"}, "CPU 3 is not in the cpuset of judged: " +
				"/sys/fs/cgroup/cpuset/judges/cpuset.cpus is 0; start judged with"},
		{"v1, the group of a container is elsewhere", machine.Topology{Online: cpuset.New(0, 1, 2, 3)}, v1,
			map[string]string{"cpuset/cpuset.cpus": "0-1"}, "/sys/fs/cgroup/cpuset/cpuset.cpus is 0-1"},
		{"v1, no other", machine.Topology{Online: cpuset.New(0, 1, 2, 3)}, v1,
			map[string]string{"cpuset/judges/cpuset.cpus": "3"}, "no CPU but 3 is in the cpuset of judged"},
		{"v2, CPU 0 only", machine.Topology{Online: cpuset.New(0, 1, 2, 3)}, v2,
			map[string]string{"cpuset.cpus.effective": "0"}, "CPU 3 is not in the cpuset of judged"},
		{"v2, a partition has it", parted, v2, map[string]string{"cpuset.cpus.effective": "0-2"}, ""},
		{"v2, isolated", isolated, v2, map[string]string{"cpuset.cpus.effective": "0-2"}, ""},
		{"unreadable", parted, v2, map[string]string{"cpuset.cpus.effective": "x"}, "read /sys/fs/cgroup/cpuset.cpus"},
	} {
		root := t.TempDir()
		files := map[string]string{"proc/mounts": tt.mounts, "proc/self/cgroup": "4:cpuset:/judges\n0::/judges\n"}
		for name, text := range tt.files {
			files["sys/fs/cgroup/"+name] = text
		}
		for name, text := range files {
			path := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		err := Allowed(hostfs.New(root), tt.top, cpuset.New(3))
		if (err != nil) != (tt.says != "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.says)
		}
	}
}
