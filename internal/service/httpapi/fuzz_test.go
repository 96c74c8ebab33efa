package httpapi

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"judged/internal/jobs"
)

// FuzzRequest sends any request that net/http accepts, and checks that the response is JSON and not an internal error,
// and that accepted jobs are stored and queued.
func FuzzRequest(f *testing.F) {
	for _, line := range []string{
		"GET /v1/jobs?label=a%3Db&limit=5&state=done HTTP/1.1", "GET /v1/jobs/%2e%2e HTTP/1.1",
		"GET /v1/jobs/a%00b?wait=1s HTTP/1.1", "HEAD / HTTP/1.0",
		"GET /v1/jobs/*/events HTTP/1.1\r\nLast-Event-ID: -1", "DELETE /v1/jobs/%3E HTTP/1.1",
		"OPTIONS * HTTP/1.1", "TRACE / HTTP/1.1", "GET //v1//../v1/jobs HTTP/1.1",
		"GET http://localhost/readyz HTTP/1.1", "POST /v1/slots/0-8191/drain?reason=%1b HTTP/1.1",
		"PUT /v1/blobs/" + strings.Repeat("0", 64) + " HTTP/1.1",
		"GET /v1/jobs HTTP/1.1\r\nSec-Fetch-Site: cross-site", "CONNECT localhost:1 HTTP/1.1",
		"GET /v1/jobs/" + strings.Repeat("a", 5000) + " HTTP/1.1",
	} {
		f.Add(line + "\r\nHost: x\r\n\r\n")
	}
	dir, store := f.TempDir(), openStore(f)
	names := regexp.MustCompile(`\{[^}]*\}`)
	values := map[string]string{"after": "1.2", "limit": "1", "type": "done", "label": "a%3Db", "changed": "true",
		"created_to": "2026-11-20T12:00:00Z", "valid_seconds": "60"}
	for _, r := range newFixtureIn(dir).routes() { // each of them, so that no list lacks one
		path := names.ReplaceAllString(r.path(), "a")
		f.Add(r.method + " " + path + " HTTP/1.1\r\nHost: x\r\n\r\n")
		var all []string // others are refused before the handler
		for _, name := range r.parameters() {
			if name = strings.TrimSuffix(name, "*"); values[name] != "" {
				all = append(all, name+"="+values[name])
			}
		}
		if len(all) > 0 {
			f.Add(r.method + " " + path + "?" + strings.Join(all, "&") + " HTTP/1.1\r\nHost: x\r\nLast-Event-ID: 7\r\n\r\n")
		}
	}
	for _, path := range []string{"/v1/jobs:batch", "/v1/blobs:have"} {
		for _, body := range []string{`{"jobs": [{"id": "a", "job": ` + small + `}, {"job": {}}]}`, `{"jobs": [{"job": 1}]}`,
			`{"sha256": ["` + strings.Repeat("0", 64) + `"]}`} {
			f.Add(fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+
				"Content-Length: %d\r\n\r\n%s", path, len(body), body))
		}
	}
	doors := `{"program": {"text": "x"}, "tests": [{"name": "1"}], "callback": {"url": "http://a.example/"},
		"compile_options": ["-O2"], "keep": {"stdout": "failed", "bytes": 9}, "collect": ["out.txt"]}`
	for _, body := range []string{small, doors, "{", "", strings.Repeat("[", 5000)} {
		f.Add(
			fmt.Sprintf(
				"PUT /v1/jobs/a HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
				len(body), body),
		)
	}
	f.Add(
		"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nIdempotency-Key: \xff\r\nContent-Type: application/json" +
			"\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
	)
	for _, encoding := range []string{gzipEncoding, zstdEncoding} {
		body := encoded(f, encoding, small)
		f.Add(fmt.Sprintf("PUT /v1/jobs/a HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Encoding: %s"+
			"\r\nContent-Length: %d\r\n\r\n%s", encoding, len(body), body))
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
		if err != nil {
			return
		}
		r.Host = "localhost"
		holdAnswer(t, dir, store, r)
	})
}

