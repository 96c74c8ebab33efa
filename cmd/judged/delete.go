package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"judged/internal/client"
)

func (a *app) deleteCommand() *cobra.Command {
	return a.endCommand("deleted", &cobra.Command{
		Use:   "delete [flags] ID",
		Short: "Delete a job that has ended",
		Long: `Delete a job that is done or cancelled, with its labels, events and earlier
reports. The daemon deletes its files after retention.max_age.

Exit codes: 0 deleted, 2 wrong usage, no such job, or a job that has not ended
or is used by an audit or a rejudging, 3 the daemon cannot be reached.`,
	}, func(ctx context.Context, cl client.Client, id string) error {
		return wrap(fmt.Sprintf("delete job %q", id), cl.DeleteJob(ctx, id))
	})
}
