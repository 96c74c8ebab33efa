package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"judged/internal/api"
	"judged/internal/base/text"
	"judged/internal/client"
)

func (a *app) watchCommand() *cobra.Command {
	var r remote
	var after string
	var labels, types []string
	cmd := &cobra.Command{
		Use:   "watch [flags] [ID]",
		Short: "Print the events of a job, or of all jobs, as JSON lines",
		Long: `Print the events of a job as JSON lines, past events first, until the job ends.
Without an ID, print the events of all jobs from now on, until interrupted;
--after takes the member id of a line. The exit code does not depend on the
verdict; judged status shows that.`,
		Example: `  judged watch j1
  judged watch --label team=7 --type done`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return oneID(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, err := r.client()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return a.watchAll(cmd, cl, after, labels, types)
			}
			if len(labels)+len(types) > 0 {
				return usagef("--label and --type select among the events of all jobs; name no ID")
			}
			return a.watchJob(cmd, cl, args[0], after)
		},
	}
	r.addFlags(cmd)
	cmd.Flags().StringVar(&after, "after", "",
		"only events after this `ID`: for one job a number; for all jobs a member id, or 0 for all stored events")
	cmd.Flags().StringArrayVar(&labels, "label", nil,
		"only events of jobs with this label, `KEY=VALUE`; not with ID; repeatable, all must match")
	cmd.Flags().StringArrayVar(&types, "type", nil,
		"only events of this `TYPE`: queued, running, test, done or cancelled; not with ID; repeatable")
	return cmd
}

func (a *app) watchJob(cmd *cobra.Command, cl client.Client, id, after string) error {
	number := uint64(0)
	if after != "" {
		var err error
		if number, err = strconv.ParseUint(after, 10, 64); err != nil {
			return usagef("read --after %q: want the number of an event", after)
		}
	}
	for e, err := range cl.Watch(cmd.Context(), id, number) {
		if err != nil {
			return refused(fmt.Errorf("watch job %q: %w", id, err))
		}
		if err := a.encode(e, ""); err != nil {
			return err
		}
	}
	return nil
}

var feedID = text.Pattern(`^[0-9]{0,18}(\.[0-9]{1,9})?$`)

func (a *app) watchAll(cmd *cobra.Command, cl client.Client, after string, labels, types []string) (err error) {
	f := client.FeedFilter{After: after}
	if !feedID().MatchString(after) {
		return usagef("read --after %q: want the member id of an event, or 0", after)
	}
	for _, t := range types {
		f.Types = append(f.Types, api.EventType(t))
	}
	if f.Labels, err = parsePairs("label", "KEY=VALUE", labels); err != nil {
		return err
	}
	for e, err := range cl.Follow(cmd.Context(), f) {
		if err != nil {
			return refused(fmt.Errorf("watch all jobs: %w", err))
		}
		if err := a.encode(e, ""); err != nil {
			return err
		}
	}
	return nil
}
