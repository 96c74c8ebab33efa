package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"judged/internal/api"
)

func (a *app) statusCommand() *cobra.Command {
	var r remote
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status [flags] ID",
		Short: "Print the report of a job",
		Long: `Print the report of a job.

Exit codes: 0 accepted or not decided yet, 1 any other verdict, 2 wrong usage or
no such job, 3 judged could not judge it or cannot be reached.`,
		Args: oneID,
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, err := r.client()
			if err != nil {
				return err
			}
			report, err := cl.Job(cmd.Context(), args[0], 0)
			if err != nil {
				return refused(fmt.Errorf("read job %q: %w", args[0], err))
			}
			return a.printStatus(report, asJSON)
		},
	}
	r.addFlags(cmd)
	jsonFlag(cmd, &asJSON)
	return cmd
}

// printStatus prints a report. A job without a verdict yet does not set the exit code.
func (a *app) printStatus(r api.Report, asJSON bool) error {
	err := a.printReport(r, asJSON)
	if errors.Is(err, errNo) && !r.State.Final() {
		return nil
	}
	return err
}
