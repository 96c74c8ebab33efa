package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"

	"judged/internal/api"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/units"
	"judged/internal/host/slots"
	"judged/internal/jobs"
)

// farBlobs are blobs in a bucket without copies here: reading one would fetch it.
type farBlobs struct {
	Blobs
	fetched *int
}

func (f farBlobs) Path(digest string) (string, error) {
	*f.fetched++
	return f.Blobs.Path(digest)
}

// TestHeadFetchesNothing checks that asking for a blob does not fetch it from a bucket.
func TestHeadFetchesNothing(t *testing.T) {
	fetched := 0
	f := newFixture(t, func(o *Options) { o.Blobs = farBlobs{o.Blobs, &fetched} })
	target := "/v1/blobs/" + digestText("hello")
	f.ask("PUT", target, "hello")
	get, head := f.ask("GET", target, "", "Range: bytes=1-2"), f.ask("HEAD", target, "", "Range: bytes=1-2")
	if diff := cmp.Diff(get.Header(), head.Header()); diff != "" || get.Code != 206 || head.Code != get.Code {
		t.Errorf("GET %d, HEAD %d, headers (-get +head):\n%s", get.Code, head.Code, diff)
	}
	get, head = f.ask("GET", target, ""), f.ask("HEAD", target, "")
	if diff := cmp.Diff(get.Header(), head.Header()); diff != "" || head.Code != 200 || head.Body.Len() > 0 {
		t.Errorf("HEAD %d with %d bytes, headers (-get +head):\n%s", head.Code, head.Body.Len(), diff)
	}
	if fetched != 2 {
		t.Errorf("fetched %d times for two GET", fetched)
	}
}

func TestBlobs(t *testing.T) {
	f := newFixture(t)
	digest := digestText("hello")
	target := "/v1/blobs/" + digest
	wantProblem(t, f.ask("GET", target, ""), "not-found")
	if w := f.ask("HEAD", target, ""); w.Code != 404 {
		t.Errorf("HEAD of nothing: %d", w.Code)
	}
	for _, want := range []int{201, 200} {
		w := f.ask("PUT", target, "hello")
		if diff := cmp.Diff(blobInfo{digest, 5}, answer[blobInfo](t, w)); w.Code != want || diff != "" {
			t.Errorf("PUT: status %d, want %d; (-want +got):\n%s", w.Code, want, diff)
		}
	}
	if w := f.ask("HEAD", target, ""); w.Code != 200 || w.Header().Get("Content-Length") != "5" || w.Body.Len() != 0 {
		t.Errorf("HEAD: %d %v", w.Code, w.Header())
	}
	w := f.ask("GET", target, "")
	if w.Code != 200 || w.Body.String() != "hello" || w.Header().Get("Content-Type") != "application/octet-stream" ||
		w.Header().Get("Content-Disposition") != "attachment" {
		t.Errorf("GET: %d %q %v", w.Code, w.Body, w.Header())
	}
	if w := f.ask("GET", target, "", "Range: bytes=1-2"); w.Code != 206 || w.Body.String() != "el" {
		t.Errorf("range: %d %q", w.Code, w.Body)
	}
	for header, kind := range map[string]string{"Range: bytes=5-": "range", "Range: lines=1-2": "range",
		`If-Match: "x"`: "precondition"} {
		w := f.ask("GET", target, "", header)
		wantProblem(t, w, kind)
		if h := w.Header(); h.Get("ETag")+h.Get("Content-Disposition") != "" || h.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: headers of the blob %v", header, h)
		}
	}
	p := wantProblem(t, f.ask("PUT", target, "other"), "digest")
	if !strings.Contains(p.Detail, digestText("other")) {
		t.Errorf("detail %q does not say what was found", p.Detail)
	}
	wantProblem(t, f.ask("PUT", target, strings.Repeat("x", 5<<10)), "too-large")
	for _, bad := range []string{"x", strings.ToUpper(digest), digest + "0", "%2e%2e"} {
		wantProblem(t, f.ask("GET", "/v1/blobs/"+bad, ""), "bad-request")
	}
}

