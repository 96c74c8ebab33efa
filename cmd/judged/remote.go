package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"judged/internal/client"
	"judged/internal/job"
)

// remote are the flags of every command that speaks to a daemon.
type remote struct{ url, token string }

// addFlags takes defaults from the environment, so that scripts need no flags
// and a token never stands in a process list.
func (r *remote) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&r.url, "url", cmp.Or(os.Getenv("JUDGED_URL"), "http://127.0.0.1:8080"), "`URL` of the daemon; JUDGED_URL sets it too")
	cmd.Flags().StringVar(&r.token, "token-from", "", "`FILE` with the bearer token; JUDGED_TOKEN holds the token itself")
}

func (r *remote) client() (client.Client, error) {
	token := os.Getenv("JUDGED_TOKEN")
	if r.token != "" {
		b, err := os.ReadFile(r.token)
		if err != nil {
			return client.Client{}, usagef("read --token-from: %w", err)
		}
		token = strings.TrimSpace(string(b))
	}
	return client.Client{Base: strings.TrimSuffix(r.url, "/"), Token: token}, nil
}

// refused gives what the daemon finds wrong with a request the exit code of
// wrong usage.
func refused(err error) error {
	var p *client.Problem
	if errors.As(err, &p) && p.Status >= 400 && p.Status < 500 && p.Status != 429 {
		return &usageError{err}
	}
	return err
}

func (a *app) submitCommand() *cobra.Command {
	var f jobFlags
	var r remote
	var id, priority string
	var labels []string
	var asJSON, detach bool
	cmd := &cobra.Command{
		Use:   "submit [flags] [--] PROGRAM [ARG...]",
		Short: "Submit a job to a daemon and wait for its report",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.loadConfig()
			if err != nil {
				return err
			}
			l, err := f.build(cmd, c, args)
			if err != nil {
				return err
			}
			defer l.Close()
			l.job.Priority = job.Priority(priority)
			if l.job.Labels, err = parseLabels(labels); err != nil {
				return err
			}
			cl, err := r.client()
			if err != nil {
				return err
			}
			report, err := a.submit(cmd.Context(), cl, id, l, detach)
			if err != nil {
				return refused(err)
			}
			if detach {
				_, err := fmt.Fprintln(a.out, report.ID)
				return err
			}
			return a.printReport(report, asJSON)
		},
	}
	f.add(cmd)
	r.addFlags(cmd)
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().StringVar(&id, "id", "", "`ID` of the job; submitting the same again does nothing")
	cmd.Flags().StringVar(&priority, "priority", "practice", "contest, practice, rejudge or background")
	cmd.Flags().StringArrayVar(&labels, "label", nil, "`KEY=VALUE`, repeatable")
	cmd.Flags().BoolVar(&detach, "detach", false, "print the job's ID and do not wait")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	return cmd
}

func parseLabels(list []string) (map[string]string, error) {
	labels := map[string]string{}
	for _, s := range list {
		k, v, ok := strings.Cut(s, "=")
		if !ok {
			return nil, usagef("read --label %q: want KEY=VALUE", s)
		}
		labels[k] = v
	}
	return labels, nil
}

// submit uploads what the daemon does not have and sends the job.
func (a *app) submit(ctx context.Context, cl client.Client, id string, l *localJob, detach bool) (job.Report, error) {
	j, err := l.upload(ctx, cl)
	if err != nil {
		return job.Report{}, err
	}
	report, err := cl.Submit(ctx, id, j)
	if err != nil || detach {
		return report, err
	}
	return a.follow(ctx, cl, report.ID, len(j.Tests))
}

// follow waits for a report and shows progress to people meanwhile.
func (a *app) follow(ctx context.Context, cl client.Client, id string, tests int) (job.Report, error) {
	p := a.newProgress(tests)
	defer p.end()
	if p.w != nil {
		for e, err := range cl.Watch(ctx, id, 0) {
			if err != nil {
				return job.Report{}, err
			}
			if e.Type == job.EventTest && e.Test != nil {
				p.test(*e.Test)
			}
		}
	}
	return cl.Wait(ctx, id)
}

func (a *app) statusCommand() *cobra.Command {
	var r remote
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status ID",
		Short: "Print what is known of a job",
		Args:  exactly(1, "the ID of a job"),
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, err := r.client()
			if err != nil {
				return err
			}
			report, err := cl.Job(cmd.Context(), args[0], 0)
			if err != nil {
				return refused(err)
			}
			return a.printStatus(report, asJSON)
		},
	}
	r.addFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	return cmd
}

// printStatus prints a report; one without a verdict yet is not a no.
func (a *app) printStatus(r job.Report, asJSON bool) error {
	err := a.printReport(r, asJSON)
	if errors.Is(err, errNo) && !r.State.Final() {
		return nil
	}
	return err
}

func (a *app) watchCommand() *cobra.Command {
	var r remote
	var after uint64
	cmd := &cobra.Command{
		Use:   "watch ID",
		Short: "Print the events of a job as JSON lines, until it ends",
		Args:  exactly(1, "the ID of a job"),
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, err := r.client()
			if err != nil {
				return err
			}
			out := json.NewEncoder(a.out)
			out.SetEscapeHTML(false)
			for e, err := range cl.Watch(cmd.Context(), args[0], after) {
				if err != nil {
					return refused(err)
				}
				if err := out.Encode(e); err != nil {
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

func (a *app) cancelCommand() *cobra.Command {
	var r remote
	cmd := &cobra.Command{
		Use:   "cancel ID",
		Short: "Cancel a job, queued or running",
		Args:  exactly(1, "the ID of a job"),
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, err := r.client()
			if err != nil {
				return err
			}
			if _, err := cl.Cancel(cmd.Context(), args[0]); err != nil {
				return refused(err)
			}
			_, err = fmt.Fprintln(a.out, "cancelled "+args[0])
			return err
		},
	}
	r.addFlags(cmd)
	return cmd
}
