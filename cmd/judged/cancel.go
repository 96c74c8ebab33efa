package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"judged/internal/client"
)

func (a *app) cancelCommand() *cobra.Command {
	return a.endCommand("cancelled", &cobra.Command{
		Use:   "cancel [flags] ID",
		Short: "Cancel a job, queued or running",
		Long: `Cancel a queued or running job. Its verdict is then CX. A job that has ended
does not change, and the exit code is 2.`,
	}, func(ctx context.Context, cl client.Client, id string) error {
		_, err := cl.Cancel(ctx, id)
		return wrap(fmt.Sprintf("cancel job %q", id), err)
	})
}

// endCommand completes a command that ends one job and prints what it did.
func (a *app) endCommand(did string, cmd *cobra.Command,
	end func(ctx context.Context, cl client.Client, id string) error) *cobra.Command {
	var r remote
	cmd.Args = oneID
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cl, err := r.client()
		if err != nil {
			return err
		}
		if err := end(cmd.Context(), cl, args[0]); err != nil {
			return refused(err)
		}
		_, err = fmt.Fprintln(a.out, did, args[0])
		return err
	}
	r.addFlags(cmd)
	return cmd
}