// TestBlobStreams checks that a body of unknown length is subject to the limit of the store, that a truncated body is
// the caller's error, and that neither leaves a blob.
func TestBlobStreams(t *testing.T) {
	f := newFixture(t)
	for _, tt := range []struct {
		body io.Reader
		kind string
	}{
		{strings.NewReader(strings.Repeat("x", 5<<10)), "too-large"},
		{io.MultiReader(strings.NewReader("x"), broken{}), "bad-request"},
	} {
		r := httptest.NewRequest("PUT", "/v1/blobs/"+digestText("x"), tt.body)
		r.Host, r.ContentLength = "localhost", -1
		w := httptest.NewRecorder()
		f.ServeHTTP(w, r)
		wantProblem(t, w, tt.kind)
	}
	if _, err := f.blobs.Stat(digestText("x")); err == nil {
		t.Error("a blob was left")
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestSlots(t *testing.T) {
	f := newFixture(t)
	slot := api.SlotStatus{CPUs: "2-3", Node: 1, State: slots.Idle, Since: noon}
	check := func(w *httptest.ResponseRecorder, want api.SlotStatus) {
		t.Helper()
		if diff := cmp.Diff(slotList{[]api.SlotStatus{want}}, answer[slotList](t, w)); diff != "" || w.Code != 200 {
			t.Errorf("status %d (-want +got):\n%s", w.Code, diff)
		}
	}
	check(f.ask("GET", "/v1/slots", ""), slot)
	drained := slot
	drained.State, drained.Cause, drained.Reason = slots.Drained, api.HoldOperator, "fan"
	check(f.ask("POST", "/v1/slots/2-3/drain?reason=fan", ""), drained)
	check(f.ask("POST", "/v1/slots/0xc/undrain", ""), slot)
	for _, line := range []string{`msg="drained a slot" cpus=2-3 reason=fan by=192.0.2.1:1234`,
		`msg="undrained a slot" cpus=2-3 by=192.0.2.1:1234`} {
		if !strings.Contains(f.logged.String(), line) {
			t.Errorf("the log lacks %s:\n%s", line, f.logged)
		}
	}
	wantProblem(t, f.ask("POST", "/v1/slots/2/drain", ""), "not-found")
	wantProblem(t, f.ask("POST", "/v1/slots/x/drain", ""), "bad-request")
	wantProblem(t, f.ask("POST", "/v1/slots/2-3/drain?why=x", ""), "bad-request")
	for reason, want := range map[string]string{
		"%1b[31mfan":             `byte 1 of "\x1b[31mfan" cannot be shown; send one line of printable UTF-8`,
		"a%0Ab":                  `byte 2 of "a\nb" cannot be shown; send one line of printable UTF-8`,
		"%ff":                    `byte 1 of "\xff" cannot be shown; send one line of printable UTF-8`,
		strings.Repeat("x", 256): "256 bytes; send at most 255",
	} {
		p := wantProblem(t, f.ask("POST", "/v1/slots/2-3/drain?reason="+reason, ""), "bad-request")
		if p.Detail != "parameter reason: "+want {
			t.Errorf("reason %q: %s", reason, p.Detail)
		}
	}
	check(f.ask("GET", "/v1/slots", ""), slot)
}

func TestQueueDoctorMetrics(t *testing.T) {
	f := newFixture(t)
	for _, id := range []string{"a", "b"} {
		f.submit("PUT", "/v1/jobs/"+id, small)
	}
	tests := []struct{ path, want string }{
		{"/v1/queue", `{"waiting":{"background":0,"contest":0,"practice":2,"rejudge":0},"total":2,"max_waiting":3}`},
		{"/metrics", `judged_up 1`},
		{"/healthz", `{"alive":true}`},
		{"/openapi.json", strings.TrimSpace(string(openAPI))},
	}
	for _, tt := range tests {
		if w := f.ask("GET", tt.path, ""); w.Code != 200 || strings.TrimSpace(w.Body.String()) != tt.want {
			t.Errorf("%s: %d %s", tt.path, w.Code, w.Body)
		}
	}
}

func TestDoctor(t *testing.T) {
	w := newFixture(t).ask("GET", "/v1/doctor", "")
	if diff := cmp.Diff(api.DoctorReport{Schema: 1, Ready: true}, answer[api.DoctorReport](t, w)); diff != "" ||
		w.Code != 200 {
		t.Errorf("status %d (-want +got):\n%s", w.Code, diff)
	}
}

func TestFullDisk(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Blobs = fullBlobs{o.Blobs} })
	for _, w := range []*httptest.ResponseRecorder{f.submit("PUT", "/v1/jobs/a", small), f.ask("PUT",
		"/v1/blobs/"+digestText("x"), "x")} {
		wantProblem(t, w, "no-space")
		if w.Header().Get("Retry-After") == "" || !strings.Contains(f.logged.String(), "/blobs/full") {
			t.Errorf("header %v, log %s", w.Header(), f.logged)
		}
	}
}

type fullBlobs struct{ Blobs }

func (fullBlobs) Put(context.Context, string, io.Reader) (string, units.Bytes, bool, error) {
	return "", 0, false, &os.PathError{Op: "write", Path: "/blobs/full", Err: syscall.ENOSPC}
}

