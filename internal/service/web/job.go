package web

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/base/text"
	"judged/internal/jobs"
	"judged/internal/service/render"
)

// jobPage is one job, and why its verdict is what it is.
type jobPage struct {
	Report   api.Report
	Sentence string
	Steps    []step
	Tests    []testView
	Routine  []testView // folded, if they are many
	Labels   []label
	Original *original // of a copy
	Copies   []copies
	Guest    bool
}

// fewTests is the number of routine tests up to which they are shown among the others, in the order of the report.
const fewTests = 20

// maxLines limits the lines of a step: more than a test has runs.
const maxLines = 40

type label struct{ Key, Value string }

// step is a step of the explanation: its first line, and the others.
type step struct {
	First string
	Rest  []string
}

// original is the job that a copy repeats, and what the copy is.
type original struct{ Why, ID string }

// copies is the address of a list of copies.
type copies struct{ What, Address string }

// copyKinds says for each label of copies what one is, and what the others of a job are.
var copyKinds = []struct{ label, one, all string }{
	{jobs.AuditLabel, "Audit of", "Audits"},
	{jobs.ScreeningLabel, "Report of a screening pool for", "Reports of a screening pool"},
	{jobs.RecheckLabel, "Report of another host for", "Reports of other hosts"},
	{jobs.RejudgeLabel, "Judges again", "Jobs that judge it again"},
}

// testView is a test with the plot of its runs.
type testView struct {
	api.TestReport
	Plot    *strip
	Remarks []string
}

func (h *handler) job(w http.ResponseWriter, r *http.Request) error {
	record, err := h.desk.Jobs().Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	p := viewJob(record.Report)
	if p.Copies, err = h.copiesOf(r.Context(), record.Report); err != nil {
		return err
	}
	return h.show(w, r, http.StatusOK, page{Title: "Job " + short(record.ID), template: "job.html",
		Live: !record.Report.State.Final(), Body: p})
}

// viewJob prepares the page of a report.
func viewJob(report api.Report) jobPage {
	p := jobPage{Report: report, Sentence: render.Sentence(report), Original: originalOf(report)}
	for _, text := range render.Steps(withoutOutput(report), queuedAt(report)) {
		lines := strings.Split(text, "\n")
		if more := len(lines) - maxLines; more > 0 {
			lines = append(lines[:maxLines], fmt.Sprintf("… %d more lines", more))
		}
		p.Steps = append(p.Steps, step{lines[0], lines[1:]})
	}
	for _, t := range report.Tests {
		p.Tests = append(p.Tests, testView{t, plotRuns(t), render.TestNotes(t)})
	}
	var others []testView
	for _, t := range p.Tests {
		if t.routine() {
			p.Routine = append(p.Routine, t)
		} else {
			others = append(others, t)
		}
	}
	if len(p.Routine) > fewTests {
		p.Tests = others
	} else {
		p.Routine = nil
	}
	for key, value := range report.Labels {
		p.Labels = append(p.Labels, label{key, value})
	}
	slices.SortFunc(p.Labels, func(a, b label) int { return cmp.Compare(a.Key, b.Key) })
	return p
}

// routine reports whether nobody asks why: the test is accepted, no run was disturbed, and the time is not in doubt.
func (t testView) routine() bool {
	return t.Verdict == api.Accepted &&
		(t.Timing == nil || t.Timing.Confidence == api.OneRun || t.Timing.Confidence == api.Stable) &&
		!slices.ContainsFunc(t.AllRuns(), func(r api.Run) bool { return len(r.Disturbed) > 0 || !r.Kept })
}

// withoutOutput removes the output of the compiler, which has its own section.
func withoutOutput(r api.Report) api.Report {
	if r.Compilation != nil {
		compilation := *r.Compilation
		compilation.Output = ""
		r.Compilation = &compilation
	}
	return r
}

// queuedAt returns when the run that the report describes was queued, or the zero time if that is not known: a job that
// was judged again has the time of its first submission.
func queuedAt(r api.Report) time.Time {
	if r.Rejudging != nil || r.Screening != nil || r.CrossCheck != nil {
		return time.Time{}
	}
	return r.CreatedAt
}

func originalOf(r api.Report) *original {
	for _, kind := range copyKinds {
		if id := r.Labels[kind.label]; id != "" {
			return &original{kind.one, id}
		}
	}
	return nil
}

// copiesOf returns the lists of the copies of a job.
func (h *handler) copiesOf(ctx context.Context, r api.Report) (all []copies, err error) {
	counts, err := h.desk.Jobs().Copies(ctx, r.ID)
	for _, kind := range copyKinds {
		if n := counts[r.ID][kind.label]; n > 0 {
			all = append(all, copies{fmt.Sprintf("%s: %d", kind.all, n),
				"/jobs?label=" + url.QueryEscape(kind.label+"="+r.ID)})
		}
	}
	if r.Rejudging != nil {
		all = append(all, copies{"Report before the rejudging", "/jobs/" + r.Rejudging.Job})
	}
	return all, err
}

// reportJSON sends the report as GET /v1/jobs/{id} does.
func (h *handler) reportJSON(w http.ResponseWriter, r *http.Request) error {
	record, err := h.desk.Jobs().Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	body, err := json.MarshalIndent(record.Report, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the report of job %q: %w", record.ID, err)
	}
	w.Header().Set("Content-Type", "application/json")
	h.desk.Answer(w, r, http.StatusOK, append(body, '\n'))
	return nil
}

// runsCSV sends one line for each run.
func (h *handler) runsCSV(w http.ResponseWriter, r *http.Request) error {
	record, err := h.desk.Jobs().Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	var b strings.Builder
	out := csv.NewWriter(&b)
	lines := append([][]string{{"test", "verdict", "limit_ns", "run", "cpu_time_ns", "wall_time_ns",
		"explained_cpu_time_ns", "kept", "cpus", "numa_node", "disturbed"}}, csvLines(record.Report)...)
	if err := out.WriteAll(lines); err != nil {
		return fmt.Errorf("write the runs of job %q: %w", record.ID, err)
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="runs.csv"`)
	h.desk.Answer(w, r, http.StatusOK, []byte(b.String()))
	return nil
}

func csvLines(report api.Report) (lines [][]string) {
	ns := func(d time.Duration) string { return strconv.FormatInt(int64(d), 10) }
	for _, t := range report.Tests {
		limit := ""
		if t.Timing != nil {
			limit = ns(t.Timing.Limit)
		}
		for i, run := range t.AllRuns() {
			lines = append(lines, []string{harmless(t.Name), string(t.Verdict), limit, strconv.Itoa(i + 1), ns(run.CPUTime),
				ns(run.WallTime), ns(run.Explained.CPUTime), strconv.FormatBool(run.Kept), run.CPUs,
				strconv.Itoa(run.NUMANode), text.Join(run.Disturbed, " ")})
		}
	}
	return lines
}

// harmless returns a name that a spreadsheet does not take for a formula.
func harmless(name string) string {
	if name != "" && strings.ContainsRune("=+-@\t\r", rune(name[0])) {
		return "'" + name
	}
	return name
}
