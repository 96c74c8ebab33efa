package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"judged/internal/api"
	"judged/internal/base/text"
	"judged/internal/client"
)

func (a *app) rejudgeCommand() *cobra.Command {
	return remoteCommand(a.printRejudgingSet, &cobra.Command{
		Use:   "rejudge [flags] NODE",
		Short: "List what a judge node judged while its times deviated",
		Long: `List the jobs that a judge node judged while its times deviated, before it was
drained for that: those with a test whose time differs from its limit by at most
twice the deviation. Nothing is judged again; judged rejudge --node NODE does
that.

Exit codes: 0 listed, 2 wrong usage, no front, or the node was not drained for
its times, 3 the front cannot be reached.`,
		Args: exactly(1, "the name of a node"),
	}, func(ctx context.Context, cl client.Client, args []string) (api.RejudgingSet, error) {
		if args[0] == "" {
			return api.RejudgingSet{}, usagef("read NODE: empty; see judged nodes")
		}
		set, err := client.GetRejudgingSet(ctx, cl, args[0])
		return set, wrap(fmt.Sprintf("list what node %q judged", args[0]), err)
	})
}

func (a *app) printRejudgingSet(s api.RejudgingSet, asJSON bool) error {
	if asJSON {
		return a.printJSON(s)
	}
	rows := make([]text.Row, len(s.Jobs))
	for i, j := range s.Jobs {
		rows[i].Cells = []string{j.ID, string(j.Verdict), j.Test, j.CPUTime.String(), j.Limit.String()}
	}
	if err := a.printTable(text.Table{Rows: rows, Columns: []text.Column{{Head: "JOB"}, {Head: "VERDICT"},
		{Head: "TEST", Rank: 1}, {Head: "CPU TIME", Rank: 2}, {Head: "LIMIT", Rank: 3}}}); err != nil {
		return err
	}
	more := ""
	if s.Truncated {
		more = ", and more"
	}
	_, err := fmt.Fprintf(a.out, "%d jobs%s of node %s from %s to %s, which was %+.1f %% slower\n", len(s.Jobs), more,
		s.Node, stamp(s.Since), stamp(s.Until), 100*s.Deviation)
	return err
}
