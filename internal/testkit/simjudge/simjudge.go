// Package simjudge provides simulated judges. They send the same requests to a front as a judged with role
// judge, at the same times, but generate random reports instead of judging. A machine with few CPUs can run
// many of them.
package simjudge

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"judged/internal/api"
	"judged/internal/base/poll"
	"judged/internal/base/units"
	"judged/internal/client"
	"judged/internal/fleet/judge"
)

// Judge is a simulated judge with one slot. Run is called once.
type Judge struct {
	Name  string
	Front client.Client
	// Hardware describes its host; nil means the default of all simulated judges.
	Hardware map[string]string
	// TestTime is how long a test takes.
	TestTime time.Duration
	// Report returns the report of a job; nil accepts all jobs.
	Report func(api.Work) api.Report
	// Finished counts the jobs, and Failed the unanswered requests, which a judge repeats.
	Finished, Failed *atomic.Int64

	source *judge.Source
	spool  string
	busy   atomic.Bool
	known  api.NodeCommands // answer to the last registration
}

const (
	// fingerprintOfAll is the fingerprint of all simulated judges.
	fingerprintOfAll = "simulated"
	// again is the delay before an unanswered request is repeated.
	again = 100 * time.Millisecond
	// heartbeat is the same as that of judged.
	heartbeat = 10 * time.Second
)

// hardware, languageIDs and kernels have realistic sizes.
var (
	hardware = map[string]string{"kernel": "6.12.48+deb13-cloud-amd64", "cpu_model": "simulated", "microcode": "0x1",
		"cores": "1", "threads_per_core": "1", "nodes": "1", "caches": "32K 32K 1M 32M", "hypervisor": "false",
		"clocksource": "tsc", "mitigations": "on", "memory": "16 GiB", "turbo": "off",
		"kernel_config": strings.Repeat("0", 64)}
	languageIDs = []string{"ada", "c", "cpp", "csharp", "d", "fortran", "go", "haskell", "java", "javascript", "kotlin",
		"lua", "ocaml", "pascal", "perl", "php", "prolog", "pypy", "python", "ruby", "rust", "scala", "swift", "zig"}
	kernels = &api.KernelTimes{Program: strings.Repeat("0", 64), CPUTime: map[string]time.Duration{
		"alu": 101 * time.Millisecond, "branch": 97 * time.Millisecond, "memory": 120 * time.Millisecond}}
)

// Join registers the judge for the first time.
func (j *Judge) Join(ctx context.Context) (err error) {
	if j.spool, err = os.MkdirTemp("", "judged-simulated-"); err != nil {
		return err
	}
	j.source, err = judge.NewSource(judge.Options{Front: j.Front, Node: j.Name, Spool: j.spool,
		Log: slog.New(slog.DiscardHandler)})
	if err == nil {
		err = j.register(ctx, true)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(j.spool))
	}
	return nil
}

// Run judges jobs until ctx is done. It returns errors that a judge does not retry.
func (j *Judge) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var tasks sync.WaitGroup
	tasks.Go(func() { j.registerLoop(ctx) })
	tasks.Go(func() { j.source.Run(ctx) })
	err := j.judge(ctx)
	cancel()
	tasks.Wait()
	return errors.Join(err, os.RemoveAll(j.spool))
}

// register sends what the front does not know yet, like judged.
func (j *Judge) register(ctx context.Context, started bool) error {
	r := api.Registration{Version: "simulated", Pool: "default", Fingerprint: fingerprintOfAll, Ready: true,
		Time: time.Now(), Started: started, Slots: []api.NodeSlot{{CPUs: "1", State: "idle"}}}
	if j.busy.Load() {
		r.Slots[0].State = "busy"
	}
	for _, id := range languageIDs {
		r.Languages = append(r.Languages, api.LanguageStatus{ID: id, Name: id, Extensions: []string{id}, Available: true,
			Version: id + " 1.2.3 (simulated)"})
	}
	if !j.known.HardwareKnown {
		if r.Hardware = j.Hardware; r.Hardware == nil {
			r.Hardware = hardware
		}
	}
	if !j.known.KernelsKnown {
		r.Kernels = kernels
	}
	known, err := j.source.Register(ctx, r)
	if err == nil {
		j.known = known
	}
	return err
}

// registerLoop registers repeatedly, starting at a random time, because judges do not start simultaneously.
func (j *Judge) registerLoop(ctx context.Context) {
	poll.Sleep(ctx, rand.N(api.RegisterEvery))
	for ctx.Err() == nil {
		if err := j.register(ctx, false); err != nil && ctx.Err() == nil {
			j.count(j.Failed)
		}
		poll.Sleep(ctx, api.RegisterEvery)
	}
}

func (j *Judge) judge(ctx context.Context) error {
	for ctx.Err() == nil {
		w, err := j.source.Take(ctx, api.Want{Pool: "default", Width: 1, CPUs: "1"})
		if err == nil {
			j.busy.Store(true)
			err = j.attempt(ctx, w)
			j.busy.Store(false)
		}
		switch {
		case ctx.Err() != nil:
		case errors.Is(err, api.ErrUnavailable):
			j.count(j.Failed)
			poll.Sleep(ctx, again)
		case err != nil:
			return err
		}
	}
	return nil
}

