package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"judged/internal/api"
	"judged/internal/host/slots"
	"judged/internal/jobs"
	"judged/internal/jobs/blobs"
	"judged/internal/jobs/intake"
)

// Problem is an error for callers: problem details of RFC 9457 with the next step and, for an invalid body, all
// validation errors.
type Problem struct {
	Type     string           `json:"type"` // urn:judged:…, stable
	Title    string           `json:"title"`
	Status   int              `json:"status"`
	Detail   string           `json:"detail,omitempty"`
	Instance string           `json:"instance,omitempty"` // the job concerned
	NextStep string           `json:"next_step,omitempty"`
	Errors   []api.FieldError `json:"errors,omitempty"`

	header http.Header
	cause  error // of an internal error, for the log
}

// Error implements error.
func (p *Problem) Error() string { return fmt.Sprintf("%d %s: %s", p.Status, p.Title, p.Detail) }

// kinds lists all problems by the last part of their type.
var kinds = map[string]struct {
	status int
	title  string
}{
	"bad-request":       {http.StatusBadRequest, "Invalid request"},
	"invalid-job":       {http.StatusBadRequest, "Invalid job"},
	"protocol":          {http.StatusBadRequest, "Unknown version of the node protocol"},
	"unauthorized":      {http.StatusUnauthorized, "No valid token"},
	"forbidden":         {http.StatusForbidden, "Not allowed"},
	"not-found":         {http.StatusNotFound, "Not found"},
	"path":              {http.StatusNotFound, "No such path"}, // also one of another role, which says nothing about a job
	"method":            {http.StatusMethodNotAllowed, "Method not allowed"},
	"timeout":           {http.StatusRequestTimeout, "The body did not arrive in time"},
	"conflict":          {http.StatusConflict, "Another body under the same id"},
	"stale":             {http.StatusConflict, "The lease is lost"},
	"final":             {http.StatusConflict, "The job has ended"},
	"in-use":            {http.StatusConflict, "In use"},
	"gone":              {http.StatusGone, "No longer kept"},
	"precondition":      {http.StatusPreconditionFailed, "A condition is not met"},
	"too-large":         {http.StatusRequestEntityTooLarge, "Too large"},
	"media-type":        {http.StatusUnsupportedMediaType, "Media type not supported"},
	"range":             {http.StatusRequestedRangeNotSatisfiable, "No such range"},
	"misdirected":       {http.StatusMisdirectedRequest, "Unknown host name"},
	"digest":            {http.StatusUnprocessableEntity, "The digest does not match the content"},
	"missing-language":  {http.StatusUnprocessableEntity, "A language is missing"},
	"invalid-problem":   {http.StatusUnprocessableEntity, "The package cannot be judged"},
	"invalid-report":    {http.StatusUnprocessableEntity, "The report cannot be one of the job"},
	"missing-problem":   {http.StatusUnprocessableEntity, "A problem is missing"},
	"invalid-batch":     {http.StatusUnprocessableEntity, "No job of the batch was accepted"},
	"missing-blob":      {http.StatusUnprocessableEntity, "A blob is missing"},
	"queue-full":        {http.StatusTooManyRequests, "The queue is full"},
	"quota":             {http.StatusTooManyRequests, "A quota is used up"},
	"internal":          {http.StatusInternalServerError, "Internal error"},
	"not-ready":         {http.StatusServiceUnavailable, "Not ready"},
	"temporary-failure": {http.StatusServiceUnavailable, "The database is unavailable"},
	"no-space":          {http.StatusServiceUnavailable, "The disk is full"},
}

// problemType is the first part of the types of problems.
const problemType = "urn:judged:"

