package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"judged/internal/api"
	"judged/internal/base/text"
	"judged/internal/client"
	"judged/internal/service/render"
)

// rejudgeFlags are the flags of judged rejudge.
type rejudgeFlags struct {
	api.RejudgingRequest
	filter            api.RejudgingFilter
	labels            []string
	verdict, priority string
	from, to          string
	node              string
	timeLimit         time.Duration
	repeats           string
}

const rejudgingsPath = "/v1/rejudgings"

func (a *app) rejudgeSetCommand() *cobra.Command {
	var f rejudgeFlags
	cmd := remoteCommand(a.printRejudging, &cobra.Command{
		Use:   "rejudge [flags] [JOB...]",
		Short: "Judge a set of jobs again, and compare the verdicts",
		Long: `Judge a set of jobs again: the given jobs, or all judged jobs that the flags
select. Their reports do not change until judged rejudge apply. Jobs with a
problem are judged with the version that is stored now.

  1. judged rejudge ...         queues the jobs and prints the ID of the set; a
     large set waits for room in the queue, even after an interrupt
  2. judged rejudge show ID     shows old and new verdicts
  3. judged rejudge apply ID    gives the jobs their new reports, or
     judged rejudge cancel ID   keeps the old ones

Exit codes: 0 queued, 2 wrong usage or no job that can be judged again, 3 the
daemon cannot be reached.`,
		Example: `  judged rejudge --problem sum --reason 'answer 7 was wrong'
  judged rejudge --label contest=final --verdict TLE --time-limit 3s
  judged rejudge --node judge-3 --repeats 5
  judged rejudge show --changed 0d8x`,
	}, func(ctx context.Context, cl client.Client, args []string) (api.Rejudging, error) {
		q, err := f.request(ctx, cl, args)
		if err != nil {
			return api.Rejudging{}, err
		}
		view, err := client.Post[api.Rejudging](ctx, cl, rejudgingsPath, q, 5*time.Minute)
		if err != nil {
			return view, wrap("rejudge", err)
		}
		view, err = a.pollRejudging(ctx, cl, q.ID, nil,
			func(s api.RejudgingState) bool { return s == api.RejudgingFilling })
		if err != nil {
			return view, fmt.Errorf("wait for rejudging %q: %w; it continues, see judged rejudge show %s", q.ID, err,
				q.ID)
		}
		return view, failedRejudging(view)
	})
	f.add(cmd)
	cmd.AddCommand(a.listRejudgingsCommand(), a.showRejudgingCommand(), a.applyRejudgingCommand(),
		a.cancelRejudgingCommand())
	return cmd
}

func (f *rejudgeFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.labels, "label", nil, "jobs with this label, `KEY=VALUE`; repeatable, all must match")
	flags.StringVar(&f.verdict, "verdict", "", "jobs with this `VERDICT`")
	flags.StringVar(&f.filter.Problem, "problem", "", "jobs that name the problem `ID`")
	flags.StringVar(&f.filter.Pool, "pool", "", "jobs that the pool `NAME` has judged")
	flags.StringVar(&f.priority, "priority", "", "jobs of this `CLASS`: contest, practice, rejudge or background")
	flags.StringVar(&f.from, "from", "", "jobs submitted at `TIME` or later, such as 2026-11-20T09:00:00Z")
	flags.StringVar(&f.to, "to", "", "jobs submitted before `TIME`")
	flags.StringVar(&f.node, "node", "",
		"jobs that judged nodes rejudge lists for `NODE`, which was drained for its times")
	flags.StringVar(&f.ID, "id", "", "`ID` of the set; repeating the same request does nothing")
	flags.StringVar(&f.Reason, "reason", "", "reason, a `TEXT` that is only shown")
	flags.BoolVar(&f.SameProblem, "same-problem", false, "judge with the version of the problem that each job had")
	flags.DurationVar(&f.timeLimit, "time-limit", 0, "new CPU time limit, a `DURATION`")
	flags.StringVar(&f.repeats, "repeats", "", "run every test `N` or MIN-MAX times")
	flags.StringVar(&f.Pool, "to-pool", "", "judge in the pool `NAME`")
}

