package judgehost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
)

// faultKind is what an internal error disables on the server.
type faultKind string

// The kinds.
const (
	faultHost     faultKind = "judgehost"
	faultTestcase faultKind = "testcase"
	faultCompile  faultKind = "compile_script"
	faultRun      faultKind = "run_script"
	faultCompare  faultKind = "compare_script"
)

// member is the name under which the server expects the ID.
func (k faultKind) member() string {
	switch k {
	case faultHost:
		return "hostname"
	case faultTestcase:
		return "testcaseid"
	}
	return string(k) + "_id"
}

// fault is an error for which something is to be disabled.
type fault struct {
	kind faultKind
	id   stringOrNumber // of what is at fault; "" is this host
	log  string         // more for those who read the internal error
	err  error
}

func (f *fault) Error() string { return f.err.Error() }
func (f *fault) Unwrap() error { return f.err }

// contentError says that what the server sends is not what it should be, and comes as it is each time.
type contentError struct{ error }

func (e *contentError) Unwrap() error { return e.error }

// blame makes an error a fault of what was fetched, where the server has sent something wrong, or says that it does not
// have it. That it does not answer is nobody's fault.
func blame(kind faultKind, id stringOrNumber, err error) error {
	if isAnswer(err) && !IsRefused(err) {
		return &fault{kind: kind, id: id, err: err}
	}
	return err
}

// The limits of an internal error.
const (
	maxDescription = 255
	maxLog         = 16 << 10
)

// report sends the internal error, after which the server has taken the judging back.
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
	// The server compares this as a text, to find errors that it knows.
	disabled := fmt.Sprintf(`{"kind":%q,%q:%s}`, f.kind, f.kind.member(), quoted)
	form := url.Values{"description": {clip(f.Error(), maxDescription)}, "disabled": {disabled},
		"judgehostlog": {encoded([]byte(clip(fmt.Sprintf("%s: %v\n%s", h.name, f.err, f.log), maxLog)))},
		"hostname":     {h.name}}
	if t.ID != "" {
		form.Set("judgetaskid", string(t.ID))
	}
	number, err := h.client.internalError(ctx, form)
	h.log.Error("internal error; somebody has to resolve it at the server", "disabled", disabled, "number", number,
		"judgetask", string(t.ID), "error", f.err)
	if err != nil {
		h.log.Error("cannot report the internal error; the task is given back", "error", err)
	}
}

// clip cuts a text.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const mark = "..."
	return s[:n-len(mark)] + mark
}
