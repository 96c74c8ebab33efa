package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"judged/internal/config"
	"judged/internal/court"
	"judged/internal/cpuset"
	"judged/internal/job"
	"judged/internal/judge"
	"judged/internal/sandbox"
)

func (a *app) runCommand() *cobra.Command {
	var f jobFlags
	var cpuList, root string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "run [flags] [--] PROGRAM [ARG...]",
		Short: "Judge one program here, without a daemon",
		Long: `Judge one program here, without a daemon.

PROGRAM is an ELF binary, or a file with a #! line, or a name in the PATH of the
sandbox: judged run --file sol.py=sol.py -- python3 sol.py. The folder it lies
in is not visible to it; PROGRAM and the files named by --file are copied into
its working directory.`,
		Example: `  judged run --tests tests/ ./solution
  judged run --input 1.in --answer 1.ans --repeats 20 ./solution`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.loadConfig()
			if err != nil {
				return err
			}
			if err := overlaySlots(&c, cmd, cpuList, f.cpus); err != nil {
				return err
			}
			if root != "" {
				c.Sandbox.Root = root
			}
			l, err := f.build(cmd, c, args)
			if err != nil {
				return err
			}
			report, err := a.judgeHere(cmd.Context(), c, l)
			if err := errors.Join(err, l.Close()); err != nil {
				return err
			}
			return a.printReport(report, asJSON)
		},
	}
	f.add(cmd)
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().StringVar(&cpuList, "cpu-list", "", "which CPUs may be used, `LIST` or hex mask (default: config, else the isolated set, else the last CPU)")
	cmd.Flags().StringVar(&root, "root", "", "what the program sees of the file system: host or minimal")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	return cmd
}

// loadConfig reads the file, the environment and checks both.
func (a *app) loadConfig() (config.Config, error) {
	c, err := config.Load(a.config, environ())
	if err == nil {
		err = c.Validate()
	}
	if err != nil {
		return c, &usageError{err}
	}
	return c, nil
}

// overlaySlots puts the flags on top of the configuration.
func overlaySlots(c *config.Config, cmd *cobra.Command, cpuList string, width int) error {
	if cpuList != "" {
		set, err := cpuset.Parse(cpuList)
		if err != nil {
			return usagef("read --cpu-list: %w", err)
		}
		c.Slots.CPUList = set
	}
	if cmd.Flags().Changed("cpus") {
		c.Slots.Width = width
	}
	return nil
}

// judgeHere opens a court for one job.
func (a *app) judgeHere(ctx context.Context, c config.Config, l *localJob) (job.Report, error) {
	options, err := courtOptions(c, a)
	if err != nil {
		return job.Report{}, err
	}
	options.Count = 1
	ct, err := court.Open(options)
	if err != nil {
		return job.Report{}, asUsage(err)
	}
	report, err := a.judgeIn(ctx, ct, l)
	return report, errors.Join(err, ct.Close())
}

func (a *app) judgeIn(ctx context.Context, ct *court.Court, l *localJob) (job.Report, error) {
	slot := ct.Slots()[0]
	if err := ct.Fit(slot.CPUs); err != nil {
		return job.Report{}, err
	}
	examined, err := ct.Doctor(ctx)
	if err != nil {
		return job.Report{}, fmt.Errorf("examine host: %w", err)
	}
	task, err := judge.NewTask(l.job, l.name, localPath)
	if err != nil {
		return job.Report{}, err
	}
	p := a.newProgress(len(task.Tests))
	report, err := judge.Run(ctx, ct.Stand(slot), task, p.test)
	p.end()
	if err != nil {
		return report, err
	}
	host := ct.Host(slot.CPUs, examined)
	report.Host = &host
	return report, nil
}

func courtOptions(c config.Config, a *app) (court.Options, error) {
	root, err := sandbox.ParseRoot(c.Sandbox.Root)
	if err != nil {
		return court.Options{}, &usageError{err}
	}
	return court.Options{
		CPUs: c.Slots.CPUList, Width: c.Slots.Width, Strict: c.Slots.Strict, Pool: c.Slots.Pool,
		Root: root, BoxBytes: c.Sandbox.WorkSize, BoxInodes: c.Sandbox.WorkInodes,
		UIDFirst: c.Sandbox.UIDFirst, UIDCount: c.Sandbox.UIDCount, Log: a.logger(c.Log.Level, c.Log.Format),
	}, nil
}

// printReport prints what became of a job and turns its verdict into an exit
// code.
func (a *app) printReport(r job.Report, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(a.out)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(r); err != nil {
			return err
		}
	} else if err := renderReport(a.out, r); err != nil {
		return err
	}
	switch r.Verdict {
	case job.Accepted:
		return nil
	case job.InternalError:
		return fmt.Errorf("judge: %s", r.Message)
	}
	return errNo
}
