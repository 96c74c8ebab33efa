package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"judged/internal/client"
)

// link is the output of judged link --json.
type link struct {
	URL   string    `json:"url"`
	Until time.Time `json:"until"`
}

func (a *app) linkCommand() *cobra.Command {
	valid := 7 * 24 * time.Hour
	cmd := remoteCommand(func(l link, asJSON bool) error {
		if asJSON {
			return a.printJSON(l)
		}
		fmt.Fprintf(a.err, "judged: anyone who has this link can read the page until %s\n", l.Until.Format(time.RFC3339))
		_, err := fmt.Fprintln(a.out, l.URL)
		return err
	}, &cobra.Command{
		Use:   "link [flags] JOB",
		Short: "Make a link to the page of one job, to show a contestant why",
		Long: `Make a signed link to the page of one job, with its verdict, its runs compared
with the limits, and the reasons for the verdict. Until the link expires, anyone
who has it can read that page without a token, and nothing else. The page does
not show messages for the jury, output of the program, labels or other jobs.

A link cannot be revoked before it expires, except by deleting the job.

Exit codes: 0 made, 2 wrong usage or no such job, 3 the daemon cannot be
reached.`,
		Example: `  judged link 0d8x
  judged link --valid 24h 0d8x`,
		Args: oneID,
	}, func(ctx context.Context, cl client.Client, args []string) (link, error) {
		made, err := cl.Link(ctx, args[0], valid)
		if err != nil {
			return link{}, fmt.Errorf("link job %q: %w", args[0], err)
		}
		return link{cl.Base + made.Path, made.Until}, nil
	})
	cmd.Flags().DurationVar(&valid, "valid", valid, "how long the link is valid")
	return cmd
}
