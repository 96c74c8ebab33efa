package httpapi

import (
	"log/slog"
	"strings"
	"testing"
)

// TestRequestLog checks that the log names job and token, and the status of a response without one.
func TestRequestLog(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Tokens = tokens(t) })
	var log strings.Builder
	f.Server.log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	const ann = "Authorization: Bearer open sesame"
	small := `{"program": {"text": "x"}, "tests": [{"name": "1"}]}`
	for _, tt := range []struct {
		method, path, body string
		want               []string
	}{
		{"PUT", "/v1/jobs/a", small, []string{"by=platform", "job=a", "status=202"}},
		{"POST", "/v1/jobs", small, []string{"by=platform", "job=", "status=202"}},
		{"GET", "/v1/jobs/a", "", []string{"by=platform", "job=a", "status=200"}},
		{"GET", "/v1/jobs/zz", "", []string{"by=platform", "job=zz", "status=404"}},
		{"GET", "/v1/queue", "", []string{"by=platform", "status=200"}},
		{"GET", "/healthz", "", []string{"status=200"}},
	} {
		log.Reset()
		f.submit(tt.method, tt.path, tt.body, ann)
		var line string
		for l := range strings.Lines(log.String()) {
			if strings.Contains(l, "msg=request") {
				line = l
			}
		}
		for _, want := range append(tt.want, "path="+tt.path) {
			if !strings.Contains(line, " "+want) {
				t.Errorf("%s %s: the log lacks %q: %s", tt.method, tt.path, want, line)
			}
		}
		if strings.Contains(line, "status=0") || tt.path == "/v1/queue" && strings.Contains(line, "job=") {
			t.Errorf("%s %s: %s", tt.method, tt.path, line)
		}
	}
}

// TestBodyWithoutEffect checks that a body is refused where it would have no effect, and that nothing happens.
func TestBodyWithoutEffect(t *testing.T) {
	for _, r := range []struct{ method, path string }{
		{"POST", "/v1/slots/2-3/drain"}, {"POST", "/v1/slots/2-3/undrain"}, {"DELETE", "/v1/jobs/a"},
		{"DELETE", "/v1/problems/p"}, {"DELETE", "/v1/rejudgings/r"}, {"POST", "/v1/rejudgings/r/apply"},
	} {
		f := newFixture(t)
		if p := wantProblem(t, f.submit(r.method, r.path, `{"reason": "new fan"}`), "bad-request"); !strings.Contains(
			p.Detail, "no body") {
			t.Errorf("%s %s: %s", r.method, r.path, p.Detail)
		}
		if s := f.pool.Snapshot()[0]; s.State != "idle" {
			t.Errorf("%s %s: the slot is %s", r.method, r.path, s.State)
		}
	}
	f := newFixture(t)
	for _, body := range []string{"", "{}"} {
		if w := f.submit("POST", "/v1/slots/2-3/drain", body); w.Code != 200 {
			t.Errorf("drain with %q: %s", body, w.Body)
		}
	}
}
