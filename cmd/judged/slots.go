package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"judged/internal/api"
	"judged/internal/base/text"
	"judged/internal/client"
)

func (a *app) slotsCommand() *cobra.Command {
	return remoteCommand(a.printSlots, &cobra.Command{
		Use:   "slots [flags]",
		Short: "List the daemon's slots and what each one does",
		Long: `List the daemon's slots, the state of each one, and why it is out of use. If
the slots judge for a DOMjudge server, also list the judgehost of each one, and
whether the server has enabled it.

Exit codes: 0 listed, 2 wrong usage, 3 the daemon cannot be reached.`,
		Args: exactly(0, "no arguments"),
	}, func(ctx context.Context, cl client.Client, _ []string) ([]api.SlotStatus, error) {
		list, err := cl.Slots(ctx)
		return list, wrap("list slots", err)
	})
}

func (a *app) printSlots(list []api.SlotStatus, asJSON bool) error {
	if asJSON {
		return a.printJSON(struct {
			Slots []api.SlotStatus `json:"slots"`
		}{list})
	}
	t := text.Table{Columns: []text.Column{{Head: "CPUS"}, {Head: "NODE"}, {Head: "STATE"}, {Head: "CAUSE", Rank: 1},
		{Head: "SINCE", Rank: 2}}, Rows: make([]text.Row, len(list))}
	for i, s := range list {
		cells := []string{s.CPUs, fmt.Sprint(s.Node), s.State, string(s.Cause), stamp(s.Since)}
		if s.Judgehost != "" {
			cells = append(cells, s.Judgehost, enabled(s.JudgehostEnabled))
		}
		t.Rows[i].Cells = cells
		if s.Reason != "" {
			t.Rows[i].Notes = []string{s.Reason}
		}
	}
	if len(list) > 0 && list[0].Judgehost != "" { // then all have one
		t.Columns = append(t.Columns, text.Column{Head: "JUDGEHOST"}, text.Column{Head: "SERVER"})
	}
	return a.printTable(t)
}

// enabled says whether a DOMjudge server has enabled a judgehost.
func enabled(on *bool) string {
	switch {
	case on == nil:
		return "unknown"
	case *on:
		return "enabled"
	}
	return "disabled"
}
