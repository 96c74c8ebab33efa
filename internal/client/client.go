package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"judged/internal/api"
)

// Client holds the address of a daemon and the credentials for it. A nil HTTP selects a connection pool that all
// clients share. Client is safe for concurrent use.
type Client struct {
	Base  string // http://127.0.0.1:8080
	Token string // bearer token, "" for none
	HTTP  *http.Client
}

// request is one HTTP request.
type request struct {
	method string
	path   string // escaped, relative to Base
	query  url.Values
	header http.Header
	body   func() (io.ReadCloser, error) // nil: none
	size   int64                         // of body
	limit  time.Duration                 // until the response begins; 0 means patience
	most   int64                         // bytes of a JSON response; 0 means maxResponse
}

// patience is the time limit for responses that need no waiting, and for each part of any response.
const patience = 30 * time.Second

// do sends a request once. The caller closes the body of the response. A status of 300 or above is returned as a
// *Problem. Redirects are not followed: judged sends none, another host would get the token of a node, and a POST would
// become a GET.
func (c Client) do(ctx context.Context, q request) (*http.Response, error) {
	if path.Clean(q.path) != q.path { // an ID such as "..", for which judged would redirect to another path
		return nil, &Problem{Status: http.StatusNotFound, Type: problemPrefix + "not-found",
			Detail: fmt.Sprintf("no such path: %.70q", q.path), NextStep: "check the name"}
	}
	r, err := c.build(ctx, q)
	if err != nil {
		return nil, err
	}
	client := http.Client{}
	if c.HTTP != nil {
		client = *c.HTTP
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := client.Do(r)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		defer res.Body.Close()
		return nil, readProblem(res)
	}
	return res, nil
}

func (c Client) build(ctx context.Context, q request) (*http.Request, error) {
	base, err := url.Parse(c.Base)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("address %q of judged is no URL; write it as http://127.0.0.1:8080", c.Base)
	}
	target := strings.TrimSuffix(base.String(), "/") + q.path
	if len(q.query) > 0 {
		target += "?" + q.query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, q.method, target, nil)
	if err != nil {
		return nil, fmt.Errorf("ask judged: %w", err)
	}
	maps.Copy(r.Header, q.header)
	if q.body != nil {
		if r.Body, err = q.body(); err != nil {
			return nil, err
		}
		r.GetBody, r.ContentLength = q.body, q.size
	}
	if c.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.Token)
	}
	return r, nil
}

// unreachable returns an error of the network as *Unreachable, or the reason why ctx is done.
func (c Client) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if whole, ok := errors.AsType[*url.Error](err); ok {
		err = whole.Err // without the URL, which the caller adds
	}
	return &Unreachable{Base: c.Base, Err: err}
}

// Unreachable means that a daemon does not respond.
type Unreachable struct {
	Base string
	Err  error
}

// Error returns a message with the address and the next step.
func (u *Unreachable) Error() string {
	if _, untrusted := errors.AsType[*tls.CertificateVerificationError](u.Err); untrusted {
		return fmt.Sprintf("reach judged at %s: %s; trust the CA that signed it: fleet.ca_file of a judge, "+
			"SSL_CERT_FILE of a command", u.Base, u.Err)
	}
	return fmt.Sprintf("reach judged at %s: %s; start it with judged serve, or name the address where it is", u.Base,
		u.Err)
}

// Unwrap returns the error of the network.
func (u *Unreachable) Unwrap() error { return u.Err }

// call sends a request and decodes the JSON of the response.
func call[T any](ctx context.Context, c Client, q request) (T, error) {
	var v T
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	alarm := time.AfterFunc(cmp.Or(q.limit, patience),
		func() { cancel(&Unreachable{c.Base, errors.New("no answer in time")}) })
	defer alarm.Stop()
	res, err := c.do(ctx, q)
	if err != nil {
		return v, err
	}
	defer res.Body.Close()
	body := &flow{Reader: res.Body, alarm: alarm, patience: patience}
	d := json.NewDecoder(&bounded{body, cmp.Or(q.most, maxResponse)})
	if err = d.Decode(&v); err == nil {
		err = atEnd(d) // only a connection whose response was read to its end is used again
	}
	if err != nil {
		if ctx.Err() != nil || body.broken != nil {
			return v, c.unreachable(ctx, body.broken)
		}
		return v, c.strange(err)
	}
	if member := missing(v); member != "" {
		return v, c.strange(fmt.Errorf("it has no %s", member))
	}
	return v, nil
}

// maxResponse is the maximum size of a JSON response in bytes. The largest are jobs and reports, which have at most the
// largest http.max_body, 1 GiB.
const maxResponse = 2 << 30

// bounded returns an error if a response exceeds its maximum size.
type bounded struct {
	io.Reader
	left int64
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errors.New("it is too long")
	}
	return n, err
}

// atEnd returns an error unless only space follows until the end.
func atEnd(d *json.Decoder) error {
	switch _, err := d.Token(); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	}
	return errors.New("more follows its JSON")
}

func (c Client) strange(err error) error {
	return fmt.Errorf("read answer of judged at %s: %w; check that the address is that of a judged of this version",
		c.Base, err)
}

// missing returns a member that judged always sends and a response lacks, or "". Any JSON object decodes as a report
// without state, or as a list without entries.
func missing(response any) string {
	switch v := response.(type) {
	case api.Report:
		if v.ID == "" || v.State == "" {
			return "id or state"
		}
	case Page:
		if v.Jobs == nil {
			return "jobs"
		}
	case queue:
		if v.Waiting == nil {
			return "waiting"
		}
	case api.Rejudging:
		if v.ID == "" || v.State == "" {
			return "id or state"
		}
	}
	return ""
}

// flow is the body of a response that may take any time but may not pause for longer than patience: a report can be
// large and the connection slow.
type flow struct {
	io.Reader
	alarm    *time.Timer
	patience time.Duration
	broken   error // the error of the network that ended it early
}

// Read implements io.Reader. It resets the alarm.
func (f *flow) Read(b []byte) (int, error) {
	f.alarm.Reset(f.patience)
	n, err := f.Reader.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		f.broken = err
	}
	return n, err
}

// encodeError means that a request cannot be encoded as JSON.
type encodeError struct{ error }

// Error implements error.
func (e *encodeError) Error() string { return "encode request: " + e.error.Error() }

// Unwrap returns the error of the encoder.
func (e *encodeError) Unwrap() error { return e.error }

// jsonBody returns q with v as its JSON body.
func (q request) jsonBody(v any) (request, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return q, &encodeError{err}
	}
	if q.header == nil {
		q.header = http.Header{}
	}
	q.header.Set("Content-Type", "application/json")
	q.size = int64(len(data))
	q.body = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	return q, nil
}

// Get sends a GET request and decodes the response.
func Get[T any](ctx context.Context, c Client, path string) (T, error) {
	return call[T](ctx, c, request{method: http.MethodGet, path: path})
}

// Delete sends a DELETE request and decodes the response.
func Delete[T any](ctx context.Context, c Client, path string) (T, error) {
	return call[T](ctx, c, request{method: http.MethodDelete, path: path})
}

// Post sends body as JSON and decodes the response, which may take longer than an immediate one by wait.
func Post[T any](ctx context.Context, c Client, path string, body any, wait time.Duration) (T, error) {
	q, err := request{method: http.MethodPost, path: path, limit: patience + wait}.jsonBody(body)
	if err != nil {
		var none T
		return none, err
	}
	return call[T](ctx, c, q)
}
