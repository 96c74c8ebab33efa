package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"judged/internal/api"
	"judged/internal/host/machine"
	"judged/internal/service/dispatch"
	"judged/internal/service/httpapi"
)

// Options configure Door. On a front, Topology, Doctor and Charts are nil, and Owner is empty.
type Options struct {
	Version  string
	Key      []byte // of sessions; the same on all fronts
	Topology func() machine.Topology
	Doctor   func() api.DoctorReport // the latest report of this host
	// Checks returns that report with the comparison of the fronts of the database; nil if there is neither.
	Checks func(context.Context) (api.DoctorReport, error)
	Charts func(cpus string) []dispatch.Chart
	Owner  string // name under which this host holds jobs
}

// Door returns the pages.
func Door(o Options) (httpapi.Door, error) {
	sealer, err := newSealer(o.Key)
	if err != nil {
		return httpapi.Door{}, err
	}
	templates := sync.OnceValues(parseTemplates) // not at the start: it takes a tenth of its CPU time
	var patterns []string
	for _, r := range (&handler{}).routes() {
		if !slices.Contains(patterns, r.pattern) {
			patterns = append(patterns, r.pattern)
		}
	}
	return httpapi.Door{Patterns: patterns, Open: func(d *httpapi.Desk) http.Handler {
		return (&handler{o: o, desk: d, sessions: sealer, templates: templates}).mux()
	}}, nil
}

// handler serves the pages for one configuration and set of tokens.
type handler struct {
	o         Options
	desk      *httpapi.Desk
	sessions  *sealer
	templates func() (templateSets, error)
	recent    recent
}

// route is one method of one path. A route without scopes is open to all.
type route struct {
	method  string
	pattern string
	scopes  []httpapi.Scope
	serve   func(w http.ResponseWriter, r *http.Request) error
}

func (h *handler) routes() []route {
	read, admin := []httpapi.Scope{httpapi.Read}, []httpapi.Scope{httpapi.Admin}
	return []route{
		{"GET", "/{$}", read, h.now},
		{"GET", "/jobs", read, h.list},
		{"GET", "/jobs/{id}", read, h.job},
		{"GET", "/jobs/{id}/report.json", read, h.reportJSON},
		{"GET", "/jobs/{id}/runs.csv", read, h.runsCSV},
		{"GET", "/problems", read, h.problems},
		{"GET", "/problems/{id}", read, h.problem},
		{"GET", "/rejudgings", read, h.rejudgings},
		{"GET", "/rejudgings/{id}", read, h.rejudging},
		{"POST", "/rejudgings/{id}/apply", admin, h.endRejudging("applied", httpapi.Jobs.ApplyRejudging)},
		{"POST", "/rejudgings/{id}/cancel", admin, h.endRejudging("cancelled", httpapi.Jobs.CancelRejudging)},
		{"GET", "/fairness", read, h.fairness},
		{"GET", "/slots/{cpus}", read, h.slot},
		{"GET", "/doctor", read, h.doctor},
		{"GET", httpapi.LinkPath + "{id}", nil, h.linked},
		{"GET", "/changes", read, h.desk.Changes},
		{"GET", "/sign-in", nil, h.signInForm},
		{"POST", "/sign-in", nil, h.signIn},
		{"POST", "/sign-out", nil, h.signOut},
		{"GET", "/static/{name}", nil, h.static},
	}
}

func (h *handler) mux() http.Handler {
	mux := http.NewServeMux()
	for _, route := range h.routes() {
		mux.HandleFunc(route.method+" "+route.pattern, func(w http.ResponseWriter, r *http.Request) {
			h.serve(w, r, route)
		})
	}
	return mux
}

// policy permits the files of this package and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// serve authorizes a request and answers it.
func (h *handler) serve(w http.ResponseWriter, r *http.Request, route route) {
	w.Header().Set("Content-Security-Policy", policy)
	// Without a referrer, browsers would send forms with the origin null.
	w.Header().Set("Referrer-Policy", "same-origin")
	entered, err := h.desk.Enter(w, r, h.token(r), route.scopes...)
	if err == nil {
		r = entered
		err = route.serve(w, r)
	}
	if err != nil {
		h.fail(w, r, err)
	}
}

// fail shows an error. A reader who has not signed in gets the form for that.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := h.desk.Explain(r, err)
	if p.Status == http.StatusUnauthorized && r.Method == http.MethodGet {
		http.Redirect(w, r, "/sign-in?next="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
		return
	}
	for name, values := range p.Header() {
		if name != "Www-Authenticate" { // the browser would ask for a password
			w.Header()[name] = values
		}
	}
	guest := strings.HasPrefix(r.URL.Path, httpapi.LinkPath)
	if err := h.show(w, r, p.Status, page{Title: p.Title, template: "error.html", Guest: guest, Body: p}); err != nil {
		h.desk.Explain(r, err) // logs it
		http.Error(w, p.Title, p.Status)
	}
}

// page holds the data of the layout of a page.
type page struct {
	Title  string
	Live   bool // it is read again when something has changed
	Body   any
	Now    time.Time
	Name   string // of the token of the reader
	Signed bool
	Guest  bool // no links to other pages
	Path   string

	template string
}

//go:embed templates/*.html
var templateFiles embed.FS

// templateSets has one set for each page: the layout, and the page as its content.
type templateSets map[string]*template.Template

func parseTemplates() (templateSets, error) {
	layout, err := template.New("layout.html").Funcs(functions()).ParseFS(templateFiles, "templates/layout.html",
		"templates/parts.html")
	if err != nil {
		return nil, fmt.Errorf("parse the layout of pages: %w", err)
	}
	files, err := templateFiles.ReadDir("templates")
	if err != nil {
		return nil, fmt.Errorf("list the templates of pages: %w", err)
	}
	sets := templateSets{}
	for _, f := range files {
		set, err := layout.Clone()
		if err == nil {
			set, err = set.ParseFS(templateFiles, "templates/"+f.Name())
		}
		if err != nil {
			return nil, fmt.Errorf("parse the page %s: %w", f.Name(), err)
		}
		sets[f.Name()] = set
	}
	return sets, nil
}

// show sends a page.
func (h *handler) show(w http.ResponseWriter, r *http.Request, status int, p page) error {
	p.Now, p.Name, p.Path = h.desk.Now(), h.desk.Caller(r.Context()), r.URL.Path
	p.Signed = p.Name != ""
	sets, err := h.templates()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := sets[p.template].ExecuteTemplate(&b, "layout.html", p); err != nil {
		return fmt.Errorf("write page %s: %w", p.template, err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	h.desk.Answer(w, r, status, b.Bytes())
	return nil
}

//go:embed static
var staticFiles embed.FS

var staticTypes = map[string]string{"judged.css": "text/css; charset=utf-8", "judged.js": "text/javascript; charset=utf-8",
	"icon.svg": "image/svg+xml"}

// static serves the style, the script and the icon.
func (h *handler) static(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	kind, ok := staticTypes[name]
	if !ok {
		return &httpapi.Problem{Status: http.StatusNotFound, Title: "Not found", Detail: "no such file",
			NextStep: "start at /"}
	}
	body, err := staticFiles.ReadFile("static/" + name)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	sum := sha256.Sum256(body)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	w.Header().Set("ETag", tag)
	w.Header().Set("Cache-Control", "no-cache")
	if r.Header.Get("If-None-Match") == tag {
		h.desk.Answer(w, r, http.StatusNotModified, nil)
		return nil
	}
	w.Header().Set("Content-Type", kind)
	h.desk.Answer(w, r, http.StatusOK, body)
	return nil
}
