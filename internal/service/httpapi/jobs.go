package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"judged/internal/api"
)

// getJob responds with the report; with wait=, once the job has ended or the time has passed.
func (s *Server) getJob(w http.ResponseWriter, r *http.Request) error {
	wait, err := waitOf(r)
	if err != nil {
		return err
	}
	report, err := s.report(r.Context(), r.PathValue("id"), wait)
	if err != nil {
		return err
	}
	return s.writeReport(w, r, report)
}

func (s *Server) report(ctx context.Context, id string, wait time.Duration) (api.Report, error) {
	if wait == 0 {
		record, err := s.jobs.Get(ctx, id)
		return record.Report, err
	}
	return s.wait(ctx, wait, func(ctx context.Context) (api.Report, error) { return s.jobs.Wait(ctx, id) })
}

// wait calls f with a context that ends after a time, or when the server ends streams.
func (s *Server) wait(ctx context.Context, limit time.Duration, f func(context.Context) (api.Report, error)) (
	api.Report, error) {
	polling, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	defer context.AfterFunc(s.closing, cancel)()
	return f(polling)
}

// writeReport adds an ETag to final reports, and responds with 304 to callers that have the report.
func (s *Server) writeReport(w http.ResponseWriter, r *http.Request, report api.Report) error {
	if !report.State.Final() {
		return s.writeJSON(w, http.StatusOK, report)
	}
	body, err := json.Marshal(report)
	if err != nil {
		return fmt.Errorf("encode report: %w", err)
	}
	sum := sha256.Sum256(body)
	tag := `"` + hex.EncodeToString(sum[:16]) + `"`
	w.Header().Set("ETag", tag)
	w.Header().Set("Cache-Control", "private, no-cache")
	if weakly(r.Header.Get("If-None-Match")) == weakly(tag) {
		s.write(w, http.StatusNotModified, nil)
		return nil
	}
	w.Header().Set("Content-Type", "application/json")
	s.write(w, http.StatusOK, append(body, '\n'))
	return nil
}

// jobList is a page of the list.
type jobList struct {
	Jobs []api.Report `json:"jobs"` // without tests
	Next string       `json:"next,omitempty"`
}

// jobParameters are the query parameters of a list of jobs.
const jobParameters = "state&verdict&problem&language&tenant&label*&created_from&created_to&after&limit"

func (s *Server) listJobs(r *http.Request) (any, error) {
	filter, err := filterOf(r.URL.Query())
	if err != nil {
		return nil, err
	}
	reports, next, err := s.jobs.List(r.Context(), filter)
	if err != nil {
		return nil, err
	}
	if reports == nil {
		reports = []api.Report{}
	}
	return jobList{Jobs: reports, Next: next}, nil
}

// cancelJob cancels a job. Cancelling it again changes nothing.
func (s *Server) cancelJob(r *http.Request) (any, error) {
	id := r.PathValue("id")
	report, err := s.jobs.Cancel(r.Context(), id)
	if errors.Is(err, api.ErrFinal) && report.State == api.CancelledState {
		record, err := s.jobs.Get(r.Context(), id)
		if err != nil {
			return nil, err
		}
		return record.Report, nil
	}
	if err != nil {
		return nil, err
	}
	s.log.Info("cancelled a job", "job", id, by(r))
	return report, nil
}

// deleteJob deletes a job that has ended. It has a path of its verb, because DELETE cancels.
func (s *Server) deleteJob(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if err := s.jobs.Delete(context.WithoutCancel(r.Context()), id); err != nil {
		return err
	}
	s.log.Info("deleted a job", "job", id, by(r))
	s.write(w, http.StatusNoContent, nil)
	return nil
}
