package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"judged/internal/api"
	"judged/internal/sandbox/initproc"
	"judged/internal/service/render"
	"judged/internal/testkit/samples"
)

// plan holds the jobs of the demo. The sieve is last.
type plan struct {
	flags         []string // for gcc
	items         []*item
	withoutPython []string // names of skipped samples
}

// item is one job and its result.
type item struct {
	sample samples.Sample
	job    api.Job
	report api.Report
}

// newPlan returns the samples that are marked for the demo.
func newPlan(path string, repeats int) (*plan, error) {
	set, err := samples.Read(path)
	if err != nil {
		return nil, err
	}
	p := &plan{flags: set.Flags}
	_, python := initproc.Find("python3") // a sandbox sees the programs of the host
	for _, s := range set.Samples {
		switch {
		case !s.Demo || !s.FitsArch():
		case slices.Contains(s.Needs, "python") && !python:
			p.withoutPython = append(p.withoutPython, s.Name)
		default:
			p.items = append(p.items, &item{sample: s})
		}
	}
	if len(p.items) == 0 {
		return nil, fmt.Errorf(`read samples %q: none is for the demo; mark some with "demo": true`, path)
	}
	p.items = append(p.items, sieve(filepath.Dir(path), repeats))
	return p, nil
}

// The sieve uses 4 bytes per number, far more than the caches hold. It takes about 0.3 s on hardware of 2024.
const (
	sieveNumbers = 50_000_000
	sievePrimes  = 3_001_134 // number of primes below sieveNumbers
	sieveMemory  = 256 << 20
)

// sieve returns the job that measures how much the times of one memory-bound program vary. build writes its
// test.
func sieve(dir string, repeats int) *item {
	return &item{
		sample: samples.Sample{Name: "measure/sieve", Source: filepath.Join(dir, "submissions", "measure", "sieve.c"),
			Static: true, Want: samples.Want{Verdict: api.Accepted}},
		job: api.Job{
			Limits:  api.Limits{CPUTimeMS: 10_000, WallTimeMS: 60_000, Memory: sieveMemory},
			Repeats: api.Repeats{Min: repeats, Max: repeats},
			Checker: &api.Checker{Kind: "tokens"},
		},
	}
}

// sieveTest writes the test of the sieve and returns the path of its input.
func sieveTest(dir string) (string, error) {
	path := filepath.Join(dir, "sieve-tests", fmt.Sprint(sieveNumbers))
	return path + ".in", errors.Join(os.Mkdir(filepath.Dir(path), 0o755),
		os.WriteFile(path+".in", fmt.Appendln(nil, sieveNumbers), 0o644),
		os.WriteFile(path+".ans", fmt.Appendln(nil, sievePrimes), 0o644))
}

// build compiles the programs and creates the jobs.
func (p *plan) build(ctx context.Context, dir string, line render.Line) error {
	for n, it := range p.items {
		line.Show("compiling %d of %d  %s", n+1, len(p.items), it.sample.Name)
		if err := it.sample.Build(ctx, p.flags, dir); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return &needError{errors.Join(err, errors.New(
				"gcc must link statically, too; install the static C library: apt-get install libc6-dev"))}
		}
		if n < len(p.items)-1 {
			it.job = it.sample.Job()
			continue
		}
		input, err := sieveTest(dir)
		if err != nil {
			return err
		}
		it.job.Program, it.job.Tests = api.File{Part: it.sample.Program}, []api.Test{{Input: &api.File{Part: input}}}
	}
	return nil
}
