package main

import (
	"cmp"
	"context"
	"fmt"

	"judged/internal/api"

	"github.com/spf13/cobra"

	"judged/internal/client"
	"judged/internal/service/render"
)

func (a *app) slotsCommand() *cobra.Command {
	return remoteCommand(a.printSlots, &cobra.Command{
		Use:   "slots [flags]",
		Short: "List the daemon's slots and what each one does",
		Long: `List the daemon's slots, the state of each one, and why it is out of use.

Exit codes: 0 listed, 2 wrong usage, 3 the daemon cannot be reached.`,
		Args: exactly(0, "no arguments"),
	}, func(ctx context.Context, cl client.Client, _ []string) ([]api.SlotStatus, error) {
		list, err := cl.Slots(ctx)
		return list, wrap("list slots", err)
	})
}

func (a *app) drainCommand() *cobra.Command {
	var reason string
	cmd := remoteCommand(a.printSlots, &cobra.Command{
		Use:   "drain [flags] CPUS",
		Short: "Take a slot out of use",
		Long: `Take the slot with these CPUs (as judged slots prints them) out of use, and list
all slots. A job that runs there ends first; judged slots then says "drained".
The slot stays out of use until judged undrain.

Exit codes: 0 the slot is draining or drained, 2 wrong usage or no such slot,
3 the daemon cannot be reached.`,
		Example: `  judged drain --reason "new fan" 2`,
		Args:    oneSlot,
	}, func(ctx context.Context, cl client.Client, args []string) ([]api.SlotStatus, error) {
		list, err := cl.Drain(ctx, args[0], reason)
		return list, wrap(fmt.Sprintf("drain slot %q", args[0]), err)
	})
	cmd.Flags().StringVar(&reason, "reason", "", "`TEXT` that judged slots and the log show")
	return cmd
}

func (a *app) undrainCommand() *cobra.Command {
	return remoteCommand(a.printSlots, &cobra.Command{
		Use:   "undrain [flags] CPUS",
		Short: "Put a drained slot back into use",
		Long: `Put the slot with these CPUs (as judged slots prints them) back into use, and
list all slots. This does not end a quarantine; that ends by itself.

Exit codes: 0 done, 2 wrong usage or no such slot, 3 the daemon cannot be
reached.`,
		Args: oneSlot,
	}, func(ctx context.Context, cl client.Client, args []string) ([]api.SlotStatus, error) {
		list, err := cl.Undrain(ctx, args[0])
		return list, wrap(fmt.Sprintf("undrain slot %q", args[0]), err)
	})
}

// wrap is fmt.Errorf for an error that may be nil.
func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// oneSlot refuses an empty list of CPUs, which would be another path of the daemon.
func oneSlot(cmd *cobra.Command, args []string) error {
	if err := exactly(1, "the CPUs of a slot")(cmd, args); err != nil {
		return err
	}
	if args[0] == "" {
		return usagef("read CPUS %q: want such as 2 or 2-3; see judged slots", args[0])
	}
	return nil
}

func (a *app) printSlots(list []api.SlotStatus, asJSON bool) error {
	if asJSON {
		return a.printJSON(struct {
			Slots []api.SlotStatus `json:"slots"`
		}{list})
	}
	rows := make([]render.Row, len(list))
	for i, s := range list {
		rows[i].Cells = []string{s.CPUs, fmt.Sprint(s.Node), s.State, cmp.Or(string(s.Cause), "-"), stamp(s.Since)}
		if s.Reason != "" {
			rows[i].Notes = []string{render.Printable(s.Reason)}
		}
	}
	return render.Grid(a.out, []string{"CPUS", "NODE", "STATE", "CAUSE", "SINCE"}, rows)
}
