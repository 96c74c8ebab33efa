package callback

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"judged/internal/api"
	"judged/internal/jobs"
	"judged/internal/jobs/blobs"
)

const (
	// maxAnswer is the number of bytes of a response that are read, so that the connection can be reused.
	maxAnswer = 16 << 10
	// maxHeader is the maximum size of the response headers in bytes.
	maxHeader = 64 << 10
	// maxError is the maximum length of an error in the log of a job in bytes.
	maxError = 300
)

// newClient returns a client that connects as the policy permits. A Transport does not follow redirects; an http.Client
// reads their address, and fails if that is no URL. It ignores proxies of the environment, because they would connect to
// addresses that the policy does not check.
func newClient(p Policy) *http.Transport {
	return &http.Transport{
		DialContext:            p.dial,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    ofReceiver,
		MaxIdleConns:           atOnce,
		IdleConnTimeout:        30 * time.Second,
		TLSHandshakeTimeout:    standard.Limit,
		MaxResponseHeaderBytes: maxHeader,
	}
}

// errAnswer replaces errors that quote what the receiver has sent: the log of a job would show what services say in the
// networks that the operator lists.
var errAnswer = errors.New("the answer is not HTTP, or its headers have more than 64 KiB")

// withoutContent returns an error without what the receiver has sent.
func withoutContent(err error) error {
	for _, harmless := range []error{context.DeadlineExceeded, context.Canceled, io.EOF, io.ErrUnexpectedEOF} {
		if errors.Is(err, harmless) {
			return err
		}
	}
	if errors.As(err, new(*net.OpError)) {
		return err
	}
	return errAnswer
}

// hostOf returns the host of a URL without its port.
func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// try tries a claimed callback once and stores the result. If that fails, the claim expires and the callback is tried
// again.
func (d *Deliverer) try(ctx context.Context, c jobs.ClaimedCallback) {
	err := d.tryOnce(ctx, c)
	if errors.Is(err, api.ErrNotFound) {
		err = d.o.Store.DeleteCallback(context.WithoutCancel(ctx), c)
	}
	if err != nil && ctx.Err() == nil {
		d.o.Log.Warn("cannot store the result of a callback; it will be retried", "error", err)
	}
}

func (d *Deliverer) tryOnce(ctx context.Context, c jobs.ClaimedCallback) error {
	call, format, err := d.read(ctx, c)
	if err != nil {
		return err
	}
	started := d.o.Store.Now()
	status, sending := d.send(ctx, format, call, started)
	t := jobs.TriedCallback{Origin: call.Job.Job.Callback.Origin(), Tenant: call.Job.Report.Tenant,
		Try: api.CallbackTry{Number: c.Number, StartedAt: started, Took: d.o.Store.Now().Sub(started), Status: status}}
	if sending != nil {
		t.Try.Error = shorten(sending)
	}
	d.decide(&t, format, sending, ctx.Err() != nil)
	r, err := d.o.Store.FinishCallback(context.WithoutCancel(ctx), c, t)
	if err != nil {
		return err
	}
	d.o.Tried(t.Try.Result)
	d.note(call, t, r)
	return nil
}

// read returns the callback to send and its format.
func (d *Deliverer) read(ctx context.Context, c jobs.ClaimedCallback) (call jobs.Callback, f Format, err error) {
	if call, err = d.o.Store.CallbackJob(ctx, c, false); err != nil {
		return call, f, err
	}
	f, known := d.format(call.Job.Job.Callback.Format)
	if !known {
		// The format is configured on another front only, or not any more. The pauses of the standard format apply.
		name := call.Job.Job.Callback.Format
		f = Format{Pauses: standard.Pauses, Body: func(jobs.Record) ([]byte, error) {
			return nil, fmt.Errorf("format %q %w", name, errUnknownFormat)
		}}
	}
	if f.Tests {
		call, err = d.o.Store.CallbackJob(ctx, c, true)
	}
	return call, f, err
}

// errUnknownFormat means that this daemon does not know the format of a callback.
var errUnknownFormat = errors.New("is not configured")

// errBody means that a body could not be created.
var errBody = errors.New("create the body")

