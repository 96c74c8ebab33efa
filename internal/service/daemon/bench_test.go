package daemon

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/host/hostfs"
	"judged/internal/jobs"
	"judged/internal/testkit"
)

// doneJobs is the number of finished jobs that the daemon holds while it is measured.
const doneJobs = 10_000

// emptyProgram returns the smallest static program, as in the sandbox's benchmarks: without a C library, its start is
// only the kernel's work.
func emptyProgram(b *testing.B) string {
	b.Helper()
	testkit.Need(b, testkit.StaticGCC)
	source := map[string]string{
		"amd64": `void _start(void) { __asm__ volatile("syscall" :: "a"(231), "D"(0)); }`,
		"arm64": `void _start(void) { register long x8 __asm__("x8") = 94, x0 __asm__("x0") = 0; __asm__ volatile("svc 0" :: "r"(x8), "r"(x0)); }`,
	}[runtime.GOARCH]
	path := filepath.Join(b.TempDir(), "empty")
	if err := os.WriteFile(path+".c", []byte(source), 0o644); err != nil {
		b.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-Os", "-static", "-nostdlib", "-o", path,
		path+".c").CombinedOutput(); err != nil {
		b.Fatalf("gcc: %v\n%s", err, out)
	}
	return path
}

// bareRun measures the baseline: fork, exec and wait for the same program.
func bareRun(b *testing.B, path string) time.Duration {
	b.Helper()
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

// prefill adds finished jobs to the data folder, as many as a contest has before its last hour.
func prefill(b *testing.B, c config.Config) {
	b.Helper()
	ctx := context.Background()
	s, err := jobs.Open(ctx, jobs.Options{File: filepath.Join(c.DataDir, "judged.db")})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for n := range doneJobs {
		_, _, err := s.Put(ctx, jobs.Submission{ID: fmt.Sprintf("old-%d", n), Job: api.Job{Priority: api.Practice}})
		if err != nil {
			b.Fatal(err)
		}
		w, err := s.Take(ctx, api.Want{})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Finish(ctx, w.Lease, api.Report{Verdict: api.Accepted}); err != nil {
			b.Fatal(err)
		}
	}
}

// yardsticks runs f with each program that is judged and run bare: the smallest possible one, whose start is 0.15 ms of
// the kernel's work, and one with a C library, like contestants' programs.
func yardsticks(b *testing.B, f func(b *testing.B, path string)) {
	b.Run("empty", func(b *testing.B) { f(b, emptyProgram(b)) })
	b.Run("libc", func(b *testing.B) { f(b, binary(b, "measure/tiny.c")) })
}

// loaded returns a daemon with many finished jobs, and a job with one test for it.
func loaded(b *testing.B, path string) (*instance, api.Job) {
	b.Helper()
	c := settings(b)
	c.HTTP.MaxBlob = 128 << 20
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		b.Fatal(err)
	}
	prefill(b, c)
	d := serving(b, c)
	digest, err := d.PutBlobFile(d.ctx, path)
	if err != nil {
		b.Fatal(err)
	}
	return d, api.Job{Program: api.File{Blob: digest}, Tests: []api.Test{{Name: "1"}}}
}

func (i *instance) judgeOne(b *testing.B, id string, j api.Job) {
	r, err := i.Judge(i.ctx, id, j)
	if err != nil || r.Verdict != api.Accepted {
		b.Fatalf("job %s: %s %v", id, r.Verdict, err)
	}
}

func p50(xs []time.Duration) float64 {
	s := slices.Sorted(slices.Values(xs))
	return float64(s[len(s)/2]) / 1e3
}

// BenchmarkJob measures, in every round, a bare run and a job from PUT to report, sequentially.
func BenchmarkJob(b *testing.B) { yardsticks(b, benchmarkJob) }

