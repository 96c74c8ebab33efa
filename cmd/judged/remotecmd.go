package main

import (
	"context"

	"github.com/spf13/cobra"

	"judged/internal/client"
)

// remoteCommand completes a command that prints the answer to one request, also with --json.
func remoteCommand[T any](
	show func(answer T, asJSON bool) error, cmd *cobra.Command,
	ask func(context.Context, client.Client, []string) (T, error),
) *cobra.Command {
	var r remote
	var asJSON bool
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cl, err := r.client()
		if err != nil {
			return err
		}
		answer, err := ask(cmd.Context(), cl, args)
		if err != nil {
			return refused(err)
		}
		return show(answer, asJSON)
	}
	r.addFlags(cmd)
	jsonFlag(cmd, &asJSON)
	return cmd
}
