// Package canary runs reference kernels on a stand, in the same sandbox and
// with the same clock as solutions, and says how far their times are from those
// that the stand showed first. What is made of that is decided above.
package canary

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"judged/internal/job"
	"judged/internal/linux"
	"judged/internal/measure"
	"judged/internal/sandbox"
	"judged/internal/stage"
)

// Reading is one kernel on one stand.
type Reading struct {
	CPUs      string // kernel list of the slot
	Kernel    string
	CPUTime   time.Duration // median of its runs
	Deviation float64       // CPUTime / reference - 1
}

// Canary knows the kernels and the references. It is safe for concurrent use.
type Canary struct {
	program *os.File

	mu         sync.Mutex // guards references
	references map[[2]string]time.Duration
}

// New makes the program of the kernels ready to be copied into sandboxes.
func New() (*Canary, error) {
	program, err := sandbox.InitProgram()
	if err != nil {
		return nil, fmt.Errorf("read canary: %w", err)
	}
	f, err := linux.Memfd(stage.CanaryName)
	if err != nil {
		return nil, err
	}
	if _, err := f.Write(program); err != nil {
		f.Close()
		return nil, fmt.Errorf("copy canary: %w", err)
	}
	return &Canary{program: f, references: map[[2]string]time.Duration{}}, nil
}

// Close lets go of the program.
func (c *Canary) Close() error { return c.program.Close() }

// runs is how often a kernel is run for one reading, of which the median
// counts.
const runs = 3

// Run takes a reading of every kernel. It needs the stand for a fifth of a
// second.
func (c *Canary) Run(ctx context.Context, stand *measure.Stand) ([]Reading, error) {
	var all []Reading
	for _, kernel := range stage.Kernels() {
		r, err := stand.Test(ctx, c.request(kernel))
		if err != nil {
			return all, fmt.Errorf("run canary %s: %w", kernel, err)
		}
		if r.Verdict != job.Accepted || r.Timing == nil {
			return all, fmt.Errorf("run canary %s: verdict %s; its sandbox is too small or judged is damaged", kernel, r.Verdict)
		}
		cpus := stand.Slot().CPUs.String()
		all = append(all, Reading{CPUs: cpus, Kernel: kernel, CPUTime: r.Timing.Median, Deviation: c.deviation(cpus, kernel, r.Timing.Median)})
	}
	return all, nil
}

func (c *Canary) request(kernel string) measure.Request {
	return measure.Request{
		Name: kernel,
		Args: []string{"./" + stage.CanaryName, kernel},
		Files: []sandbox.File{{Name: stage.CanaryName, Exec: true,
			// Opened anew for every run, with an offset of its own.
			Path: fmt.Sprintf("/proc/self/fd/%d", c.program.Fd())}},
		Limits:  job.Limits{CPUTimeMS: 10_000, WallTimeMS: 30_000, Memory: 256 << 20, Output: 64 << 10, Stack: 8 << 20, Processes: 32},
		Repeats: job.Repeats{Min: runs, Max: runs, Policy: job.Single},
	}
}

// deviation compares with the first reading of the same kernel on the same
// CPUs, which becomes the reference.
func (c *Canary) deviation(cpus, kernel string, t time.Duration) float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := [2]string{cpus, kernel}
	reference, ok := c.references[key]
	if !ok || reference <= 0 {
		c.references[key] = t
		return 0
	}
	return float64(t)/float64(reference) - 1
}
