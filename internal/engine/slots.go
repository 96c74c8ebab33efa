package engine

import (
	"time"

	"judged/internal/base/cpuset"
	"judged/internal/base/linux"
	"judged/internal/engine/measure"
	"judged/internal/host/machine"
	"judged/internal/host/slots"
	"judged/internal/sandbox"
	"judged/internal/sandbox/cgroup"
	"judged/internal/timing/evidence"
)

// Topology is the host as it was in Open.
func (e *Engine) Topology() machine.Topology { return e.topology }

// Neighbours returns the online CPUs that are neither in a slot nor siblings of one that is.
func (e *Engine) Neighbours() cpuset.Set {
	return e.topology.Online.Minus(slots.Reserved(e.topology, e.slots))
}

// UnplannedSlot makes a slot of any CPUs with memory of any nodes, outside the plan: no lease covers it, and other work
// may run on it. Experiments compare planned slots with it and run load on it.
func (e *Engine) UnplannedSlot(cpus, nodes cpuset.Set) (sandbox.Resources, error) {
	group, err := e.tree.Subtree(cpus, nodes)
	if err != nil {
		return sandbox.Resources{}, err
	}
	return e.slotWith(group, cpus, nodes), nil
}

// slot makes a slot of the plan. Its programs are preferred to others on its CPUs, except on those that judged itself
// and the host need: isolated CPUs have no others, and much of the host's work is on CPU 0.
func (e *Engine) slot(cpus, nodes cpuset.Set) (sandbox.Resources, error) {
	if cpus.IsSubsetOf(e.topology.Isolated) || cpus.Overlaps(housekeeping(e.topology, e.slots).Union(cpuset.New(0))) {
		return e.UnplannedSlot(cpus, nodes)
	}
	group, err := e.tree.Preferred(cpus, nodes)
	if err != nil {
		return sandbox.Resources{}, err
	}
	if group.Weighted() != nil && e.options.Daemon {
		e.options.Log.Warn("other programs on the CPUs of a slot have the same weight as those that are judged; set "+
			"Delegate=yes in judged's unit, or isolate the CPUs", "cpus", cpus, "error", group.Weighted())
	}
	return e.slotWith(group, cpus, nodes), nil
}

func (e *Engine) slotWith(group *cgroup.Subtree, cpus, nodes cpuset.Set) sandbox.Resources {
	return sandbox.Resources{
		CPUs: cpus, Node: nodes[0], BindNode: len(nodes) == 1 && len(e.topology.Nodes) > 1,
		NohzFull: e.topology.NohzFull.Overlaps(cpus), Tickless: cpus.IsSubsetOf(e.topology.NohzFull), Group: group,
	}
}

// WorkerOn opens a worker on an unplanned slot. Close of the engine closes it.
func (e *Engine) WorkerOn(slot sandbox.Resources) (*measure.Worker, error) {
	worker, err := e.newWorker(slot)
	if err == nil {
		e.extra = append(e.extra, worker)
	}
	return worker, err
}

func (e *Engine) newWorker(slot sandbox.Resources) (*measure.Worker, error) {
	neighbours := e.sharing(slot.CPUs)
	own := func() (total, user time.Duration, err error) { return e.ownTime(neighbours) }
	reader, err := evidence.NewReader(e.fs, slot.CPUs, neighbours, own)
	if err != nil {
		return nil, err
	}
	return measure.NewWorker(e.launcher, slot, reader, e.Thresholds(), e.options.Log)
}

// ownTime is the CPU time that judged's own work has taken on housekeeping CPUs that include some of these: this process,
// programs of the jury, compilers. Of those that may run on other CPUs too all time counts: what is judged's own for sure
// is not taken for noise.
func (e *Engine) ownTime(cpus cpuset.Set) (total, user time.Duration, err error) {
	total, user, err = linux.OwnCPUTime()
	if err != nil {
		return 0, 0, err
	}
	started, err := e.tree.CPUOn(cpus)
	if err != nil {
		return 0, 0, err
	}
	if started.User == nil { // all of it may have been
		started.User = &started.Total
	}
	return total + started.Total, user + *started.User, nil
}

// sharing returns the neighbours that share a last level cache or a NUMA node with these CPUs.
func (e *Engine) sharing(cpus cpuset.Set) cpuset.Set {
	var shared cpuset.Set
	for _, id := range cpus {
		if cpu, ok := e.topology.CPU(id); ok {
			shared = shared.Union(cpu.L3)
			if node, ok := e.topology.Node(cpu.Node); ok {
				shared = shared.Union(node.CPUs)
			}
		}
	}
	return shared.Intersect(e.Neighbours()).Minus(cpus)
}

// Prepare makes one sandbox on an unplanned slot. Close it after use.
func (e *Engine) Prepare(slot sandbox.Resources) (*sandbox.Sandbox, error) {
	return e.launcher.Prepare(slot)
}
