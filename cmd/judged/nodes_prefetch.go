package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"judged/internal/api"
	"judged/internal/base/text"
	"judged/internal/base/units"
	"judged/internal/client"
)

func (a *app) prefetchCommand() *cobra.Command {
	var q api.PrefetchRequest
	var stop bool
	cmd := remoteCommand(a.printPrefetch, &cobra.Command{
		Use:   "prefetch [flags] POOL",
		Short: "Let the judge nodes of a pool fetch blobs before jobs need them",
		Long: `Let the judge nodes of a pool fetch the files of problems, and other blobs,
before a contest begins, and list the progress of each node. A request replaces
the previous one. Without --problem, --blob and --stop, nothing is requested.

Exit codes: 0 done, 2 wrong usage, no front, no such pool, problem or blob, 3
the front cannot be reached.`,
		Args: exactly(1, "the name of a pool"),
	}, func(ctx context.Context, cl client.Client, args []string) (status api.PrefetchStatus, err error) {
		named := len(q.Problems)+len(q.Blobs) > 0
		switch {
		case args[0] == "":
			return status, usagef("read POOL: empty; see judged nodes")
		case stop && named:
			return status, usagef("--stop cannot be combined with --problem or --blob")
		case stop || named:
			status, err = client.RequestPrefetch(ctx, cl, args[0], q)
		default:
			status, err = client.GetPrefetch(ctx, cl, args[0])
		}
		return status, wrap(fmt.Sprintf("prefetch for pool %q", args[0]), err)
	})
	cmd.Flags().StringArrayVar(&q.Problems, "problem", nil, "fetch the files of the problem with this `ID`; repeatable")
	cmd.Flags().StringArrayVar(&q.Blobs, "blob", nil, "fetch the blob with this `SHA256`; repeatable")
	cmd.Flags().BoolVar(&stop, "stop", false, "end the last request")
	return cmd
}

func (a *app) printPrefetch(s api.PrefetchStatus, asJSON bool) error {
	if asJSON {
		return a.printJSON(s)
	}
	rows := make([]text.Row, len(s.Nodes))
	for i, n := range s.Nodes {
		state := "fetching"
		switch {
		case n.Done:
			state = "done"
		case !n.Up:
			state = "down"
		}
		rows[i].Cells = []string{n.Node, state, strconv.Itoa(n.Blobs)}
		if n.Error != "" {
			rows[i].Notes = []string{n.Error}
		}
	}
	if err := a.printTable(text.Table{Rows: rows,
		Columns: []text.Column{{Head: "NODE"}, {Head: "STATE"}, {Head: "BLOBS"}}}); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.out, "%d blobs, %s, requested at %s\n", s.Blobs, units.Round(units.Bytes(s.Size)),
		stamp(s.At))
	return err
}
