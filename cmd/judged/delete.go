package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (a *app) deleteCommand() *cobra.Command {
	var r remote
	cmd := &cobra.Command{
		Use:   "delete [flags] ID",
		Short: "Delete a job that has ended",
		Long: `Delete a job that is done or cancelled, with its labels, events and earlier
reports. The daemon deletes its files after retention.max_age.

Exit codes: 0 deleted, 2 wrong usage, no such job, or a job that has not ended
or is used by an audit or a rejudging, 3 the daemon cannot be reached.`,
		Args: oneID,
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, err := r.client()
			if err != nil {
				return err
			}
			if err := cl.DeleteJob(cmd.Context(), args[0]); err != nil {
				return refused(fmt.Errorf("delete job %q: %w", args[0], err))
			}
			_, err = fmt.Fprintln(a.out, "deleted "+args[0])
			return err
		},
	}
	r.addFlags(cmd)
	return cmd
}
