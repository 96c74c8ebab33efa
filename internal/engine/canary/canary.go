// Package canary runs reference kernels on a worker, in the same sandbox as
// solutions. What their times say of a slot is decided above.
package canary

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"time"

	"judged/internal/base/cpuset"
	"judged/internal/base/job"
	"judged/internal/base/linux"
	"judged/internal/base/units"
	"judged/internal/engine/measure"
	"judged/internal/host/topology"
	"judged/internal/sandbox"
	"judged/internal/sandbox/initproc"
	"judged/internal/timing/evidence"
)

// Reading is one kernel on one worker.
type Reading struct {
	CPUs                 string // kernel list of the slot
	Kernel               string
	CPUTime              time.Duration // of the kernel's work, without what prepares it; of ping-pong, which sleeps, the wall time
	Run                  job.Run       // of the whole program, with what disturbed it
	evidence.Observation               // the same, to learn thresholds from
}

// Canary knows the kernels. It is safe for concurrent use.
type Canary struct {
	program  *os.File
	digest   string
	topology topology.Topology
	wall     time.Duration // that a kernel may take; shorter in tests
}

// wallTime is how long a kernel may take that other work keeps from its CPU.
// Alone it takes a tenth of a second.
const wallTime = 30 * time.Second

// New makes the program of the kernels ready to be copied into sandboxes. The
// sizes of the kernels follow from the caches of the topology.
func New(t topology.Topology) (*Canary, error) {
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
	return &Canary{program: f, digest: hex.EncodeToString(sum[:]), topology: t, wall: wallTime}, nil
}

// Close lets go of the program.
func (c *Canary) Close() error { return c.program.Close() }

// Digest is the SHA-256 of the program, in hexadecimal. Times of two programs do
// not compare.
func (c *Canary) Digest() string { return c.digest }

// Kernels are those that say something of a slot of these CPUs: ping-pong wants
// two and more. One after the other they need a slot for about a second.
func (c *Canary) Kernels(cpus cpuset.Set) []string {
	kernels := append(initproc.Kernels(), initproc.ShortKernels()...)
	if len(cpus) > 1 {
		kernels = append(kernels, initproc.KernelPingPong)
	}
	return kernels
}

// Read takes a reading of one kernel. One that meets noise is run again; if it
// meets noise each time the error is an ErrNoise, which says what it was.
func (c *Canary) Read(ctx context.Context, worker *measure.Worker, kernel string) (Reading, error) {
	cpus := worker.Slot().CPUs
	q := c.request(kernel, Sizes(c.topology, cpus))
	r, err := undisturbed(func() (Reading, error) { return read(ctx, worker, q) })
	if err != nil {
		return Reading{}, fmt.Errorf("run reference kernel %s on CPU %s: %w", kernel, cpus, err)
	}
	return r, nil
}

// read takes one reading.
func read(ctx context.Context, worker *measure.Worker, q measure.Request) (Reading, error) {
	cpus, kernel := worker.Slot().CPUs, q.Name
	r, err := worker.Test(ctx, q)
	if err != nil {
		return Reading{}, err
	}
	if r.Verdict != job.Accepted || r.StdoutHead == nil {
		return Reading{}, failure(r, q.Limits)
	}
	times, err := initproc.ParseKernelTime(*r.StdoutHead)
	if err != nil {
		return Reading{}, err
	}
	t := times.CPUTime
	if kernel == initproc.KernelPingPong {
		t = times.WallTime
	}
	return Reading{CPUs: cpus.String(), Kernel: kernel, CPUTime: t, Run: r.Runs[0], Observation: worker.Observation(r.Runs[0])}, nil
}

// Probe runs a probe for so many milliseconds and returns what it wrote, with the run.
func (c *Canary) Probe(ctx context.Context, worker *measure.Worker, probe string, milliseconds int) (string, job.Run, error) {
	q := c.request(probe, nil)
	q.Args = append(q.Args, strconv.Itoa(milliseconds))
	q.Limits.CPUTimeMS += int64(milliseconds)
	q.Limits.WallTimeMS += 3 * int64(milliseconds)
	q.Head = probeBytes
	r, err := worker.Test(ctx, q)
	if err != nil {
		return "", job.Run{}, fmt.Errorf("run probe %s: %w", probe, err)
	}
	if r.Verdict != job.Accepted || r.StdoutHead == nil || len(r.Runs) == 0 {
		return "", job.Run{}, fmt.Errorf("run probe %s on CPU %s: %w", probe, worker.Slot().CPUs, failure(r, q.Limits))
	}
	return *r.StdoutHead, r.Runs[0], nil
}

// probeBytes is more than a probe writes.
const probeBytes = 4 << 10

// lineBytes is more than a kernel writes.
const lineBytes = 64

func (c *Canary) request(kernel string, sizes map[string]units.Bytes) measure.Request {
	return measure.Request{
		Name: kernel,
		Args: arguments(kernel, sizes),
		Files: []sandbox.File{{Name: initproc.CanaryName, Exec: true,
			// Opened anew for every run, with an offset of its own.
			Path: fmt.Sprintf("/proc/self/fd/%d", c.program.Fd())}},
		Limits:  job.Limits{CPUTimeMS: 10_000, WallTimeMS: c.wall.Milliseconds(), Memory: room(sizes[kernel]), Output: 64 << 10, Stack: 8 << 20, Processes: 32},
		Repeats: job.Repeats{Min: 1, Max: 1, Policy: job.Single},
		Head:    lineBytes,
	}
}
