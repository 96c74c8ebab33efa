package engine

import (
	"judged/internal/base/cpuset"
	"judged/internal/engine/measure"
	"judged/internal/host/slots"
	"judged/internal/host/topology"
	"judged/internal/sandbox"
	"judged/internal/timing/evidence"
)

// Topology is the host as it was when the engine was opened.
func (c *Engine) Topology() topology.Topology { return c.topology }

// Neighbours are the CPUs that work beside the slots: all that are online but
// the slots' own and their siblings.
func (c *Engine) Neighbours() cpuset.Set {
	return c.topology.Online.Minus(slots.Reserved(c.topology, c.slots))
}

// Ground is a place for sandboxes that is not planned: any CPUs, with memory
// of any nodes. Nobody leases it and nothing keeps it quiet. It is what a slot
// is compared with, and where load for its neighbours runs.
func (c *Engine) Ground(cpus, nodes cpuset.Set) (sandbox.Slot, error) {
	group, err := c.tree.Slot(cpus, nodes)
	if err != nil {
		return sandbox.Slot{}, err
	}
	return sandbox.Slot{
		CPUs: cpus, Node: nodes[0], BindNode: len(nodes) == 1 && len(c.topology.Nodes) > 1,
		NohzFull: c.topology.NohzFull.Overlaps(cpus), Tickless: cpus.IsSubsetOf(c.topology.NohzFull), Group: group,
	}, nil
}

// StandOn opens a worker on ground. The engine closes it.
func (c *Engine) WorkerOn(ground sandbox.Slot) (*measure.Worker, error) {
	worker, err := c.newWorker(ground)
	if err == nil {
		c.visitors = append(c.visitors, worker)
	}
	return worker, err
}

func (c *Engine) newWorker(slot sandbox.Slot) (*measure.Worker, error) {
	reader, err := evidence.NewReader(c.fs, slot.CPUs, c.domain(slot.CPUs))
	if err != nil {
		return nil, err
	}
	return measure.NewWorker(c.launcher, slot, reader, c.Thresholds(), c.options.Log)
}

// domain is the neighbours of these CPUs with which they share a last level cache or
// the memory of a node.
func (c *Engine) domain(cpus cpuset.Set) cpuset.Set {
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
func (c *Engine) Prepare(ground sandbox.Slot) (*sandbox.Sandbox, error) {
	return c.launcher.Prepare(ground)
}
