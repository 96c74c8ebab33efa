package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (a *app) cancelCommand() *cobra.Command {
	var r remote
	cmd := &cobra.Command{
		Use:   "cancel [flags] ID",
		Short: "Cancel a job, queued or running",
		Long: `Cancel a queued or running job. Its verdict is then CX. A job that has ended
does not change, and the exit code is 2.`,
		Args: oneID,
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, err := r.client()
			if err != nil {
				return err
			}
			if _, err := cl.Cancel(cmd.Context(), args[0]); err != nil {
				return refused(fmt.Errorf("cancel job %q: %w", args[0], err))
			}
			_, err = fmt.Fprintln(a.out, "cancelled "+args[0])
			return err
		},
	}
	r.addFlags(cmd)
	return cmd
}
