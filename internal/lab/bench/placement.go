package bench

import (
	"fmt"

	"judged/internal/base/cpuset"
	"judged/internal/engine"
	"judged/internal/engine/measure"
	"judged/internal/host/machine"
	"judged/internal/sandbox/initproc"
)

// Placement is where a program runs, and what runs next to it.
type Placement struct {
	ID        string `json:"id"`
	About     string `json:"about"`
	CPUs      string `json:"cpus"`
	NUMANodes string `json:"numa_nodes"`     // nodes that provide its memory
	Load      string `json:"load,omitempty"` // load that the neighbours run meanwhile: none, or a load of initproc

	worker *measure.Worker
}

// The placements, in the order of the output.
const (
	Free       = "free"
	Pinned     = "pinned"
	Slot       = "slot"
	CPULoad    = "cpu-load"
	MemoryLoad = "memory-load"
	TurboOff   = "turbo-off"
	AnyNode    = "numa-unbound"
)

// IDs returns the IDs of all placements.
func IDs() []string { return []string{Free, Pinned, Slot, CPULoad, MemoryLoad, TurboOff, AnyNode} }

// LeftOut is a placement that is not possible on this host.
type LeftOut struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

// places prepares the placements of an engine.
func (s *Site) places() error {
	t := s.eng.Topology()
	slot := s.eng.Worker(s.eng.Slots()[0]).Resources()
	near, all := cpuset.New(slot.Node), memoryNodes(s.eng)

	// A program gets isolated CPUs only if they are requested.
	common := t.Online.Minus(t.Isolated)
	if len(common) == 0 {
		common = t.Online
	}
	s.add(Placement{ID: Free, About: "all CPUs that are not isolated, as a shell starts it"}, common, all)
	neighbours := s.eng.Neighbours()
	if ordinary, ok := lastOf(neighbours.Minus(t.Isolated), neighbours); ok {
		s.add(Placement{ID: Pinned, About: "one ordinary CPU that others use too"}, ordinary, all)
	} else {
		s.leave(Pinned, "there is no CPU besides the slot's")
	}
	s.add(Placement{ID: Slot, About: "the slot, nothing started next to it"}, slot.CPUs, near)
	for _, p := range []Placement{
		{ID: CPULoad, About: "the slot, every other CPU computes", Load: initproc.LoadCPU},
		{ID: MemoryLoad, About: "the slot, every other CPU moves memory", Load: initproc.LoadMemory},
	} {
		if len(neighbours) == 0 {
			s.leave(p.ID, "there is no CPU besides the slot's to be loaded")
			continue
		}
		s.add(p, slot.CPUs, near)
	}
	s.leave(TurboOff, whyNoTurbo(s.eng.Turbo(slot.CPUs)))
	if len(all) > 1 && len(neighbours) > 0 {
		s.add(Placement{ID: AnyNode, About: "as memory-load, with memory of any node", Load: initproc.LoadMemory},
			slot.CPUs, all)
	} else {
		s.leave(AnyNode, "there is one NUMA node: all memory is bound to it")
	}
	return s.err
}

// whyNoTurbo returns the reason why there is no placement without turbo: judged does not change the switches, and every
// other placement runs with the same setting.
func whyNoTurbo(t machine.Turbo) string {
	switch t.Value {
	case machine.TurboOff:
		return "turbo is off already, for every placement"
	case machine.TurboOn:
		return "turbo is on (" + t.Source + "), and a measurement turns no switch of the host; switch it off and " +
			"measure again"
	}
	return t.Reason
}

// add adds a placement. After the first error it does nothing.
func (s *Site) add(p Placement, cpus, nodes cpuset.Set) {
	if s.err != nil {
		return
	}
	p.CPUs, p.NUMANodes = cpus.String(), nodes.String()
	key := p.CPUs + "/" + p.NUMANodes
	if s.workers[key] == nil {
		s.workers[key], s.err = s.openWorker(cpus, nodes)
		if s.err != nil {
			s.err = fmt.Errorf("open placement %q: %w", p.ID, s.err)
			return
		}
	}
	p.worker = s.workers[key]
	s.Placements = append(s.Placements, p)
}

func (s *Site) leave(id, reason string) { s.LeftOut = append(s.LeftOut, LeftOut{id, reason}) }

// openWorker returns the engine's worker of the slot if it fits, so that the slot is measured with the worker that
// judges.
func (s *Site) openWorker(cpus, nodes cpuset.Set) (*measure.Worker, error) {
	own := s.eng.Worker(s.eng.Slots()[0])
	if slot := own.Resources(); cpus.String() == slot.CPUs.String() && nodes.String() == cpuset.New(slot.Node).String() {
		return own, nil
	}
	ground, err := s.eng.UnplannedSlot(cpus, nodes)
	if err != nil {
		return nil, err
	}
	return s.eng.WorkerOn(ground)
}

// memoryNodes returns the nodes that have memory: cpuset.mems accepts only those.
func memoryNodes(c *engine.Engine) cpuset.Set {
	var ids []int
	for _, n := range c.Topology().Nodes {
		if n.MemTotal > 0 {
			ids = append(ids, n.ID)
		}
	}
	if len(ids) == 0 { // the kernel does not report them
		return cpuset.New(c.Slots()[0].Node)
	}
	return cpuset.New(ids...)
}

// lastOf returns the last CPU of the first nonempty set.
func lastOf(sets ...cpuset.Set) (cpuset.Set, bool) {
	for _, s := range sets {
		if len(s) > 0 {
			return s[len(s)-1:], true
		}
	}
	return nil, false
}
