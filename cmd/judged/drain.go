package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"judged/internal/api"
	"judged/internal/client"
)

func (a *app) drainCommand() *cobra.Command {
	var reason string
	cmd := remoteCommand(a.printSlots, &cobra.Command{
		Use:   "drain [flags] CPUS",
		Short: "Take a slot out of use",
		Long: `Take the slot with these CPUs (as shown by judged slots) out of use, and list
all slots. A running job ends first; then judged slots shows "drained". The slot
stays out of use until judged undrain.

Exit codes: 0 the slot is draining or drained, 2 wrong usage or no such slot, 3
the daemon cannot be reached.`,
		Example: `  judged drain --reason "new fan" 2`,
		Args:    oneSlot,
	}, func(ctx context.Context, cl client.Client, args []string) ([]api.SlotStatus, error) {
		list, err := cl.Drain(ctx, args[0], reason)
		return list, wrap(fmt.Sprintf("drain slot %q", args[0]), err)
	})
	cmd.Flags().StringVar(&reason, "reason", "", "`TEXT` shown by judged slots and in the log")
	return cmd
}

func (a *app) undrainCommand() *cobra.Command {
	return remoteCommand(a.printSlots, &cobra.Command{
		Use:   "undrain [flags] CPUS",
		Short: "Put a drained slot back into use",
		Long: `Put the slot with these CPUs (as shown by judged slots) back into use, and list
all slots. It also ends a quarantine: the slot then learns its baselines again,
and its present times count as normal. Fix the host first; a quarantine ends by
itself when the times are as before.

Exit codes: 0 done, 2 wrong usage or no such slot, 3 the daemon cannot be
reached.`,
		Args: oneSlot,
	}, func(ctx context.Context, cl client.Client, args []string) ([]api.SlotStatus, error) {
		list, err := cl.Undrain(ctx, args[0])
		return list, wrap(fmt.Sprintf("undrain slot %q", args[0]), err)
	})
}

// oneSlot refuses an empty list of CPUs, which would select another endpoint.
func oneSlot(cmd *cobra.Command, args []string) error {
	if err := exactly(1, "the CPUs of a slot")(cmd, args); err != nil {
		return err
	}
	if args[0] == "" {
		return usagef("read CPUS %q: want a list such as 2 or 2-3; see judged slots", args[0])
	}
	return nil
}