// request builds the request from flags and arguments.
func (f *rejudgeFlags) request(ctx context.Context, cl client.Client, args []string) (q api.RejudgingRequest, err error) {
	q = f.RejudgingRequest
	if q.ID == "" {
		// The client chooses the ID, so that a retry after a lost response does not create a second set.
		q.ID = strings.ToLower(rand.Text())
	}
	filter := f.filter
	filter.Verdict, filter.Priority = api.Verdict(f.verdict), api.Priority(f.priority)
	if filter.Labels, err = parsePairs("label", "KEY=VALUE", f.labels); err != nil {
		return q, err
	}
	if err := parseTimes(map[string]timeFlag{"from": {f.from, &filter.CreatedFrom},
		"to": {f.to, &filter.CreatedTo}}); err != nil {
		return q, err
	}
	if f.timeLimit < 0 || f.timeLimit%time.Millisecond != 0 {
		return q, usagef("read --time-limit %s: want whole milliseconds above 0", f.timeLimit)
	}
	q.Limits.CPUTimeMS = f.timeLimit.Milliseconds()
	if q.Repeats, err = parseRepeats(f.repeats, ""); err != nil {
		return q, err
	}
	restricted := len(filter.Labels) > 0 || filter.Verdict != "" || filter.Priority != "" || filter.Pool != "" ||
		filter.Problem != "" || f.from != "" || f.to != ""
	switch q.Jobs = args; {
	case countTrue(restricted, len(args) > 0, f.node != "") != 1:
		return q, usagef("read the jobs: give their IDs, or select them with flags such as --label or --node")
	case restricted:
		q.Filter = &filter
	case f.node != "":
		set, err := client.GetRejudgingSet(ctx, cl, f.node)
		if err != nil {
			return q, wrap(fmt.Sprintf("list what node %q judged", f.node), err)
		}
		if set.Truncated {
			return q, usagef("read --node %q: it judged more jobs from %s to %s than the %d that are listed; select "+
				"the jobs of all nodes with --from and --to, when they were submitted", f.node,
				set.Since.UTC().Format(time.RFC3339), set.Until.UTC().Format(time.RFC3339), len(set.Jobs))
		}
		for _, j := range set.Jobs {
			q.Jobs = append(q.Jobs, j.ID)
		}
	}
	return q, nil
}

// countTrue counts the true values.
func countTrue(all ...bool) (n int) {
	for _, one := range all {
		if one {
			n++
		}
	}
	return n
}

func (a *app) listRejudgingsCommand() *cobra.Command {
	var after string
	cmd := remoteCommand(a.printRejudgings, &cobra.Command{
		Use:   "list [flags]",
		Short: "List the sets, newest first",
		Long: `List the sets of jobs that were judged again, newest first, one page at a time.

Exit codes: 0 listed, 2 wrong usage, 3 the daemon cannot be reached.`,
		Args: exactly(0, "no arguments"),
	}, func(ctx context.Context, cl client.Client, _ []string) (api.RejudgingList, error) {
		path := rejudgingsPath
		if after != "" {
			path += "?after=" + url.QueryEscape(after)
		}
		list, err := client.Get[api.RejudgingList](ctx, cl, path)
		return list, wrap("list rejudgings", err)
	})
	cmd.Flags().StringVar(&after, "after", "", "the page after this `CURSOR`, which the previous page printed")
	return cmd
}

func (a *app) showRejudgingCommand() *cobra.Command {
	var after string
	var changed, wait bool
	cmd := remoteCommand(a.printRejudging, &cobra.Command{
		Use:   "show [flags] ID",
		Short: "Show old and new verdicts of a set",
		Long: `Show the progress of a set, the number of jobs with each verdict, and a page of
its jobs.

Exit codes: 0 shown, 2 wrong usage or no such set, 3 the daemon cannot be
reached.`,
		Args: exactly(1, "the ID of a set"),
	}, func(ctx context.Context, cl client.Client, args []string) (api.Rejudging, error) {
		v := url.Values{"changed": {fmt.Sprint(changed)}}
		if after != "" {
			v.Set("after", after)
		}
		view, err := a.pollRejudging(ctx, cl, args[0], v, func(s api.RejudgingState) bool {
			return wait && (s == api.RejudgingFilling || s == api.RejudgingJudging)
		})
		return view, wrap(fmt.Sprintf("show rejudging %q", args[0]), err)
	})
	cmd.Flags().StringVar(&after, "after", "", "the page after this `CURSOR`, which the previous page printed")
	cmd.Flags().BoolVar(&changed, "changed", false, "only jobs with another verdict")
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until all jobs are judged, or the set failed")
	return cmd
}

// pollRejudging reads a set until its state is no longer pending, and shows the progress.
func (a *app) pollRejudging(ctx context.Context, cl client.Client, id string, v url.Values,
	pending func(api.RejudgingState) bool) (api.Rejudging, error) {
	line := render.Line{W: a.err}
	defer line.Clear()
	for {
		view, err := client.Get[api.Rejudging](ctx, cl, rejudgingPath(id, "")+"?"+v.Encode())
		if err != nil || !pending(view.State) {
			return view, err
		}
		line.Show("set %s: %s, %d jobs, %d queued, %d judged again", id, view.State, view.Jobs, view.Queued, view.Judged)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return view, context.Cause(ctx)
		}
	}
}

// failedRejudging returns the error of a set of which no job was queued, or nil.
func failedRejudging(v api.Rejudging) error {
	if v.State != api.RejudgingFailed {
		return nil
	}
	why := ""
	for i, s := range v.Skipped[:min(len(v.Skipped), 3)] {
		why += [...]string{": ", "; ", "; "}[i] + render.Printable(s.Job) + ": " + render.Printable(s.Reason)
	}
	return &usageError{fmt.Errorf("rejudge: %s%s", render.Printable(v.Error), why)}
}

