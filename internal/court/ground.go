package court

import (
	"judged/internal/cpuset"
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
	stand, err := measure.NewStand(c.launcher, ground, c.fs, c.Thresholds(), c.options.Log)
	if err == nil {
		c.visitors = append(c.visitors, stand)
	}
	return stand, err
}

// Prepare makes a single sandbox on ground. Close it.
func (c *Court) Prepare(ground sandbox.Slot) (*sandbox.Sandbox, error) {
	return c.launcher.Prepare(ground)
}
