package machine

import (
	"math"

	"judged/internal/base/cpuset"
	"judged/internal/base/units"
)

// Topology is the hardware and isolation of a machine at one time. All lists are sorted by ID.
type Topology struct {
	CPUs  []CPU  // online CPUs
	Nodes []Node // online nodes; at least one

	Online  cpuset.Set
	Present cpuset.Set // plugged in, online or not
	Offline cpuset.Set // present or possible, but offline

	// Isolated is the set of CPUs without load balancing: the online CPUs of BootIsolated and
	// PartitionIsolated.
	Isolated cpuset.Set
	// BootIsolated is the set in isolcpus= on the kernel command line. It can contain CPUs that are offline
	// now.
	BootIsolated cpuset.Set
	// PartitionIsolated is the union of all valid cgroup v2 partitions of type isolated. Kernels before 6.8 do
	// not provide it in one file, so it is computed from Partitions.
	PartitionIsolated cpuset.Set
	// NohzFull is the set of CPUs whose tick stops while a single task runs. It is empty if the kernel does not
	// support this.
	NohzFull cpuset.Set
	// Partitions lists the valid cgroup v2 partitions on the first two levels below the root.
	Partitions []Partition

	Model  string // name of the processor; "" if unknown
	Kernel string // release, as in uname -r
}

// CPU is one logical CPU.
type CPU struct {
	ID       int
	Core     int         // lowest online sibling, which identifies the physical core on the machine
	Package  int         // socket; -1 if unknown
	Node     int         // NUMA node
	Siblings cpuset.Set  // online threads of the same core, including this one
	L3       cpuset.Set  // CPUs that share the last-level cache; empty if unknown
	L2Size   units.Bytes // 0 if unknown, like L3Size
	L3Size   units.Bytes // size of the whole cache that L3 shares
	Capacity int         // 1024 for the fastest CPU of the machine; 0 if unknown
}

// Node is a NUMA node. A memory-only node has no CPUs.
type Node struct {
	ID        int
	CPUs      cpuset.Set
	MemTotal  units.Bytes // 0 if unknown
	Distances []int       // to all online nodes in the order of their IDs; 10 is local
}

// Partition is one valid cgroup v2 cpuset partition.
type Partition struct {
	Path string // host path of the cgroup
	Type string // "root" (tasks are balanced inside it) or "isolated" (they are not)
	CPUs cpuset.Set
}

// Values of IsolationKind.
const (
	IsolationNone      = "none"
	IsolationBoot      = "isolcpus"
	IsolationPartition = "partition"
)

// IsolationKind returns how the machine isolates CPUs: "none", "isolcpus" or "partition". If both are used it
// returns "isolcpus", because that can be undone only by a reboot.
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

// CPU returns the online CPU with the given ID.
func (t Topology) CPU(id int) (CPU, bool) {
	for _, c := range t.CPUs {
		if c.ID == id {
			return c, true
		}
	}
	return CPU{}, false
}

// Node returns the node with the given ID.
func (t Topology) Node(id int) (Node, bool) {
	for _, n := range t.Nodes {
		if n.ID == id {
			return n, true
		}
	}
	return Node{}, false
}

// NodesOf returns the IDs of the nodes of cpus in order. Offline CPUs have no node.
func (t Topology) NodesOf(cpus cpuset.Set) []int {
	var ids []int
	for _, n := range t.Nodes {
		if n.CPUs.Overlaps(cpus) {
			ids = append(ids, n.ID)
		}
	}
	return ids
}

// MemoryNode returns the node from which a program on a node's CPUs gets its memory. This is the node itself
// or, if the node has no memory, the nearest one that has: the kernel cannot bind memory to a node without any.
// If no node is known to have memory, it returns id.
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