func benchmarkJob(b *testing.B, path string) {
	d, j := loaded(b, path)
	var bare, whole []time.Duration
	for n := 0; b.Loop(); n++ {
		bare = append(bare, bareRun(b, path))
		begin := time.Now()
		d.judgeOne(b, "job-"+strconv.Itoa(n), j)
		whole = append(whole, time.Since(begin))
	}
	b.ReportMetric(p50(bare), "bare-p50-us")
	b.ReportMetric(p50(whole), "job-p50-us")
	b.ReportMetric(p50(whole)/p50(bare), "job/bare")
	d.drain()
}

func (i *instance) putText(b *testing.B, text string) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "text")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
	digest, err := i.PutBlobFile(i.ctx, path)
	if err != nil {
		b.Fatal(err)
	}
	return digest
}

// BenchmarkTests measures, in every round, a job with a hundred small tests, each with an input and an answer, and the
// same number of bare runs of its program.
func BenchmarkTests(b *testing.B) { yardsticks(b, benchmarkTests) }

func benchmarkTests(b *testing.B, path string) {
	const tests = 100
	d, j := loaded(b, path)
	input, answer := d.putText(b, "1 2\n"), d.putText(b, "")
	j.Tests = nil
	for n := range tests {
		j.Tests = append(j.Tests, api.Test{Name: strconv.Itoa(n), Input: &api.File{Blob: input},
			Answer: &api.File{Blob: answer}})
	}
	var bare, whole []time.Duration
	ticks, n := d.cpuTicks(), 0
	for b.Loop() {
		begin := time.Now()
		for range tests {
			bareRun(b, path)
		}
		bare = append(bare, time.Since(begin))
		begin = time.Now()
		d.judgeOne(b, "tests-"+strconv.Itoa(n), j)
		whole = append(whole, time.Since(begin))
		n++
	}
	b.ReportMetric(p50(bare)/1e3, "bare-p50-ms")
	b.ReportMetric(p50(whole)/1e3, "job-p50-ms")
	b.ReportMetric(p50(whole)/p50(bare), "job/bare")
	b.ReportMetric(float64(d.cpuTicks()-ticks)*tick/float64(n*tests), "daemon-CPU-us/test")
	d.drain()
}

// BenchmarkInput measures jobs with an input of 100 MiB that was uploaded before: the first job, which copies the
// input, and the following ones.
func BenchmarkInput(b *testing.B) {
	d, j := loaded(b, emptyProgram(b))
	j.Tests[0].Input = &api.File{Blob: d.putText(b, strings.Repeat("1234567\n", 100<<20/8))}
	var all []time.Duration
	for b.Loop() {
		begin := time.Now()
		d.judgeOne(b, "input-"+strconv.Itoa(len(all)), j)
		all = append(all, time.Since(begin))
	}
	b.ReportMetric(float64(all[0])/1e6, "first-ms")
	b.ReportMetric(p50(all)/1e3, "job-p50-ms")
	d.drain()
}

// BenchmarkPolicies compares the cost of a clear result under the rule that repeats near the limit with that of a
// single run. Jobs of both kinds alternate.
func BenchmarkPolicies(b *testing.B) {
	d, j := loaded(b, binary(b, "measure/tiny.c"))
	var single, confirm []time.Duration
	for n := 0; b.Loop(); n++ {
		for _, p := range []struct {
			policy api.Policy
			took   *[]time.Duration
		}{{api.Single, &single}, {api.Confirm, &confirm}} {
			j.Repeats = api.Repeats{Policy: p.policy}
			begin := time.Now()
			d.judgeOne(b, fmt.Sprintf("%s-%d", p.policy, n), j)
			*p.took = append(*p.took, time.Since(begin))
		}
	}
	b.ReportMetric(p50(single), "single-p50-us")
	b.ReportMetric(p50(confirm), "confirm-p50-us")
	b.ReportMetric(p50(confirm)/p50(single), "confirm/single")
	d.drain()
}

// BenchmarkThroughput compares jobs of eight concurrent clients with bare runs, alternating in batches of fifty.
func BenchmarkThroughput(b *testing.B) { yardsticks(b, benchmarkThroughput) }

