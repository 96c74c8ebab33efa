package measure

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/base/linux"
	"judged/internal/base/units"
	"judged/internal/host/machine"
	"judged/internal/sandbox"
	"judged/internal/sandbox/initproc"
	"judged/internal/timing/evidence"
)

// Reading is one run of a kernel.
type Reading struct {
	CPUs   string // kernel list of the slot
	Kernel string
	// CPU time of the kernel's work without its preparation; wall time of ping-pong, which sleeps
	CPUTime              time.Duration
	Run                  api.Run // run of the whole program, with what disturbed it
	evidence.Observation         // of the same run, in the form from which thresholds are learned
}

// Canary runs reference kernels in the same sandbox as solutions. Package dispatch decides what their times mean for
// a slot. It is safe for concurrent use.
type Canary struct {
	file     *os.File // the program
	digest   string
	topology machine.Topology
	wall     time.Duration // time limit of a kernel; shorter in tests
}

// kernelWallTime is how long a kernel may take if other work shares its CPU. Alone it takes a tenth of a second.
const kernelWallTime = 30 * time.Second

// NewCanary returns a Canary whose program is ready to be copied into sandboxes. The sizes of the kernels are derived
// from the caches in the topology.
func NewCanary(t machine.Topology) (*Canary, error) {
	f, digest, err := KernelProgram()
	if err != nil {
		return nil, err
	}
	return &Canary{file: f, digest: digest, topology: t, wall: kernelWallTime}, nil
}

// KernelProgram returns the program of the kernels in memory, and its SHA-256 in hexadecimal.
func KernelProgram() (f *os.File, digest string, err error) {
	program, err := sandbox.InitProgram()
	if err != nil {
		return nil, "", fmt.Errorf("read canary: %w", err)
	}
	if f, err = linux.Memfd(initproc.CanaryName); err != nil {
		return nil, "", err
	}
	if _, err := f.Write(program); err != nil {
		return nil, "", errors.Join(fmt.Errorf("copy canary: %w", err), f.Close())
	}
	sum := sha256.Sum256(program)
	return f, hex.EncodeToString(sum[:]), nil
}

// Close closes the program file.
func (c *Canary) Close() error { return c.file.Close() }

// Digest returns the SHA-256 of the program in hexadecimal. Times of different programs are not comparable.
func (c *Canary) Digest() string { return c.digest }

// Kernels returns the kernels for a slot with these CPUs: ping-pong needs at least two. Together they take about a
// second.
func (c *Canary) Kernels(cpus cpuset.Set) []string {
	kernels := append(initproc.Kernels(), initproc.ShortKernels()...)
	if len(cpus) > 1 {
		kernels = append(kernels, initproc.KernelPingPong)
	}
	return kernels
}

// Read runs one kernel. It repeats a run that noise disturbs; if noise disturbs all runs, the error wraps ErrNoise and
// names the cause.
func (c *Canary) Read(ctx context.Context, w *Worker, kernel string) (Reading, error) {
	cpus := w.CPUs()
	q := c.request(kernel, kernelSizes(c.topology, cpus))
	r, err := undisturbed(func() (Reading, error) { return w.readKernel(ctx, q) })
	if err != nil {
		return Reading{}, fmt.Errorf("run reference kernel %s on CPU %s: %w", kernel, cpus, err)
	}
	return r, nil
}

func (w *Worker) readKernel(ctx context.Context, q Request) (Reading, error) {
	r, err := w.runKernel(ctx, q)
	if err != nil {
		return Reading{}, err
	}
	times, err := initproc.ParseKernelTime(*r.StdoutHead)
	if err != nil {
		return Reading{}, err
	}
	t := times.CPUTime
	if q.Name == initproc.KernelPingPong {
		t = times.WallTime
	}
	return Reading{CPUs: w.CPUs().String(), Kernel: q.Name, CPUTime: t, Run: r.Runs[0],
		Observation: w.Observation(r.Runs[0])}, nil
}

// runKernel returns the report of a successful run, including its output.
func (w *Worker) runKernel(ctx context.Context, q Request) (api.TestReport, error) {
	r, err := w.Test(ctx, q)
	if err != nil {
		return api.TestReport{}, err
	}
	if r.Verdict != api.Accepted || r.StdoutHead == nil || len(r.Runs) == 0 {
		return api.TestReport{}, kernelFailure(r, q.Limits)
	}
	return r, nil
}

// Probe runs a probe for a number of milliseconds and returns its output and the run.
func (c *Canary) Probe(ctx context.Context, w *Worker, probe string, milliseconds int) (string, api.Run, error) {
	q := c.request(probe, nil)
	q.Args = append(q.Args, strconv.Itoa(milliseconds))
	q.Limits.CPUTimeMS += int64(milliseconds)
	q.Limits.WallTimeMS += 3 * int64(milliseconds)
	q.Head = probeBytes
	r, err := w.runKernel(ctx, q)
	if err != nil {
		return "", api.Run{}, fmt.Errorf("run probe %s on CPU %s: %w", probe, w.CPUs(), err)
	}
	return *r.StdoutHead, r.Runs[0], nil
}

// Larger than the output of a probe and a kernel.
const (
	probeBytes = 4 << 10
	lineBytes  = 64
)

// request returns a run of a kernel that is not repeated.
func (c *Canary) request(kernel string, sizes map[string]units.Bytes) Request {
	return Request{
		Name: kernel,
		Args: kernelArguments(kernel, sizes),
		// Each run opens the file again, so it has its own file offset.
		Files: []sandbox.File{{Name: initproc.CanaryName, Exec: true,
			Path: fmt.Sprintf("/proc/self/fd/%d", c.file.Fd())}},
		Limits: api.Limits{CPUTimeMS: 10_000, WallTimeMS: c.wall.Milliseconds(), Memory: kernelMemory(sizes[kernel]),
			Output: 64 << 10, Stack: 8 << 20, Processes: 32},
		Head:    lineBytes,
		Repeats: api.Repeats{Min: 1, Max: 1, Policy: api.Single},
	}
}
