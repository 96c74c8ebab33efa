package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"judged/internal/base/config"
	"judged/internal/engine"
	"judged/internal/engine/checker"
	"judged/internal/engine/judge"
	"judged/internal/lab/bench"
	"judged/internal/service/render"
)

func (a *app) measureCommand() *cobra.Command {
	f := measureFlags{job: jobFlags{checker: checker.DefaultKind, stop: "first-failure"}}
	cmd := &cobra.Command{
		Use:   "measure [flags] [--] PROGRAM [ARG...]",
		Short: "Measure how much a program's time varies under different placements",
		Long: `Run one program repeatedly under several placements, in random order, and report
how much its time varies in each. It needs root.

Placements: free (all CPUs, as started by a shell), pinned (one ordinary CPU),
slot (as judged judges), cpu-load and memory-load (the slot, while every other
CPU computes or moves memory), turbo-off, numa-unbound. A placement that this
host does not support is listed with the reason.

With --experiment it repeats a published experiment with the programs of that
experiment and shows the published figures next to yours: consistency, gil,
concurrency or affinity. With --flips it counts wrong time verdicts near the
limit: of a single free run, of a single pinned run, of judged next to a load
that cannot be stopped, and of judged next to work of its other slots.

If it is interrupted, it prints and writes the runs so far, and marks them as
partial.

Exit codes: 0 measured, 1 a run did not finish, or nothing could be run, 2 wrong
usage, 3 judged itself could not do its work.`,
		Example: `  judged measure --input 1.in ./solution
  judged measure -n 50 --placements pinned,slot --compare pinned,slot \
      --out figures ./solution
  judged measure --experiment gil --scale 0.1 --out figures
  judged measure --flips -n 10 --scale 0.2`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.measure(cmd, &f, args) },
	}
	f.add(cmd)
	a.configFlag(cmd)
	return cmd
}

func (a *app) measure(cmd *cobra.Command, f *measureFlags, args []string) error {
	if err := f.check(cmd, args); err != nil {
		return err
	}
	c, err := a.loadConfig()
	if err != nil {
		return err
	}
	if err := f.overlay(&c, cmd); err != nil {
		return err
	}
	if f.seed == 0 {
		f.seed = rand.Uint64N(1 << 32) // short enough to be typed again
	}
	if f.experiment != "" || f.flips {
		return a.measureOurs(cmd.Context(), c, f)
	}
	return a.measureProgram(cmd, c, f, args)
}

// measureProgram measures the user's program.
func (a *app) measureProgram(cmd *cobra.Command, c config.Config, f *measureFlags, args []string) error {
	l, err := f.job.build(cmd, args)
	if err != nil {
		return err
	}
	if l.job.Language != "" {
		return usagef("read PROGRAM %q: it is a source; compile it first", l.program)
	}
	if err := l.complete(c); err != nil {
		return err
	}
	task, err := judge.NewTask(l.job, l.name, localPath)
	if err != nil {
		return err
	}
	if err := f.choose(); err != nil {
		return err
	}
	eng, err := a.openEngine(c, c.Slots.Width, args[0])
	if err != nil {
		return err
	}
	r, err := a.compare(cmd.Context(), eng, f, task)
	if err := errors.Join(err, eng.Close()); err != nil {
		return interrupted(cmd.Context(), err)
	}
	r.Title = strings.Join(args, " ")
	if f.compared != nil && !r.Partial {
		if r.Comparison, err = bench.Compare(r.Cases, f.compared[0], f.compared[1]); err != nil {
			return err
		}
	}
	if err := a.publish(f, r, "measure", r.Chart(), func(w io.Writer) error { return render.Measured(w, r) }); err != nil {
		return err
	}
	if r.Partial {
		return errPartial
	}
	if !r.AllAccepted() {
		return errNo
	}
	return nil
}

// compare measures a task in each placement of an engine.
func (a *app) compare(ctx context.Context, eng *engine.Engine, f *measureFlags, task judge.Task) (r bench.Result,
	err error) {
	site, err := bench.Open(eng)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, site.Close()) }()
	site.Select(f.ids...)
	for _, l := range site.LeftOut {
		if len(site.Placements) == 0 || slices.Contains(f.compared, l.ID) {
			return r, usagef("measure in placement %q: %s; give others", l.ID, l.Reason)
		}
	}
	cases := site.EachPlacement(task)
	p := a.newMeter(len(cases) * f.n)
	defer p.Clear()
	outcomes, err := site.Run(ctx, cases, bench.Options{N: f.n, Seed: f.seed, Seen: p.seen})
	if bad, ok := errors.AsType[*bench.NotExecutable](err); ok {
		return r, &usageError{bad}
	}
	partial := ctx.Err() != nil && len(outcomes) > 0
	if err != nil && !partial {
		return r, err
	}
	examined, err := eng.Doctor(context.WithoutCancel(ctx))
	if err != nil {
		return r, err
	}
	return bench.Result{N: f.n, Seed: f.seed, Cases: outcomes, LeftOut: site.LeftOut,
		Host: new(eng.Host(eng.CPUs(), examined)), Partial: partial}, nil
}

// meter shows the progress of a measurement and the remaining time.
type meter struct {
	render.Line
	total int
	start time.Time
}

func (a *app) newMeter(total int) *meter {
	return &meter{Line: render.Line{W: a.err}, total: total, start: time.Now()}
}

func (m *meter) seen(done int, next string) {
	m.Show("%s", render.Progress(done, m.total, time.Since(m.start), next))
}

// errPartial is the error of a measurement that was interrupted after its first run.
var errPartial = errors.New("interrupted: the result is partial; run it again to complete it")

func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w; nothing was measured, run it again", err)
	}
	return err
}
