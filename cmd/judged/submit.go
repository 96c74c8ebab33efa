package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/client"
	"judged/internal/jobs/intake"
	"judged/internal/service/render"
)

// submission holds the flags of submit besides jobFlags.
type submission struct {
	id, priority string
	callback     string // URL
	labels       []string
	keep         keepFlags
	detach       bool
	asJSON       bool
}

// keepFlags are the flags for what the daemon keeps of each test.
type keepFlags struct {
	api.Keep
	collect []string
}

func (f *keepFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar((*string)(&f.Stdout), "keep-stdout", "", "keep stdout of `TESTS` as blobs: never, failed or always")
	fl.StringVar((*string)(&f.Stderr), "keep-stderr", "", "keep stderr of `TESTS` as blobs: never, failed or always")
	fl.StringVar((*string)(&f.Compiler), "keep-compiler", "", "`WHEN` to keep the output of the compiler: never, failed or "+
		"always")
	sizeFlag(cmd, &f.Bytes, "keep-bytes", "maximum `SIZE` to keep of each output, such as 64KiB, the default")
	fl.StringArrayVar(&f.collect, "collect", nil, "keep the file `NAME` of the working directory after each test; "+
		"repeatable")
}

func (a *app) submitCommand() *cobra.Command {
	var f jobFlags
	var r remote
	var s submission
	cmd := &cobra.Command{
		Use:   "submit [flags] [--] PROGRAM [ARG...]",
		Short: "Submit a job to a daemon and wait for its report",
		Long: `Submit a job to a daemon and wait for its report. Only files that the daemon
does not have are uploaded. The daemon sets limits that are not given; the help
shows its defaults without a configuration.

PROGRAM is an ELF binary, a file with a #! line, a name in the PATH of the
daemon's sandbox, or a source. Flags must precede PROGRAM.

Exit codes: 0 accepted (with --detach: submitted), 1 any other verdict, 2 wrong
usage or unusable input, 3 judged could not do its work or cannot be reached.`,
		Example: `  judged submit --tests tests/ --repeats 5 ./solution
  judged submit --problem sum --label team=7 solution.cpp
  judged submit --url http://judge:8080 --token-from token --detach \
      --id s-17 ./solution`,
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, err := r.client()
			if err != nil {
				return err
			}
			l, err := f.build(cmd, args)
			if err != nil {
				return err
			}
			l.quote = !cmd.Flags().Changed("head")
			l.job.Keep, l.job.Collect = s.keep.Keep, s.keep.collect
			if cmd.Flags().Changed("callback") {
				l.job.Callback = &api.Callback{URL: s.callback}
			}
			return errors.Join(a.submit(cmd.Context(), cl, l, s), l.Close())
		},
	}
	f.add(cmd)
	cmd.Flags().Lookup("head").DefValue = "4KiB, less with many tests"
	cmd.Flags().StringVar(&f.problem, "problem", "",
		"`ID` of a problem stored in the daemon, with tests, limits and checker")
	cmd.Flags().StringVar(&f.version, "problem-version", "",
		"submit only if the problem has this `VERSION`, a SHA-256")
	cmd.Flags().StringVar(&s.id, "id", "", "`ID` of the job; repeating the same submission does nothing")
	cmd.Flags().StringVar(&s.priority, "priority", "practice",
		"priority `CLASS`: contest, practice, rejudge or background")
	cmd.Flags().StringArrayVar(&s.labels, "label", nil, "a label of the job, `KEY=VALUE`; repeatable")
	cmd.Flags().StringVar(&s.callback, "callback", "", "`URL` that the daemon notifies when the job ends, signed with "+
		"its secret")
	s.keep.add(cmd)
	cmd.Flags().BoolVar(&s.detach, "detach", false, "print the job's ID and do not wait")
	r.addFlags(cmd)
	jsonFlag(cmd, &s.asJSON)
	return cmd
}

// submit validates a job, uploads the files that the daemon lacks, and sends the job.
func (a *app) submit(ctx context.Context, cl client.Client, l *localJob, s submission) (err error) {
	l.job.Priority = api.Priority(s.priority)
	if l.job.Labels, err = parsePairs("label", "KEY=VALUE", s.labels); err != nil {
		return err
	}
	if err := l.check(); err != nil {
		return inFlags(err)
	}
	// Without this check a submission to a daemon that is not ready would wait silently.
	if err := cl.Ready(ctx); err != nil {
		return refused(fmt.Errorf("submit job: %w", err))
	}
	j, err := l.upload(ctx, cl)
	if err != nil {
		return refused(err)
	}
	if l.quote {
		l.quoteOutput()
		j.Head = l.job.Head
	}
	report, err := cl.Submit(ctx, s.id, j)
	if l.quote && refusesHead(err) {
		j.Head = 0
		report, err = cl.Submit(ctx, s.id, j)
	}
	switch {
	case err != nil:
		return refused(err)
	case s.detach && s.asJSON:
		return a.printStatus(report, true)
	case s.detach:
		_, err := fmt.Fprintln(a.out, render.Printable(report.ID))
		return err
	}
	id := report.ID
	if report, err = a.follow(ctx, cl, id, len(j.Tests)); err != nil {
		return refused(fmt.Errorf("wait for job %q: %w; it is kept, see judged status %s", id, err, id))
	}
	return a.printReport(report, s.asJSON)
}

// refusesHead reports whether a daemon refuses a job because its reports may not quote so much output.
func refusesHead(err error) bool {
	var p *client.Problem
	return errors.As(err, &p) &&
		slices.ContainsFunc(p.Errors, func(e api.FieldError) bool { return e.Field == "head_bytes" })
}

// check returns an error if no daemon would accept the job. Only the daemon knows the tests of a problem.
func (l *localJob) check() (err error) {
	j := l.job
	if j.Problem != "" {
		one := api.Job{Tests: []api.Test{{Name: "1"}}, Limits: api.Limits{CPUTimeMS: 1}}
		if j, err = intake.Expand(j, one); err != nil {
			return err
		}
	}
	_, err = intake.Complete(unbounded(), j)
	return err
}

// unbounded returns a configuration with the highest bounds, because only the daemon knows its own.
func unbounded() config.Config {
	c := config.Default()
	c.Slots.Width, c.Sandbox.WorkInodes = math.MaxInt, math.MaxInt
	c.Limits.Max = config.MaxLimits{
		CPUTime: math.MaxInt64, WallTime: math.MaxInt64, Memory: math.MaxInt64, Output: math.MaxInt64,
		Head: math.MaxInt64, Keep: math.MaxInt64, KeepJob: math.MaxInt64, Collect: math.MaxInt,
		Processes: math.MaxInt, Tests: math.MaxInt, Files: math.MaxInt, Repeats: math.MaxInt,
	}
	return c
}

// follow waits for a report and shows the progress.
func (a *app) follow(ctx context.Context, cl client.Client, id string, tests int) (api.Report, error) {
	p := a.newProgress(tests)
	defer p.Clear()
	if isTerminal(a.err) {
		for e, err := range cl.Watch(ctx, id, 0) {
			if err != nil {
				return api.Report{}, err
			}
			if e.Type == api.EventTest && e.Test != nil {
				p.test(*e.Test)
			}
		}
	}
	return cl.Wait(ctx, id)
}
