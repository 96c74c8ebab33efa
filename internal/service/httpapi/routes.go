package httpapi

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// route is one method of one path. Any of the scopes permits it; without scopes it is open to all. HEAD follows GET. The
// pattern has the query parameters: "/path?one&many*", where those that end in * may be repeated.
type route struct {
	method  string
	pattern string
	scopes  []Scope
	handle  func(http.ResponseWriter, *http.Request) error
}

// path returns the pattern without the query parameters.
func (r route) path() string {
	path, _, _ := strings.Cut(r.pattern, "?")
	return path
}

// parameters returns the query parameters.
func (r route) parameters() []string {
	_, names, _ := strings.Cut(r.pattern, "?")
	return strings.FieldsFunc(names, func(c rune) bool { return c == '&' })
}

// isStrict reports whether unknown parameters are errors. Judge nodes may be newer, and probes may add parameters to the
// routes that are not below /v1/.
func (r route) isStrict() bool {
	return strings.HasPrefix(r.pattern, "/v1/") && !slices.Equal(r.scopes, []Scope{Node})
}

// routeGroup is a group of routes that only some roles have.
type routeGroup struct {
	routes []route
	here   bool   // this role has them
	absent string // why another role does not
	next   string // what to do there instead
}

func (s *Server) routeGroups() []routeGroup {
	return []routeGroup{
		{s.jobRoutes(), s.jobs != nil, "a judge node has no jobs", "ask its front"},
		{s.slotRoutes(), s.slots != nil, "a front has no slots", "list its judges with judged nodes, or GET /v1/nodes"},
		{s.nodeRoutes(), s.work != nil, "only a front has nodes and pools",
			"ask a front, or list the slots of this daemon with judged slots, or GET /v1/slots"},
	}
}

// routes returns the routes of the daemon's role.
func (s *Server) routes() []route {
	all := []route{
		{"GET", "/metrics", []Scope{Metrics}, s.getMetrics},
		{"GET", "/healthz", nil, s.getHealth},
		{"GET", "/readyz", nil, s.getReady},
		{"GET", "/openapi.json", nil, s.getOpenAPI},
		{"GET", "/v1/doctor", []Scope{Read}, operators(s.answer(s.getDoctor))},
	}
	for _, g := range s.routeGroups() {
		if g.here {
			all = append(all, g.routes...)
		}
	}
	return all
}

func (s *Server) jobRoutes() []route {
	submit, read, edit, admin := []Scope{Submit}, []Scope{Read}, []Scope{Submit, Admin}, []Scope{Admin}
	return []route{
		{"PUT", "/v1/blobs/{sha256}", submit, s.putBlob},
		{"HEAD", "/v1/blobs/{sha256}", []Scope{Read, Submit}, s.getBlob},
		{"GET", "/v1/blobs/{sha256}", []Scope{Read, Node}, s.getBlob},
		{"POST", "/v1/blobs:have", []Scope{Read, Submit}, s.haveBlobs},
		{"POST", "/v1/jobs?wait", submit, s.postJob},
		{"POST", "/v1/jobs:batch", submit, s.postBatch},
		{"GET", "/v1/jobs?" + jobParameters, read, s.answer(s.listJobs)},
		{"PUT", "/v1/jobs/{id}?wait", submit, s.putJob},
		{"GET", "/v1/jobs/{id}?wait", read, s.getJob},
		{"DELETE", "/v1/jobs/{id}", submit, s.bodiless(s.answer(s.cancelJob))},
		{"POST", "/v1/jobs/{id}/delete", edit, s.bodiless(s.deleteJob)},
		{"POST", "/v1/jobs/{id}/link?valid_seconds", read, s.bodiless(s.answer(s.linkJob))},
		{"GET", "/v1/jobs/{id}/events?after", read, s.getEvents},
		{"GET", "/v1/events?label*&type*&after", read, s.getFeed},
		{"GET", "/v1/jobs/{id}/callbacks", read, s.answer(s.getCallbacks)},
		{"GET", "/v1/receivers?after&limit", read, s.answer(s.listReceivers)},
		{"POST", "/v1/receivers/{receiver}/enable", edit, s.bodiless(s.answer(s.enableReceiver))},
		{"GET", "/v1/problems?after&limit", read, s.answer(s.listProblems)},
		{"PUT", "/v1/problems/{id}", edit, s.putProblem},
		{"GET", "/v1/problems/{id}", read, s.answer(s.getProblem)},
		{"DELETE", "/v1/problems/{id}", edit, s.bodiless(s.deleteProblem)},
		{"POST", "/v1/rejudgings", admin, s.postRejudging},
		{"GET", "/v1/rejudgings?after&limit", read, s.answer(s.listRejudgings)},
		{"GET", "/v1/rejudgings/{id}?changed&after&limit", read, s.answer(s.getRejudging)},
		{"POST", "/v1/rejudgings/{id}/apply", admin, s.bodiless(s.answer(
			s.closeRejudging("applied", Jobs.ApplyRejudging)))},
		{"DELETE", "/v1/rejudgings/{id}", admin, s.bodiless(s.answer(
			s.closeRejudging("cancelled", Jobs.CancelRejudging)))},
		{"GET", "/v1/queue", read, s.answer(s.getQueue)},
		{"GET", "/v1/tenants", read, s.answer(s.getTenants)},
		{"GET", "/v1/languages", []Scope{Read, Submit}, s.answer(s.getLanguages)},
	}
}

