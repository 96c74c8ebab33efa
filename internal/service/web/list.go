package web

import (
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
	Jobs    []api.Report
	Next    string // address of the next page
	Missing string // ID that no job has
	Copies  string // ID of the job whose copies are listed
}

// listForm has what the form shows.
type listForm struct {
	ID, State, Verdict, Problem, Labels, From, To string
	Verdicts                                      []api.Meaning
	States                                        []api.State
}

// pageOfJobs is the number of jobs on a page.
const pageOfJobs = "50"

// list shows jobs, newest first. Copies made for audits and comparisons of hosts are listed by their original only.
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
	for _, key := range []string{jobs.AuditLabel, jobs.RecheckLabel, jobs.ScreeningLabel} {
		if id := filter.Label[key]; id != "" {
			p.Copies = id
		}
	}
	var next string
	if p.Jobs, next, err = h.desk.Jobs().List(r.Context(), filter); err != nil {
		return err
	}
	if next != "" {
		values.Set("after", next)
		p.Next = "/jobs?" + values.Encode()
	}
	return h.show(w, r, http.StatusOK, page{Title: "Jobs", template: "jobs.html", Live: values.Get("after") == "", Body: p})
}

func formOf(values url.Values) listForm {
	get := func(name string) string { return strings.TrimSpace(values.Get(name)) }
	return listForm{ID: get("id"), State: get("state"), Verdict: get("verdict"), Problem: get("problem"),
		Labels: strings.Join(values["label"], " "), From: get("created_from"), To: get("created_to"),
		Verdicts: api.Verdicts(),
		States:   []api.State{api.Queued, api.Running, api.Done, api.CancelledState}}
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
	for _, label := range strings.Fields(f.Labels) {
		q.Add("label", label)
	}
	return q
}

// instant completes the value of a field for a time, which is in UTC.
func instant(text string) string {
	if len(text) == len("2006-01-02T15:04") {
		return text + ":00Z"
	}
	return text
}
