package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"judged/internal/base/config"
	"judged/internal/base/linux"
	"judged/internal/host/hostfs"
	"judged/internal/host/settings"
	"judged/internal/host/tune"
)

func (a *app) tuneCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tune",
		Short: "Make this host fit to judge, or restore its settings",
		Long: `Make this host fit to judge, or restore its previous settings.

Every value is written to a journal (tune.journal of the configuration, default
/run/judged/tune.json) before it is changed. However apply ends, even by kill
-9, restore sets every value back, except for values that have been changed
since, which it reports and keeps. A reboot undoes everything; for a permanent
setup see judged tune plan --boot.

Exit codes: 0 done (plan: printed; status: all in force), 1 something failed,
was left or has changed since it was set, 2 wrong usage, 3 judged had to stop.`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return usagef("no command; use judged tune plan, apply, status or restore, see judged tune --help")
		},
	}
	cmd.AddCommand(a.tunePlanCommand(), a.tuneApplyCommand(), a.tuneStatusCommand(), a.tuneRestoreCommand())
	return cmd
}

// tuneFlags are the flags of the four commands. Each command has some of them.
type tuneFlags struct {
	cpuList, cpus, root string
	width               int
	only                []string
	dryRun, boot, json  bool
}

func (a *app) tunePlanCommand() *cobra.Command {
	var f tuneFlags
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Print what apply would change, and what cannot be changed",
		Long: `Print what judged tune apply would change on this host: the old and the new
value, the reason and the risk. Also print what cannot be changed, and why.
Nothing is changed.

--boot prints the kernel command line for the next boot instead.`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.boot && len(f.only) > 0 {
				return usagef("--boot is one plan for all: leave out --only")
			}
			c, err := a.tuneConfig(cmd, &f)
			if err != nil {
				return err
			}
			host, err := examined(f.root)
			if err != nil {
				return err
			}
			if f.boot {
				return a.planBoot(c, host, f.json)
			}
			return a.tuneReport(f.json)(tune.Plan(cmd.Context(), tuneOptions(c, host, f)))
		},
	}
	a.cpuFlags(cmd, &f)
	cmd.Flags().StringVar(&f.root, "root", "",
		"plan for a captured host: a `DIR` or a file written by judged doctor --capture")
	cmd.Flags().BoolVar(&f.boot, "boot", false, "plan the kernel command line and the related files")
	return cmd
}

func (a *app) tuneApplyCommand() *cobra.Command {
	var f tuneFlags
	cmd := &cobra.Command{
		Use:   "apply",
		Short: "Apply the plan, until restore or the next boot",
		Long: `Apply the changes listed by judged tune plan, until restore or the next boot.
Applying again sets values that have changed since; restore still sets back the
values from before the first time. Stop judged serve first, or let it apply the
changes: judged serve --tune.`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.tuneConfig(cmd, &f)
			if err != nil {
				return err
			}
			o := tuneOptions(c, hostfs.New("/"), f)
			if f.dryRun {
				return a.tuneReport(f.json)(tune.Plan(cmd.Context(), o))
			}
			return a.asRoot(cmd.Context(), f.json, tune.Apply, o)
		},
	}
	a.cpuFlags(cmd, &f)
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "print the changes without making them")
	return cmd
}

func (a *app) tuneStatusCommand() *cobra.Command {
	return a.journalCommand(tune.Status, &cobra.Command{
		Use:   "status",
		Short: "Report whether what was applied is in force",
	})
}

func (a *app) tuneRestoreCommand() *cobra.Command {
	return a.journalCommand(tune.Restore, &cobra.Command{
		Use:   "restore",
		Short: "Restore the values that apply has changed",
		Long: `Set back the values that judged tune apply has changed, in reverse order. Values
that have been changed since are reported and kept. Stop judged serve first,
because its control groups are in the partition.`,
	})
}

// journalCommand completes a command that needs only the journal of judged tune apply.
func (a *app) journalCommand(do func(context.Context, tune.Options) (tune.Report, error),
	cmd *cobra.Command) *cobra.Command {
	var f tuneFlags
	cmd.Args = exactly(0, "no arguments")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := a.loadConfig()
		if err != nil {
			return err
		}
		return a.asRoot(cmd.Context(), f.json, do, tuneOptions(c, hostfs.New("/"), f))
	}
	a.tuneCommonFlags(cmd, &f)
	return cmd
}

func (a *app) tuneCommonFlags(cmd *cobra.Command, f *tuneFlags) {
	a.configFlag(cmd)
	cmd.Flags().StringSliceVar(&f.only, "only", nil,
		"only the settings with this `ID`, as in judged doctor; repeatable")
	jsonFlag(cmd, &f.json)
}

func (a *app) cpuFlags(cmd *cobra.Command, f *tuneFlags) {
	a.tuneCommonFlags(cmd, f)
	cpuListFlag(cmd, &f.cpuList)
	cpusFlag(cmd, &f.cpus)
	cmd.Flags().IntVar(&f.width, "width", 0, "`NUMBER` of CPUs of one slot (default: config, else 1)")
}

// tuneConfig returns the configuration with the flags applied.
func (a *app) tuneConfig(cmd *cobra.Command, f *tuneFlags) (config.Config, error) {
	if err := shortCPUList(cmd, f.cpus); err != nil {
		return config.Config{}, err
	}
	c, err := a.loadConfig()
	if err != nil {
		return c, err
	}
	if err := overlaySlots(&c, cmd, f.cpuList); err != nil {
		return c, err
	}
	if cmd.Flags().Changed("width") {
		c.Slots.Width = f.width
	}
	if err := c.Validate(); err != nil {
		return c, &usageError{err}
	}
	return c, nil
}

func tuneOptions(c config.Config, host hostfs.FS, f tuneFlags) tune.Options {
	return tune.Options{FS: host, Journal: c.Tune.Journal, CPUs: c.Slots.CPUList, Width: c.Slots.Width, Only: f.only}
}

// asRoot calls do if the process runs as root, which owns the journal and the settings.
func (a *app) asRoot(ctx context.Context, asJSON bool, do func(context.Context, tune.Options) (tune.Report, error),
	o tune.Options) error {
	if !linux.IsRoot() {
		return errors.New("tune the host: permission denied; run it as root, or see judged tune plan")
	}
	return a.tuneReport(asJSON)(do(ctx, o))
}

// tuneReport returns a function that prints a report, even an incomplete one.
func (a *app) tuneReport(asJSON bool) func(tune.Report, error) error {
	return func(r tune.Report, err error) error {
		if u, ok := errors.AsType[*tune.UsageError](err); ok {
			return &usageError{u}
		}
		if err != nil && len(r.Settings) == 0 {
			return err
		}
		print := func() error { return r.WriteText(a.out) }
		if asJSON {
			print = func() error { return a.printJSON(r) }
		}
		if err := errors.Join(err, print()); err != nil {
			return err
		}
		if !r.Done {
			return errNo
		}
		return nil
	}
}

func (a *app) planBoot(c config.Config, host hostfs.FS, asJSON bool) error {
	h, err := settings.Examine(host, c.Slots.CPUList, c.Slots.Width)
	if err == nil {
		err = h.NeedHousekeeping()
	}
	var plan tune.BootPlan
	if err == nil {
		plan, err = tune.PlanBoot(h)
	}
	if u, ok := errors.AsType[*settings.UsageError](err); ok {
		return &usageError{u}
	}
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(plan)
	}
	return plan.WriteText(a.out)
}
