package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"judged/internal/api"
	"judged/internal/base/text"
	"judged/internal/client"
	"judged/internal/service/render"
)

func (a *app) listCommand() *cobra.Command {
	var f client.Filter
	var state, verdict, from, to string
	var labels []string
	var cmd *cobra.Command
	cmd = remoteCommand(a.printPage, &cobra.Command{
		Use:   "list [flags]",
		Short: "List jobs, newest first",
		Long: `List jobs, newest first, one page at a time. If there are more, the last line on
stderr shows how to get the next page; with --json it is "next".

Exit codes: 0 listed (also when no job matches), 2 wrong usage, 3 the daemon
cannot be reached.`,
		Example: `  judged list --state queued
  judged list --label team=a --label round=2 --limit 500 --json`,
		Args: exactly(0, "no arguments"),
	}, func(ctx context.Context, cl client.Client, _ []string) (page client.Page, err error) {
		if f.Limit < 0 || f.Limit == 0 && cmd.Flags().Changed("limit") {
			return page, usagef("read --limit %d: want at least 1", f.Limit)
		}
		f.State, f.Verdict = api.State(state), api.Verdict(verdict)
		if err := parseTimes(map[string]timeFlag{"from": {from, &f.CreatedFrom}, "to": {to, &f.CreatedTo}}); err != nil {
			return page, err
		}
		if f.Labels, err = parsePairs("label", "KEY=VALUE", labels); err != nil {
			return page, err
		}
		page, err = cl.List(ctx, f)
		return page, wrap("list jobs", err)
	})
	cmd.Flags().StringVar(&state, "state", "", "only jobs in `STATE`: queued, running, done or cancelled")
	cmd.Flags().StringVar(&verdict, "verdict", "", "only jobs with this `VERDICT`")
	cmd.Flags().StringVar(&f.Problem, "problem", "", "only jobs that name the problem `ID`")
	cmd.Flags().StringVar(&f.Language, "language", "", "only jobs in the language `ID`")
	cmd.Flags().StringVar(&f.Tenant, "tenant", "", "only jobs of the tenant `NAME`")
	cmd.Flags().StringVar(&from, "from", "", "only jobs submitted at `TIME` or later, such as 2026-11-20T09:00:00Z")
	cmd.Flags().StringVar(&to, "to", "", "only jobs submitted before `TIME`")
	cmd.Flags().StringArrayVar(&labels, "label", nil,
		"only jobs with this label, `KEY=VALUE`; repeatable, all must match")
	cmd.Flags().StringVar(&f.After, "after", "", "the page after this `CURSOR`, which the previous page printed")
	cmd.Flags().IntVar(&f.Limit, "limit", 0, "at most `NUMBER` jobs (default: the daemon's)")
	return cmd
}

// timeFlag is the text of a flag, and where its time belongs.
type timeFlag struct {
	text string
	at   *time.Time
}

// parseTimes parses flags that have times, by name.
func parseTimes(flags map[string]timeFlag) (err error) {
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		if f := flags[name]; f.text != "" {
			if *f.at, err = time.Parse(time.RFC3339, f.text); err != nil {
				return usagef("read --%s %q: want a time such as 2026-11-20T09:00:00Z", name, f.text)
			}
		}
	}
	return nil
}

func (a *app) printPage(p client.Page, asJSON bool) error {
	if asJSON {
		return a.printJSON(p)
	}
	t := text.Table{Columns: []text.Column{{Head: "ID"}, {Head: "STATE", Rank: 2}, {Head: "VERDICT"},
		{Head: "CPU TIME", Rank: 4}, {Head: "CREATED", Rank: 3}, {Head: "LABELS", Rank: 1}}}
	for _, j := range p.Jobs {
		t.Rows = append(t.Rows, text.Row{Cells: []string{j.ID, string(j.State), string(j.Verdict), render.Time(j.CPUTime),
			stamp(j.CreatedAt), labelText(j.Labels)}})
	}
	if err := a.printTable(t); err != nil {
		return err
	}
	if p.Next != "" {
		fmt.Fprintf(a.err, "more jobs: repeat with --after %s\n", render.Printable(p.Next))
	}
	return nil
}

func labelText(labels map[string]string) string {
	var all []string
	for k, v := range labels {
		all = append(all, k+"="+v)
	}
	slices.Sort(all)
	return cmp.Or(strings.Join(all, " "), "-")
}

// stamp formats a time in whole seconds; JSON has the fractions.
func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}
