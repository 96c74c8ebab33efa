package machine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"judged/internal/host/hostfs"
)

// FuzzModel: the name of a processor is one line without surrounding white space.
func FuzzModel(f *testing.F) {
	f.Add("model name\t: x\n: :\n")
	f.Add("CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n")
	f.Fuzz(func(t *testing.T, s string) {
		if m := model(s); strings.Contains(m, "\n") || m != strings.TrimSpace(m) &&
			!strings.HasPrefix(m, "implementer ") {
			t.Errorf("model = %q", m)
		}
	})
}

// FuzzReadTopology reads a host with arbitrary content in some files. The result is consistent, and errors name the
// file.
func FuzzReadTopology(f *testing.F) {
	f.Add("0-3", "0-1", "0", "0", "0-3", "10", "cgroup2 /cg cgroup2 rw 0 0", "isolated")
	f.Add("0", "(null)", "x", "-1", "7", "10 a", "", "root")
	f.Add("1,3", "2", "99999999999999999999", "0-1", "", "", "cgroup2 / cgroup2 rw", "member")
	f.Add("0-8191", "", "", "1,5", "0-8191", "", "cgroup2 /a/../../cg cgroup2", "isolated invalid (x)")
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, online, siblings, socket, nodes, cpulist, distance, mounts, partition string) {
		if strings.Count(online, "-") > 0 && len(online) > 5 {
			return // thousands of CPUs would take too long
		}
		for path, text := range map[string]string{
			cpuDir + "/online": online, cpuDir + "/cpu0/topology/thread_siblings_list": siblings,
			cpuDir + "/cpu1/topology/physical_package_id": socket, nodeDir + "/online": nodes,
			nodeDir + "/node0/cpulist": cpulist, nodeDir + "/node0/distance": distance, nodeDir +
				"/node1/cpulist": siblings,
			"/proc/mounts": mounts, "/cg/a/cpuset.cpus.partition": partition, "/cg/a/cpuset.cpus.effective": siblings,
		} {
			put(t, filepath.Join(root, path), text)
		}
		top, err := ReadTopology(hostfs.New(root))
		if err != nil {
			if !strings.Contains(err.Error(), "/sys/") && !strings.Contains(err.Error(), "/cpuset.cpus.") {
				t.Errorf("error %v names no file", err)
			}
			return
		}
		fitTogether(t, top)
	})
}

func put(t *testing.T, file, text string) {
	t.Helper()
	err := os.WriteFile(file, []byte(text), 0o644)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(file), 0o755); err == nil {
			err = os.WriteFile(file, []byte(text), 0o644)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// fitTogether checks invariants of a topology.
func fitTogether(t *testing.T, top Topology) {
	t.Helper()
	if len(top.CPUs) != len(top.Online) || len(top.Nodes) == 0 || !top.Isolated.IsSubsetOf(top.Online) {
		t.Errorf("%d CPUs, %d nodes, isolated %s for online %s", len(top.CPUs), len(top.Nodes), top.Isolated,
			top.Online)
	}
	known := map[int]bool{}
	for _, n := range top.Nodes {
		known[n.ID] = true
		if !n.CPUs.IsSubsetOf(top.Online) {
			t.Errorf("node %d has CPUs %s of %s", n.ID, n.CPUs, top.Online)
		}
	}
	for i, c := range top.CPUs {
		if c.ID != top.Online[i] || !c.Siblings.Contains(c.ID) || c.Core > c.ID || !known[c.Node] {
			t.Errorf("CPU %d: siblings %s, core %d, node %d", c.ID, c.Siblings, c.Core, c.Node)
		}
	}
}