// problem returns a Problem of one of the kinds.
func problem(kind, next, detail string, args ...any) *Problem {
	k := kinds[kind]
	return &Problem{
		Type: problemType + kind, Title: k.title, Status: k.status,
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

// problemOf translates errors of lower layers. Unknown errors become internal errors, whose text is only logged.
func problemOf(err error) *Problem {
	var (
		p       *Problem
		invalid intake.Errors
		blob    *intake.MissingBlobsError
		lang    *intake.MissingLanguageError
		absent  *intake.MissingProblemError
		tooLong *http.MaxBytesError
		digest  *blobs.DigestError
		quota   *jobs.QuotaError
	)
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &quota):
		wait := max(quota.Reset, retryFull*time.Second)
		return problem("quota", "try again later; GET /v1/tenants shows what is left", "%s",
			quota).retryAfter(int((wait + time.Second - 1) / time.Second))
	case errors.As(err, &blob):
		p = problem("missing-blob", "upload it with PUT /v1/blobs/{sha256} and send the job again", "%s", err)
		p.Errors = blob.Findings
		return p
	case errors.As(err, &lang):
		return problem("missing-language", "send a language that GET /v1/languages says is available", "%s", err)
	case errors.As(err, &absent) && absent.Stored == "":
		return problem("missing-problem", "store it with PUT /v1/problems/{id} and send the job again", "%s", err)
	case errors.As(err, &absent):
		return problem("missing-problem", "send that version, or none for the stored one", "%s", err)
	case errors.As(err, &invalid):
		p = problem("invalid-job", "correct the members named in errors and send the job again", "%s", invalid)
		p.Errors = invalid
		return p
	case errors.As(err, &tooLong):
		return problem("too-large", "send large files as blobs or parts, or raise http.max_body",
			"the body is larger than %d bytes", tooLong.Limit)
	case errors.Is(err, blobs.ErrTooBig):
		return problem("too-large", "send a smaller file, or raise http.max_blob",
			"the content is larger than http.max_blob")
	case errors.As(err, &digest):
		return problem("digest", "compute the SHA-256 of what is sent, and send it again",
			"the content has SHA-256 %s, not %s", digest.Got, digest.Want)
	case errors.Is(err, blobs.ErrNotFound):
		return problem("not-found", "upload it with PUT", "no such blob")
	case errors.Is(err, blobs.ErrAway):
		p = problem("temporary-failure", "send it again", "the blobs are unavailable").retryAfter(retryNotReady)
		p.cause = err
		return p
	case errors.Is(err, api.ErrUnavailable):
		p = problem("temporary-failure", "send it again; GET /readyz says why",
			"the database is unavailable").retryAfter(retryNotReady)
		p.cause = err
		return p
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		p = problem("no-space", "free space in the data directory, then send it again",
			"the content does not fit on the disk").retryAfter(retryNotReady)
		p.cause = err
		return p
	case errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EIO):
		p = problem("temporary-failure", "make the data directory writable and check its disk, then send it again",
			"the data directory cannot be written").retryAfter(retryNotReady)
		p.cause = err
		return p
	case errors.Is(err, api.ErrNotFound):
		return problem("not-found", "check the id; finished jobs are deleted after retention.max_age", "no such job")
	case errors.Is(err, jobs.ErrNoRejudging):
		return problem("not-found", "see GET /v1/rejudgings", "no such rejudging")
	case errors.Is(err, jobs.ErrNoReceiver):
		return problem("not-found", "see GET /v1/receivers", "no such receiver")
	case errors.Is(err, jobs.ErrNoProblem):
		return problem("not-found", "see GET /v1/problems, or store it with PUT", "no such problem")
	case errors.Is(err, jobs.ErrNotOwner):
		return problem("forbidden", "choose another id, or use the token that stored it or one with the scope admin",
			"another token stored the problem")
	case errors.Is(err, api.ErrFinal):
		return problem("final", "read its report with GET", "the job is done and cannot be cancelled")
	case errors.Is(err, jobs.ErrInUse), errors.Is(err, api.ErrNodeInUse):
		return problem("in-use", "do what the detail says, then send it again", "%s", err)
	case errors.Is(err, jobs.ErrNoPosition):
		return problem("gone", "read GET /v1/jobs, then follow the events without Last-Event-ID and after, or with after=0",
			"no event has this id, or it is not kept any more")
	case errors.Is(err, jobs.ErrBadCursor):
		return problem("bad-request", "send the member next of the previous page", "parameter after is not a cursor")
	case errors.Is(err, api.ErrStale):
		return problem("stale", "stop the run", "another attempt has the job, or it is queued again")
	case errors.Is(err, api.ErrUnknownNode):
		return problem("not-found", "see GET /v1/nodes", "no such node")
	case errors.Is(err, api.ErrUnknownPool):
		return problem("not-found", "see GET /v1/pools", "no such pool")
	case errors.Is(err, slots.ErrUnknownSlot):
		return problem("not-found", "see GET /v1/slots for the CPUs of each slot", "no such slot")
	}
	p = problem("internal", "see the log of judged", "judged has failed, not the request")
	p.cause = err
	return p
}

// fail responds with the problem of err. It logs internal errors.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return // the caller has disconnected
	}
	p := problemOf(err)
	s.logCause(r, p)
	maps.Copy(w.Header(), p.header)
	w.Header().Set("Content-Type", "application/problem+json")
	answer, _ := json.Marshal(p) // strings and numbers only
	answer = append(answer, '\n')
	if body := unwanted(r); body != nil {
		s.refuse(w, body, p.Status, answer)
		return
	}
	s.write(w, p.Status, answer)
}
