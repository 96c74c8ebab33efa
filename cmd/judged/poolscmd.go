package main

import (
	"strconv"

	"github.com/spf13/cobra"

	"judged/internal/jobs/fleet"
	"judged/internal/service/render"
)

func (a *app) poolsCommand() *cobra.Command {
	var r remote
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "pools [flags]",
		Short: "List the pools of a fleet",
		Long: `List the pools that jobs can be sent to: those that are configured on the front,
and those that judge nodes have registered with. Jobs of a pool in which no node
judges wait.

Exit codes: 0 listed, 2 wrong usage or no front, 3 the front cannot be reached.`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cl, err := r.client()
			if err != nil {
				return err
			}
			list, err := fleet.ListPools(cmd.Context(), cl)
			if err != nil {
				return refused(wrap("list pools", err))
			}
			if asJSON {
				return a.printJSON(fleet.PoolList{Pools: list})
			}
			return a.printPools(list)
		},
	}
	r.addFlags(cmd)
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (a *app) printPools(list []fleet.Pool) error {
	rows := make([]render.Row, len(list))
	for i, p := range list {
		rows[i].Cells = []string{p.Name, strconv.Itoa(p.Nodes), strconv.Itoa(p.Judging), strconv.Itoa(p.Slots),
			strconv.Itoa(p.Waiting)}
		if p.Judging == 0 && p.Waiting > 0 {
			rows[i].Notes = []string{"no node judges these jobs"}
		}
	}
	return render.Grid(a.out, []string{"POOL", "NODES", "JUDGING", "SLOTS", "WAITING"}, rows)
}
