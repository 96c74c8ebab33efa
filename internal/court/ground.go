package court

import (
	"judged/internal/cpuset"
	"judged/internal/evidence"
	"judged/internal/measure"
	"judged/internal/sandbox"
	"judged/internal/slots"
	"judged/internal/topology"
)

// Topology is the host as it was when the court was opened.
func (c *Court) Topology() topology.Topology { return c.topology }

// Neighbours are the CPUs that work beside the slots: all that are online but
// the slots' own and their siblings.
func (c *Court) Neighbours() cpuset.Set {
	return c.topology.Online.Minus(slots.Reserved(c.topology, c.slots))
}

// Ground is a place for sandboxes that is not planned: any CPUs, with memory
// of any nodes. Nobody leases it and nothing keeps it quiet. It is what a slot
// is compared with, and where load for its neighbours runs.
func (c *Court) Ground(cpus, nodes cpuset.Set) (sandbox.Slot, error) {
	group, err := c.tree.Slot(cpus, nodes)
	if err != nil {
		return sandbox.Slot{}, err
	}
	return sandbox.Slot{
		CPUs: cpus, Node: nodes[0], BindNode: len(nodes) == 1 && len(c.topology.Nodes) > 1,
		NohzFull: c.topology.NohzFull.Overlaps(cpus), Tickless: cpus.IsSubsetOf(c.topology.NohzFull), Group: group,
	}, nil
}

// StandOn opens a stand on ground. The court closes it.
func (c *Court) StandOn(ground sandbox.Slot) (*measure.Stand, error) {
	stand, err := c.newStand(ground)
	if err == nil {
		c.visitors = append(c.visitors, stand)
	}
	return stand, err
}

func (c *Court) newStand(slot sandbox.Slot) (*measure.Stand, error) {
	reader, err := evidence.NewReader(c.fs, slot.CPUs, c.domain(slot.CPUs))
	if err != nil {
		return nil, err
	}
	return measure.NewStand(c.launcher, slot, reader, c.Thresholds(), c.options.Log)
}

// domain is the neighbours of these CPUs with which they share a last level cache or
// the memory of a node.
func (c *Court) domain(cpus cpuset.Set) cpuset.Set {
	var shared cpuset.Set
	for _, id := range cpus {
		if cpu, ok := c.topology.CPU(id); ok {
			shared = shared.Union(cpu.L3)
			if node, ok := c.topology.Node(cpu.Node); ok {
				shared = shared.Union(node.CPUs)
			}
		}
	}
	return shared.Intersect(c.Neighbours()).Minus(cpus)
}

// Prepare makes a single sandbox on ground. Close it.
func (c *Court) Prepare(ground sandbox.Slot) (*sandbox.Sandbox, error) {
	return c.launcher.Prepare(ground)
}