func TestUnknownPathsAndMethods(t *testing.T) {
	f := newFixture(t)
	for _, path := range []string{"/v2", "/v1/", "/v1/jobs/a/b/c", "/favicon.ico"} {
		wantProblem(t, f.ask("GET", path, ""), "path")
	}
	tests := []struct{ method, path, allow string }{
		{"DELETE", "/v1/jobs", "GET, HEAD, POST"},
		{"POST", "/v1/jobs/a", "DELETE, GET, HEAD, PUT"},
		{"POST", "/v1/blobs/x", "GET, HEAD, PUT"},
		{"GET", "/v1/slots/2/drain", "POST"},
		{"OPTIONS", "/healthz", "GET, HEAD"},
	}
	for _, tt := range tests {
		w := f.ask(tt.method, tt.path, "")
		wantProblem(t, w, "method")
		if got := w.Header().Get("Allow"); got != tt.allow {
			t.Errorf("%s %s: Allow %q, want %q", tt.method, tt.path, got, tt.allow)
		}
	}
}

func TestInternalErrorsStayInTheLog(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Jobs = brokenJobs{} })
	w := f.ask("GET", "/v1/queue", "")
	wantProblem(t, w, "internal")
	if strings.Contains(w.Body.String(), "secret") || !strings.Contains(f.logged.String(), "secret path") {
		t.Errorf("body %s, log %s", w.Body, f.logged)
	}
}

type brokenJobs struct{ Jobs }

func (brokenJobs) Depth(context.Context) (jobs.Depths, error) {
	return nil, errors.New("secret path")
}

func TestSecurityHeaders(t *testing.T) {
	f := newFixture(t)
	want := map[string]string{
		"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
		"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "Cache-Control": "no-store",
	}
	for _, path := range []string{"/v1/jobs", "/nowhere"} {
		w := f.ask("GET", path, "")
		for name, value := range want {
			if got := w.Header().Get(name); got != value {
				t.Errorf("%s: %s %q, want %q", path, name, got, value)
			}
		}
	}
}

func TestForeignPages(t *testing.T) {
	tests := []struct {
		name, host string
		headers    []string
		kind       string
	}{
		{"no browser", "127.0.0.1:8080", nil, ""},
		{"own page", "127.0.0.1:8080", []string{"Sec-Fetch-Site: same-origin"}, ""},
		{"foreign page", "127.0.0.1:8080", []string{"Sec-Fetch-Site: cross-site"}, "forbidden"},
		{"foreign origin", "127.0.0.1:8080", []string{"Origin: http://evil.example"}, "forbidden"},
		{"localhost", "localhost:8080", nil, ""},
		{"IPv6", "[::1]:8080", nil, ""},
		{"rebound name", "evil.example:8080", nil, "misdirected"},
		{"rebound address", "10.0.0.1", nil, "misdirected"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			r := httptest.NewRequest("PUT", "/v1/jobs/a", strings.NewReader(small))
			r.Host = tt.host
			r.Header.Set("Content-Type", "application/json")
			for _, h := range tt.headers {
				name, value, _ := strings.Cut(h, ": ")
				r.Header.Set(name, value)
			}
			w := httptest.NewRecorder()
			f.ServeHTTP(w, r)
			if tt.kind != "" {
				wantProblem(t, w, tt.kind)
			} else if w.Code != 202 {
				t.Errorf("status %d %s", w.Code, w.Body)
			}
		})
	}
}

func TestQueryOfHostileText(t *testing.T) {
	f := newFixture(t)
	for _, text := range []string{"\x00", "\xff", "<script>", strings.Repeat("a", 10000), "\r\nX: y"} {
		w := f.ask("GET", "/v1/jobs?after="+url.QueryEscape(text)+"&bad="+url.QueryEscape(text), "")
		wantProblem(t, w, "bad-request")
		if !json.Valid(w.Body.Bytes()) || w.Header().Get("X") != "" {
			t.Errorf("%q: %s", text, w.Body)
		}
	}
}

// TestLanguagesOfCallers checks that the list has only languages that jobs may name, with their factors.
func TestLanguagesOfCallers(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Factors = map[string]api.Factors{"kotlin": {Time: 2}} })
	factors := map[string]api.Factors{}
	for _, l := range answer[languageList](t, f.ask("GET", "/v1/languages", "")).Languages {
		factors[l.ID] = *l.Factors
	}
	want := map[string]api.Factors{"c": {Time: 1, Memory: 1}, "kotlin": {Time: 2, Memory: 1}}
	if diff := cmp.Diff(want, factors); diff != "" {
		t.Errorf("factors (-want +got):\n%s", diff)
	}
}
