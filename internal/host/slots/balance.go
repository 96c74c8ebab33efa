package slots

import (
	"fmt"

	"judged/internal/base/cpuset"
	"judged/internal/host/machine"
)

// Balanced returns an error if the scheduler would not balance the threads of a run over the CPUs of its slot.
// On isolated CPUs it does not: threads stay on the CPU on which they started, so that one of two busy threads
// may get no CPU time. The error says how to fix this.
func Balanced(t machine.Topology, planned []Slot) error {
	for _, s := range planned {
		alone := s.CPUs.Intersect(t.Isolated)
		if len(s.CPUs) > 1 && len(alone) > 0 {
			return unbalanced(t, s.CPUs, alone)
		}
	}
	return nil
}

func unbalanced(t machine.Topology, slot, alone cpuset.Set) error {
	how, remedy := "a cpuset partition of type isolated",
		"remove it with judged tune restore, and make one of type root with judged tune apply and slots.width set"
	if t.BootIsolated.Overlaps(alone) {
		how, remedy = "isolcpus=", "boot without isolcpus= for them (nohz_full= may stay) and make a partition of type "+
			"root with judged tune apply"
	}
	return fmt.Errorf("plan slot %s: CPUs %s are isolated by %s, and the kernel does not balance load there:"+
		" all threads of a run would share the CPU on which they started; use slots of one CPU, name other CPUs, or %s",
		slot, alone, how, remedy)
}
