package judgehost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// faultKind is the kind of object that an internal error disables on the server.
type faultKind string

// The kinds of faults.
const (
	faultHost     faultKind = "judgehost"
	faultTestcase faultKind = "testcase"
	faultCompile  faultKind = "compile_script"
	faultRun      faultKind = "run_script"
	faultCompare  faultKind = "compare_script"
)

// member returns the name under which the server expects the ID.
func (k faultKind) member() string {
	switch k {
	case faultHost:
		return "hostname"
	case faultTestcase:
		return "testcaseid"
	}
	return string(k) + "_id"
}

// fault is an error for which the server must disable something.
type fault struct {
	kind faultKind
	id   stringOrNumber // ID of what is disabled; "" means this host
	log  string         // further output for the reader of the internal error
	err  error
}

func (f *fault) Error() string { return f.err.Error() }
func (f *fault) Unwrap() error { return f.err }

// contentError means that the server sends invalid content. A retry would fail, too.
type contentError struct{ error }

func (e *contentError) Unwrap() error { return e.error }

// blame turns err into a fault of the fetched object if the server sent invalid content or does not have the object. A
// server that does not respond is not a fault of the object, unless it always fails at this request.
func blame(kind faultKind, id stringOrNumber, err error) error {
	f := &fault{kind: kind, id: id, err: err}
	if isAnswer(err) && !IsRefused(err) {
		return f
	}
	if lost := new(serverError); errors.As(err, &lost) {
		return &serverError{error: err, fails: lost.fails, object: f}
	}
	return err
}

// permanent returns the fault of a server that always fails at a request.
func (e *serverError) permanent() error {
	f := fault{kind: faultHost}
	if e.object != nil {
		f = *e.object
	}
	f.err = e
	f.log = "it failed at each attempt; see the log of the DOMjudge server"
	return &f
}

// The size limits of an internal error.
const (
	maxDescription = 255
	maxLog         = 16 << 10
)

// report sends the internal error. The server then withdraws the judging.
func (h *host) report(ctx context.Context, t task, err error) {
	f := new(fault)
	if !errors.As(err, &f) {
		f = &fault{kind: faultHost, err: err}
	}
	id := string(f.id)
	if f.kind == faultHost {
		id = h.name
	}
	quoted, marshalErr := json.Marshal(id)
	if marshalErr != nil {
		h.log.Error("cannot describe an internal error", "error", marshalErr)
		return
	}
	// The server compares this text with those of known errors.
	disabled := fmt.Sprintf(`{"kind":%q,%q:%s}`, f.kind, f.kind.member(), quoted)
	form := url.Values{"description": {clip(f.Error(), maxDescription)}, "disabled": {disabled},
		"judgehostlog": {encoded([]byte(clip(fmt.Sprintf("%s: %v\n%s", h.name, f.err, f.log), maxLog)))},
		"hostname":     {h.name}}
	if t.ID != "" {
		form.Set("judgetaskid", string(t.ID))
	}
	number, err := h.client.internalError(ctx, form)
	h.log.Error("internal error; resolve it in the web interface of the server", "disabled", disabled, "number", number,
		"judgetask", string(t.ID), "error", f.err)
	if err != nil {
		h.log.Error("cannot report the internal error; returning the task", "error", err)
		h.client.server.Pause(ctx, registerPause) // it comes again at once
	}
}

// clip truncates a text to n bytes. It may quote what a program has printed; the database of the server refuses invalid
// UTF-8.
func clip(s string, n int) string {
	const mark = "..."
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n-len(mark)], "") + mark
}
