package httpapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
)

// requestInfo holds the data of a request that the log records in addition to its address.
type requestInfo struct {
	caller string // name of the token
	job    string
}

// infoKey is the context key of a requestInfo.
type infoKey struct{}

func withInfo(r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), infoKey{}, &requestInfo{}))
}

func requestOf(r *http.Request) *requestInfo {
	info, ok := r.Context().Value(infoKey{}).(*requestInfo)
	if !ok {
		return &requestInfo{}
	}
	return info
}

// note records what is known after routing.
func (i *requestInfo) note(caller string, r *http.Request) {
	i.caller = caller
	if strings.HasPrefix(r.Pattern, "/v1/jobs/") {
		i.job = r.PathValue("id")
	}
}

// attributes returns the attributes for the log. The response names a job that got its ID here.
func (i *requestInfo) attributes(answer http.Header) []any {
	var all []any
	if i.caller != "" {
		all = append(all, "by", i.caller)
	}
	job := i.job
	if id, ok := strings.CutPrefix(answer.Get("Location"), "/v1/jobs/"); ok {
		job = id
	}
	if job != "" {
		all = append(all, "job", job)
	}
	return all
}

// bodiless returns a handler for requests without a body. A body is an error: the caller believes that it has an
// effect.
func (s *Server) bodiless(handle func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter,
	*http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		var start [64]byte
		n, err := io.ReadFull(s.patientBody(w, r), start[:])
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return unreadable(err)
		}
		if text := strings.TrimSpace(string(start[:n])); text != "" && text != "{}" {
			return problem("bad-request", "send parameters in the address, such as ?reason=TEXT, and no body",
				"this request takes no body")
		}
		return handle(w, r)
	}
}
