package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"judged/internal/api"
	"judged/internal/client"
)

func (a *app) drainNodeCommand(verb string, drained bool) *cobra.Command {
	short := map[bool]string{true: "Give a judge node no more jobs", false: "Give a drained judge node jobs again"}
	return remoteCommand(a.printNodes, &cobra.Command{
		Use:   verb + " [flags] NODE",
		Short: short[drained],
		Long: short[drained] + `, and list all nodes. What runs there ends first.

Exit codes: 0 done, 2 wrong usage or no such node, 3 the front cannot be
reached.`,
		Args: exactly(1, "the name of a node"),
	}, func(ctx context.Context, cl client.Client, args []string) ([]api.Node, error) {
		if args[0] == "" {
			return nil, usagef("read NODE: empty; see judged nodes")
		}
		list, err := client.SetNodeDrained(ctx, cl, args[0], drained)
		return list, wrap(fmt.Sprintf("%s node %q", verb, args[0]), err)
	})
}
