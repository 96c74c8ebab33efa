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
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Client is a daemon's address and how to get in. The zero HTTP uses one
// connection pool for all clients. It is safe for concurrent use.
type Client struct {
	Base  string // http://127.0.0.1:8080
	Token string // bearer token, "" for none
	HTTP  *http.Client
}

// request is one question.
type request struct {
	method string
	path   string // escaped, behind Base
	query  url.Values
	header http.Header
	body   func() (io.ReadCloser, error) // nil: none
	size   int64                         // of body
	limit  time.Duration                 // until the answer begins; 0 is patience
}

// patience is for answers that need no waiting, and for each part of any.
const patience = 30 * time.Second

// do asks once. The body of the answer is the caller's to close; a status from
// 400 on is a *Problem.
func (c Client) do(ctx context.Context, q request) (*http.Response, error) {
	r, err := c.build(ctx, q)
	if err != nil {
		return nil, err
	}
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	res, err := client.Do(r)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	if res.StatusCode >= http.StatusBadRequest {
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
	for name, values := range q.header {
		r.Header[name] = values
	}
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

// unreachable is an error of the network, not of the daemon.
func (c Client) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var whole *url.Error
	if errors.As(err, &whole) {
		err = whole.Err // without the URL, which the caller adds
	}
	return &Unreachable{Base: c.Base, Err: err}
}

// Unreachable is a daemon that does not answer.
type Unreachable struct {
	Base string
	Err  error
}

// Error names the address and the next step.
func (u *Unreachable) Error() string {
	if _, untrusted := errors.AsType[*tls.CertificateVerificationError](u.Err); untrusted {
		return fmt.Sprintf("reach judged at %s: %s; trust the CA that signed it: fleet.ca_file of a judge, "+
			"SSL_CERT_FILE of a command", u.Base, u.Err)
	}
	return fmt.Sprintf("reach judged at %s: %s; start it with judged serve, or name the address where it is", u.Base,
		u.Err)
}

// Unwrap is the error of the network.
func (u *Unreachable) Unwrap() error { return u.Err }

// call asks and decodes the JSON of the answer.
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
	if err := json.NewDecoder(flow{res.Body, alarm, patience}).Decode(&v); err != nil {
		if ctx.Err() != nil {
			return v, context.Cause(ctx)
		}
		return v, fmt.Errorf("read answer of judged at %s: %w; check that the address is that of a judged of this "+
			"version", c.Base, err)
	}
	return v, nil
}

// flow is an answer that may take any time but not pause for longer than its
// patience: a report can be large and the line slow.
type flow struct {
	io.Reader
	alarm    *time.Timer
	patience time.Duration
}

// Read resets the alarm and reads.
func (f flow) Read(b []byte) (int, error) {
	f.alarm.Reset(f.patience)
	return f.Reader.Read(b)
}

// encodeError is a request that has no JSON.
type encodeError struct{ error }

// Error implements error.
func (e *encodeError) Error() string { return "encode request: " + e.error.Error() }

// Unwrap is the error of the encoder.
func (e *encodeError) Unwrap() error { return e.error }

// jsonBody makes q carry v.
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

// Get decodes the answer of a path.
func Get[T any](ctx context.Context, c Client, path string) (T, error) {
	return call[T](ctx, c, request{method: http.MethodGet, path: path})
}

// Delete decodes the answer to the deletion of a path.
func Delete[T any](ctx context.Context, c Client, path string) (T, error) {
	return call[T](ctx, c, request{method: http.MethodDelete, path: path})
}

// Post sends body as JSON and decodes the answer, which may take wait longer than
// one that comes at once.
func Post[T any](ctx context.Context, c Client, path string, body any, wait time.Duration) (T, error) {
	q, err := request{method: http.MethodPost, path: path, limit: patience + wait}.jsonBody(body)
	if err != nil {
		var none T
		return none, err
	}
	return call[T](ctx, c, q)
}
