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
	RetryAfter time.Duration    `json:"-"` // 0 where the daemon did not say
}

// Error is one line that ends with the next step.
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

// Class says what the sender of a request does about an error.
type Class int

const (
	// Passing means that the same request may succeed later: nothing answered, or judged could not do its work.
	Passing Class = iota
	// Barred means that the caller is not let in, or that what answers is no judged that it can talk to. The request
	// may be good; it succeeds once an operator has acted.
	Barred
	// Refused means that the same request never succeeds.
	Refused
)

// ClassOf is the class of an error of a request. Every answer of judged has one; no other code looks at the status.
func ClassOf(err error) Class {
	if errors.As(err, new(*encodeError)) {
		return Refused
	}
	p, answered := errors.AsType[*Problem](err)
	switch {
	case !answered, p.Status >= 500, p.Status == http.StatusTooManyRequests, p.Status == http.StatusRequestTimeout:
		return Passing
	case p.Status == http.StatusRequestEntityTooLarge: // a proxy's limit is one, too
		return Refused
	case !strings.HasPrefix(p.Type, problemPrefix):
		return Barred
	}
	switch p.Kind() {
	case "unauthorized", "forbidden", "misdirected", "method", "protocol":
		return Barred
	}
	return Refused
}

// TooLarge reports whether a request was refused for its size alone.
func TooLarge(err error) bool {
	p, ok := errors.AsType[*Problem](err)
	return ok && p.Status == http.StatusRequestEntityTooLarge
}

const problemPrefix = "urn:judged:"

// Kind is the last part of the type of an answer of judged, "" of any other.
func (p *Problem) Kind() string {
	kind, found := strings.CutPrefix(p.Type, problemPrefix)
	if !found {
		return ""
	}
	return kind
}

// maxProblem bounds what is read of an error, in bytes.
const maxProblem = 1 << 20

// maxRetryAfter bounds what is believed of an answer, in seconds.
const maxRetryAfter = 3600

// readProblem reads an answer from 400 on. A proxy may have written it, or
// anybody else.
func readProblem(res *http.Response) error {
	p := &Problem{}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxProblem))
	kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	if err != nil || kind != "application/problem+json" || json.Unmarshal(body, p) != nil {
		*p = Problem{Detail: http.StatusText(res.StatusCode), NextStep: "check that the address is that of judged"}
		if res.Request != nil && res.Request.Method == http.MethodHead {
			p.NextStep = "" // errors of HEAD have no body
		}
	}
	p.Status = res.StatusCode
	if s, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && s > 0 {
		p.RetryAfter = time.Duration(min(s, maxRetryAfter)) * time.Second
	}
	return p
}

// NotFound reports whether err says that there is no such thing.
func NotFound(err error) bool {
	var p *Problem
	return errors.As(err, &p) && p.Status == http.StatusNotFound
}

// again returns how long to wait before a request that failed with err may be
// sent again, and false where that makes no sense.
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

// pause between two attempts.
const pause = 500 * time.Millisecond
