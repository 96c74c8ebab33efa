package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"judged/internal/api"
	"judged/internal/client"
)

func (a *app) admitCommand() *cobra.Command {
	return remoteCommand(a.printNodes, &cobra.Command{
		Use:   "admit [flags] NODE",
		Short: "Give jobs to a judge node that differs from its pool",
		Long: `Give jobs to a judge node that was kept out of its pool because its hardware,
its kernel or its times of reference kernels differ from those of the others,
and list all nodes. From then on, every report of the node has host.admitted.
The admission applies to the current state of the host: when its fingerprint
changes, it is compared again.

Exit codes: 0 done, 2 wrong usage or no such node, 3 the front cannot be
reached.`,
		Args: exactly(1, "the name of a node"),
	}, func(ctx context.Context, cl client.Client, args []string) ([]api.Node, error) {
		if args[0] == "" {
			return nil, usagef("read NODE: empty; see judged nodes")
		}
		list, err := client.AdmitNode(ctx, cl, args[0])
		return list, wrap(fmt.Sprintf("admit node %q", args[0]), err)
	})
}
