package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"judged/internal/sandbox/initproc"
	"judged/internal/service/render"
	"judged/internal/testkit"
)

// demo is one run of the demo.
type demo struct {
	judged, samples string // paths
	repeats         int    // of the sieve job
	fleet           int    // number of jobs of the fleet demo; 0: the samples on one host

	out, err io.Writer
}

// errInterrupted is the error after Ctrl-C.
var errInterrupted = errors.New("interrupted")

// run runs the demo and always cleans up.
func (d *demo) run(ctx context.Context) error {
	show, err := d.prepare()
	if err != nil {
		return err
	}
	scene, err := newScene()
	if err != nil {
		return err
	}
	err = show(ctx, scene)
	if ctx.Err() != nil {
		// Errors after an interrupt are consequences of it.
		err = errors.Join(errInterrupted, unlessCancelled(err))
	}
	return errors.Join(err, d.leave(scene))
}

func unlessCancelled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// prepare checks the requirements and returns the function that runs the samples or the fleet demo.
func (d *demo) prepare() (show func(context.Context, *scene) error, err error) {
	if _, err := os.Stat(d.judged); err != nil {
		return nil, needf("find judged: %w; build it with make build, or name it with -judged", err)
	}
	if d.fleet < 0 {
		return nil, needf("read -fleet %d: want at least 1", d.fleet)
	}
	if d.fleet > 0 {
		if _, err := testkit.PostgresPrograms(); err != nil {
			return nil, needf("%w; install PostgreSQL: apt-get install postgresql", err)
		}
		return d.showFleet, nil
	}
	if err := d.checkNeeds(); err != nil {
		return nil, err
	}
	plan, err := newPlan(d.samples, d.repeats)
	if err != nil {
		return nil, &needError{err}
	}
	return func(ctx context.Context, s *scene) error { return d.show(ctx, s, plan) }, nil
}

// checkNeeds reports missing requirements before anything is created.
func (d *demo) checkNeeds() error {
	if os.Geteuid() != 0 {
		return needf("judged needs root to create namespaces and control groups; run sudo make demo")
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		return needf("the samples are written in C: %w; install a C compiler: apt-get install gcc libc6-dev", err)
	}
	if d.repeats < 1 {
		return needf("read -repeats %d: want at least 1", d.repeats)
	}
	return nil
}

// show builds the samples, judges them and prints the table. It stops the daemon at the end.
func (d *demo) show(ctx context.Context, scene *scene, plan *plan) (err error) {
	line := render.Line{W: d.err}
	defer line.Clear()
	if err := plan.build(ctx, scene.programs(), line); err != nil {
		return err
	}
	line.Show("starting the daemon")
	daemon, err := startDaemon(d.judged, scene, "data")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, daemon.stop(ctx.Err() != nil)) }()
	// If the daemon exits, stop waiting for its reports.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { <-daemon.ended; cancel(errEnded) }()
	if err := d.judgeAll(ctx, daemon.url, plan, line); err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	line.Clear()
	return d.tell(ctx, daemon, plan)
}

// tell prints the results of the samples. The daemon must run, because its metrics are read.
func (d *demo) tell(ctx context.Context, daemon *daemon, plan *plan) error {
	if err := writeTable(d.out, plan.items); err != nil {
		return err
	}
	for _, name := range plan.withoutPython {
		fmt.Fprintf(d.out, "left out %s: no python3 in %s; install the package python3\n", name, initproc.Path)
	}
	wrong := writeDifferences(d.out, plan.items)
	sieve := plan.items[len(plan.items)-1].report
	if sieve.Host != nil {
		fmt.Fprintln(d.out, render.Host(*sieve.Host))
	}
	path, err := saveReport(d.judged, sieve)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "\nthe report of the sieve, with every run: %s\n", path)
	if err := writeMetrics(ctx, d.out, daemon.url+"/metrics"); err != nil {
		return err
	}
	if wrong {
		return errNo
	}
	return nil
}

// leave removes the demo's folder and reports anything else that is left behind.
func (d *demo) leave(s *scene) error {
	err := s.remove()
	reapOrphans()
	left, errLeft := s.leftovers(s.daemons...)
	if err := errors.Join(err, errLeft); err != nil {
		return fmt.Errorf("look for leftovers: %w", err)
	}
	if len(left) > 0 {
		return fmt.Errorf("something is left behind; judged removes control groups of dead ones when it starts "+
			"again:\n\t%s", strings.Join(left, "\n\t"))
	}
	if len(s.daemons) > 0 {
		fmt.Fprintln(d.out, "\nall daemons have ended; of processes, control groups, mounts and files nothing is left")
	}
	return nil
}
