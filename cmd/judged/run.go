package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/base/cpuset"
	"judged/internal/engine"
	"judged/internal/engine/judge"
	"judged/internal/engine/languages"
	"judged/internal/engine/measure"
	"judged/internal/host/slots"
	"judged/internal/sandbox"
	"judged/internal/service/render"
)

func (a *app) runCommand() *cobra.Command {
	var f jobFlags
	var cpuList, root, transcript string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "run [flags] [--] PROGRAM [ARG...]",
		Short: "Judge one program here, without a daemon",
		Long: `Judge one program here, without a daemon. It needs root.

PROGRAM is an ELF binary, a file with a #! line, or a name in the PATH of the
sandbox; with --language it is a source. PROGRAM and the files given by --file
are copied into an empty working directory; the program cannot see the folder
that contains PROGRAM. In an ARG, {program} is replaced by ./ and the name of
PROGRAM. Flags must precede PROGRAM.

Exit codes: 0 accepted, 1 any other verdict, 2 wrong usage or unusable input, 3
judged itself could not do its work.`,
		Example: `  judged run --tests tests/ ./solution
  judged run --input 1.in --answer 1.ans --repeats 20 --cpu-list 2-3 ./solution
  judged run --package problem/ ./solution
  judged run --tests tests.zip --file sol.py=sol.py -- python3 sol.py`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.loadConfig()
			if err != nil {
				return err
			}
			if err := overlaySlots(&c, cmd, cpuList); err != nil {
				return err
			}
			if cmd.Flags().Changed("cpus") {
				c.Slots.Width = f.cpus
			}
			if cmd.Flags().Changed("root") {
				c.Sandbox.Root = root
			}
			f.max = c.Limits.Max
			l, err := f.build(cmd, args)
			if err != nil {
				return err
			}
			l.job.Transcript = transcript != ""
			l.quote = !asJSON && !cmd.Flags().Changed("head")
			report, err := a.runHere(cmd.Context(), c, l)
			if err := errors.Join(err, l.Close()); err != nil {
				return err
			}
			if transcript != "" {
				if err := writeTranscript(transcript, report); err != nil {
					return err
				}
			}
			return a.printReport(report, asJSON)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.pkg, "package", "", "problem package, `DIR|ARCHIVE`, with tests, limits and checker")
	cmd.Flags().StringVar(&transcript, "transcript", "",
		"record the conversation of PROGRAM and the interactor in `FILE`; times do not count then")
	a.configFlag(cmd)
	cpuListFlag(cmd, &cpuList)
	rootFlag(cmd, &root)
	jsonFlag(cmd, &asJSON)
	return cmd
}

// runHere completes a job from this host's configuration and judges it.
func (a *app) runHere(ctx context.Context, c config.Config, l *localJob) (report api.Report, err error) {
	if err := l.complete(c); err != nil {
		return api.Report{}, err
	}
	if l.quote {
		l.quoteOutput()
	}
	report, err = a.judgeHere(ctx, c, l)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w; nothing was decided, run it again", err)
	}
	return report, err
}

// loadConfig reads the configuration file and the environment, and validates the result.
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

// overlaySlots applies --cpu-list to the configuration.
func overlaySlots(c *config.Config, cmd *cobra.Command, cpuList string) error {
	if !cmd.Flags().Changed("cpu-list") {
		return nil
	}
	set, err := cpuset.Parse(cpuList)
	if err == nil && len(set) == 0 {
		err = errors.New("it has no CPU; list at least one, or omit the flag")
	}
	if err != nil {
		return usagef("read --cpu-list: %w", err)
	}
	c.Slots.CPUList = set
	return nil
}

// judgeHere judges one job with its own engine. The heap has 1 MB then, and collecting garbage whenever it has 4 MB takes a
// tenth of the CPU time.
func (a *app) judgeHere(ctx context.Context, c config.Config, l *localJob) (api.Report, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	options, err := engineOptions(c, a, "run "+l.program)
	if err != nil {
		return api.Report{}, err
	}
	options.Count, options.Examine = 1, true
	eng, err := engine.Open(options)
	if err != nil {
		return api.Report{}, asUsage(err)
	}
	report, err := a.judgeIn(ctx, eng, l)
	return report, errors.Join(err, eng.Close())
}

