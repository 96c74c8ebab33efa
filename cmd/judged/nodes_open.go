package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"judged/internal/api"
	"judged/internal/client"
)

func (a *app) openCommand() *cobra.Command {
	return remoteCommand(a.printPools, &cobra.Command{
		Use:   "open [flags] POOL",
		Short: "Let a screening pool decide again",
		Long: `Let a screening pool decide again after a check has closed it, and list all
pools. Its time ratios are measured again; until then the deciding pool judges.

Exit codes: 0 done, 2 wrong usage or no such screening pool, 3 the front cannot
be reached.`,
		Args: exactly(1, "the name of a screening pool"),
	}, func(ctx context.Context, cl client.Client, args []string) ([]api.Pool, error) {
		if args[0] == "" {
			return nil, usagef("read POOL: empty; see judged nodes pools")
		}
		list, err := client.OpenScreen(ctx, cl, args[0])
		return list, wrap(fmt.Sprintf("open pool %q", args[0]), err)
	})
}
