package judgehost

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"judged/internal/api"
	"judged/internal/base/poll"
)

// Server has the address of a DOMjudge server and the credentials for it.
type Server struct {
	URL string // ends with /api/v4
	Account
	Log *slog.Logger
	// Pause, if not nil, replaces the pauses between tries. Tests use it to shorten them.
	Pause func(context.Context, time.Duration)
	// Idle is the longest time without received data before a request fails; 0 means one minute.
	Idle time.Duration
	// Outage is the time after which a task is at fault for which the server fails, and not for others; 0 means five
	// minutes.
	Outage time.Duration
}

// Client is a client of the judgehost API of a DOMjudge server. It is safe for concurrent use.
type Client struct {
	server  Server
	account atomic.Pointer[Account]
	lost    atomic.Pointer[error] // see Lost
	http    *http.Client
}

// errNoAnswer is why a server does not answer that has not been asked yet.
var errNoAnswer = errors.New("it has not answered yet")

// NewClient checks the address and returns a client.
func NewClient(s Server) (*Client, error) {
	u, err := url.Parse(s.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("not an http or https URL; use the form https://domjudge.example/api/v4")
	case u.User != nil:
		return nil, errors.New("the URL has a user or a password; write them into the file with the account")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("the URL has a query or a fragment; leave them out")
	}
	s.URL = strings.TrimRight(s.URL, "/")
	if s.Pause == nil {
		s.Pause = poll.Sleep
	}
	s.Idle, s.Outage = cmp.Or(s.Idle, time.Minute), cmp.Or(s.Outage, 5*time.Minute)
	c := &Client{server: s, http: &http.Client{CheckRedirect: noRedirect, Transport: transport()}}
	c.Use(s.Account)
	c.lost.Store(&errNoAnswer)
	return c, nil
}

// Use sends later requests with another account.
func (c *Client) Use(a Account) { c.account.Store(&a) }

// Lost returns why the server does not answer, by the last request, or nil.
func (c *Client) Lost() error { return *c.lost.Load() }

// note records the outcome of a request for Lost. Any status of the server counts as an answer, but not before the
// first success: until then, the address may be wrong.
func (c *Client) note(err error) {
	if err == nil || IsRefused(err) || !isAnswer(err) || c.Lost() != nil {
		c.lost.Store(&err)
	}
}

// transport returns a transport that keeps one idle connection for each slot.
func transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 64
	return t
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// StatusError is a response with a status other than success.
type StatusError struct {
	Status  int
	Message string
	Final   bool // the same request would fail again
	JSON    bool // DOMjudge answers in JSON, and proxies in front of it do not
}

func (e *StatusError) Error() string {
	switch {
	case e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden:
		return fmt.Sprintf("the server refuses the credentials (status %d); correct the file with the account", e.Status)
	case e.Status >= 300 && e.Status < 400:
		return fmt.Sprintf("the server redirects to %q; configure the final address", e.Message)
	}
	return fmt.Sprintf("the server answers %d: %s", e.Status, e.Message)
}

// IsRefused reports whether the server does not accept the credentials.
func IsRefused(err error) bool {
	status := new(StatusError)
	return errors.As(err, &status) && (status.Status == http.StatusUnauthorized || status.Status == http.StatusForbidden)
}

// isFinal reports whether the same request would fail again until somebody has acted.
func isFinal(err error) bool {
	status := new(StatusError)
	return errors.As(err, &status) && (status.Final || IsRefused(err) || status.Status >= 300 && status.Status < 400)
}

// isRejected reports whether the server has looked at a request, and says that it would reject it again.
func isRejected(err error) bool {
	status := new(StatusError)
	return errors.As(err, &status) && status.Final && !IsRefused(err)
}

// isAnswer reports whether an error is about the requested object, and not about the connection or the server.
func isAnswer(err error) bool {
	status := new(StatusError)
	return errors.As(err, &status) && status.isAnswer() || errors.As(err, new(*contentError))
}

func (e *StatusError) isAnswer() bool {
	switch e.Status {
	case http.StatusProxyAuthRequired, http.StatusRequestTimeout, http.StatusMisdirectedRequest, http.StatusTooEarly,
		http.StatusTooManyRequests:
		return false
	case http.StatusNotFound: // also that of a proxy that has no server
		return e.JSON
	}
	return e.Status >= 400 && e.Status < 500
}

// serverError is an error of the connection, or of a server that cannot respond.
type serverError struct {
	error
	fails  bool   // the server itself fails at a request about a task, which may be the cause
	object *fault // of the object that was requested, nil for others
}

func (e *serverError) Unwrap() error { return e.error }

// request describes one call of the API.
type request struct {
	method, path string
	form         url.Values // of POST and PUT
	limit        int64      // maximum size of the response in bytes
	tries        int        // maximum; 0 means 3
	take         func(io.Reader) error
}

// The waits between tries double. A random time of up to the same length is added.
const (
	firstPause   = 500 * time.Millisecond
	usualTries   = 3
	maxMessage   = 500
	smallAnswer  = 1 << 20
	mediumAnswer = 64 << 20
)

