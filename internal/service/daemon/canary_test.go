package daemon

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/sandbox/initproc"
	"judged/internal/testkit"
)

// TestCanary runs the reference kernels on the idle slot twice, and checks that a job in between is judged as usual.
func TestCanary(t *testing.T) {
	c := settings(t)
	c.Canary.Interval = time.Second
	d := serving(t, c)
	r := d.submit("between", d.sum(1, false))
	readings := func() map[string]float64 {
		seconds := map[string]float64{}
		for _, m := range d.scrape()["judged_canary_seconds"].GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "kernel" {
					seconds[l.GetValue()] = m.GetGauge().GetValue()
				}
			}
		}
		return seconds
	}
	var first map[string]float64
	testkit.WaitFor(t, patience, "a reading of every kernel", func() bool {
		first = readings()
		return len(first) == len(initproc.Kernels())+len(initproc.ShortKernels())
	})
	for kernel, s := range first {
		if s <= 0 {
			t.Errorf("%s took %g s", kernel, s)
		}
	}
	testkit.WaitFor(t, patience, "other readings", func() bool { return !cmp.Equal(first, readings()) })
	if r = d.finish(r.ID); r.Verdict != api.Accepted {
		t.Errorf("job between canaries: %s", r.Verdict)
	}
	d.drain()
}
