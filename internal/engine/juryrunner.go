package engine

import (
	"fmt"
	"slices"

	"judged/internal/base/config"
	"judged/internal/base/cpuset"
	"judged/internal/engine/jury"
	"judged/internal/host/slots"
	"judged/internal/sandbox"
)

// JuryLimits are the configured limits of programs of the jury. A stack may take all of their memory.
func JuryLimits(l config.JuryLimits) sandbox.Limits {
	return sandbox.Limits{CPUTime: l.CPUTime, WallTime: l.WallTime, Memory: l.Memory, Output: l.Output, Stack: l.Memory,
		Processes: l.Processes}
}

// SetJuryLimits sets the limits of programs of the jury, before any of them runs.
func (e *Engine) SetJuryLimits(l sandbox.Limits) {
	e.juryMu.Lock()
	defer e.juryMu.Unlock()
	e.options.Jury = l
}

// Jury is where the programs of the jury run for jobs on a slot. It is made when it is first asked for.
func (e *Engine) Jury(s slots.Slot) (*jury.Runner, error) {
	e.juryMu.Lock()
	defer e.juryMu.Unlock()
	if r := e.jury[s.CPUs.String()]; r != nil {
		return r, nil
	}
	cpu := e.juryCPU(s)
	resources, err := e.UnplannedSlot(cpuset.New(cpu), cpuset.New(e.topology.MemoryNode(e.nodeOf(cpu, s.Node))))
	if err != nil {
		return nil, fmt.Errorf("create cgroup for checkers and interactors: %w", err)
	}
	r, err := jury.NewRunner(e.launcher, resources, e.options.Jury, e.options.Log)
	if err == nil {
		e.jury[s.CPUs.String()] = r
	}
	return r, err
}

// juryCPU is the housekeeping CPU for the programs of the jury of a slot: always the same one, so that an interactor's
// answers take equally long in every run, on the slot's node where it has one, and another one for each slot where
// there are as many.
func (e *Engine) juryCPU(s slots.Slot) int {
	house := housekeeping(e.topology, e.slots)
	var near cpuset.Set
	for _, id := range house {
		if e.nodeOf(id, -1) == s.Node {
			near = near.Union(cpuset.New(id))
		}
	}
	if len(near) == 0 {
		near = house
	}
	i := slices.IndexFunc(e.slots, func(o slots.Slot) bool { return o.CPUs.String() == s.CPUs.String() })
	return near[max(i, 0)%len(near)]
}

// nodeOf is the NUMA node of a CPU, or what is given for one that is not known.
func (e *Engine) nodeOf(cpu, unknown int) int {
	if t, ok := e.topology.CPU(cpu); ok {
		return t.Node
	}
	return unknown
}
