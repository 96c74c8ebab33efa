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

	"judged/internal/jobs/jobspec"
)

// Problem is an error that the daemon returned.
type Problem struct {
	Type       string               `json:"type"` // urn:judged:…
	Title      string               `json:"title"`
	Status     int                  `json:"status"`
	Detail     string               `json:"detail"`
	Instance   string               `json:"instance"`
	NextStep   string               `json:"next_step"`
	Errors     []jobspec.FieldError `json:"errors"`
	RetryAfter time.Duration        `json:"-"` // 0 where the daemon did not say
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

// Temporary reports whether the same request may succeed later.
func (p *Problem) Temporary() bool {
	return p.Status == http.StatusTooManyRequests || p.Status >= 502 && p.Status <= 504
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
	var (
		p *Problem
		u *Unreachable
	)
	switch {
	case errors.As(err, &p):
		return max(p.RetryAfter, pause), p.Temporary()
	case errors.As(err, &u):
		return pause, true
	}
	return 0, false
}

// pause between two attempts.
const pause = 500 * time.Millisecond
