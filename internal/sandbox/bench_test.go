package sandbox

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"judged/internal/base/cpuset"
	"judged/internal/base/linux"
	"judged/internal/testkit"
)

// quantile returns the nearest-rank quantile in microseconds.
func quantile(xs []time.Duration, q float64) float64 {
	s := slices.Sorted(slices.Values(xs))
	return float64(s[int(q*float64(len(s)-1))]) / 1e3
}

// empty returns the smallest static program. It has no C library, so that only the kernel's work is measured.
func empty(t testing.TB) string {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.StaticGCC)
	dir := t.TempDir()
	source := map[string]string{
		"amd64": `void _start(void) { __asm__ volatile("syscall" :: "a"(231), "D"(0)); }`,
		"arm64": `void _start(void) { register long x8 __asm__("x8") = 94, x0 __asm__("x0") = 0; __asm__ volatile("svc 0" :: "r"(x8), "r"(x0)); }`,
	}[runtime.GOARCH]
	if err := os.WriteFile(dir+"/empty.c", []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-Os", "-static", "-nostdlib", "-o", dir+"/empty",
		dir+"/empty.c").CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	return dir + "/empty"
}

// forkExec is the baseline: fork, exec and wait for the same program without a sandbox.
func forkExec(b *testing.B, path string) time.Duration {
	begin := time.Now()
	pid, err := syscall.ForkExec(path, []string{path}, &syscall.ProcAttr{})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := syscall.Wait4(pid, nil, 0, nil); err != nil {
		b.Fatal(err)
	}
	return time.Since(begin)
}