// do sends a request until it succeeds, fails for good, or has been tried often enough.
func (c *Client) do(ctx context.Context, r request) error {
	tries := r.tries
	if tries == 0 {
		tries = usualTries
	}
	pause := firstPause
	for n := 1; ; n++ {
		err := c.once(ctx, r)
		switch {
		case err == nil:
			c.note(nil)
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case api.FaultOf(err) == api.HostFault: // such as a full disk, which says nothing about the server
			return fmt.Errorf("%s %s: %w", r.method, r.path, err)
		}
		c.note(err)
		err = fmt.Errorf("%s %s: %w", r.method, r.path, err)
		switch {
		case isRejected(err), n == tries && isAnswer(err):
			return err
		case n == tries || isFinal(err):
			status := new(StatusError)
			fails := errors.As(err, &status) && status.Status == http.StatusInternalServerError
			return &serverError{error: err, fails: fails && r.path != configPath}
		}
		wait := pause + rand.N(pause)
		c.server.Log.Warn("a request to the DOMjudge server failed; retrying", "error", err, "try", n,
			"wait_seconds", wait.Seconds())
		c.server.Pause(ctx, wait)
		pause *= 2
	}
}

// errIdle is the cause for canceling a request during which no data arrives.
var errIdle = errors.New("the server sent nothing, or too little, for too long")

func (c *Client) once(ctx context.Context, r request) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	patience := time.AfterFunc(c.server.Idle, func() { cancel(errIdle) })
	defer patience.Stop()
	var body io.Reader
	if r.form != nil {
		body = newProgress(strings.NewReader(r.form.Encode()), patience, c.server.Idle)
	}
	q, err := http.NewRequestWithContext(ctx, r.method, c.server.URL+"/"+r.path, body)
	if err != nil {
		return err
	}
	account := c.account.Load()
	q.SetBasicAuth(account.User, account.Password)
	q.Header.Set("User-Agent", "judged")
	q.Header.Set("Accept", "application/json")
	if r.form != nil {
		q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	answer, err := c.http.Do(q)
	if err != nil {
		return because(ctx, err)
	}
	defer answer.Body.Close()
	in := newProgress(io.LimitReader(answer.Body, r.limit+1), patience, c.server.Idle)
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return because(ctx, refusal(answer, in))
	}
	counted := &counter{in: in, left: r.limit}
	if r.take != nil {
		err = r.take(counted)
	}
	if err == nil { // only a connection whose response was read to its end is used again
		_, err = io.Copy(io.Discard, counted)
	}
	if err != nil {
		return because(ctx, fmt.Errorf("read the answer: %w", err))
	}
	return nil
}

// because returns the cause if ctx was canceled. From other errors it removes the URL, which callers add themselves.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if of := new(url.Error); errors.As(err, &of) {
		return of.Err
	}
	return err
}

// refusal returns the reason that the server gives for refusing a request.
func refusal(answer *http.Response, body io.Reader) error {
	e := &StatusError{Status: answer.StatusCode}
	text, err := io.ReadAll(io.LimitReader(body, smallAnswer))
	if err != nil {
		return err
	}
	var said struct {
		Message string
		Retry   *bool
	}
	if e.JSON = json.Unmarshal(text, &said) == nil; e.JSON {
		e.Final = said.Retry != nil && !*said.Retry
		e.Message = said.Message
	} else {
		e.Message = string(bytes.TrimSpace(text))
	}
	if location := answer.Header.Get("Location"); location != "" {
		e.Message = location
	}
	e.Message = strings.ToValidUTF8(e.Message[:min(len(e.Message), maxMessage)], "\uFFFD")
	return e
}

// minRate is how many bytes have to move in a second, after the first ones were waited for.
const minRate = 1 << 10

// progress resets a timer each time that bytes move, unless they are too slow.
type progress struct {
	in       io.Reader
	patience *time.Timer
	idle     time.Duration
	begin    time.Time
	moved    int64
}

func newProgress(in io.Reader, patience *time.Timer, idle time.Duration) *progress {
	return &progress{in: in, patience: patience, idle: idle, begin: time.Now()}
}

func (p *progress) Read(b []byte) (int, error) {
	if took := time.Since(p.begin); took < p.idle || float64(p.moved) >= minRate*took.Seconds() {
		p.patience.Reset(p.idle)
	}
	n, err := p.in.Read(b)
	p.moved += int64(n)
	return n, err
}

// counter returns an error if a response exceeds its maximum size.
type counter struct {
	in   io.Reader
	left int64
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.in.Read(b)
	if c.left -= int64(n); c.left < 0 {
		return 0, &contentError{errors.New("the response is too long")}
	}
	return n, err
}

// get decodes a JSON document.
func get[T any](ctx context.Context, c *Client, r request) (v T, err error) {
	if r.method == "" {
		r.method = http.MethodGet
	}
	r.take = func(in io.Reader) error {
		var fresh *T
		if err := json.NewDecoder(in).Decode(&fresh); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		if fresh == nil {
			return errors.New("it is null")
		}
		v = *fresh
		return nil
	}
	return v, c.do(ctx, r)
}

// send sends a request and ignores the content of the response.
func (c *Client) send(ctx context.Context, r request) error {
	r.limit = smallAnswer
	return c.do(ctx, r)
}
