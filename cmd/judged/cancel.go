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
		Long: `Cancel a job, queued or running. Its verdict becomes CX; a job that is done
stays as it is, with exit code 2.`,
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
