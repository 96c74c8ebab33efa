package web

import (
	"fmt"
	"net/http"
	"slices"

	"judged/internal/api"
)

// linked shows the page of the job that a signed link names, to anyone who has it.
func (h *handler) linked(w http.ResponseWriter, r *http.Request) error {
	report, err := h.desk.Linked(r.Context(), r)
	if err != nil {
		return err
	}
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("X-Robots-Tag", "noindex")
	return h.show(w, r, http.StatusOK, page{Title: "Job " + short(report.ID), template: "job.html", Guest: true,
		Body: viewJob(forGuest(report))})
}

// forGuest returns the part of a report that a contestant may see: nothing that the jury has written for itself, nothing
// that a program has printed, which may be the input of a test, and no other job.
func forGuest(r api.Report) api.Report {
	r.Tenant, r.Labels, r.Outputs, r.Screening, r.Rejudging = "", nil, nil, nil, nil
	if r.State != api.Done || r.Verdict == api.InternalError && r.Fault != api.NoiseFault {
		r.Message = "" // the file for which a job waits is named by its digest, which permits to read it
	}
	if c := r.Compilation; c != nil && c.Program != "" {
		r.Compilation = nil // of a program of the jury
	}
	if r.Host != nil {
		host := *r.Host
		host.Name, host.Node = "a judge host", ""
		r.Host = &host
	}
	if r.CrossCheck != nil {
		check := api.CrossCheck{Decision: r.CrossCheck.Decision}
		for i, h := range r.CrossCheck.Hosts {
			h.Node, h.Job = fmt.Sprintf("host %d", i+1), ""
			check.Hosts = append(check.Hosts, h)
		}
		r.CrossCheck = &check
	}
	r.Tests = slices.Clone(r.Tests)
	for i := range r.Tests {
		t := &r.Tests[i]
		t.StdoutHead, t.StderrHead, t.Transcript = nil, nil, nil
		if t.Verdict == api.InternalError && t.Fault != api.NoiseFault {
			t.Message = ""
		}
		if t.Checker != nil {
			t.Checker = &api.CheckReport{Verdict: t.Checker.Verdict, TeamMessage: t.Checker.TeamMessage,
				FirstExit: t.Checker.FirstExit}
		}
	}
	return r
}
