package dispatch

import (
	"testing"
	"time"

	"judged/internal/api"

	"github.com/google/go-cmp/cmp"

	"judged/internal/sandbox/initproc"
)

// TestTimes checks that the times are those of all slots in use, once they are learned.
func TestTimes(t *testing.T) {
	watch(t, func(f *watched) {
		times := func(name string, want *api.KernelTimes) {
			t.Helper()
			if diff := cmp.Diff(want, f.m.Times()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
		measured := func(alu time.Duration) *api.KernelTimes {
			return &api.KernelTimes{Program: "fake", CPUTime: map[string]time.Duration{initproc.KernelALU: alu,
				initproc.KernelSyscall: 50 * time.Millisecond}}
		}
		f.canary.factors["1"] = 1.5
		times("at first", &api.KernelTimes{Program: "fake"})
		end := f.settled()
		times("learned", measured(75*time.Millisecond))
		f.must(f.m.Drain(second.CPUs, "broken"))
		times("one slot drained", measured(50*time.Millisecond))
		f.must(f.m.Drain(first.CPUs, "broken"))
		times("both slots drained", &api.KernelTimes{Program: "fake", CPUTime: map[string]time.Duration{}})
		f.must(f.m.Undrain(first.CPUs))
		f.must(f.m.Undrain(second.CPUs))
		f.canary.factors["0"] = 2
		f.pass(20 * interval)
		times("the first slot has shifted, its baseline has not", measured(75*time.Millisecond))
		end()
		f.must(f.m.Undrain(first.CPUs)) // quarantined: learns again
		times("one slot learns again", &api.KernelTimes{Program: "fake"})
		f.m.o.Interval = 0
		times("no canaries", nil)
	})
}