// send sends a callback and returns the status of the response, or 0. It returns an error unless the receiver accepts
// the callback.
func (d *Deliverer) send(ctx context.Context, f Format, call jobs.Callback, at time.Time) (status int, err error) {
	settings, client := d.current()
	body, err := f.Body(call.Job)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errBody, err)
	}
	ctx, cancel := context.WithTimeout(ctx, f.Limit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, f.Method, call.Job.Job.Callback.URL, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "judged")
	// A Transport sends a request again if the receiver has closed the idle connection meanwhile, and the request may be
	// repeated, as callbacks may. This header without a value says so, and is not sent.
	r.Header["Idempotency-Key"] = nil
	if f.Signed {
		signature, err := settings.Secrets.sign(call.Job.Report.Tenant, call.ID, at, body)
		if err != nil {
			return 0, err
		}
		r.Header.Set(webhooks.HeaderWebhookID, call.ID)
		r.Header.Set(webhooks.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
		r.Header.Set(webhooks.HeaderWebhookSignature, signature)
	}
	var connected atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }}
	answer, err := client.RoundTrip(r.WithContext(httptrace.WithClientTrace(ctx, trace)))
	if err != nil && connected.Load() {
		err = withoutContent(err)
	}
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, maxAnswer) // only the status matters
	if f.AnyAnswer && answer.StatusCode < http.StatusInternalServerError {
		return answer.StatusCode, nil
	}
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		err = fmt.Errorf("the answer has status %d", answer.StatusCode)
	}
	if 300 <= answer.StatusCode && answer.StatusCode < 400 {
		err = fmt.Errorf("%w, and redirects are not followed", err)
	}
	return answer.StatusCode, err
}

// shorten returns the text of an error without the URL, because that may contain a password.
func shorten(err error) string {
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err
	}
	text := err.Error()
	return strings.ToValidUTF8(text[:min(len(text), maxError)], "")
}

// decide decides whether the callback is tried again.
func (d *Deliverer) decide(t *jobs.TriedCallback, f Format, failed error, stopped bool) {
	gone := t.Try.Status == http.StatusGone
	switch pauses := f.Pauses; {
	case failed == nil:
		t.Try.Result = api.TryDelivered
	case stopped:
		t.Try.Result, t.Next = api.TryInterrupted, d.o.Store.Now()
		return // a shutdown is not the receiver's fault
	case isAway(failed):
		t.Try.Result, t.Next = api.TryInterrupted, d.o.Store.Now().Add(jitter(awayPause))
		return
	case gone || t.Try.Number > len(pauses):
		t.Try.Result = api.TryGivenUp
	default:
		t.Try.Result, t.Next = api.TryFailed, d.o.Store.Now().Add(jitter(pauses[t.Try.Number-1]))
	}
	if errors.Is(failed, errNoSecret) || errors.Is(failed, errBody) {
		return // nothing was sent
	}
	t.Receiver = func(failures int) (paused time.Time, disabled bool) {
		if gone {
			return d.o.Store.Now().Add(DisabledFor), true
		}
		pause, disabled := receiverPause(failures)
		if pause > 0 {
			paused = d.o.Store.Now().Add(pause)
		}
		return paused, disabled
	}
}

// awayPause is the pause after a try for which the files of the report could not be read.
const awayPause = 10 * time.Second

// isAway reports whether a body could not be created because files cannot be read now. Formats such as that of Judge0
// have too few tries to wait for a bucket.
func isAway(err error) bool {
	for _, passing := range []error{blobs.ErrAway, syscall.ENOSPC, syscall.EDQUOT, syscall.EMFILE} {
		if errors.Is(err, errBody) && errors.Is(err, passing) {
			return true
		}
	}
	return false
}

// note logs failures for the operator. It logs only the origin of a URL, because its path may contain a secret.
func (d *Deliverer) note(call jobs.Callback, t jobs.TriedCallback, r api.Receiver) {
	log := d.o.Log.With("job", call.Job.ID, "receiver", t.Origin, "try", t.Try.Number, "status", t.Try.Status, "error",
		t.Try.Error)
	switch {
	case r.Disabled:
		log.Warn("disabled a receiver of callbacks; jobs with a callback to it are refused until an operator enables it "+
			"with POST /v1/receivers/{id}/enable, or the pause ends", "id", r.ID, "failures", r.Failures, "until", r.Paused)
	case t.Try.Result == api.TryGivenUp:
		log.Warn("gave up on a callback")
	default:
		log.Debug("tried a callback", "result", t.Try.Result)
	}
}
