package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"judged/internal/api"
	"judged/internal/client"
)

func (a *app) statusCommand() *cobra.Command {
	return remoteCommand(a.printStatus, &cobra.Command{
		Use:   "status [flags] ID",
		Short: "Print the report of a job",
		Long: `Print the report of a job.

Exit codes: 0 accepted or not decided yet, 1 any other verdict, 2 wrong usage or
no such job, 3 judged could not judge it or cannot be reached.`,
		Args: oneID,
	}, func(ctx context.Context, cl client.Client, args []string) (api.Report, error) {
		report, err := cl.Job(ctx, args[0], 0)
		return report, wrap(fmt.Sprintf("read job %q", args[0]), err)
	})
}

// printStatus prints a report. A job without a verdict yet does not set the exit code.
func (a *app) printStatus(r api.Report, asJSON bool) error {
	err := a.printReport(r, asJSON)
	if errors.Is(err, errNo) && !r.State.Final() {
		return nil
	}
	return err
}