// attempt judges a job while it has the lease. If the judge stops before the report is ready, it returns the
// job.
func (j *Judge) attempt(ctx context.Context, w api.Work) error {
	held, lose := context.WithCancel(ctx)
	var tasks sync.WaitGroup
	tasks.Go(func() { j.extend(held, lose, w.Lease) })
	tasks.Go(func() { j.watch(held, lose, w.Lease) })
	report := reportOf(w, sample())
	if j.Report != nil {
		report = j.Report(w)
	}
	for n, t := range report.Tests {
		poll.Sleep(held, j.TestTime)
		if held.Err() != nil {
			break
		}
		_ = j.source.Emit(w.Lease, n+1, t) // the report contains updates that are dropped here
	}
	lost := held.Err() != nil
	lose()
	tasks.Wait()
	switch {
	case ctx.Err() != nil && lost:
		return j.source.Return(context.WithoutCancel(ctx), w.Lease, api.Returned{Uncounted: true})
	case lost:
		return nil
	}
	return j.finish(ctx, w, report)
}

func isLost(err error) bool { return errors.Is(err, api.ErrFinal) || errors.Is(err, api.ErrStale) }

// extend extends a lease until it is lost.
func (j *Judge) extend(ctx context.Context, lose func(), l api.Lease) {
	for {
		if poll.Sleep(ctx, heartbeat); ctx.Err() != nil {
			return
		}
		switch _, err := j.source.Extend(ctx, l); {
		case ctx.Err() != nil:
		case isLost(err):
			lose()
		case err != nil:
			j.count(j.Failed)
		}
	}
}

// watch waits until a lease is lost.
func (j *Judge) watch(ctx context.Context, lose func(), l api.Lease) {
	for ctx.Err() == nil {
		if err := j.source.Lost(ctx, l); isLost(err) {
			lose()
			return
		}
		poll.Sleep(ctx, again)
	}
}

// finish submits a report, even while the judge stops. It repeats the request until a front receives it.
func (j *Judge) finish(ctx context.Context, w api.Work, report api.Report) error {
	err := j.source.Finish(context.WithoutCancel(ctx), w.Lease, report)
	for errors.Is(err, api.ErrUnavailable) && ctx.Err() == nil {
		j.count(j.Failed)
		poll.Sleep(ctx, again)
		err = j.source.HandIn(ctx)
	}
	if err == nil {
		j.count(j.Finished)
	}
	return err
}

// sample returns a test with one run, with as much evidence as a run on a virtual machine has.
func sample() api.TestReport {
	cpu, wall, none := usual, usual+time.Millisecond, time.Duration(0)
	peak, count := units.Bytes(3<<20), int64(17)
	return api.TestReport{CPUTime: &cpu, WallTime: &wall, MemoryPeak: &peak, Runs: []api.Run{{CPUTime: cpu,
		UserTime:   &cpu,
		SystemTime: &none, WallTime: wall, MemoryPeak: &peak, CPUs: "1", Disturbed: []api.Cause{}, Kept: true,
		Evidence: api.Evidence{RunDelay: &none, Waited: &none, ForeignTime: &none, ForeignUserTime: &none,
			StealTime:         &none,
			VoluntarySwitches: &count, InvoluntarySwitches: &count, Migrations: &count, MinorFaults: &count,
			MajorFaults: &count, Interrupts: map[string]int64{"LOC": 51, "RES": 2}, Pressure: &none}}}}
}

func (j *Judge) count(n *atomic.Int64) {
	if n != nil {
		n.Add(1)
	}
}

const (
	// usual is the CPU time of a job, and noise is its variation from run to run.
	usual = 200 * time.Millisecond
	noise = 0.005
)

// reportOf returns a report that accepts all tests of a job.
func reportOf(w api.Work, accepted api.TestReport) api.Report {
	rep := api.Report{Verdict: api.Accepted, Host: &api.HostReport{Name: "simulated", Fingerprint: fingerprintOfAll,
		Kernel: "6", CPUModel: "simulated", Isolation: "none", Turbo: "off"}}
	for _, name := range w.Job.TestOrder() {
		accepted.Name, accepted.Verdict = name, api.Accepted
		rep.Tests = append(rep.Tests, accepted)
	}
	return rep
}

// Times returns a Judge.Report whose tests have one run with a random CPU time. slow is the fraction by which
// it is longer than on other judges. The same seed gives the same times.
func Times(slow float64, seed uint64) func(api.Work) api.Report {
	r := rand.New(rand.NewPCG(7, seed))
	return func(w api.Work) api.Report {
		cpu := time.Duration(float64(usual) * (1 + slow) * math.Exp(noise*r.NormFloat64()))
		return reportOf(w, api.TestReport{Runs: []api.Run{{CPUTime: cpu, CPUs: "1", Kept: true,
			Disturbed: []api.Cause{}}}})
	}
}
