package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"judged/internal/api"
	"judged/internal/client"
	"judged/internal/service/render"
)

func (a *app) explainCommand() *cobra.Command {
	var r remote
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "explain [flags] JOB|REPORT.json",
		Short: "Explain why the verdict of a job is what it is, step by step",
		Long: `Explain the verdict of a job: the test that decides, each of its runs compared
with the limit, the noise in them, why the repeats ended, and the hosts that
judged it. The argument is the ID of a job of the daemon, or a report file as
printed by judged run --json or GET /v1/jobs/{id}; - means stdin.

Exit codes: 0 explained, 2 wrong usage, no such job, or a file that is not a
report, 3 the daemon cannot be reached.`,
		Args: exactly(1, "the ID of a job or the file of a report"),
		RunE: func(cmd *cobra.Command, args []string) error {
			report, queued, err := a.readReport(cmd.Context(), &r, args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(explainedReport{ID: report.ID, State: report.State, Verdict: report.Verdict,
					Fault: report.Fault, Steps: render.Steps(report, queued)})
			}
			return render.Why(a.out, report, queued)
		},
	}
	r.addFlags(cmd)
	jsonFlag(cmd, &asJSON)
	return cmd
}

// explainedReport is the output of judged explain --json.
type explainedReport struct {
	ID      string      `json:"id,omitempty"`
	State   api.State   `json:"state"`
	Verdict api.Verdict `json:"verdict,omitempty"`
	Fault   api.Fault   `json:"fault,omitempty"`
	Steps   []string    `json:"steps"`
}

// maxReport bounds the file of a report, in bytes: one with 1,000 tests of 10 runs has 10 MB.
const maxReport = 256 << 20

// readReport reads a file, if there is one of that name, or asks the daemon. It also returns when the run that the
// report describes was queued, or the zero time if only the daemon knows.
func (a *app) readReport(ctx context.Context, r *remote, name string) (api.Report, time.Time, error) {
	if name == "-" {
		return parseReport(a.in, "stdin")
	}
	file, err := os.Open(name)
	if err == nil {
		defer file.Close()
		return parseReport(file, name)
	}
	if !errors.Is(err, fs.ErrNotExist) || name == "" {
		return api.Report{}, time.Time{}, usagef("read the report: %w; give a readable file, or a job", err)
	}
	cl, err := r.client()
	if err != nil {
		return api.Report{}, time.Time{}, err
	}
	report, err := cl.Job(ctx, name, 0)
	if err != nil {
		return report, time.Time{}, refused(fmt.Errorf("read job %q, of which there is no file: %w", name, err))
	}
	if report.Rejudging == nil {
		return report, report.CreatedAt, nil
	}
	// The job of the rejudging was created when the run was queued. Its report, the previous one, may have been deleted.
	again, err := cl.Job(ctx, report.Rejudging.Job, 0)
	if p := (*client.Problem)(nil); err != nil && !(errors.As(err, &p) && p.Status == http.StatusNotFound) {
		return report, time.Time{}, refused(fmt.Errorf("read job %q of the rejudging: %w", report.Rejudging.Job, err))
	}
	return report, again.CreatedAt, nil
}

// incomplete returns why a report cannot be explained, or nil.
func incomplete(r api.Report) error {
	known := func(m api.Meaning) bool { return m.Word == string(r.Verdict) }
	switch {
	case r.State == "":
		return errors.New("no member state")
	case !r.State.Final() && r.State != api.Queued && r.State != api.Running:
		return fmt.Errorf("unknown state %q", r.State)
	case r.Verdict == "" && r.State.Final():
		return errors.New("no member verdict")
	case r.Verdict != "" && !slices.ContainsFunc(api.Verdicts(), known):
		return fmt.Errorf("unknown verdict %q", r.Verdict)
	}
	return nil
}

func parseReport(from io.Reader, name string) (api.Report, time.Time, error) {
	var report api.Report
	decoder := json.NewDecoder(io.LimitReader(from, maxReport))
	err := decoder.Decode(&report)
	if err == nil {
		err = incomplete(report)
	}
	if err == nil {
		if _, more := decoder.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("trailing data after JSON")
		}
	}
	if err != nil {
		err = usagef("read report %q: %w; use the output of judged run --json or GET /v1/jobs/{id}", name, err)
	}
	if report.Rejudging != nil {
		return report, time.Time{}, err
	}
	return report, report.CreatedAt, err
}
