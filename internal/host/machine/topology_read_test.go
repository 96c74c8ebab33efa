package machine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/cpuset"
	"judged/internal/base/units"
	"judged/internal/host/hostfs"
	"judged/internal/testkit"
)

func host(t *testing.T, files map[string]string) hostfs.FS {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return hostfs.New(root)
}

// base returns the minimum that a kernel provides: two CPUs, no SMT, cache or NUMA files.
func base(more map[string]string) map[string]string {
	files := map[string]string{
		"sys/devices/system/cpu/online":  "0-1\n",
		"sys/devices/system/cpu/present": "0-1\n",
		"sys/devices/system/cpu/offline": "\n",
		"proc/meminfo":                   "MemTotal:        1024 kB\nMemFree: 1 kB\n",
		"proc/sys/kernel/osrelease":      "6.1.0-56-cloud-amd64\n",
		"proc/cpuinfo": "processor\t: 0\nmodel name\t: Some CPU @ 3 GHz\n\nprocessor\t: 1\nmodel " +
			"name\t: other\n",
	}
	for name, content := range more {
		files[name] = content
	}
	return files
}

func TestReadBare(t *testing.T) {
	got, err := ReadTopology(host(t, base(nil)))
	if err != nil {
		t.Fatal(err)
	}
	want := Topology{
		CPUs: []CPU{
			{ID: 0, Core: 0, Package: -1, Siblings: cpuset.New(0)},
			{ID: 1, Core: 1, Package: -1, Siblings: cpuset.New(1)},
		},
		Nodes:  []Node{{ID: 0, CPUs: cpuset.New(0, 1), MemTotal: 1 << 20, Distances: []int{10}}},
		Online: cpuset.New(0, 1), Present: cpuset.New(0, 1), Model: "Some CPU @ 3 GHz", Kernel: "6.1.0-56-cloud-amd64",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Read (-want +got):\n%s", diff)
	}
}

func TestReadFull(t *testing.T) {
	files := base(map[string]string{
		"sys/devices/system/cpu/online":    "0-3\n",
		"sys/devices/system/cpu/present":   "0-5\n",
		"sys/devices/system/cpu/offline":   "4-5\n",
		"sys/devices/system/cpu/isolated":  "3-5\n",
		"sys/devices/system/cpu/nohz_full": "(null)\n",
		"sys/devices/system/node/online":   "0,2\n",
		"proc/mounts":                      "tmpfs /tmp tmpfs rw 0 0\ncgroup2 /sys/fs/cgroup\\040x cgroup2 rw 0 0\n",
	})
	for cpu, siblings := range []string{"0,2", "1,3", "0,2", "1,3"} {
		dir := "sys/devices/system/cpu/cpu" + string(rune('0'+cpu))
		files[dir+"/topology/thread_siblings_list"] = siblings + "\n"
		files[dir+"/topology/physical_package_id"] = "1\n"
		files[dir+"/cache/index3/shared_cpu_list"] = "0-3\n"
		files[dir+"/cache/index2/size"] = "1024K\n"
		files[dir+"/cache/index3/size"] = "33792K\n"
		files[dir+"/cpu_capacity"] = "512\n"
	}
	files["sys/devices/system/node/node0/cpulist"] = "0-3\n"
	files["sys/devices/system/node/node0/meminfo"] = "Node 0 MemTotal:       2048 kB\n"
	files["sys/devices/system/node/node0/distance"] = "10 20\n"
	files["sys/devices/system/node/node2/cpulist"] = "\n"
	files["sys/devices/system/node/node2/meminfo"] = "Node 2 MemTotal:       4096 kB\n"
	files["sys/devices/system/node/node2/distance"] = "20 10\n"
	cg := "sys/fs/cgroup x/"
	for dir, kind := range map[string]string{"a": "isolated", "a/deep": "root",
		"b": "isolated invalid (Cpu list in cpuset.cpus not exclusive)", "c": "member"} {
		files[cg+dir+"/cpuset.cpus.partition"] = kind + "\n"
		files[cg+dir+"/cpuset.cpus.effective"] = "2\n"
	}
	h := host(t, files)
	got, err := ReadTopology(h)
	if err != nil {
		t.Fatal(err)
	}
	cpu := func(id, core int, siblings ...int) CPU {
		return CPU{ID: id, Core: core, Package: 1, Siblings: cpuset.New(siblings...), L3: cpuset.New(0, 1, 2, 3),
			L2Size: 1 << 20, L3Size: 33 << 20, Capacity: 512}
	}
	want := Topology{
		CPUs: []CPU{cpu(0, 0, 0, 2), cpu(1, 1, 1, 3), cpu(2, 0, 0, 2), cpu(3, 1, 1, 3)},
		Nodes: []Node{
			{ID: 0, CPUs: cpuset.New(0, 1, 2, 3), MemTotal: 2 << 20, Distances: []int{10, 20}},
			{ID: 2, MemTotal: 4 << 20, Distances: []int{20, 10}},
		},
		Online: cpuset.New(0, 1, 2, 3), Present: cpuset.New(0, 1, 2, 3, 4, 5), Offline: cpuset.New(4, 5),
		Isolated: cpuset.New(2, 3), BootIsolated: cpuset.New(3, 4, 5), PartitionIsolated: cpuset.New(2),
		Partitions: []Partition{
			{Path: "/sys/fs/cgroup x/a", Type: "isolated", CPUs: cpuset.New(2)},
			{Path: "/sys/fs/cgroup x/a/deep", Type: "root", CPUs: cpuset.New(2)},
		},
		Model: "Some CPU @ 3 GHz", Kernel: "6.1.0-56-cloud-amd64",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Read (-want +got):\n%s", diff)
	}
}

