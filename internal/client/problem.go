package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"judged/internal/api"
)

// Problem is an error that the daemon returned.
type Problem struct {
	Type       string           `json:"type"` // urn:judged:…
	Title      string           `json:"title"`
	Status     int              `json:"status"`
	Detail     string           `json:"detail"`
	Instance   string           `json:"instance"`
	NextStep   string           `json:"next_step"`
	Errors     []api.FieldError `json:"errors"`
	RetryAfter time.Duration    `json:"-"` // 0 if the daemon did not send it
}

// Error returns one line that ends with the next step.
func (p *Problem) Error() string {
	text := p.Detail
	if text == "" {
		text = p.Title
	}
	if p.NextStep != "" {
		text += "; " + p.NextStep
	}
	return fmt.Sprintf("judged answered %d: %s", p.Status, text)
}

// Class classifies errors by what the sender of a request should do.
type Class int

const (
	// Passing means that the same request may succeed later: there was no response, or judged failed.
	Passing Class = iota
	// Barred means that access was denied, or that the server is not a compatible judged. The request may be valid; it
	// succeeds once an operator has acted.
	Barred
	// Refused means that the same request never succeeds.
	Refused
)

// ClassOf returns the class of a request's error. Every response of judged has one; no other code checks the status.
func ClassOf(err error) Class {
	if errors.As(err, new(*encodeError)) {
		return Refused
	}
	p, answered := errors.AsType[*Problem](err)
	switch {
	case !answered, p.Status >= 500, p.Status == http.StatusTooManyRequests, p.Status == http.StatusRequestTimeout:
		return Passing
	case p.Status == http.StatusRequestEntityTooLarge: // also the limit of a proxy
		return Refused
	case !strings.HasPrefix(p.Type, problemPrefix):
		return Barred
	}
	switch p.Kind() {
	case "unauthorized", "forbidden", "misdirected", "method", "path", "protocol":
		return Barred
	}
	return Refused
}

// TooLarge reports whether a request was refused because of its size alone.
func TooLarge(err error) bool {
	p, ok := errors.AsType[*Problem](err)
	return ok && p.Status == http.StatusRequestEntityTooLarge
}

const problemPrefix = "urn:judged:"

// Kind returns the last part of the type of a problem from judged, and "" for others.
func (p *Problem) Kind() string {
	kind, found := strings.CutPrefix(p.Type, problemPrefix)
	if !found {
		return ""
	}
	return kind
}

// maxProblem limits how much of an error response is read, in bytes.
const maxProblem = 1 << 20

// maxRetryAfter limits the Retry-After that is accepted, in seconds.
const maxRetryAfter = 3600

// readProblem reads a response with a status of 300 or above. A proxy or any other server may have sent it.
func readProblem(res *http.Response) error {
	p := &Problem{}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxProblem))
	kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	if err != nil || kind != "application/problem+json" || json.Unmarshal(body, p) != nil {
		*p = Problem{Detail: http.StatusText(res.StatusCode), NextStep: "check that the address is that of judged"}
		if res.Request != nil && res.Request.Method == http.MethodHead {
			p.NextStep = "" // responses to HEAD have no body
		}
		if to := res.Header.Get("Location"); res.StatusCode < http.StatusBadRequest {
			*p = Problem{Detail: fmt.Sprintf("it redirects to %.200q", to), NextStep: "use the final address of judged"}
		}
	}
	p.Status = res.StatusCode
	if s, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && s > 0 {
		p.RetryAfter = time.Duration(min(s, maxRetryAfter)) * time.Second
	}
	return p
}

// NotFound reports whether err means that something does not exist.
func NotFound(err error) bool {
	var p *Problem
	return errors.As(err, &p) && p.Status == http.StatusNotFound
}

// again returns how long to wait before retrying a request that failed with err, or false if a retry cannot help.
func again(err error) (time.Duration, bool) {
	if ClassOf(err) != Passing {
		return 0, false
	}
	p, answered := errors.AsType[*Problem](err)
	if answered {
		return max(p.RetryAfter, pause), true
	}
	return pause, errors.As(err, new(*Unreachable))
}

// pause is the time between two attempts.
const pause = 500 * time.Millisecond
