package httpapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestRepeatedHeaders checks that a header is refused that is given twice and whose second value nobody would read.
func TestRepeatedHeaders(t *testing.T) {
	for _, tt := range []struct{ name, method, target string }{
		{"Content-Type", "PUT", "/v1/jobs/a"},
		{"Idempotency-Key", "POST", "/v1/jobs"},
		{"Last-Event-ID", "GET", "/v1/jobs/a/events"},
		{"Range", "GET", "/v1/blobs/" + digestText("x")},
		{"Authorization", "GET", "/v1/jobs"},
	} {
		known, err := ParseTokens(strings.NewReader("a submit,read " + digestText("secret")))
		if err != nil {
			t.Fatal(err)
		}
		f := newFixture(t, func(o *Options) { o.Tokens = known })
		r := httptest.NewRequest(tt.method, tt.target, strings.NewReader(small))
		r.Header = http.Header{"Authorization": {"Bearer secret"}, "Content-Type": {mediaJSON}}
		r.Header[http.CanonicalHeaderKey(tt.name)] = []string{"application/json", "Bearer secret"}
		w := httptest.NewRecorder()
		f.ServeHTTP(w, r)
		if p := wantProblem(t, w, "bad-request"); !strings.Contains(p.Detail, "2 headers "+tt.name) {
			t.Errorf("%s: %s", tt.name, p.Detail)
		}
	}
}

// TestOtherRoles checks that a daemon says where to ask for what its role does not have.
func TestOtherRoles(t *testing.T) {
	front := func(o *Options) { o.Slots, o.Work = nil, openStore(t) }
	for _, tt := range []struct {
		role         string
		change       func(*Options)
		method, path string
		detail, next string
	}{
		{"front", front, "GET", "/v1/slots", "a front has no slots", "list its judges with judged nodes, or GET /v1/nodes"},
		{"front", front, "POST", "/v1/slots/2/drain", "a front has no slots",
			"list its judges with judged nodes, or GET /v1/nodes"},
		{"judge", func(o *Options) { o.Jobs = nil }, "PUT", "/v1/jobs/a", "a judge node has no jobs", "ask its front"},
		{"one host", func(*Options) {}, "GET", "/v1/nodes", "only a front has nodes and pools",
			"ask a front, or list the slots of this daemon with judged slots, or GET /v1/slots"},
		{"one host", func(*Options) {}, "GET", "/v1/node", "no such path", "see /openapi.json for all paths"},
	} {
		t.Run(tt.role+" "+tt.path, func(t *testing.T) {
			p := wantProblem(t, newFixture(t, tt.change).ask(tt.method, tt.path, ""), "path")
			if p.Detail != tt.detail || p.NextStep != tt.next {
				t.Errorf("detail %q, next step %q", p.Detail, p.NextStep)
			}
		})
	}
}