func (a *app) applyRejudgingCommand() *cobra.Command {
	return remoteCommand(a.printRejudging, &cobra.Command{
		Use:   "apply [flags] ID",
		Short: "Give the jobs of a set their new reports",
		Long: `Give the jobs of a set their new reports. The old report of a job is kept with
the job that judged it again. A job whose new verdict is IE or CX keeps its
report.

Exit codes: 0 applied, 2 wrong usage, no such set, or a set that is not judged
or was cancelled, 3 the daemon cannot be reached.`,
		Args: exactly(1, "the ID of a set"),
	}, func(ctx context.Context, cl client.Client, args []string) (api.Rejudging, error) {
		view, err := client.Post[api.Rejudging](ctx, cl, rejudgingPath(args[0], "/apply"), struct{}{}, 5*time.Minute)
		return view, wrap(fmt.Sprintf("apply rejudging %q", args[0]), err)
	})
}

func (a *app) cancelRejudgingCommand() *cobra.Command {
	return remoteCommand(a.printRejudging, &cobra.Command{
		Use:   "cancel [flags] ID",
		Short: "End a set; its jobs keep their reports",
		Long: `End a set without changing reports, and cancel its jobs that have not been
judged again.

Exit codes: 0 cancelled, 2 wrong usage, no such set, or a set that was applied,
3 the daemon cannot be reached.`,
		Args: exactly(1, "the ID of a set"),
	}, func(ctx context.Context, cl client.Client, args []string) (api.Rejudging, error) {
		view, err := client.Delete[api.Rejudging](ctx, cl, rejudgingPath(args[0], ""))
		return view, wrap(fmt.Sprintf("cancel rejudging %q", args[0]), err)
	})
}

func rejudgingPath(id, verb string) string { return rejudgingsPath + "/" + url.PathEscape(id) + verb }

func (a *app) printRejudgings(list api.RejudgingList, asJSON bool) error {
	if asJSON {
		return a.printJSON(list)
	}
	rows := make([]text.Row, len(list.Rejudgings))
	for i, v := range list.Rejudgings {
		rows[i].Cells = []string{v.ID, string(v.State), fmt.Sprintf("%d of %d", v.Judged, v.Jobs), fmt.Sprint(v.Changed),
			stamp(v.CreatedAt), v.Reason}
	}
	err := a.printTable(text.Table{Rows: rows, Columns: []text.Column{{Head: "ID"}, {Head: "STATE"},
		{Head: "JUDGED", Rank: 1}, {Head: "CHANGED", Rank: 2}, {Head: "CREATED", Rank: 4}, {Head: "REASON", Rank: 3,
			Prose: true}}})
	if err == nil && list.Next != "" {
		fmt.Fprintf(a.err, "more sets: repeat with --after %s\n", render.Printable(list.Next))
	}
	return err
}

func (a *app) printRejudging(v api.Rejudging, asJSON bool) error {
	if asJSON {
		return a.printJSON(v)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "set %s: %s, %d of %d jobs judged again, %d with another verdict\n", v.ID, v.State, v.Judged,
		v.Jobs, v.Changed)
	if v.Reason != "" {
		fmt.Fprintf(&b, "reason: %s\n", render.Printable(v.Reason))
	}
	if v.Error != "" {
		fmt.Fprintf(&b, "error: %s\n", render.Printable(v.Error))
	}
	if v.State == api.RejudgingFilling {
		fmt.Fprintf(&b, "%d jobs are queued\n", v.Queued)
	}
	for _, c := range v.Verdicts {
		if c.New != "" {
			fmt.Fprintf(&b, "  %s -> %s: %d\n", c.Old, c.New, c.Jobs)
		}
	}
	for _, s := range v.Skipped {
		fmt.Fprintf(&b, "not judged again: %s, %s\n", render.Printable(s.Job), render.Printable(s.Reason))
	}
	if more := v.SkippedN - len(v.Skipped); more > 0 {
		fmt.Fprintf(&b, "not judged again: %d more\n", more)
	}
	if _, err := io.WriteString(a.out, b.String()); err != nil || v.Page == nil {
		return err
	}
	rows := make([]text.Row, len(v.Page))
	for i, r := range v.Page {
		rows[i].Cells = []string{r.Job, string(r.Old), string(r.New), cmp.Or(r.Again, r.Skipped)}
	}
	err := a.printTable(text.Table{Rows: rows, Columns: []text.Column{{Head: "JOB"}, {Head: "OLD"}, {Head: "NEW"},
		{Head: "REJUDGED AS"}}})
	if err == nil && v.Next != "" {
		fmt.Fprintf(a.err, "more jobs: repeat with --after %s\n", render.Printable(v.Next))
	}
	return err
}