// FuzzMultipart sends any multipart body.
func FuzzMultipart(f *testing.F) {
	part := func(header, content string) string { return "--b\r\n" + header + "\r\n\r\n" + content + "\r\n" }
	form := func(name string) string { return `Content-Disposition: form-data; name="` + name + `"` }
	asks := `{"program": {"part": "prog"}, "tests": [{"name": "1", "input": {"part": "in"}}]}`
	f.Add(part(form("job"), asks) + part(form("prog"), "x") + part(form("in"), "") + "--b--\r\n")
	f.Add(part(form("job"), asks) + part(form("prog")+"\r\nContent-Transfer-Encoding: base64", "eA==") + "--b--")
	f.Add(part(form("job"), asks) + "--b\r\nContent-Disposition: attachment\r\n\r\n")
	f.Add(part(form("../job"), asks) + part(form("job\x00"), asks) + "--b--")
	f.Add("--b\r\n" + strings.Repeat("A: b\r\n", 2000) + "\r\n--b--")
	f.Add("preamble\n--b\n" + form("job") + "\n\n{}\n--b--\nepilogue")
	dir, store := f.TempDir(), openStore(f)
	f.Fuzz(func(t *testing.T, body string) {
		r := httptest.NewRequest("PUT", "/v1/jobs/a", strings.NewReader(body))
		r.Host = "localhost"
		r.Header.Set("Content-Type", `multipart/form-data; boundary=b`)
		holdAnswer(t, dir, store, r)
	})
}

// holdAnswer checks what holds for all responses. All blobs are stored in dir. The store answers what the fake one
// cannot.
func holdAnswer(t *testing.T, dir string, store *jobs.Store, r *http.Request) {
	t.Helper()
	s := newFixtureIn(dir)
	s.jobs.Jobs = store
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code >= 500 || w.Code < 200 {
		t.Errorf("%s %q: status %d %s, log %s", r.Method, r.URL, w.Code, w.Body, s.logged)
	}
	accepted := w.Code == http.StatusAccepted
	if r.URL.Path == batchPath && w.Code == http.StatusOK {
		accepted = true
		if all := answer[batchAnswer](t, w); all.Accepted < 1 || len(all.Results) < all.Accepted {
			t.Errorf("%q: %s", r.URL, w.Body)
		}
	}
	if accepted != (len(s.jobs.records) > 0) {
		t.Errorf("%s %q: status %d, %d jobs stored", r.Method, r.URL, w.Code, len(s.jobs.records))
	}
	if kind := w.Header().Get("Content-Type"); strings.HasSuffix(kind, "json") && r.Method != "HEAD" &&
		!json.Valid(w.Body.Bytes()) {
		t.Errorf("%s %q: invalid %s: %q", r.Method, r.URL, kind, w.Body)
	}
	if w.Header().Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%s %q: header %v", r.Method, r.URL, w.Header())
	}
	if w.Code < 400 || r.Method == "HEAD" {
		return
	}
	var p Problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Status != w.Code || p.NextStep == "" {
		t.Errorf("%s %q: status %d, %q is no problem: %v", r.Method, r.URL, w.Code, w.Body, err)
	}
}

// FuzzParseTokens checks that a token file yields its tokens, or an error that names a line and contains no hash.
func FuzzParseTokens(f *testing.F) {
	f.Add(tokenFile + digestText("x"))
	f.Add("a read " + digestText("x") + "\nb admin,submit " + digestText("y"))
	f.Add("a read " + digestText("x") + " t\na read " + digestText("y") + " t") // while the secret is replaced
	f.Add("a read,read " + digestText("x") + "\r\n\u00a0#\n")
	f.Add("a , " + digestText("x"))
	f.Add("a read," + digestText("x") + " " + digestText("y"))
	f.Add(strings.Repeat("x", 70_000))
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseTokens(strings.NewReader(text))
		if err != nil {
			if got != nil || strings.Contains(err.Error(), digestText("x")) {
				t.Errorf("%+v with error %v", got, err)
			}
			return
		}
		for _, e := range got.entries {
			if e.name == "" || len(e.grants) == 0 {
				t.Errorf("entry %+v", e)
			}
		}
		if n := len(got.entries); n == 0 || n > 1+strings.Count(text, "\n") {
			t.Errorf("%d tokens", n)
		}
	})
}