// judgeIn judges a job and examines the host at the same time.
func (a *app) judgeIn(ctx context.Context, eng *engine.Engine, l *localJob) (api.Report, error) {
	slot := eng.Slots()[0]
	if err := eng.Fit(slot.CPUs); err != nil {
		return api.Report{}, err
	}
	if l.pkg != nil {
		a.printFindings(l.pkg.Findings)
	}
	if err := checkLanguages(ctx, eng, l.job); err != nil {
		return api.Report{}, &usageError{err}
	}
	task, err := judge.NewTask(l.job, l.name, localPath)
	if err != nil {
		return api.Report{}, err
	}
	if l.pkg != nil {
		if err := a.makeTests(ctx, eng, l.pkg); err != nil {
			return api.Report{}, err
		}
	}
	started := time.Now()
	report, err := a.judgeTask(ctx, eng, slot, task)
	finished := time.Now()
	if err != nil {
		return report, err
	}
	examined, err := eng.Examined()
	if err != nil {
		return report, err
	}
	report.Host, report.StartedAt, report.FinishedAt = new(eng.Host(slot.CPUs, examined)), started, finished
	return report, nil
}

// checkLanguages returns an error if this host lacks the language of a source.
func checkLanguages(ctx context.Context, eng *engine.Engine, j api.Job) error {
	for member, id := range j.Languages() {
		if err := eng.CheckLanguage(ctx, "", id); err != nil {
			return fmt.Errorf("read %s: %w", flagOf(member), err)
		}
	}
	allowed, _, err := eng.CompileOptions(ctx, "", j.Language)
	for _, o := range j.CompileOptions {
		if err == nil && !slices.Contains(allowed, o) {
			return usagef("read --compile-option %q: language %q does not allow it; use one of %s", o, j.Language,
				strings.Join(allowed, ", "))
		}
	}
	return err
}

func (a *app) judgeTask(ctx context.Context, eng *engine.Engine, slot slots.Slot, task judge.Task) (api.Report, error) {
	p := a.newProgress(len(task.Tests))
	defer p.Clear()
	task.Ran = func(test string) { p.run(test, task.Repeats) }
	report, err := eng.Judge(ctx, slot, task, p.test)
	if _, noise := errors.AsType[*measure.NoiseError](err); noise {
		return judge.InternalError(report, err), nil
	}
	return report, err
}

// engineOptions returns the options of a command's engine. Other judged processes see the command as holder of the CPUs.
func engineOptions(c config.Config, a *app, command string) (engine.Options, error) {
	root, err := sandbox.ParseRoot(c.Sandbox.Root)
	if err != nil {
		return engine.Options{}, &usageError{err}
	}
	member, err := poolMember(c.Slots.Member)
	if err != nil {
		return engine.Options{}, err
	}
	catalogue, err := languages.Load(c.Languages.File)
	if err != nil {
		return engine.Options{}, usagef("languages.file: %w", err)
	}
	return engine.Options{
		Languages: engine.LanguageOptions{Catalogue: catalogue, CacheBytes: c.Languages.CacheSize},
		Command:   "judged " + command, ClaimFolder: a.claims,
		CPUs: c.Slots.CPUList, Width: c.Slots.Width, Strict: c.Slots.Strict, Pool: c.Slots.Pool, Class: c.Slots.Class,
		Member: member, Jury: engine.JuryLimits(c.Limits.Jury),
		MadeFolder: madeFolder(), Root: root, BoxBytes: c.Sandbox.WorkSize, BoxInodes: c.Sandbox.WorkInodes,
		UIDFirst: c.Sandbox.UIDFirst, UIDCount: c.Sandbox.UIDCount, Log: a.logger(c.Log.Level, c.Log.Format),
	}, nil
}

// printReport prints a report and returns an error that carries the exit code of its verdict.
func (a *app) printReport(r api.Report, asJSON bool) error {
	if asJSON {
		if err := a.printJSON(r); err != nil {
			return err
		}
	} else if err := render.Report(a.out, r); err != nil {
		return err
	}
	switch r.Verdict {
	case api.Accepted:
		return nil
	case api.InternalError:
		return fmt.Errorf("judge: %s", cmp.Or(r.Message, "see the test in the report for the cause"))
	}
	return errNo
}