func TestIsolation(t *testing.T) {
	for name, tc := range map[string]struct {
		files    map[string]string
		kind     string
		isolated cpuset.Set
	}{
		"none": {nil, "none", nil},
		"isolcpus": {map[string]string{"sys/devices/system/cpu/isolated": "1\n"}, "isolcpus",
			cpuset.New(1)},
		"isolcpus of an offline CPU": {map[string]string{"sys/devices/system/cpu/isolated": "7\n"}, "none", nil},
		"partition since 6.8": {map[string]string{
			"proc/mounts": "cgroup2 /cg cgroup2 rw 0 0\n", "cg/cpuset.cpus.isolated": "1\n"}, "partition", cpuset.New(
			1)},
		"partition before 6.8": {map[string]string{
			"proc/mounts": "cgroup2 /cg cgroup2 rw 0 0\n", "cg/judged/cpuset.cpus.partition": "isolated\n",
			"cg/judged/cpuset.cpus.effective": "1\n"}, "partition", cpuset.New(1)},
		"partition that balances": {map[string]string{
			"proc/mounts": "cgroup2 /cg cgroup2 rw 0 0\n", "cg/judged/cpuset.cpus.partition": "root\n",
			"cg/judged/cpuset.cpus.effective": "1\n"}, "none", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ReadTopology(host(t, base(tc.files)))
			if err != nil {
				t.Fatal(err)
			}
			if got.IsolationKind() != tc.kind || cmp.Diff(tc.isolated, got.Isolated) != "" {
				t.Errorf("got %s %v, want %s %v", got.IsolationKind(), got.Isolated, tc.kind, tc.isolated)
			}
		})
	}
}

func TestReadErrorsNameTheFile(t *testing.T) {
	for name, tc := range map[string]struct{ path, content string }{
		"no CPU":       {"sys/devices/system/cpu/online", "\n"},
		"bad list":     {"sys/devices/system/cpu/isolated", "1-\n"},
		"bad number":   {"sys/devices/system/cpu/cpu0/cpu_capacity", "strong\n"},
		"bad size":     {"sys/devices/system/cpu/cpu0/cache/index3/size", "32768\n"},
		"no size":      {"sys/devices/system/cpu/cpu0/cache/index2/size", "K\n"},
		"bad distance": {"sys/devices/system/node/node0/distance", "10 far\n"},
	} {
		t.Run(name, func(t *testing.T) {
			files := base(map[string]string{"sys/devices/system/node/online": "0\n",
				"sys/devices/system/node/node0/cpulist": "0-1\n"})
			files[tc.path] = tc.content
			_, err := ReadTopology(host(t, files))
			if err == nil || !strings.Contains(err.Error(), "/"+tc.path) {
				t.Errorf("Read: %v, want an error that names /%s", err, tc.path)
			}
		})
	}
}

func TestModel(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"x86":   {"processor : 0\nmodel\t: 2\nmodel name\t: AMD EPYC\n", "AMD EPYC"},
		"power": {"processor : 0\ncpu\t\t: POWER9, altivec supported\n", "POWER9, altivec supported"},
		"arm":   {"processor : 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n", "implementer 0x41 part 0xd0c"},
		"none":  {"", ""},
	} {
		if got := model(tc.in); got != tc.want {
			t.Errorf("%s: model = %q, want %q", name, got, tc.want)
		}
	}
}

func TestLookups(t *testing.T) {
	top := Topology{CPUs: []CPU{{ID: 1}}, Nodes: []Node{{ID: 0, CPUs: cpuset.New(1)}, {ID: 1, CPUs: cpuset.New(5)}}}
	if _, ok := top.CPU(2); ok {
		t.Error("CPU 2 found")
	}
	if _, ok := top.Node(1); !ok {
		t.Error("node 1 not found")
	}
	if diff := cmp.Diff([]int{0, 1}, top.NodesOf(cpuset.New(1, 5, 9))); diff != "" {
		t.Errorf("NodesOf (-want +got):\n%s", diff)
	}
}

// TestLive: the topology of the live machine must be consistent.
func TestLive(t *testing.T) {
	top, err := ReadTopology(hostfs.New("/"))
	if err != nil {
		t.Fatal(err)
	}
	if len(top.CPUs) != len(top.Online) || top.Kernel == "" {
		t.Errorf("%d CPUs for online %s, kernel %q", len(top.CPUs), top.Online, top.Kernel)
	}
	var memory units.Bytes
	for _, n := range top.Nodes {
		memory += n.MemTotal
	}
	if memory == 0 {
		t.Error("no node has memory")
	}
	for _, c := range top.CPUs {
		if !c.Siblings.Contains(c.ID) || c.Core > c.ID {
			t.Errorf("CPU %d: siblings %s, core %d", c.ID, c.Siblings, c.Core)
		}
	}
}

// TestRecordedHosts: all recorded machines in testdata/hosts must be readable.
func TestRecordedHosts(t *testing.T) {
	files, err := filepath.Glob("../../../testdata/hosts/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d hosts, %v", len(files), err)
	}
	for _, f := range files {
		tree, _, err := testkit.Host(strings.TrimSuffix(f, ".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ReadTopology(hostfs.Of(tree)); err != nil {
			t.Errorf("%s: %v", f, err)
		}
	}
}
