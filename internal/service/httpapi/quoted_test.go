package httpapi

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"judged/internal/fleet/front"
	"judged/internal/jobs/blobs"
)

// TestErrorsAreShort checks that errors quote only the start of a long text of the caller, in the path, in a query
// parameter and in a member of a body.
func TestErrorsAreShort(t *testing.T) {
	store := openStore(t)
	files, err := blobs.Open(t.TempDir(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, func(o *Options) {
		o.Jobs, o.Blobs, o.Config.HTTP.MaxBody = store, files, 1<<20
		o.Work, o.Nodes = store, registryNodes{front.NewRegistry(store, time.Now, "default")}
	})
	long := strings.Repeat("x", 5000)
	check := func(method, target, body string) {
		t.Helper()
		w := f.submit(method, target, body)
		if w.Code >= 500 || w.Code >= 300 && w.Body.Len() > 2000 {
			t.Errorf("%s %.60s %.60s: status %d, %d bytes: %.300s", method, target, body, w.Code, w.Body.Len(), w.Body)
		}
	}
	for _, r := range f.routes() {
		parts := strings.FieldsFunc(r.path(), func(c rune) bool { return c == '{' || c == '}' })
		if len(parts) > 1 {
			parts[1] = long
			check(r.method, strings.Join(parts, ""), "")
			parts[1] = "1"
		}
		if strings.HasSuffix(r.path(), "events") {
			continue // a stream
		}
		for _, name := range append(r.parameters(), long) {
			check(r.method, strings.Join(parts, "")+"?"+strings.TrimSuffix(name, "*")+"="+url.QueryEscape(long), "")
		}
	}
	for _, body := range []string{`{"LONG": 1}`, `{"program": {"blob": "LONG"}}`, `{"program": {"LONG": "x"}}`,
		`{"language": "LONG"}`, `{"problem": "LONG"}`, `{"pool": "LONG"}`, `{"stop": "LONG"}`, `{"priority": "LONG"}`,
		`{"tests": [{"name": "LONG"}]}`, `{"files": {"LONG": {}}}`, `{"labels": {"LONG": "x"}}`, `{"labels": {"x": "LONG"}}`,
		`{"checker": {"kind": "LONG"}}`, `{"env": {"LONG": "x"}}`, `{"callback": {"url": "LONG"}}`,
		`{"problem_version": "LONG", "problem": "x"}`, `{"cpus": LONG}`, `{"compile_options": ["-LONG"], "language": "c"}`,
		`{"repeats": {"policy": "LONG"}}`, `{"program": {"part": "LONG"}}`, `{"program": {"base64": "LONG"}}`} {
		body := strings.Replace(body, "LONG", long, 1)
		if !strings.Contains(body, `"program"`) {
			body = strings.Replace(body, "{", `{"program": {"text": "x"}, `, 1)
		}
		check("PUT", "/v1/jobs/a", body)
		check("POST", "/v1/jobs:batch", `{"jobs": [{"id": "a", "job": `+body+`}]}`)
	}
	for _, tt := range []struct{ method, target, body string }{
		{"PUT", "/v1/jobs/a", long},
		{"POST", "/v1/jobs:batch", `{"jobs": [{"id": "LONG", "job": {}}]}`},
		{"POST", "/v1/jobs:batch", `{"jobs": [{"idempotency_key": "LONG", "job": {}}]}`},
		{"POST", "/v1/blobs:have", `{"sha256": ["LONG"]}`},
		{"POST", "/v1/pools/default/prefetch", `{"blobs": ["LONG"]}`},
		{"POST", "/v1/pools/default/prefetch", `{"problems": ["LONG"]}`},
		{"POST", "/v1/rejudgings", `{"id": "LONG", "jobs": ["a"]}`},
		{"POST", "/v1/rejudgings", `{"jobs": ["LONG"]}`},
		{"POST", "/v1/rejudgings", `{"jobs": ["a"], "pool": "LONG"}`},
		{"POST", "/v1/rejudgings", `{"jobs": ["a"], "repeats": {"policy": "LONG"}}`},
		{"POST", "/v1/rejudgings", `{"filter": {"verdict": "LONG"}}`},
		{"POST", "/v1/rejudgings", `{"filter": {"priority": "LONG"}}`},
		{"POST", "/v1/rejudgings", `{"filter": {"pool": "LONG"}}`},
		{"POST", "/v1/rejudgings", `{"filter": {"problem": "LONG"}}`},
		{"POST", "/v1/rejudgings", `{"filter": {"created_to": "LONG"}}`},
		{"POST", "/v1/work/take", `{"protocol": 1, "node": "LONG"}`},
	} {
		check(tt.method, tt.target, strings.Replace(tt.body, "LONG", long, 1))
	}
}