func (s *Server) slotRoutes() []route {
	read, admin := []Scope{Read}, []Scope{Admin}
	return []route{
		{"GET", "/v1/slots", read, operators(s.answer(s.getSlots))},
		{"POST", "/v1/slots/{cpus}/drain?reason", admin, operators(s.bodiless(s.answer(s.drainSlot)))},
		{"POST", "/v1/slots/{cpus}/undrain", admin, operators(s.bodiless(s.answer(s.undrainSlot)))},
	}
}

// mux groups the routes by path, because net/http would respond to a wrong method without problem details.
func (s *Server) mux() http.Handler {
	methods := map[string]map[string]route{}
	for _, r := range s.routes() {
		path := r.path()
		if methods[path] == nil {
			methods[path] = map[string]route{}
		}
		methods[path][r.method] = r
	}
	mux := http.NewServeMux()
	for path, byMethod := range methods {
		if get, ok := byMethod["GET"]; ok && byMethod["HEAD"].handle == nil {
			get.method = "HEAD"
			byMethod["HEAD"] = get
		}
		mux.Handle(path, s.dispatch(byMethod))
	}
	for _, g := range s.routeGroups() {
		for _, path := range g.absentPaths() {
			mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
				s.fail(w, r, problem("path", g.next, "%s", g.absent))
			})
		}
	}
	for _, d := range s.doors {
		handler := d.Open(&Desk{s})
		for _, pattern := range d.Patterns {
			mux.Handle(pattern, handler)
		}
		if d.Path != "" {
			mux.Handle(d.Path+"/", http.StripPrefix(d.Path, handler))
		}
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, problem("path", "see /openapi.json for all paths", "no such path"))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The mux would respond to a request without a path in plain text.
		if r.Method == http.MethodConnect || r.RequestURI == "*" {
			s.fail(w, r, problem("bad-request", "ask for a path of /openapi.json", "%s without a path", r.Method))
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// absentPaths returns the paths of a group that this role does not have.
func (g routeGroup) absentPaths() []string {
	if g.here {
		return nil
	}
	var paths []string
	for _, r := range g.routes {
		paths = append(paths, r.path())
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

func (s *Server) dispatch(byMethod map[string]route) http.Handler {
	allow := strings.Join(slices.Sorted(maps.Keys(byMethod)), ", ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		route, ok := byMethod[r.Method]
		if !ok {
			s.fail(w, r,
				problem("method", "use one of "+allow, "%s is not supported here", r.Method).with("Allow", allow))
			return
		}
		caller, err := s.authorize(r, route.scopes)
		requestOf(r).note(caller.name, r)
		if err == nil {
			if s.tokens == nil || len(route.scopes) > 0 {
				keepOpen(w, r)
			}
			err = s.handle(route, w, r.WithContext(withCaller(r.Context(), caller.name, caller.tenant)))
		}
		if err != nil {
			s.fail(w, r, err)
		}
	})
}

// single are headers of which a handler reads the first one only. A proxy may have read another one.
var single = []string{"Content-Type", "Last-Event-ID", "Range"}

// handle passes the request to its handler, with its parameters checked and its body decoded.
func (s *Server) handle(route route, w http.ResponseWriter, r *http.Request) error {
	if route.isStrict() {
		if _, err := query(r, route.parameters()); err != nil {
			return err
		}
	}
	for _, name := range single {
		if n := len(r.Header.Values(name)); n > 1 {
			return problem("bad-request", "send one", "%d headers %s", n, name)
		}
	}
	r, end, err := s.codec.decode(r)
	if err != nil {
		return err
	}
	defer end()
	return route.handle(w, r)
}

const keepAlive = "Keep-Alive"

// keepOpen keeps the connection of an authorized request open for longer.
func keepOpen(w http.ResponseWriter, r *http.Request) {
	authorized(r.Context())
	if w.Header().Get(keepAlive) != "" {
		w.Header().Set(keepAlive, fmt.Sprintf("timeout=%d", idleTold/time.Second))
	}
}

// outer wraps every request: it adds security headers, checks for web pages of other origins, and logs one line.
func (s *Server) outer(next http.Handler) http.Handler {
	fence := http.NewCrossOriginProtection()
	fence.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.fail(
			w, r, problem("forbidden", "call judged from its own page or without a browser",
				"a web page of another origin sent this request"),
		)
	}))
	fenced := fence.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("Cache-Control", "no-store")
		// A deadline that an earlier request left on the connection would interrupt this response.
		control := http.NewResponseController(w)
		_ = control.SetWriteDeadline(time.Time{})
		if r.ContentLength != 0 {
			// Before it responds, net/http reads a body that no handler has read, without a time limit. Half of the
			// time is for that, the other half for the response.
			_ = control.SetReadDeadline(time.Now().Add(s.stall / 2))
		}
		if len(r.TransferEncoding) > 0 {
			// net/http ignores a Content-Length next to chunks. A proxy that uses it would see other requests after
			// this one than the server does.
			h.Set("Connection", "close")
		} else if !r.Close {
			h.Set(keepAlive, fmt.Sprintf("timeout=%d", strangerTold/time.Second))
		}
		seen := &statusWriter{ResponseWriter: w, status: http.StatusOK, // also for a handler that writes nothing
			encoding: preferred(strings.Join(r.Header.Values("Accept-Encoding"), ","))}
		r = withInfo(track(r))
		fenced.ServeHTTP(seen, r)
		s.log.Debug("request", append(requestOf(r).attributes(seen.Header()), "method", r.Method, "path", r.URL.Path,
			"status", seen.status, "took", time.Since(start))...)
	})
}

// statusWriter records the status for the log, and has the encoding that the caller prefers. Unwrap lets
// http.ResponseController reach the connection.
type statusWriter struct {
	http.ResponseWriter
	status   int
	encoding string
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap returns the writer for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
