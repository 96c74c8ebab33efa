// Package simjudge has simulated judges: they speak the node protocol as a judged of role judge
// does, and draw reports instead of judging. A machine with few CPUs can have many of them.
package simjudge

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"judged/internal/base/job"
	"judged/internal/jobs"
	"judged/internal/jobs/client"
	"judged/internal/jobs/fleet"
)

// Judge is a simulated judge with one slot. Run is called once.
type Judge struct {
	Name  string
	Front client.Client
	// Report returns the report of a job; nil accepts all jobs.
	Report func(jobs.Work) job.Report
	// Finished counts the jobs, and Failed the requests that no front has answered, which a judge repeats.
	Finished, Failed *atomic.Int64

	source *fleet.Source
	spool  string
}

// again is the pause after a request without an answer.
const again = 100 * time.Millisecond

// Join registers the judge for the first time.
func (j *Judge) Join(ctx context.Context) (err error) {
	if j.spool, err = os.MkdirTemp("", "judged-simulated-"); err != nil {
		return err
	}
	j.source, err = fleet.NewSource(fleet.Options{Front: j.Front, Node: j.Name, Spool: j.spool,
		Log: slog.New(slog.DiscardHandler)})
	if err == nil {
		err = j.register(ctx, true)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(j.spool))
	}
	return nil
}

// Run takes jobs until ctx is done. The error is one that a judge does not repeat.
func (j *Judge) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var tasks sync.WaitGroup
	tasks.Go(func() { j.keepUp(ctx) })
	tasks.Go(func() { j.source.Run(ctx) })
	err := j.judge(ctx)
	cancel()
	tasks.Wait()
	return errors.Join(err, os.RemoveAll(j.spool))
}

func (j *Judge) register(ctx context.Context, started bool) error {
	_, err := j.source.Register(ctx, fleet.Registration{Version: "simulated", Pool: "default", Fingerprint: "simulated",
		Slots: []fleet.Slot{{CPUs: "1", State: "idle"}}, Ready: true, Time: time.Now(), Started: started})
	return err
}

// keepUp registers again and again, from a random time on: judges do not start at once.
func (j *Judge) keepUp(ctx context.Context) {
	rest(ctx, rand.N(fleet.RegisterEvery))
	for ctx.Err() == nil {
		if err := j.register(ctx, false); err != nil && ctx.Err() == nil {
			j.count(j.Failed)
		}
		rest(ctx, fleet.RegisterEvery)
	}
}

func (j *Judge) judge(ctx context.Context) error {
	for ctx.Err() == nil {
		w, err := j.source.Take(ctx, jobs.Want{Pool: "default", Width: 1, CPUs: "1"})
		if err == nil {
			err = j.finish(ctx, w)
		}
		switch {
		case ctx.Err() != nil:
		case errors.Is(err, jobs.ErrUnavailable):
			j.count(j.Failed)
			rest(ctx, again)
		case err != nil:
			return err
		}
	}
	return nil
}

// finish hands in a report, also while the judge ends. One that no front receives is repeated.
func (j *Judge) finish(ctx context.Context, w jobs.Work) error {
	report := reportOf(w, job.TestReport{})
	if j.Report != nil {
		report = j.Report(w)
	}
	err := j.source.Finish(context.WithoutCancel(ctx), w.Lease, report)
	for errors.Is(err, jobs.ErrUnavailable) && ctx.Err() == nil {
		j.count(j.Failed)
		rest(ctx, again)
		err = j.source.HandIn(ctx)
	}
	if err == nil {
		j.count(j.Finished)
	}
	return err
}

func (j *Judge) count(n *atomic.Int64) {
	if n != nil {
		n.Add(1)
	}
}

func rest(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

const (
	// usual is the CPU time of a job, and noise by how much it varies from run to run.
	usual = 200 * time.Millisecond
	noise = 0.005
)

// reportOf accepts each test of a job.
func reportOf(w jobs.Work, accepted job.TestReport) job.Report {
	rep := job.Report{Verdict: job.Accepted}
	for _, name := range w.Job.TestOrder() {
		accepted.Name, accepted.Verdict = name, job.Accepted
		rep.Tests = append(rep.Tests, accepted)
	}
	return rep
}

// Times returns a Judge.Report whose tests have one run, whose CPU time is drawn. slow is by which part it is longer than on
// other judges. seed makes it the same each time.
func Times(slow float64, seed uint64) func(jobs.Work) job.Report {
	r := rand.New(rand.NewPCG(7, seed))
	return func(w jobs.Work) job.Report {
		cpu := time.Duration(float64(usual) * (1 + slow) * math.Exp(noise*r.NormFloat64()))
		rep := reportOf(w, job.TestReport{Runs: []job.Run{{CPUTime: cpu, CPUs: "1", Kept: true, Disturbed: []job.Cause{}}}})
		rep.Host = &job.HostReport{Name: "simulated", Kernel: "6", CPUModel: "simulated", Isolation: "none", Turbo: "off"}
		return rep
	}
}
