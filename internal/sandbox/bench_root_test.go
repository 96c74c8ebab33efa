package sandbox

import (
	"context"
	"testing"
	"time"

	"judged/internal/testkit"
)

// BenchmarkStartWithLibraries compares copies of the host's files with the files themselves: the time to load a run,
// the time from start to exit status, and the CPU time that the run is billed. The roots alternate, so that all see
// the same host.
func BenchmarkStartWithLibraries(b *testing.B) {
	testkit.Need(b, testkit.Root, testkit.Cgroup, testkit.StaticGCC, testkit.Python)
	program := func(static bool) []File {
		return []File{{Name: "program", Path: testkit.CompileC(b, "testdata/act.c", static), Exec: true}}
	}
	for _, bb := range []struct {
		name string
		spec Spec
	}{
		{"static", Spec{Args: []string{"./program", "exit", "0"}, Files: program(true), Limits: limits()}},
		{"dynamic", Spec{Args: []string{"./program", "exit", "0"}, Files: program(false), Limits: limits()}},
		{"python", Spec{Args: []string{"python3", "-c", "0"}, Limits: limits()}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			roots := []Root{RootHost, RootPrivate}
			var labs []*lab
			var once []time.Duration
			for _, root := range roots {
				l := newLab(b, func(o *Options) { o.Root = root })
				begin := time.Now()
				l.run(b, bb.spec)
				once = append(once, time.Since(begin))
				labs = append(labs, l)
			}
			costs := make([]startCost, len(roots))
			for b.Loop() {
				for i, l := range labs {
					costs[i].measure(b, l, bb.spec)
				}
			}
			for i, root := range roots {
				costs[i].report(b, string(root))
				b.ReportMetric(float64(once[i])/1e3, string(root)+"-once-us")
			}
		})
	}
}

// startCost is the cost of starting runs.
type startCost struct {
	prepare, load, wall, cpu []time.Duration
	peak                     int64 // bytes
	faults                   int64 // major faults, all runs
}

func (c *startCost) measure(b *testing.B, l *lab, spec Spec) {
	begin := time.Now()
	s, err := l.Prepare(l.slot)
	if err != nil {
		b.Fatal(err)
	}
	prepared := time.Now()
	if err := s.Load(spec); err != nil {
		b.Fatal(err)
	}
	loaded := time.Now()
	r, err := s.Run(context.Background())
	if err != nil || r.Code != 0 || r.ExecError != 0 {
		b.Fatalf("%+v, %v", r, err)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	c.prepare, c.load = append(c.prepare, prepared.Sub(begin)), append(c.load, loaded.Sub(prepared))
	c.wall, c.cpu = append(c.wall, r.WallTime), append(c.cpu, r.CPUTime)
	c.faults += *r.MajorFaults
	if r.MemoryPeak != nil {
		c.peak = max(c.peak, int64(*r.MemoryPeak))
	}
}

func (c *startCost) report(b *testing.B, root string) {
	b.ReportMetric(quantile(c.prepare, .5), root+"-prepare-p50-us")
	b.ReportMetric(quantile(c.load, .5), root+"-load-p50-us")
	b.ReportMetric(quantile(c.wall, .5), root+"-start-p50-us")
	b.ReportMetric(quantile(c.wall, .99), root+"-start-p99-us")
	b.ReportMetric(quantile(c.cpu, .5), root+"-billed-p50-us")
	b.ReportMetric(float64(c.peak)/(1<<10), root+"-peak-KiB")
	b.ReportMetric(float64(c.faults), root+"-major-faults")
}
