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

// housekeeping is where judged itself and the programs of the jury run.
func (c *Engine) housekeeping() cpuset.Set {
	house := slots.Housekeeping(c.topology, c.slots)
	// Isolated CPUs that are no slots of ours may be somebody's: and nothing
	// balances a thread away from there.
	if rest := house.Minus(c.topology.Isolated); len(rest) > 0 {
		house = rest
	}
	return house
}

// JuryLimits are the configured limits of programs of the jury. A stack may take all of their memory.
func JuryLimits(l config.JuryLimits) sandbox.Limits {
	return sandbox.Limits{CPUTime: l.CPUTime, WallTime: l.WallTime, Memory: l.Memory, Output: l.Output, Stack: l.Memory, Processes: l.Processes}
}

// Jury is where the programs of the jury run for jobs on a slot. It is made when it is first asked for.
func (c *Engine) Jury(s slots.Slot) (*jury.Runner, error) {
	c.juryMu.Lock()
	defer c.juryMu.Unlock()
	if r := c.jury[s.CPUs.String()]; r != nil {
		return r, nil
	}
	cpu := c.juryCPU(s)
	ground, err := c.Ground(cpuset.New(cpu), cpuset.New(c.topology.MemoryNode(c.nodeOf(cpu, s.Node))))
	if err != nil {
		return nil, fmt.Errorf("make a place for programs of the jury: %w", err)
	}
	r, err := jury.NewRunner(c.launcher, ground, c.options.Jury, c.options.Log)
	if err == nil {
		c.jury[s.CPUs.String()] = r
	}
	return r, err
}

// juryCPU is the housekeeping CPU for the programs of the jury of a slot: always the same one, so that an interactor's
// answers take equally long in every run, on the slot's node where it has one, and another one for each slot where
// there are as many.
func (c *Engine) juryCPU(s slots.Slot) int {
	house := c.housekeeping()
	var near cpuset.Set
	for _, id := range house {
		if c.nodeOf(id, -1) == s.Node {
			near = near.Union(cpuset.New(id))
		}
	}
	if len(near) == 0 {
		near = house
	}
	i := slices.IndexFunc(c.slots, func(o slots.Slot) bool { return o.CPUs.String() == s.CPUs.String() })
	return near[max(i, 0)%len(near)]
}

// nodeOf is the NUMA node of a CPU, or what is given for one that is not known.
func (c *Engine) nodeOf(cpu, unknown int) int {
	if t, ok := c.topology.CPU(cpu); ok {
		return t.Node
	}
	return unknown
}
