package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"judged/internal/base/cpuset"
	"judged/internal/base/units"
	"judged/internal/host/hostfs"
)

const (
	cpuDir  = "/sys/devices/system/cpu"
	nodeDir = "/sys/devices/system/node"
)

// ReadTopology reads the topology of the host. Values that the kernel does not provide are set to their documented
// unknown value. ReadTopology returns an error if the list of online CPUs is missing or a file is malformed.
func ReadTopology(h hostfs.FS) (Topology, error) {
	r := reader{fs: h}
	t := Topology{
		Online:       r.cpus(cpuDir + "/online"),
		Present:      r.cpus(cpuDir + "/present"),
		Offline:      r.cpus(cpuDir + "/offline"),
		BootIsolated: r.cpus(cpuDir + "/isolated"),
		NohzFull:     r.cpus(cpuDir + "/nohz_full"),
		Kernel:       r.word("/proc/sys/kernel/osrelease"),
		Model:        model(r.word("/proc/cpuinfo")),
	}
	if r.err == nil && len(t.Online) == 0 {
		return Topology{}, fmt.Errorf("read %s: no CPU is listed; mount sysfs on /sys", cpuDir+"/online")
	}
	t.Nodes = r.nodes(t.Online)
	for _, id := range t.Online {
		t.CPUs = append(t.CPUs, r.cpu(id, t.Nodes))
	}
	t.Partitions, t.PartitionIsolated = r.partitions()
	t.Isolated = t.BootIsolated.Union(t.PartitionIsolated).Intersect(t.Online)
	if r.err != nil {
		return Topology{}, fmt.Errorf("read topology: %w", r.err)
	}
	return t, nil
}

// reader keeps the first error, which keeps the code above short. A file that is missing or unreadable is not
// an error: it yields the zero value.
type reader struct {
	fs  hostfs.FS
	err error
}

func (r *reader) word(p string) string {
	s, err := r.fs.Read(p)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
		r.fail(err)
	}
	return s
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// cpus reads a list of CPUs. nohz_full contains "(null)" if the kernel supports it but it was not enabled: this
// is how printk formats a mask that was never allocated.
func (r *reader) cpus(p string) cpuset.Set {
	s := r.word(p)
	if s == "(null)" {
		return nil
	}
	set, err := cpuset.Parse(s)
	if err != nil {
		r.fail(fmt.Errorf("parse %s: %w", p, err))
		return nil
	}
	return set
}

// number reads a decimal number, or returns unknown if the file is missing.
func (r *reader) number(p string, unknown int) int {
	s := r.word(p)
	if s == "" {
		return unknown
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		r.fail(fmt.Errorf("parse number %q of %s: %w", s, p, errors.Unwrap(err)))
		return unknown
	}
	return n
}

// cacheSize parses "512K". The kernel uses no other unit (cacheinfo.c, size_show).
func (r *reader) cacheSize(p string) units.Bytes {
	s := r.word(p)
	if s == "" {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSuffix(s, "K"), 10, 32)
	if err != nil || !strings.HasSuffix(s, "K") {
		r.fail(fmt.Errorf("parse cache size %q of %s: want a number with K", s, p))
		return 0
	}
	return units.Bytes(n) << 10
}

func (r *reader) cpu(id int, nodes []Node) CPU {
	dir := fmt.Sprintf("%s/cpu%d", cpuDir, id)
	siblings := r.cpus(dir + "/topology/thread_siblings_list").Union(cpuset.New(id))
	return CPU{
		ID: id,
		// core_id is unique only within a socket, and with some firmware only within a die. The core is
		// therefore identified by its lowest sibling.
		Core:     siblings[0],
		Package:  r.number(dir+"/topology/physical_package_id", -1),
		Node:     nodeOf(id, nodes),
		Siblings: siblings,
		L3:       r.cpus(dir + "/cache/index3/shared_cpu_list"),
		L2Size:   r.cacheSize(dir + "/cache/index2/size"),
		L3Size:   r.cacheSize(dir + "/cache/index3/size"),
		Capacity: r.number(dir+"/cpu_capacity", 0),
	}
}

func nodeOf(id int, nodes []Node) int {
	for _, n := range nodes {
		if n.CPUs.Contains(id) {
			return n.ID
		}
	}
	return nodes[0].ID
}

// nodes reads the NUMA nodes. A kernel built without NUMA has a single node 0.
func (r *reader) nodes(online cpuset.Set) []Node {
	var nodes []Node
	for _, id := range r.cpus(nodeDir + "/online") {
		dir := fmt.Sprintf("%s/node%d", nodeDir, id)
		nodes = append(nodes, Node{
			ID:        id,
			CPUs:      r.cpus(dir + "/cpulist").Intersect(online),
			MemTotal:  hostfs.Meminfo(r.word(dir+"/meminfo"), "MemTotal"),
			Distances: r.distances(dir + "/distance"),
		})
	}
	if len(nodes) == 0 {
		return []Node{{CPUs: online, MemTotal: hostfs.Meminfo(r.word("/proc/meminfo"), "MemTotal"), Distances: []int{10}}}
	}
	return nodes
}

func (r *reader) distances(p string) []int {
	var ds []int
	for _, f := range strings.Fields(r.word(p)) {
		d, err := strconv.Atoi(f)
		if err != nil {
			r.fail(fmt.Errorf("parse number %q of %s: %w", f, p, errors.Unwrap(err)))
			return nil
		}
		ds = append(ds, d)
	}
	return ds
}

// partitions finds valid cpuset partitions. Since Linux 6.8 cpuset.cpus.isolated in the root cgroup lists the
// CPUs of all isolated partitions; before that each cgroup must be read. Two levels are enough: all ancestors
// of a partition are partitions, so a deeper one has a parent that is found here, with the CPUs of both.
func (r *reader) partitions() ([]Partition, cpuset.Set) {
	// Use the first mount. A later one at another path is a bind mount of a part of it.
	mount, _ := hostfs.FindMount(hostfs.Mounts(r.word("/proc/mounts")), "cgroup2", "")
	if mount == "" {
		return nil, nil
	}
	isolated := r.cpus(mount + "/cpuset.cpus.isolated")
	var found []Partition
	for _, pattern := range []string{"/*/cpuset.cpus.partition", "/*/*/cpuset.cpus.partition"} {
		files, err := r.fs.Glob(hostfs.QuoteMeta(mount) + pattern)
		if err != nil {
			r.fail(err)
		}
		for _, f := range files {
			// Only the bare words are valid partitions, not "member" or "isolated invalid (Cpu list in
			// cpuset.cpus not exclusive)".
			kind := r.word(f)
			if kind != "root" && kind != "isolated" {
				continue
			}
			p := Partition{Path: path.Dir(f), Type: kind, CPUs: r.cpus(path.Dir(f) + "/cpuset.cpus.effective")}
			found = append(found, p)
			if kind == "isolated" {
				isolated = isolated.Union(p.CPUs)
			}
		}
	}
	slices.SortFunc(found, func(a, b Partition) int { return strings.Compare(a.Path, b.Path) })
	return found, isolated
}
