package probe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"judged/internal/api"
	"judged/internal/engine"
	"judged/internal/engine/measure"
	"judged/internal/host/doctor"
	"judged/internal/host/hostfs"
	"judged/internal/host/machine"
	"judged/internal/host/slots"
	"judged/internal/sandbox/initproc"
)

// Options configure the probes.
type Options struct {
	IDs    []string      // subset of doctor.ProbeIDs, in any order
	Length time.Duration // of each spin on each CPU
	Rounds int           // of the reference kernels, on each slot
	// Own are kernels that neighbours do not affect. Shared are those that neighbours affect, through the last-level
	// cache and memory.
	Own, Shared []string
	// Pool has the times of the kernels in Own on another host of the pool; nil means unknown. Times reports those of
	// this host, even if there is nothing to compare them with.
	Pool  *api.KernelTimes
	Times bool
	// Seen is called with the name of every step before it.
	Seen func(step string)
}

// Default returns the options for which the thresholds are defined.
func Default() Options {
	return Options{IDs: doctor.ProbeIDs(), Length: 3 * time.Second, Rounds: 5, Own: measure.OwnKernels(),
		Shared: []string{initproc.KernelL3, initproc.KernelDRAM}}
}

// Result is the result of one probe.
type Result struct {
	ID      string
	Outcome doctor.Outcome
	Read    []string         // host paths; programs that were run have none
	Kernels *api.KernelTimes // set by probe-canary
}

// Run tests the slots of an engine, one after the other. A feature that the host lacks is a skip, and a probe that
// fails is unknown, with the error as its reason, so that the other probes still run. Run itself returns an error only
// if no probe can run or ctx ends.
func Run(ctx context.Context, c *engine.Engine, o Options) (results []Result, err error) {
	kernels, err := measure.NewCanary(c.Topology())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, kernels.Close()) }()
	p := &prober{eng: c, fs: hostfs.New("/"), kernels: kernels, top: c.Topology(), slots: c.Slots(), o: o}
	for _, probe := range []struct {
		id  string
		try func(context.Context) (doctor.Outcome, error)
	}{
		{"probe-limits", p.limits}, {"probe-gap", p.gap}, {"probe-osnoise", p.osnoise}, {"probe-canary", p.canary},
		{"probe-neighbour", p.neighbour},
	} {
		if !slices.Contains(o.IDs, probe.id) {
			continue
		}
		p.read, p.times = nil, nil
		outcome, err := probe.try(ctx)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%s: %w", probe.id, context.Cause(ctx))
		}
		if err != nil {
			outcome = doctor.Outcome{Status: api.DoctorUnknown, Reason: err.Error()}
		}
		results = append(results, Result{probe.id, outcome, p.read, p.times})
	}
	return results, nil
}

// prober holds what the probes share.
type prober struct {
	eng     *engine.Engine
	fs      hostfs.FS
	kernels *measure.Canary
	top     machine.Topology
	slots   []slots.Slot
	o       Options
	read    []string // by the running probe
	times   *api.KernelTimes
}

func (p *prober) seen(format string, args ...any) {
	if p.o.Seen != nil {
		p.o.Seen(fmt.Sprintf(format, args...))
	}
}

func (p *prober) milliseconds() int { return int(max(p.o.Length/time.Millisecond, 1)) }

func skip(reason string) doctor.Outcome {
	return doctor.Outcome{Status: api.DoctorSkip, Reason: reason}
}

// worst returns the deciding outcome. What is unknown precedes what passes: it could be worse.
func worst(all []doctor.Outcome) doctor.Outcome {
	order := []api.DoctorStatus{api.DoctorSkip, api.DoctorPass, api.DoctorUnknown, api.DoctorWarn, api.DoctorFail}
	return slices.MaxFunc(all, func(a, b doctor.Outcome) int {
		return slices.Index(order, a.Status) - slices.Index(order, b.Status)
	})
}
