package judge0

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/semaphore"

	"judged/internal/api"
	"judged/internal/base/poll"
	"judged/internal/service/httpapi"
)

// Path is the path prefix of the routes.
const Path = "/judge0"

// The headers with tokens: for all requests, and for listing submissions.
const (
	tokenHeader = "X-Auth-Token"
	userHeader  = "X-Auth-User"
)

// Door returns the API as a door of httpapi. version is that of judged.
func Door(version string) httpapi.Door {
	return httpapi.Door{Path: Path, Open: func(d *httpapi.Desk) http.Handler { return newHandler(d, version) }}
}

// Below returns a request for the server of this API alone with Path in front of its path.
func Below(r *http.Request) *http.Request {
	moved := r.WithContext(r.Context())
	address := *r.URL
	address.Path, address.RawPath = Path+address.Path, ""
	moved.URL = &address
	return moved
}

// handler serves the routes.
type handler struct {
	desk    *httpapi.Desk
	version string
	known   poll.Value[catalogue]
	// unpacking limits the submissions whose additional files are in memory, which may take a thousand times as much as
	// the body, whose memory is reserved. Batches are prepared one at a time.
	unpacking *semaphore.Weighted
}

// unpackAtOnce is the maximum number of submissions whose additional files are unpacked at the same time.
const unpackAtOnce = 4

// failure is an error that is sent to the caller.
type failure struct {
	status int
	body   any
	header http.Header
}

func (f *failure) Error() string { return http.StatusText(f.status) }

// with adds the token of a stored submission.
func (f *failure) with(token string) *failure {
	if said, ok := f.body.(map[string]string); ok {
		said["token"] = token
	}
	return f
}

// failed returns an error in the format of Judge0.
func failed(status int, text string) *failure {
	return &failure{status: status, body: map[string]string{"error": text}}
}

// route is one method of one path.
type route struct {
	pattern string
	scopes  []httpapi.Scope // any one of these permits it
	admin   bool            // also needs a token in userHeader
	handle  func(w http.ResponseWriter, r *http.Request) error
}

func (h *handler) routes() []route {
	submit, read := []httpapi.Scope{httpapi.Submit}, []httpapi.Scope{httpapi.Read}
	any := []httpapi.Scope{httpapi.Read, httpapi.Submit}
	return []route{
		{"POST /submissions", submit, false, h.create},
		{"GET /submissions", read, true, h.list},
		{"GET /submissions/{token}", read, false, h.get},
		{"DELETE /submissions/{token}", submit, true, h.remove},
		{"POST /submissions/batch", submit, false, h.createBatch},
		{"GET /submissions/batch", read, false, h.getBatch},
		{"GET /languages", any, false, h.listLanguages},
		{"GET /languages/all", any, false, h.listAllLanguages},
		{"GET /languages/{id}", any, false, h.getLanguage},
		{"GET /statuses", any, false, h.fixed(statuses)},
		{"GET /config_info", any, false, h.configInfo},
		{"GET /system_info", any, false, h.fixed(map[string]string{"Architecture": runtime.GOARCH,
			"CPU(s)": strconv.Itoa(runtime.NumCPU())})},
		{"GET /about", any, false, h.fixed(map[string]string{"version": imitated, "homepage": "", "source_code": "",
			"maintainer": "judged " + h.version})},
		{"GET /version", any, false, h.plain(imitated)},
		{"GET /license", any, false, h.plain("This is judged " + h.version +
			", which serves the interface of Judge0. See its own license.\n")},
		{"GET /isolate", any, false, h.plain("judged " + h.version +
			" runs programs in its own sandbox, not in isolate.\n")},
		{"GET /workers", any, false, h.workers},
		{"POST /authenticate", any, false, h.authenticated},
		{"POST /authorize", any, true, h.authenticated},
	}
}

