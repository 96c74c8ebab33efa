package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"syscall"

	"judged/internal/host/slots"
	"judged/internal/jobs"
	"judged/internal/jobs/blobs"
	"judged/internal/jobs/jobspec"
)

// Problem is an error as callers see it: problem details of RFC 9457, with the
// next step and, where a body was wrong, every finding.
type Problem struct {
	Type     string               `json:"type"` // urn:judged:…, stable
	Title    string               `json:"title"`
	Status   int                  `json:"status"`
	Detail   string               `json:"detail,omitempty"`
	Instance string               `json:"instance,omitempty"` // the job concerned
	NextStep string               `json:"next_step,omitempty"`
	Errors   []jobspec.FieldError `json:"errors,omitempty"`

	header http.Header
	cause  error // ours, for the log
}

// Error is for logs.
func (p *Problem) Error() string { return fmt.Sprintf("%d %s: %s", p.Status, p.Title, p.Detail) }

// kinds are all problems there are, by the last part of their type.
var kinds = map[string]struct {
	status int
	title  string
}{
	"bad-request":       {http.StatusBadRequest, "The request is not usable"},
	"invalid-job":       {http.StatusBadRequest, "The job is not usable"},
	"unauthorized":      {http.StatusUnauthorized, "No valid token"},
	"forbidden":         {http.StatusForbidden, "Not allowed"},
	"not-found":         {http.StatusNotFound, "Not found"},
	"method":            {http.StatusMethodNotAllowed, "Method not allowed"},
	"conflict":          {http.StatusConflict, "Another body under the same id"},
	"final":             {http.StatusConflict, "The job has ended"},
	"too-large":         {http.StatusRequestEntityTooLarge, "Too large"},
	"media-type":        {http.StatusUnsupportedMediaType, "Media type not supported"},
	"misdirected":       {http.StatusMisdirectedRequest, "Unknown host name"},
	"digest":            {http.StatusUnprocessableEntity, "The content has another digest"},
	"missing-blob":      {http.StatusUnprocessableEntity, "A blob is missing"},
	"queue-full":        {http.StatusTooManyRequests, "The queue is full"},
	"internal":          {http.StatusInternalServerError, "judged could not do its work"},
	"not-ready":         {http.StatusServiceUnavailable, "Not ready"},
	"temporary-failure": {http.StatusServiceUnavailable, "The database is unavailable"},
	"no-space":          {http.StatusServiceUnavailable, "The disk is full"},
}

// problem is one of kinds.
func problem(kind, next, detail string, args ...any) *Problem {
	k := kinds[kind]
	return &Problem{
		Type: "urn:judged:" + kind, Title: k.title, Status: k.status,
		Detail: fmt.Sprintf(detail, args...), NextStep: next, header: http.Header{},
	}
}

func (p *Problem) with(header, value string) *Problem {
	p.header.Set(header, value)
	return p
}

func (p *Problem) retryAfter(seconds int) *Problem {
	return p.with("Retry-After", strconv.Itoa(seconds))
}

// problemOf translates the errors of the layers below. What is not expected is
// an internal error, whose text stays in the log.
func problemOf(err error) *Problem {
	var (
		p       *Problem
		invalid jobspec.Errors
		tooLong *http.MaxBytesError
		digest  *blobs.DigestError
	)
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &invalid):
		p = problem("invalid-job", "correct the members named in errors and send the job again", "%s", invalid)
		p.Errors = invalid
		return p
	case errors.As(err, &tooLong):
		return problem("too-large", "send large files as blobs or parts, or raise http.max_body",
			"the body is larger than %d bytes", tooLong.Limit)
	case errors.Is(err, blobs.ErrTooBig):
		return problem("too-large", "send a smaller file, or raise http.max_blob", "the content is larger than a blob may be")
	case errors.As(err, &digest):
		return problem("digest", "compute the SHA-256 of what is sent, and send it again",
			"the content has SHA-256 %s, not %s", digest.Got, digest.Want)
	case errors.Is(err, blobs.ErrNotFound):
		return problem("not-found", "upload it with PUT", "no such blob")
	case errors.Is(err, jobs.ErrUnavailable):
		p = problem("temporary-failure", "send it again; GET /readyz says why", "the database is unavailable").retryAfter(retryNotReady)
		p.cause = err
		return p
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		p = problem("no-space", "free space in the data directory, then send it again", "there is no room for the content").retryAfter(retryNotReady)
		p.cause = err
		return p
	case errors.Is(err, jobs.ErrNotFound):
		return problem("not-found", "check the id; finished jobs are forgotten after the time of retention.max_age", "no such job")
	case errors.Is(err, jobs.ErrFinal):
		return problem("final", "read its report with GET", "the job is done and cannot be cancelled")
	case errors.Is(err, jobs.ErrBadCursor):
		return problem("bad-request", "send what the page before had in next", "parameter after is no cursor")
	case errors.Is(err, slots.ErrUnknownSlot):
		return problem("not-found", "see GET /v1/slots for the CPUs of each slot", "no such slot")
	}
	p = problem("internal", "see the log of judged", "an error that is not the caller's")
	p.cause = err
	return p
}

// fail answers with the problem of err and logs what is ours.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return // the caller is gone
	}
	p := problemOf(err)
	if p.cause != nil {
		s.log.Error("answer request", slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Any("error", p.cause))
	}
	for name, values := range p.header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", "application/problem+json")
	answer, _ := json.Marshal(p) // strings and numbers only
	answer = append(answer, '\n')
	if body := unwanted(r); body != nil {
		s.refuse(w, body, p.Status, answer)
		return
	}
	s.write(w, p.Status, answer)
}
