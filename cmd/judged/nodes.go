package main

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"judged/internal/api"
	"judged/internal/base/text"
	"judged/internal/client"
	"judged/internal/lab/bench"
)

func (a *app) nodesCommand() *cobra.Command {
	var picture string
	cmd := remoteCommand(a.printNodes, &cobra.Command{
		Use:   "nodes [flags]",
		Short: "List the judge nodes of a fleet",
		Long: `List the judge nodes that have registered with a front: whether each one is up,
drained, and fit to judge, its slots, the offset of its clock, and how much its
times deviate from those of its pool, with a 95 % confidence interval.

Exit codes: 0 listed, 2 wrong usage or no front, 3 the front cannot be reached.`,
		Args: exactly(0, "no arguments"),
	}, func(ctx context.Context, cl client.Client, _ []string) ([]api.Node, error) {
		list, err := client.ListNodes(ctx, cl)
		if err == nil && picture != "" {
			return list, writeFile(picture, nodeChart(list).WriteSVG)
		}
		return list, wrap("list nodes", err)
	})
	cmd.Flags().StringVar(&picture, "plot", "", "also draw the deviations of all nodes into `FILE`, an SVG")
	cmd.AddCommand(a.poolsCommand(), a.openCommand(), a.rejudgeCommand(), a.prefetchCommand(),
		a.drainNodeCommand("drain", true), a.drainNodeCommand("undrain", false), a.admitCommand(), a.forgetCommand())
	return cmd
}

func (a *app) printNodes(list []api.Node, asJSON bool) error {
	if asJSON {
		return a.printJSON(api.NodeList{Nodes: list})
	}
	t := text.Table{Columns: []text.Column{{Head: "NODE"}, {Head: "POOL", Rank: 2}, {Head: "STATE"},
		{Head: "SLOTS", Rank: 1}, {Head: "DEVIATION", Rank: 3}, {Head: "CLOCK", Rank: 5}, {Head: "VERSION", Rank: 6},
		{Head: "SEEN", Rank: 4}}}
	for _, n := range list {
		row := text.Row{Cells: []string{n.Name, n.Pool, n.State(), slotStates(n.Slots),
			deviationText(n.Deviation), fmt.Sprintf("%.3f s", float64(n.ClockOffset)/1e9), n.Version, stamp(n.SeenAt)}}
		if n.Reason != "" {
			row.Notes = []string{n.Reason}
		}
		for _, d := range n.Differs {
			row.Notes = append(row.Notes, d.String())
		}
		if n.Admitted {
			row.Notes = append(row.Notes, "admitted by an operator, although it differs from its pool")
		}
		t.Rows = append(t.Rows, row)
	}
	return a.printTable(t)
}

// slotStates formats the states of slots, such as "2 idle, 3 busy".
func slotStates(all []api.NodeSlot) string {
	var parts []string
	for _, s := range all {
		parts = append(parts, s.CPUs+" "+s.State)
	}
	return strings.Join(parts, ", ")
}

// deviationText formats a deviation, such as "+3.1 % (2.8 to 3.4)". A ! marks a significant one.
func deviationText(d *api.Deviation) string {
	if d == nil {
		return ""
	}
	mark := ""
	if d.Deviates {
		mark = " !"
	}
	return fmt.Sprintf("%+.1f %% (%.1f to %.1f)%s", 100*d.Ratio, 100*d.Low, 100*d.High, mark)
}

// nodeChart returns a chart with a lane for each compared node: its deviations in a month, and the latest one with its
// interval.
func nodeChart(list []api.Node) bench.Chart {
	c := bench.Chart{Title: "Judge nodes against their pool",
		Subtitle: "deviation of their times, by jobs that two nodes have judged",
		Axis:     "slower than the median node, %", Solid: "earlier", Hollow: "deviated", Tick: "now, 95 %"}
	for _, n := range list {
		d := n.Deviation
		if d == nil {
			continue
		}
		lane := bench.Lane{Name: n.Name, Note: deviationText(d) + ", " + n.Pool,
			Interval: &bench.Interval{Low: 100 * d.Low, Center: 100 * d.Ratio, High: 100 * d.High}}
		for _, e := range d.History {
			lane.Dots = append(lane.Dots, bench.Dot{Value: 100 * e.Ratio, Hollow: math.Abs(e.Ratio) > d.Threshold})
		}
		c.Lanes = append(c.Lanes, lane)
	}
	return c
}