// BenchmarkStart measures, in every round, fork+exec+wait and a prepared sandbox from start to exit status, so that
// both see the same host.
func BenchmarkStart(b *testing.B) {
	path := empty(b)
	l := newLab(b, nil)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var bare, start, billed, around []time.Duration
	for b.Loop() {
		bare = append(bare, forkExec(b, path))
		begin := time.Now()
		s, err := l.Prepare(l.slot)
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Load(Spec{Args: []string{"./empty"}, Files: []File{{Name: "empty", Path: path, Exec: true}},
			Limits: limits()}); err != nil {
			b.Fatal(err)
		}
		r, err := s.Run(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		start, billed = append(start, r.WallTime), append(billed, r.CPUTime)
		around = append(around, time.Since(begin))
	}
	b.ReportMetric(quantile(bare, .5), "bare-p50-us")
	b.ReportMetric(quantile(start, .5), "start-p50-us")
	b.ReportMetric(quantile(start, .99), "start-p99-us")
	b.ReportMetric(quantile(start, .5)/quantile(bare, .5), "start/bare")
	b.ReportMetric(quantile(billed, .5), "billed-p50-us")
	b.ReportMetric(quantile(around, .5), "whole-p50-us")
}

// BenchmarkOvershoot measures how far beyond its CPU time limit a program gets.
func BenchmarkOvershoot(b *testing.B) {
	testkit.Need(b, testkit.Root, testkit.Cgroup, testkit.StaticGCC)
	spin := testkit.CompileC(b, filepath.Join(testkit.RepoRoot(b), "testdata/submissions/measure/spin.c"), true)
	family := testkit.CompileC(b, "testdata/family.c", true)
	for _, bb := range []struct {
		name string
		path string
		args []string
		cpus int
		busy bool // whether all other CPUs compute
	}{
		{"spin", spin, []string{"./program", "1"}, 1, false},
		{"busy", spin, []string{"./program", "1"}, 1, true},
		{"duty50", spin, []string{"./program", "1", "50"}, 1, false},
		{"threads2", spin, []string{"./program", "2"}, 2, false},
		{"threads2duty50", spin, []string{"./program", "2", "50"}, 2, false},
		{"orphan", family, []string{"./program", "orphan", "spin"}, 1, false}, // uses CPU time after its parent exited
	} {
		b.Run(bb.name, func(b *testing.B) {
			l := newLab(b, nil)
			l.widen(b, bb.cpus)
			if bb.busy {
				l.occupy(b, spin)
			}
			var over []time.Duration
			for i := 0; b.Loop(); i++ {
				spec := Spec{Args: bb.args, Files: []File{{Name: "program", Path: bb.path, Exec: true}},
					Limits: limits()}
				spec.Limits.CPUTime = time.Duration(100+i*37%150) * time.Millisecond
				r, _ := l.run(b, spec)
				if r.Stop != StopCPU {
					b.Fatalf("not stopped at its limit: %+v", r)
				}
				over = append(over, r.CPUTime-spec.Limits.CPUTime)
			}
			b.ReportMetric(quantile(over, .5), "over-p50-us")
			b.ReportMetric(quantile(over, .99), "over-p99-us")
		})
	}
}

// widen gives the slot the first n CPUs, including CPU 0, which slots normally do not use: a machine with two CPUs
// has no others.
func (l *lab) widen(b *testing.B, n int) {
	b.Helper()
	if n == 1 {
		return
	}
	if runtime.NumCPU() < n {
		b.Skipf("%d CPUs, want %d", runtime.NumCPU(), n)
	}
	var all []int
	for cpu := range n {
		all = append(all, cpu)
	}
	l.slot.CPUs = cpuset.New(all...)
	var err error
	if l.slot.Group, err = l.tree.Subtree(l.slot.CPUs, cpuset.New(l.slot.Node)); err != nil {
		b.Fatal(err)
	}
}

// occupy keeps every CPU outside the slot busy with a program that spins.
func (l *lab) occupy(b *testing.B, spin string) {
	b.Helper()
	for cpu := range runtime.NumCPU() {
		if l.slot.CPUs.Contains(cpu) {
			continue
		}
		other := exec.Command(spin)
		other.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := other.Start(); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			_ = other.Process.Kill() // it never exits by itself
			_ = other.Wait()         // killed
		})
		if err := linux.SetAffinity(other.Process.Pid, []int{cpu}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAfterlife measures what a run is billed for a child that survives the first process: a child that works
// compared with one that sleeps.
func BenchmarkAfterlife(b *testing.B) {
	testkit.Need(b, testkit.Root, testkit.Cgroup, testkit.StaticGCC)
	path := testkit.CompileC(b, "testdata/family.c", true)
	l := newLab(b, nil)
	billed := map[string][]time.Duration{}
	for b.Loop() {
		for _, what := range []string{"sleep", "spin"} {
			r, _ := l.run(b, Spec{Args: []string{"./program", "leave", what},
				Files: []File{{Name: "program", Path: path, Exec: true}}, Limits: limits()})
			if r.Stop != StopNone || r.Code != 0 || r.Signal != 0 {
				b.Fatalf("did not end by itself: %+v", r)
			}
			billed[what] = append(billed[what], r.CPUTime)
		}
	}
	for what, all := range billed {
		b.ReportMetric(quantile(all, .5), what+"-billed-p50-us")
		b.ReportMetric(quantile(all, .99), what+"-billed-p99-us")
	}
}

// BenchmarkPeak measures the memory peak of a program that touches 100 MiB.
func BenchmarkPeak(b *testing.B) {
	testkit.Need(b, testkit.Root, testkit.Cgroup, testkit.StaticGCC)
	path := testkit.CompileC(b, filepath.Join(testkit.RepoRoot(b), "testdata/submissions/measure/touch.c"), true)
	l := newLab(b, nil)
	var least, most float64
	for b.Loop() {
		r, _ := l.run(b, Spec{Args: []string{"./touch", "100"}, Files: []File{{Name: "touch", Path: path, Exec: true}},
			Limits: limits()})
		if r.MemoryPeak == nil {
			b.Skip("the kernel shows no peak")
		}
		off := float64(*r.MemoryPeak)/(1<<20) - 100
		if least == 0 || off < least {
			least = off
		}
		most = max(most, off)
	}
	b.ReportMetric(least, "least-MiB-off")
	b.ReportMetric(most, "most-MiB-off")
}
