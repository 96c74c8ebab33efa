package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"judged/internal/api"
	"judged/internal/jobs"
)

// listPage is a page of the list of jobs, with the form that selects them.
type listPage struct {
	Form    listForm
	Jobs    []jobRow
	Next    string // address of the next page
	Missing string // ID that no job has
	Copies  string // ID of the job whose copies are listed
}

// listForm has what the form shows.
type listForm struct {
	ID, State, Verdict, Problem, Labels, From, To string
	WithCopies                                    bool
	Verdicts                                      []api.Meaning
	States                                        []api.State
}

// jobRow is a job in a list.
type jobRow struct {
	api.Report
	Original *original // of a copy
	Copies   int
}

// pageOfJobs is the number of jobs on a page.
const pageOfJobs = "50"

// list shows jobs, newest first. A job has the number of its copies in its row, unless the reader asks for them.
func (h *handler) list(w http.ResponseWriter, r *http.Request) error {
	values := r.URL.Query()
	p := listPage{Form: formOf(values)}
	if p.Form.ID != "" {
		_, err := h.desk.Jobs().GetShort(r.Context(), p.Form.ID)
		if err == nil {
			http.Redirect(w, r, "/jobs/"+url.PathEscape(p.Form.ID), http.StatusSeeOther)
			return nil
		}
		if !errors.Is(err, api.ErrNotFound) {
			return err
		}
		p.Missing = p.Form.ID
	}
	request := *r
	address := *r.URL
	request.URL = &address
	address.RawQuery = p.Form.query(values.Get("after")).Encode()
	filter, err := h.desk.Filter(&request)
	if err != nil {
		return err
	}
	for _, key := range jobs.CopyLabels() {
		if id := filter.Label[key]; id != "" {
			p.Copies = id
		}
	}
	filter.Audits = filter.Audits || p.Form.WithCopies
	filter.Originals = !p.Form.WithCopies && p.Copies == "" && filter.Label[jobs.RejudgingLabel] == ""
	var next string
	if p.Jobs, next, err = h.rows(r.Context(), filter); err != nil {
		return err
	}
	if next != "" {
		values.Set("after", next)
		p.Next = "/jobs?" + values.Encode()
	}
	return h.show(w, r, http.StatusOK, page{Title: "Jobs", template: "jobs.html", Live: values.Get("after") == "", Body: p})
}

// rows returns a page of jobs with their copies.
func (h *handler) rows(ctx context.Context, f jobs.Filter) (rows []jobRow, next string, err error) {
	list, next, err := h.desk.Jobs().List(ctx, f)
	if err != nil {
		return nil, "", err
	}
	var ids []string
	for _, r := range list {
		ids = append(ids, r.ID)
	}
	copies, err := h.desk.Jobs().Copies(ctx, ids...)
	for _, r := range list {
		row := jobRow{Report: r, Original: originalOf(r)}
		for _, n := range copies[r.ID] {
			row.Copies += n
		}
		rows = append(rows, row)
	}
	return rows, next, err
}

func formOf(values url.Values) listForm {
	get := func(name string) string { return strings.TrimSpace(values.Get(name)) }
	return listForm{ID: get("id"), State: get("state"), Verdict: get("verdict"), Problem: get("problem"),
		Labels: strings.Join(values["label"], " "), From: get("created_from"), To: get("created_to"),
		Verdicts: api.Verdicts(), WithCopies: get("copies") != "",
		States: []api.State{api.Queued, api.Running, api.Done, api.CancelledState}}
}

// query returns the parameters of GET /v1/jobs. A browser sends empty fields, several labels as one text, and times
// without seconds and zone.
func (f listForm) query(after string) url.Values {
	q := url.Values{"limit": {pageOfJobs}}
	for name, value := range map[string]string{"state": f.State, "verdict": f.Verdict, "problem": f.Problem,
		"created_from": instant(f.From), "created_to": instant(f.To), "after": after} {
		if value != "" {
			q.Set(name, value)
		}
	}
	for _, label := range labelsIn(f.Labels) {
		q.Add("label", label)
	}
	return q
}

// labelsIn splits a text into labels. A word without a key belongs to the value before it.
func labelsIn(text string) (all []string) {
	for _, word := range strings.Fields(text) {
		if key, _, found := strings.Cut(word, "="); len(all) > 0 && (!found || key == "") {
			all[len(all)-1] += " " + word
		} else {
			all = append(all, word)
		}
	}
	return all
}

// instant completes the value of a field for a time, which is in UTC.
func instant(text string) string {
	if len(text) == len("2006-01-02T15:04") {
		return text + ":00Z"
	}
	return text
}
