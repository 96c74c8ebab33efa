package jury_test

import (
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/testkit"
)

// quantile returns a quantile in microseconds. A busy machine affects the lower decile least.
func quantile(xs []time.Duration, q float64) float64 {
	slices.Sort(xs)
	return float64(xs[int(q*float64(len(xs)-1))]) / 1e3
}

// BenchmarkCheck measures in alternation fork, exec and wait of an empty checker in C, and a check of a small output
// with it, up to the report. Between two checks the next sandbox is prepared, as it is while a program runs.
func BenchmarkCheck(b *testing.B) {
	r := openRunner(b, limits())
	c := checker(b, api.ICPC, "exit=42")
	t := caseOf(b, r)
	path := testkit.CompileC(b, source(b, "checker.c"), true)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	argv := []string{path, "a", "b", "c", "exit=42"}
	var bare, check []time.Duration
	for b.Loop() {
		begin := time.Now()
		pid, err := syscall.ForkExec(path, argv, &syscall.ProcAttr{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := syscall.Wait4(pid, nil, 0, nil); err != nil {
			b.Fatal(err)
		}
		bare = append(bare, time.Since(begin))
		r.Settle()
		begin = time.Now()
		if _, err := r.Check(b.Context(), c, t); err != nil {
			b.Fatal(err)
		}
		check = append(check, time.Since(begin))
	}
	b.ReportMetric(quantile(bare, .5), "bare-p50-us")
	b.ReportMetric(quantile(check, .5), "check-p50-us")
	b.ReportMetric(quantile(check, .5)/quantile(bare, .5), "check/bare-p50")
	b.ReportMetric(quantile(check, .1)/quantile(bare, .1), "check/bare-p10")
}
