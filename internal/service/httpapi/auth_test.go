package httpapi

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/config"
)

const tokenFile = `
# platform
platform submit,read ` // + digest

func tokens(t *testing.T) *Tokens {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens")
	text := tokenFile + digestText("open sesame") + "\n  ops admin,metrics,read " +
		strings.ToUpper(digestText("root-token")) + "\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := LoadTokens(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestScopes(t *testing.T) {
	all := []struct{ method, path string }{
		{"PUT", "/v1/jobs/a"}, {"POST", "/v1/jobs"}, {"GET", "/v1/jobs"}, {"DELETE", "/v1/jobs/zz"}, {"GET", "/v1/slots"},
		{"POST", "/v1/slots/2-3/drain"}, {"GET", "/metrics"}, {"GET", "/healthz"}, {"GET", "/readyz"}, {"GET", "/v1/doctor"},
	}
	tests := []struct {
		name, header string
		want         []int
	}{
		{"none", "", []int{401, 401, 401, 401, 401, 401, 401, 200, 200, 401}},
		{"unknown", "Bearer sesame", []int{401, 401, 401, 401, 401, 401, 401, 200, 200, 401}},
		{"basic", "Basic open sesame", []int{401, 401, 401, 401, 401, 401, 401, 200, 200, 401}},
		{"platform", "Bearer open sesame", []int{202, 202, 200, 404, 200, 403, 403, 200, 200, 200}},
		{"lower case", "bearer open sesame", []int{202, 202, 200, 404, 200, 403, 403, 200, 200, 200}},
		{"upper case, two spaces", "BEARER  open sesame", []int{202, 202, 200, 404, 200, 403, 403, 200, 200, 200}},
		{"ops", "Bearer root-token", []int{403, 403, 200, 403, 200, 200, 200, 200, 200, 200}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t, func(o *Options) { o.Tokens = tokens(t) })
			for i, r := range all {
				body := small
				if r.method == "DELETE" || strings.HasSuffix(r.path, "/drain") {
					body = ""
				}
				w := f.submit(r.method, r.path, body, "Authorization: "+tt.header)
				if w.Code != tt.want[i] {
					t.Errorf("%s %s: status %d, want %d: %s", r.method, r.path, w.Code, tt.want[i], w.Body)
				}
				if (w.Code == 401) != (w.Header().Get("WWW-Authenticate") != "") {
					t.Errorf("%s %s: WWW-Authenticate %q with status %d", r.method, r.path,
						w.Header().Get("WWW-Authenticate"), w.Code)
				}
			}
			if log := f.logged.String(); strings.Contains(log, "sesame") || strings.Contains(log, "root-token") ||
				!strings.Contains(log, "/v1/jobs/a") {
				t.Errorf("log %s", log)
			}
		})
	}
}

// TestUnauthorized checks that a caller can distinguish a wrong token from a missing one.
func TestUnauthorized(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Tokens = tokens(t) })
	for _, tt := range []struct{ header, detail, challenge string }{
		{"", "this needs a bearer token", `Bearer realm="judged"`},
		{"Basic open sesame", "this needs a bearer token", `Bearer realm="judged"`},
		{"Bearer", "this needs a bearer token", `Bearer realm="judged"`},
		{"Bearer sesame", "the token is unknown",
			`Bearer realm="judged", error="invalid_token", error_description="the token is unknown"`},
		{"bearer Open sesame", "the token is unknown",
			`Bearer realm="judged", error="invalid_token", error_description="the token is unknown"`},
	} {
		w := f.ask("GET", "/v1/jobs", "", "Authorization: "+tt.header)
		if p := wantProblem(t, w, "unauthorized"); p.Detail != tt.detail ||
			w.Header().Get("WWW-Authenticate") != tt.challenge {
			t.Errorf("%q: %q, WWW-Authenticate %q", tt.header, p.Detail, w.Header().Get("WWW-Authenticate"))
		}
	}
}

