// Package canary runs reference kernels in the same sandbox as solutions. Package slothealth decides what their times
// mean for a slot.
package canary

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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

// A Runner runs programs on the CPUs of one slot, in a sandbox.
type Runner interface {
	CPUs() cpuset.Set
	RunOnce(ctx context.Context, p Program) (api.TestReport, error)
	Observation(api.Run) evidence.Observation
}

// Program is a reference kernel or a probe with everything that a run of it needs.
type Program struct {
	Name   string
	Args   []string
	File   sandbox.File
	Limits api.Limits
	Head   units.Bytes // maximum length of its output in the report
}

// Reading is one run of a kernel.
type Reading struct {
	CPUs   string // kernel list of the slot
	Kernel string
	// CPU time of the kernel's work without its preparation; wall time of ping-pong, which sleeps
	CPUTime              time.Duration
	Run                  api.Run // run of the whole program, with what disturbed it
	evidence.Observation         // of the same run, in the form from which thresholds are learned
}

// Canary holds the program of the kernels. It is safe for concurrent use.
type Canary struct {
	file     *os.File // the program
	digest   string
	topology machine.Topology
	wall     time.Duration // time limit of a kernel; shorter in tests
}

// wallTime is how long a kernel may take if other work shares its CPU. Alone it takes a tenth of a second.
const wallTime = 30 * time.Second

// New returns a Canary whose program is ready to be copied into sandboxes. The sizes of the kernels are derived from
// the caches in the topology.
func New(t machine.Topology) (*Canary, error) {
	program, err := sandbox.InitProgram()
	if err != nil {
		return nil, fmt.Errorf("read canary: %w", err)
	}
	f, err := linux.Memfd(initproc.CanaryName)
	if err != nil {
		return nil, err
	}
	if _, err := f.Write(program); err != nil {
		f.Close()
		return nil, fmt.Errorf("copy canary: %w", err)
	}
	sum := sha256.Sum256(program)
	return &Canary{file: f, digest: hex.EncodeToString(sum[:]), topology: t, wall: wallTime}, nil
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
func (c *Canary) Read(ctx context.Context, runner Runner, kernel string) (Reading, error) {
	cpus := runner.CPUs()
	p := c.program(kernel, Sizes(c.topology, cpus))
	r, err := undisturbed(func() (Reading, error) { return read(ctx, runner, p) })
	if err != nil {
		return Reading{}, fmt.Errorf("run reference kernel %s on CPU %s: %w", kernel, cpus, err)
	}
	return r, nil
}

func read(ctx context.Context, runner Runner, p Program) (Reading, error) {
	r, err := run(ctx, runner, p)
	if err != nil {
		return Reading{}, err
	}
	times, err := initproc.ParseKernelTime(*r.StdoutHead)
	if err != nil {
		return Reading{}, err
	}
	t := times.CPUTime
	if p.Name == initproc.KernelPingPong {
		t = times.WallTime
	}
	return Reading{CPUs: runner.CPUs().String(), Kernel: p.Name, CPUTime: t, Run: r.Runs[0],
		Observation: runner.Observation(r.Runs[0])}, nil
}

// run returns the report of a successful run, including its output.
func run(ctx context.Context, runner Runner, p Program) (api.TestReport, error) {
	r, err := runner.RunOnce(ctx, p)
	if err != nil {
		return api.TestReport{}, err
	}
	if r.Verdict != api.Accepted || r.StdoutHead == nil || len(r.Runs) == 0 {
		return api.TestReport{}, failure(r, p.Limits)
	}
	return r, nil
}

// Probe runs a probe for a number of milliseconds and returns its output and the run.
func (c *Canary) Probe(ctx context.Context, runner Runner, probe string, milliseconds int) (string, api.Run, error) {
	p := c.program(probe, nil)
	p.Args = append(p.Args, strconv.Itoa(milliseconds))
	p.Limits.CPUTimeMS += int64(milliseconds)
	p.Limits.WallTimeMS += 3 * int64(milliseconds)
	p.Head = probeBytes
	r, err := run(ctx, runner, p)
	if err != nil {
		return "", api.Run{}, fmt.Errorf("run probe %s on CPU %s: %w", probe, runner.CPUs(), err)
	}
	return *r.StdoutHead, r.Runs[0], nil
}

// Larger than the output of a probe and a kernel.
const (
	probeBytes = 4 << 10
	lineBytes  = 64
)

func (c *Canary) program(kernel string, sizes map[string]units.Bytes) Program {
	return Program{
		Name: kernel,
		Args: arguments(kernel, sizes),
		// Each run opens the file again, so it has its own file offset.
		File: sandbox.File{Name: initproc.CanaryName, Exec: true, Path: fmt.Sprintf("/proc/self/fd/%d", c.file.Fd())},
		Limits: api.Limits{CPUTimeMS: 10_000, WallTimeMS: c.wall.Milliseconds(), Memory: memoryLimit(sizes[kernel]),
			Output: 64 << 10, Stack: 8 << 20, Processes: 32},
		Head: lineBytes,
	}
}