func benchmarkThroughput(b *testing.B, path string) {
	d, j := loaded(b, path)
	var bare, judged time.Duration
	count := 0
	ticks := d.cpuTicks()
	for b.Loop() {
		const turn = 50
		begin := time.Now()
		for range turn {
			bareRun(b, path)
		}
		bare += time.Since(begin)
		begin = time.Now()
		var wg sync.WaitGroup
		for client := range 8 {
			wg.Go(func() {
				for n := client; n < turn; n += 8 {
					d.judgeOne(b, fmt.Sprintf("many-%d-%d", count, n), j)
				}
			})
		}
		wg.Wait()
		judged += time.Since(begin)
		count++
	}
	b.ReportMetric(float64(50*count)/judged.Seconds(), "jobs/s")
	b.ReportMetric(float64(d.cpuTicks()-ticks)*tick/float64(50*count), "daemon-CPU-us/job")
	b.ReportMetric(float64(judged)/float64(bare), "bare/judged")
	d.drain()
}

// BenchmarkServe measures the time from the start of a daemon with 20,000 queued jobs until it responds. The jobs are
// for slots that it does not have.
func BenchmarkServe(b *testing.B) {
	c := settings(b)
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	s, err := jobs.Open(ctx, jobs.Options{File: filepath.Join(c.DataDir, "judged.db")})
	if err != nil {
		b.Fatal(err)
	}
	for n := range 20_000 {
		_, _, err := s.Put(ctx, jobs.Submission{ID: fmt.Sprintf("wide-%d", n), Job: api.Job{CPUs: 64}})
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	var starts []time.Duration
	for b.Loop() {
		begin := time.Now()
		d := serving(b, c)
		starts = append(starts, time.Since(begin))
		d.drain()
	}
	b.ReportMetric(p50(starts)/1e3, "start-p50-ms")
}

// idleJobs is the number of jobs that BenchmarkIdle judges first.
var idleJobs = flag.Int("idle-jobs", 100, "jobs before BenchmarkIdle measures an idle daemon")

// BenchmarkIdle measures the cost of an idle daemon after idleJobs jobs.
func BenchmarkIdle(b *testing.B) {
	d := serving(b, settings(b))
	d.ctx = b.Context() // many jobs take longer than a test may
	path := emptyProgram(b)
	digest, err := d.PutBlobFile(d.ctx, path)
	if err != nil {
		b.Fatal(err)
	}
	for n := range *idleJobs {
		d.judgeOne(b, "job-"+strconv.Itoa(n), api.Job{Program: api.File{Blob: digest}, Tests: []api.Test{{Name: "1"}}})
	}
	d.idle()
	const window = 20 * time.Second
	for b.Loop() {
		before := d.cpuTicks()
		time.Sleep(window) // the period that is measured
		b.ReportMetric(float64(d.cpuTicks()-before)*tick/1e6/window.Seconds()*100, "CPU-percent")
	}
	b.ReportMetric(float64(d.memoryKiB("VmRSS"))/1024, "RSS-MiB")
	d.drain()
}

// tick is the unit of times in /proc/PID/stat, in µs (USER_HZ is 100).
const tick = 1e4

func (p *process) proc(file string) string {
	p.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", p.cmd.Process.Pid, file))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}

// cpuTicks returns the user and system time of the daemon itself.
func (p *process) cpuTicks() int {
	p.t.Helper()
	own, _ := testkit.CPUTicks(p.t, p.cmd.Process.Pid)
	return own
}

// memoryKiB returns a size from /proc/PID/status.
func (p *process) memoryKiB(name string) int {
	p.t.Helper()
	n, err := strconv.Atoi(strings.TrimSuffix(hostfs.StatusField(p.proc("status"), name), " kB"))
	if err != nil {
		p.t.Fatalf("read %s: %v", name, err)
	}
	return n
}
