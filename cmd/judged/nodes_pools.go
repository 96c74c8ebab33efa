package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"judged/internal/api"
	"judged/internal/base/text"
	"judged/internal/client"
)

func (a *app) poolsCommand() *cobra.Command {
	return remoteCommand(a.printPools, &cobra.Command{
		Use:   "pools [flags]",
		Short: "List the pools of a fleet",
		Long: `List the pools that jobs can be sent to: those configured on the front, and
those with registered judge nodes. Jobs of a pool wait while no node of the pool
is judging.

A pool with another pool in DECIDED BY decides results that do not depend on
time, once its time ratio is known; see deploy/FLEET.md.

Exit codes: 0 listed, 2 wrong usage or no front, 3 the front cannot be reached.`,
		Args: exactly(0, "no arguments"),
	}, func(ctx context.Context, cl client.Client, _ []string) ([]api.Pool, error) {
		list, err := client.ListPools(ctx, cl)
		return list, wrap("list pools", err)
	})
}

func (a *app) printPools(list []api.Pool, asJSON bool) error {
	if asJSON {
		return a.printJSON(api.PoolList{Pools: list})
	}
	rows := make([]text.Row, len(list))
	for i, p := range list {
		decider, known := p.Name, ""
		if p.Screen != nil {
			decider, known = p.Screen.DecidedBy, knownRatios(p.Screen.Ratios)
			if !p.Screen.Open {
				rows[i].Notes = append(rows[i].Notes, "closed: "+p.Screen.Reason)
			}
		}
		rows[i].Cells = []string{p.Name, strconv.Itoa(p.Nodes), strconv.Itoa(p.Judging), strconv.Itoa(p.Slots),
			strconv.Itoa(p.Waiting), decider, known}
		if p.ContestSlots > 0 {
			rows[i].Notes = append(rows[i].Notes, fmt.Sprintf("%d slots judge jobs of contests only", p.ContestSlots))
		}
		if p.Judging == 0 && p.Waiting > 0 {
			rows[i].Notes = append(rows[i].Notes, "no node judges these jobs")
		}
	}
	return a.printTable(text.Table{Rows: rows, Columns: []text.Column{{Head: "POOL"}, {Head: "NODES", Rank: 3},
		{Head: "JUDGING", Rank: 1}, {Head: "SLOTS", Rank: 2}, {Head: "WAITING"}, {Head: "DECIDED BY"}, {Head: "RATIOS",
			Rank: 4}}})
}

// knownRatios counts the known ratios, such as "2 of 3 known".
func knownRatios(all []api.ScreenRatio) string {
	known := 0
	for _, r := range all {
		if r.Known {
			known++
		}
	}
	return fmt.Sprintf("%d of %d known", known, len(all))
}