func TestTokenFileErrors(t *testing.T) {
	digest := digestText("x")
	tests := []struct{ name, text, want string }{
		{"empty", "# nothing\n", "no tokens; add a line"},
		{"two fields", "\na submit\n", "line 2: 2 fields"},
		{"scope", "a submit,write " + digest, `line 1: scope "write" is unknown`},
		{"no hash", "a submit secret-token", "line 1: the third field is not a SHA-256"},
		{"hash of nothing", "a submit " + digestText(""), "line 1: the SHA-256 is that of an empty text"},
		{"columns swapped", "a " + digest + " submit", "line 1: a SHA-256 is not the third field"},
		{"name twice", "a submit " + digest + "\na read " + digestText("y"), `line 2: name "a" has other scopes`},
		{"name twice, another pool", "a node:p " + digest + "\na node:q " + digestText("y"),
			`line 2: name "a" has other scopes`},
		{"name twice, another tenant", "a read " + digest + " x\na read " + digestText("y") + " z",
			`line 2: name "a" has other scopes or another tenant`},
		{"five fields", "a submit " + digest + " x y", "line 1: 5 fields"},
		{"tenant", "a submit " + digest + " x/y", `line 1: invalid tenant "x/y"`},
		{"name with an escape", "\x1b[1ma submit " + digest, `line 1: invalid name: byte 1 of "\x1b[1ma" cannot be shown`},
		{"tenant before the hash", "a submit x " + digest, "line 1: a SHA-256 is not the third field"},
		{"metrics of a tenant", "a read,metrics " + digest + " x", `line 1: scope "metrics" with a tenant`},
		{"node of a tenant", "a node:p " + digest + " x", `line 1: scope "node:p" with a tenant`},
		{"token twice", "a submit " + digest + "\nb read " + digest, "line 2: a line above has the same token"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseTokens(strings.NewReader(tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret-token") {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
	if _, err := LoadTokens(filepath.Join(t.TempDir(), "absent"), nil); err == nil ||
		!strings.Contains(err.Error(), "absent") {
		t.Errorf("absent file: %v", err)
	}
}

// TestTokensOverlap checks that a name may have an old and a new secret at the same time, so that clients can change
// one by one.
func TestTokensOverlap(t *testing.T) {
	two, err := ParseTokens(strings.NewReader("a submit,read " + digestText("old") + "\nb admin " + digestText("b") +
		"\na submit,read " + digestText("new")))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b"}, two.Names()); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	f := newFixture(t, func(o *Options) { o.Tokens = two })
	for _, secret := range []string{"old", "new"} {
		if w := f.ask("GET", "/v1/jobs", "", "Authorization: Bearer "+secret); w.Code != 200 {
			t.Errorf("secret %s: status %d", secret, w.Code)
		}
	}
}

// TestStreamsEndWithTheirTokens checks that existing streams end when the tokens change or the first tokens are added,
// and continue if the tokens stay the same.
func TestStreamsEndWithTheirTokens(t *testing.T) {
	some, same := tokens(t), tokens(t)
	other, err := ParseTokens(strings.NewReader("ann read " + digestText("x")))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name          string
		before, after *Tokens
		ends          bool
	}{
		{"none", nil, nil, false}, {"the same", some, same, false}, {"the first", nil, some, true},
		{"others", some, other, true},
	} {
		before := newFixture(t, func(o *Options) { o.Tokens = tt.before }).Server
		after := before.With(before.config, tt.after)
		if ended := before.closing.Err() != nil; ended != tt.ends || after.closing.Err() != nil {
			t.Errorf("%s: streams of before ended %t, want %t; of after %v", tt.name, ended, tt.ends, after.closing.Err())
		}
	}
}

// TestRefusing checks that a server without its required protection refuses requests that need a scope, gives the
// reason, and is not ready.
func TestRefusing(t *testing.T) {
	f := newFixture(t)
	open := f.Server
	f.Server = open.Refusing("http.token_file cannot be read")
	for _, path := range []string{"/v1/jobs", "/v1/slots", "/metrics", "/readyz"} {
		if p := wantProblem(t, f.ask("GET", path, ""), "not-ready"); !strings.Contains(p.Detail, "http.token_file") {
			t.Errorf("%s: %s", path, p.Detail)
		}
	}
	if w := f.ask("GET", "/healthz", ""); w.Code != 200 {
		t.Errorf("/healthz: %d", w.Code)
	}
	if open.closing.Err() == nil {
		t.Error("streams of before continue")
	}
	f.Server = f.With(f.config, nil)
	if w := f.ask("GET", "/v1/jobs", ""); w.Code != 200 {
		t.Errorf("after With: %d", w.Code)
	}
}

// TestWith checks that new limits and tokens apply to later requests, and that queued jobs are still known.
func TestWith(t *testing.T) {
	f := newFixture(t)
	small := `{"program": {"text": "x"}, "tests": [{"name": "1"}], "limits": {"cpu_time_ms": 2000}}`
	if w := f.submit("PUT", "/v1/jobs/a", small); w.Code != 202 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	before := f.ask("GET", "/openapi.json", "").Body.String()
	c := f.config
	c.Limits.Max.CPUTime = time.Second
	f.Server = f.With(c, tokens(t))
	const ann = "Authorization: Bearer open sesame"
	wantProblem(t, f.ask("GET", "/v1/jobs/a", ""), "unauthorized")
	if w := f.ask("GET", "/v1/jobs/a", "", ann); w.Code != 200 {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	wantProblem(t, f.submit("PUT", "/v1/jobs/b", small, ann), "invalid-job")
	if f.ask("GET", "/openapi.json", "").Body.String() == before {
		t.Error("the document has the limits from before")
	}
	c.Queue.MaxWaiting = 1
	f.Server = f.With(c, tokens(t))
	if got := answer[queueDepth](t, f.ask("GET", "/v1/queue", "", ann)); got.Most != 1 || got.Total != 1 {
		t.Errorf("queue %+v, want one job of at most one", got)
	}
}

// TestUnknownTenant checks that a tenant of the file must be in the configuration.
func TestUnknownTenant(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	text := "# of platforms\na read " + digestText("a") + " known\nb read " + digestText("b") + " unknwon\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	known := []config.Tenant{{Name: "other"}, {Name: "known"}}
	want := "read tokens from " + path + `: line 3: unknown tenant "unknwon"; correct it, or add [[tenants]] with ` +
		`name = "unknwon" to the configuration`
	if _, err := LoadTokens(path, known); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if _, err := LoadTokens(path, append(known, config.Tenant{Name: "unknwon"})); err != nil {
		t.Error(err)
	}
}
