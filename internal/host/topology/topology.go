package topology

import (
	"math"

	"judged/internal/base/cpuset"
	"judged/internal/base/units"
)

// Topology is the machine at one moment. Everything in it is sorted by id.
type Topology struct {
	CPUs  []CPU  // the online ones
	Nodes []Node // the online ones; at least one

	Online  cpuset.Set
	Present cpuset.Set // plugged in, online or not
	Offline cpuset.Set // present or possible, but not running

	// Isolated is what the scheduler does not balance onto: the online CPUs of BootIsolated and
	// PartitionIsolated.
	Isolated cpuset.Set
	// BootIsolated is isolcpus= of the kernel command line. It may still list CPUs that went
	// offline later.
	BootIsolated cpuset.Set
	// PartitionIsolated is the union of all valid cgroup v2 partitions of type isolated. Kernels
	// below 6.8 do not show it in one file; there it is collected from Partitions.
	PartitionIsolated cpuset.Set
	// NohzFull are the CPUs whose tick stops while one task runs. Empty where the kernel cannot.
	NohzFull cpuset.Set
	// Partitions are the valid cgroup v2 partitions on the first two levels below the root.
	Partitions []Partition

	Model  string // name of the processor; "" if unknown
	Kernel string // release, as uname -r
}

// CPU is one logical CPU.
type CPU struct {
	ID       int
	Core     int         // lowest online sibling: names the physical core uniquely on the whole machine
	Package  int         // socket; -1 if the kernel knows none
	Node     int         // NUMA node
	Siblings cpuset.Set  // online threads of the same core, itself included
	L3       cpuset.Set  // CPUs that share its last-level cache; empty if unknown
	L2Size   units.Bytes // 0 if unknown, as L3Size
	L3Size   units.Bytes // of the whole cache, as far as L3 shares it
	Capacity int         // 1024 is the strongest CPU of the machine; 0 if unknown
}

// Node is one NUMA node. A node of memory alone has no CPUs.
type Node struct {
	ID        int
	CPUs      cpuset.Set
	MemTotal  units.Bytes // 0 if unknown
	Distances []int       // to every online node in order of their ids; 10 is local
}

// Partition is one valid cgroup v2 cpuset partition.
type Partition struct {
	Path string // host path of the cgroup
	Type string // "root" (tasks are balanced inside it) or "isolated" (they are not)
	CPUs cpuset.Set
}

// Ways in which CPUs are kept free, as IsolationKind returns them.
const (
	IsolationNone      = "none"
	IsolationBoot      = "isolcpus"
	IsolationPartition = "partition"
)

// IsolationKind is how the machine isolates CPUs: "none", "isolcpus" or "partition". Where both are
// in force it is "isolcpus", the one that cannot be undone without a boot.
func (t Topology) IsolationKind() string {
	switch {
	case t.BootIsolated.Overlaps(t.Online):
		return IsolationBoot
	case t.PartitionIsolated.Overlaps(t.Online):
		return IsolationPartition
	default:
		return IsolationNone
	}
}

// CPU returns the online CPU of that id.
func (t Topology) CPU(id int) (CPU, bool) {
	for _, c := range t.CPUs {
		if c.ID == id {
			return c, true
		}
	}
	return CPU{}, false
}

// Node returns the node of that id.
func (t Topology) Node(id int) (Node, bool) {
	for _, n := range t.Nodes {
		if n.ID == id {
			return n, true
		}
	}
	return Node{}, false
}

// NodesOf returns the ids of the nodes on which the CPUs lie, in order. Offline CPUs lie nowhere.
func (t Topology) NodesOf(cpus cpuset.Set) []int {
	var ids []int
	for _, n := range t.Nodes {
		if n.CPUs.Overlaps(cpus) {
			ids = append(ids, n.ID)
		}
	}
	return ids
}

// MemoryNode is where memory for a program on a node's CPUs is to come from: that
// node, or where it has no memory (a socket without modules), which the kernel then
// refuses to bind to, the nearest one that has. A kernel that shows no memory at
// all leaves it at that.
func (t Topology) MemoryNode(id int) int {
	own, ok := t.Node(id)
	if !ok || own.MemTotal > 0 {
		return id
	}
	nearest, least := id, math.MaxInt
	for i, n := range t.Nodes {
		if n.MemTotal > 0 && i < len(own.Distances) && own.Distances[i] < least {
			nearest, least = n.ID, own.Distances[i]
		}
	}
	return nearest
}
