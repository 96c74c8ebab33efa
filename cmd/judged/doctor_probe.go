package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/engine"
	"judged/internal/host/doctor"
	"judged/internal/host/hostfs"
	"judged/internal/host/slots"
	"judged/internal/lab/probe"
	"judged/internal/service/render"
)

// canaryProbe is the probe whose results are part of a fingerprint.
const canaryProbe = "probe-canary"

// allProbes is the value of --probe without names.
const allProbes = "all"

// probeFlags select the probes and how long each one takes.
type probeFlags struct {
	ids    []string
	length time.Duration
	rounds int
}

func (f *probeFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.ids, "probe", nil, "also run probes on the slots: all, or those given as `=ID,ID`")
	cmd.Flags().Lookup("probe").NoOptDefVal = allProbes
	cmd.Flags().DurationVar(&f.length, "probe-time", probe.Default().Length, "`TIME` that a probe watches each CPU")
	cmd.Flags().IntVar(&f.rounds, "probe-rounds", probe.Default().Rounds,
		"`N` readings of each reference kernel on each slot")
}

// check refuses invalid values, and flags that cannot be combined with --probe.
func (f *probeFlags) check(elsewhere, fingerprint bool) error {
	if len(f.ids) == 0 {
		return nil
	}
	if elsewhere {
		return usagef("--probe measures this host: leave out --root and --capture")
	}
	if fingerprint && !slices.Equal(f.ids, []string{canaryProbe}) {
		return usagef("--fingerprint can be combined with --probe=%s only: leave other probes out", canaryProbe)
	}
	for _, id := range f.ids {
		if id != allProbes && !slices.Contains(doctor.ProbeIDs(), id) {
			return usagef("--probe=%s: unknown probe; use %s", id, strings.Join(doctor.ProbeIDs(), ", "))
		}
	}
	if f.length < 10*time.Millisecond || f.length > 10*time.Minute {
		return usagef("--probe-time %s: give 10ms to 10m", f.length)
	}
	if f.rounds < 1 || f.rounds > 1000 {
		return usagef("--probe-rounds %d: give 1 to 1000", f.rounds)
	}
	return nil
}

// probe runs the probes on the slots and adds their results to the report.
func (a *app) probe(ctx context.Context, c config.Config, r *api.DoctorReport, f probeFlags,
	member *api.Fingerprint) error {
	o := f.options()
	if member != nil {
		o.Pool = member.Kernels
	}
	results, err := a.runProbes(ctx, c, o)
	if errors.As(err, new(*noSlots)) {
		for _, id := range o.IDs {
			doctor.AddProbe(r, id, doctor.Outcome{Status: api.DoctorSkip, Reason: err.Error()}, nil)
		}
		return nil
	}
	for _, p := range results {
		doctor.AddProbe(r, p.ID, p.Outcome, p.Read)
	}
	return err
}

// printFingerprint prints the fingerprint, with the times of the reference kernels if --probe selects them.
func (a *app) printFingerprint(ctx context.Context, c config.Config, o doctor.Options, f probeFlags) error {
	print, err := doctor.Fingerprint(o)
	if err != nil {
		return asDoctorUsage(err)
	}
	if len(f.ids) > 0 {
		try := f.options()
		try.Times = true
		results, err := a.runProbes(ctx, c, try)
		if err != nil {
			return err
		}
		if print.Kernels = results[0].Kernels; print.Kernels == nil {
			return fmt.Errorf("measure reference kernels: %s", results[0].Outcome.Reason)
		}
	}
	return a.printJSON(print)
}

func (f *probeFlags) options() probe.Options {
	o := probe.Default()
	o.Length, o.Rounds = f.length, f.rounds
	if !slices.Contains(f.ids, allProbes) {
		o.IDs = f.ids
	}
	return o
}

// noSlots is the error of a host without a usable slot, so that no probe can run.
type noSlots struct{ error }

// runProbes runs the probes on the slots of this host.
func (a *app) runProbes(ctx context.Context, c config.Config, o probe.Options) ([]probe.Result, error) {
	switch pid, err := daemonPID(hostfs.New("/")); {
	case err != nil:
		return nil, err
	case pid > 0:
		return nil, fmt.Errorf("probe: judged serve (process %d) is judging on this host, and the probe would disturb it; "+
			"stop it first", pid)
	}
	options, err := engineOptions(c, a, "doctor --probe")
	if err != nil {
		return nil, err
	}
	eng, err := engine.Open(options)
	if errors.As(err, new(*engine.UsageError)) || errors.As(err, new(*slots.TakenError)) {
		return nil, asUsage(err)
	}
	if err != nil {
		return nil, &noSlots{fmt.Errorf("set up a slot on this host: %w", err)}
	}
	line := render.Line{W: a.err}
	o.Seen = func(step string) { line.Show("probing %s", step) }
	results, err := probe.Run(ctx, eng, o)
	line.Clear()
	if err := errors.Join(err, eng.Close()); err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}
	return results, nil
}

// daemonPID returns the PID of a daemon on this host, or 0 without a daemon.
func daemonPID(host hostfs.FS) (int, error) {
	files, err := host.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return 0, fmt.Errorf("look for a daemon: %w", err)
	}
	for _, file := range files {
		text, err := host.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		args := strings.Split(string(text), "\x00")
		if len(args) > 1 && path.Base(args[0]) == "judged" && args[1] == "serve" {
			return strconv.Atoi(path.Base(path.Dir(file)))
		}
	}
	return 0, nil
}
