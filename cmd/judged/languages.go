package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/base/text"
	"judged/internal/base/units"
	"judged/internal/engine"
	"judged/internal/engine/judge"
	"judged/internal/engine/languages"
	"judged/internal/engine/measure"
	"judged/internal/jobs/intake"
)

// languageList is the output of judged languages --json.
type languageList struct {
	Host      string          `json:"host"`
	Runs      int             `json:"runs,omitempty"` // of each language, where the start was measured
	Languages []languageStart `json:"languages"`
}

// languageStart is a language, with the time that its runtime takes to start on this host.
type languageStart struct {
	api.LanguageStatus
	// CPUTime is the median over the runs of an empty program, and Spread the difference between the longest and the
	// shortest run.
	CPUTime *time.Duration `json:"start_cpu_time_ns,omitempty"`
	Spread  *time.Duration `json:"start_spread_ns,omitempty"`
	Failure string         `json:"start_failure,omitempty"` // why it could not be measured
}

func (a *app) languagesCommand() *cobra.Command {
	var cpuList string
	var start, asJSON, hint bool
	var repeats int
	cmd := &cobra.Command{
		Use:   "languages [flags] [LANGUAGE...]",
		Short: "List the languages of this host, and the start-up time of their runtimes",
		Long: `List the languages that this host can compile, or those that are given, with the
versions of their compilers. It needs root, but no slot.

With --start, an empty program in each language is compiled and run several
times on a slot. Its CPU time is the start-up time of the runtime on this host.
It is part of the time of every solution, and judged never subtracts it.

With --install-hint, the command that installs the packages of missing languages
on Debian is printed.

Exit codes: 0 listed, 1 a given language is missing or could not be measured, 2
wrong usage, 3 judged itself could not do its work.`,
		Example: `  judged languages
  judged languages --start java python
  judged languages --install-hint`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if repeats < 1 {
				return usagef("read --repeats %d: want at least 1", repeats)
			}
			if hint {
				return a.installHint(args)
			}
			if !start {
				repeats = 0
			}
			list, err := a.languages(cmd, cpuList, args, repeats)
			if err != nil {
				return err
			}
			if asJSON {
				err = a.printJSON(list)
			} else {
				err = a.printTable(text.Table{Rows: list.rows(), Columns: []text.Column{{Head: "LANGUAGE"},
					{Head: "NAME", Rank: 1}, {Head: "VERSION", Rank: 3, Prose: true}, {Head: "START", Rank: 2},
					{Head: "SPREAD", Rank: 4}}})
			}
			if err == nil && len(args) > 0 && slices.ContainsFunc(list.Languages, languageStart.lacks) {
				err = errNo
			}
			return err
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVar(&start, "start", false, "measure the start-up time of each runtime")
	cmd.Flags().IntVar(&repeats, "repeats", 11, "`NUMBER` of runs for --start")
	cmd.Flags().BoolVar(&hint, "install-hint", false, "print the command that installs missing languages on Debian")
	a.configFlag(cmd)
	cpuListFlag(cmd, &cpuList)
	jsonFlag(cmd, &asJSON)
	cmd.MarkFlagsMutuallyExclusive("install-hint", "start")
	cmd.MarkFlagsMutuallyExclusive("install-hint", "json")
	return cmd
}

// installHint prints the command that installs the packages of the languages with the given IDs, or of all, that this host
// lacks.
func (a *app) installHint(ids []string) error {
	c, err := a.loadConfig()
	if err != nil {
		return err
	}
	catalogue, err := languages.Load(c.Languages.File)
	if err != nil {
		return usagef("languages.file: %w", err)
	}
	for _, id := range ids {
		if _, known := catalogue[id]; !known {
			return usagef("read LANGUAGE %q: unknown; see judged languages", id)
		}
	}
	packages, without := catalogue.Packages(ids)
	if len(without) > 0 {
		fmt.Fprintf(a.err, "no package has %s\n", strings.Join(without, ", "))
	}
	if len(packages) > 0 {
		_, err = fmt.Fprintf(a.out, "apt-get install --no-install-recommends %s\n", strings.Join(packages, " "))
	}
	return err
}

// languages lists the languages with the given IDs, or all of them, and measures each one with the given number of runs.
func (a *app) languages(cmd *cobra.Command, cpuList string, ids []string, runs int) (list languageList, err error) {
	c, err := a.loadConfig()
	if err == nil {
		err = overlaySlots(&c, cmd, cpuList)
	}
	if err != nil {
		return list, err
	}
	options, err := engineOptions(c, a, "languages")
	if err != nil {
		return list, err
	}
	for _, id := range ids {
		if _, known := options.Languages.Catalogue[id]; !known {
			return list, usagef("read LANGUAGE %q: unknown; see judged languages", id)
		}
	}
	options.CompileOnly = runs == 0 // a daemon may have the slots
	eng, err := engine.Open(options)
	if err != nil {
		return list, asUsage(err)
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	all, err := eng.ListLanguages(cmd.Context())
	if err != nil {
		return list, err
	}
	list.Host, list.Runs = eng.Name(), runs
	for _, s := range all {
		if len(ids) > 0 && !slices.Contains(ids, s.ID) || len(ids) == 0 && s.ID == api.BuildLanguage {
			continue
		}
		l := languageStart{LanguageStatus: s}
		if empty := options.Languages.Catalogue[s.ID].Empty; runs > 0 && s.Available && empty != "" {
			if err := l.measure(cmd.Context(), eng, c, empty, runs); err != nil {
				return list, err
			}
		}
		list.Languages = append(list.Languages, l)
	}
	return list, nil
}

// measure measures the start of a runtime by an empty program.
func (s *languageStart) measure(ctx context.Context, eng *engine.Engine, c config.Config, empty string, runs int) error {
	dir, err := os.MkdirTemp("", "judged-empty-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	source := filepath.Join(dir, "source")
	if err := os.WriteFile(source, []byte(empty), 0o600); err != nil {
		return err
	}
	j, err := intake.Complete(c, api.Job{Language: s.ID, Program: api.File{Part: source}, CPUs: c.Slots.Width,
		Tests: []api.Test{{Name: "start"}}, Repeats: api.Repeats{Min: runs, Max: runs}})
	if err != nil {
		return err
	}
	task, err := judge.NewTask(j, "", localPath)
	if err != nil {
		return err
	}
	report, err := eng.Judge(ctx, eng.Slots()[0], task, func(api.TestReport) {})
	if _, noise := errors.AsType[*measure.NoiseError](err); noise {
		s.Failure = err.Error()
		return nil
	}
	if err != nil {
		return err
	}
	if t := report.Tests[0]; report.Verdict == api.Accepted && t.Timing != nil {
		s.CPUTime, s.Spread = &t.Timing.Median, &t.Timing.Spread
	} else {
		s.Failure = "the empty program is " + string(report.Verdict) + ": " + report.Message + t.Message
	}
	return nil
}

func (s languageStart) lacks() bool { return !s.Available || s.Failure != "" }

func (l languageList) rows() []text.Row {
	var rows []text.Row
	for _, s := range l.Languages {
		row := text.Row{Cells: []string{s.ID, s.Name, s.Version, "", ""}}
		if s.CPUTime != nil {
			row.Cells[3], row.Cells[4] = units.Duration(*s.CPUTime), units.Duration(*s.Spread)
		}
		for _, note := range []string{s.Reason, s.Failure} {
			if note != "" {
				row.Notes = append(row.Notes, note)
			}
		}
		rows = append(rows, row)
	}
	return rows
}
