package slots

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/host/machine"
)

// TestBalanced: only wide slots need balancing, and only isolated CPUs lack it.
func TestBalanced(t *testing.T) {
	const (
		because = ", and the kernel does not balance load there: all threads of a run would share the CPU on which " +
			"they started; use slots of one CPU, name other CPUs, or "
		boot = "boot without isolcpus= for them (nohz_full= may stay) and make a partition of type root with judged " +
			"tune apply"
		tune = "remove it with judged tune restore, and make one of type root with judged tune apply and slots.width " +
			"set"
	)
	for name, tt := range map[string]struct {
		slots           []string
		boot, partition string
		want            string
	}{
		"nothing isolated":    {[]string{"2-3"}, "", "", ""},
		"one CPU each":        {[]string{"2", "3"}, "2-3", "", ""},
		"others are isolated": {[]string{"2-3", "4-5"}, "6-7", "", ""},
		"at boot": {[]string{"2-3"}, "2-3", "", "plan slot 2-3: CPUs 2-3 are isolated by isolcpus=" +
			because + boot},
		"a part of the last one": {[]string{"2-3", "4-5"}, "5-6", "",
			"plan slot 4-5: CPUs 5 are isolated by isolcpus=" + because + boot},
		"by a partition": {[]string{"2-3"}, "", "2-3",
			"plan slot 2-3: CPUs 2-3 are isolated by a cpuset partition of type isolated" + because + tune},
	} {
		t.Run(name, func(t *testing.T) {
			top := machine.Topology{BootIsolated: set(t, tt.boot), PartitionIsolated: set(t, tt.partition)}
			top.Isolated = top.BootIsolated.Union(top.PartitionIsolated)
			var planned []Slot
			for _, cpus := range tt.slots {
				planned = append(planned, Slot{CPUs: set(t, cpus)})
			}
			got := ""
			if err := Balanced(top, planned); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