func newHandler(desk *httpapi.Desk, version string) http.Handler {
	h := &handler{desk: desk, version: version, unpacking: semaphore.NewWeighted(unpackAtOnce)}
	mux := http.NewServeMux()
	for _, route := range h.routes() {
		mux.HandleFunc(route.pattern, func(w http.ResponseWriter, r *http.Request) { h.serve(w, r, route) })
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = withoutSlash(r)
		if _, pattern := mux.Handler(r); pattern == "" {
			h.fail(w, r, failed(http.StatusNotFound, "Not Found"))
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// withoutSlash returns a request without a slash at the end of its path. Rails ignores it, and many sites send
// /submissions/?base64_encoded=true, as examples of Judge0 do.
func withoutSlash(r *http.Request) *http.Request {
	path, slash := strings.CutSuffix(r.URL.Path, "/")
	if !slash || path == "" {
		return r
	}
	moved := r.WithContext(r.Context())
	address := *r.URL
	address.Path, address.RawPath = path, strings.TrimSuffix(address.RawPath, "/")
	moved.URL = &address
	return moved
}

// serve authorizes and handles a request.
func (h *handler) serve(w http.ResponseWriter, r *http.Request, route route) {
	entered, err := h.desk.Enter(w, r, r.Header.Get(tokenHeader), route.scopes...)
	if err == nil && route.admin {
		_, err = h.desk.Enter(w, entered, r.Header.Get(userHeader), httpapi.Admin)
		if p, ok := errors.AsType[*httpapi.Problem](err); ok && p.Status == http.StatusUnauthorized {
			err = failed(http.StatusForbidden, p.Detail)
		}
	}
	if err == nil {
		err = route.handle(w, entered)
	}
	if err != nil {
		h.fail(w, r, err)
	}
}

// fail responds with an error.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	var f *failure
	if !errors.As(err, &f) {
		f = h.failureOf(r, err)
	}
	maps.Copy(w.Header(), f.header)
	h.answer(w, r, f.status, f.body)
}

// failureOf converts an error of judged to the format of Judge0.
func (h *handler) failureOf(r *http.Request, err error) *failure {
	if errors.Is(err, errNotText) {
		return failed(http.StatusBadRequest, notText)
	}
	p := h.desk.Explain(r, err)
	f := failed(p.Status, p.Detail)
	f.header = p.Header()
	switch {
	case p.Type == "urn:judged:queue-full":
		f.status, f.body = http.StatusServiceUnavailable, map[string]string{"error": "queue is full"}
	case errors.Is(err, api.ErrNotFound):
		f.body = map[string]string{"error": "Not Found"}
	}
	return f
}

const notText = "some attributes for this submission cannot be converted to UTF-8, " +
	"use base64_encoded=true query parameter"

// answer responds with a value as JSON.
func (h *handler) answer(w http.ResponseWriter, r *http.Request, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		p := h.desk.Explain(r, err)
		status, body = p.Status, []byte(`{"error": "judged has failed, not the request"}`)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	h.desk.Answer(w, r, status, append(body, '\n'))
}

// viewOf returns the view that a request asks for. What it reads takes reserved memory until release is called.
func (h *handler) viewOf(r *http.Request) (v view, release func(), err error) {
	q := r.URL.Query()
	fields, unknown := fieldsOf(q.Get("fields"))
	if len(unknown) > 0 {
		return v, nil, failed(http.StatusBadRequest, "invalid fields: ["+strings.Join(unknown, ", ")+"]")
	}
	read, release := h.desk.Files()
	return view{fields, encodedIn(r), read}, release, nil
}

func encodedIn(r *http.Request) bool { return r.URL.Query().Get("base64_encoded") == "true" }

// isForm reports whether the body of a request is a form; otherwise it is JSON, also without a Content-Type. It returns
// an error for bodies of other kinds.
func isForm(h http.Header) (bool, error) {
	kind, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	switch encoding := h.Get("Content-Encoding"); {
	case strings.HasPrefix(kind, "multipart/"):
		return false, failed(http.StatusUnsupportedMediaType, fmt.Sprintf("the content type %.70s is not supported; send "+
			"application/json or %s", kind, formType))
	case encoding != "" && !strings.EqualFold(encoding, "identity"):
		return false, failed(http.StatusUnsupportedMediaType, fmt.Sprintf("the content encoding %.70s is not supported; "+
			"send the body as it is", encoding))
	}
	return kind == formType, nil
}

const formType = "application/x-www-form-urlencoded"

// sortedLanguages returns the languages sorted by name.
func sortedLanguages() []language {
	byName := func(a, b language) int { return strings.Compare(a.name, b.name) }
	return slices.SortedStableFunc(slices.Values(languages), byName)
}
