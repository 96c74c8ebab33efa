package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (a *app) watchCommand() *cobra.Command {
	var r remote
	var after uint64
	cmd := &cobra.Command{
		Use:   "watch [flags] ID",
		Short: "Print the events of a job as JSON lines, until it ends",
		Long: `Print the events of a job as JSON lines, those of the past first, until it
ends. The exit code is 0 whatever the verdict; judged status shows it.`,
		Args: oneID,
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, err := r.client()
			if err != nil {
				return err
			}
			for e, err := range cl.Watch(cmd.Context(), args[0], after) {
				if err != nil {
					return refused(fmt.Errorf("watch job %q: %w", args[0], err))
				}
				if err := a.encode(e, ""); err != nil {
					return err
				}
			}
			return nil
		},
	}
	r.addFlags(cmd)
	cmd.Flags().Uint64Var(&after, "after", 0, "only events with higher `NUMBER`s")
	return cmd
}
