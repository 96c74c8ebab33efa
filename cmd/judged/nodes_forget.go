package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"judged/internal/api"
	"judged/internal/client"
)

func (a *app) forgetCommand() *cobra.Command {
	return remoteCommand(a.printNodes, &cobra.Command{
		Use:   "forget [flags] NODE",
		Short: "Remove a judge node that is down",
		Long: `Remove a judge node that does not exist any more, and list all nodes. Otherwise
it is listed, and the alert JudgedNodeDown fires, for a day. The front refuses
it for a node that is up or holds jobs. A node that registers again is listed
again; if it was drained, it is still drained. Its token stays valid: remove it
with judged token revoke.

Exit codes: 0 done, 2 wrong usage, no such node, or it is in use, 3 the front
cannot be reached.`,
		Args: exactly(1, "the name of a node"),
	}, func(ctx context.Context, cl client.Client, args []string) ([]api.Node, error) {
		if args[0] == "" {
			return nil, usagef("read NODE: empty; see judged nodes")
		}
		list, err := client.ForgetNode(ctx, cl, args[0])
		return list, wrap(fmt.Sprintf("forget node %q", args[0]), err)
	})
}
