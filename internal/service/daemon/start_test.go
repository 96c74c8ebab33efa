package daemon

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"judged/internal/api"
	"judged/internal/base/config"
)

// refuses checks that a daemon exits before it serves, with one line on stderr that contains all of says, and nothing
// on stdout. It returns the daemon, for its traces.
func refuses(t *testing.T, c config.Config, says ...string) *process {
	t.Helper()
	p := launch(t, c)
	if url := p.url(); url != "" {
		t.Fatalf("it serves at %s", url)
	}
	code := p.exit()
	if code != 2 && code != 3 {
		t.Errorf("exit code %d, want 2 or 3", code)
	}
	var lines []string
	for line := range strings.Lines(p.said()) {
		if strings.HasPrefix(line, "judged: ") {
			lines = append(lines, line)
		}
	}
	if len(lines) != 1 {
		t.Fatalf("%d lines for one error:\n%s", len(lines), p.said())
	}
	for _, text := range says {
		if !strings.Contains(lines[0], text) {
			t.Errorf("the error does not say %q:\n%s", text, lines[0])
		}
	}
	return p
}

func dataInUse(t *testing.T, d *instance) {
	c := settings(t)
	c.DataDir = folderOf(t, d)
	refuses(t, c, c.DataDir, fmt.Sprintf("pid %d", d.cmd.Process.Pid), "data-dir")
	if err := d.Ready(d.ctx); err != nil {
		t.Errorf("the first daemon: %v", err)
	}
	d.submit("in-use", d.sum(40, false))
	if r := d.finish("in-use"); r.Verdict != api.Accepted {
		t.Errorf("the first daemon judges %s", r.Verdict)
	}
}

// folderOf returns the data folder of a daemon, from the environment that it was started with.
func folderOf(t *testing.T, d *instance) string {
	t.Helper()
	for _, e := range d.cmd.Env {
		if text, ok := strings.CutPrefix(e, serveEnv+"="); ok {
			return decodeConfig(t, text).DataDir
		}
	}
	t.Fatal("no configuration in the daemon's environment")
	return ""
}

func portInUse(t *testing.T, d *instance) {
	c := settings(t)
	c.HTTP.Listen = strings.TrimPrefix(d.Base, "http://")
	refuses(t, c, c.HTTP.Listen, "address already in use", "free the port")
	if exists(c.DataDir) {
		t.Errorf("it made %s before it failed", c.DataDir)
	}
}

func TestRefusesToStart(t *testing.T) {
	for _, tt := range []struct {
		name string
		set  func(t *testing.T, c *config.Config)
		says []string
	}{
		{"no token and an address for everybody", func(_ *testing.T, c *config.Config) { c.HTTP.Listen = "0.0.0.0:0" },
			[]string{"0.0.0.0:0", "http.token_file", "127.0.0.1"}},
		{"token file that is not there", func(_ *testing.T, c *config.Config) { c.HTTP.TokenFile = "/never/was" },
			[]string{"/never/was", "http.token_file"}},
		{"tenant that is not configured", func(t *testing.T, c *config.Config) {
			c.HTTP.TokenFile = filepath.Join(t.TempDir(), "tokens")
			line := "platform submit " + strings.Repeat("0", 64) + " school"
			if err := os.WriteFile(c.HTTP.TokenFile, []byte(line), 0o600); err != nil {
				t.Fatal(err)
			}
		}, []string{"http.token_file", "line 1", "school", "[[tenants]]"}},
		{"data folder that is a file", func(t *testing.T, c *config.Config) {
			if err := os.WriteFile(c.DataDir, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, []string{"data", "data_dir"}},
		{"database that does not answer", func(_ *testing.T,
			c *config.Config) {
			c.Database.URL = "postgres://u:secret@127.0.0.1:1/judged"
		},
			[]string{"127.0.0.1:1", "check that"}},
		{"CPU that is not there", func(_ *testing.T, c *config.Config) { c.Slots.CPUList = []int{4097} },
			[]string{"4097"}},
		{"configuration out of range", func(_ *testing.T, c *config.Config) { c.Queue.MaxWaiting = 0 },
			[]string{"queue.max_waiting"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := watchTraces(t)
			c := settings(t)
			tt.set(t, &c)
			w.add(refuses(t, c, tt.says...))
			w.none()
		})
	}
}

func TestTokens(t *testing.T) {
	c := settings(t)
	c.HTTP.TokenFile = filepath.Join(t.TempDir(), "tokens")
	var lines strings.Builder
	for _, scope := range []string{"submit", "read", "admin", "metrics"} {
		fmt.Fprintf(&lines, "%s %s %x\n", scope, scope, sha256.Sum256([]byte("secret of "+scope)))
	}
	if err := os.WriteFile(c.HTTP.TokenFile, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	// With tokens, a public address is allowed.
	c.HTTP.Listen = "0.0.0.0:0"
	d := serving(t, c)
	d.Base = "http://127.0.0.1" + d.Base[strings.LastIndex(d.Base, ":"):]

	d.Token = "secret of submit"
	d.submit("tokens", d.sum(50, false))
	body := d.encode(d.sum(51, false))
	for _, ask := range []struct {
		method, path string
		body         []byte
		scope        string // scope that it needs; "" for none
	}{
		{"GET", "/healthz", nil, ""},
		{"GET", "/readyz", nil, ""},
		{"GET", "/openapi.json", nil, ""},
		{"POST", "/v1/jobs", body, "submit"},
		{"PUT", "/v1/jobs/tokens-2", body, "submit"},
		{"DELETE", "/v1/jobs/tokens-2", nil, "submit"},
		{"GET", "/v1/jobs/tokens", nil, "read"},
		{"GET", "/v1/jobs", nil, "read"},
		{"GET", "/v1/jobs/tokens/events", nil, "read"},
		{"GET", "/v1/slots", nil, "read"},
		{"POST", "/v1/slots/99/drain", nil, "admin"},
		{"GET", "/metrics", nil, "metrics"},
	} {
		for _, scope := range []string{"", "nonsense", "submit", "read", "admin", "metrics"} {
			d.Token = ""
			if scope != "" {
				d.Token = "secret of " + scope
			}
			got := d.ask(ask.method, ask.path, ask.body, "Content-Type", jsonType).status
			want := 0 // neither 401 nor 403
			switch {
			case ask.scope == "" || ask.scope == scope:
			case scope == "" || scope == "nonsense":
				want = 401
			default:
				want = 403
			}
			if want == 0 && (got == 401 || got == 403) || want != 0 && got != want {
				t.Errorf("%s %s with token %q: status %d, want %d (0: allowed)", ask.method, ask.path, scope, got, want)
			}
		}
	}
	d.Token = "secret of read"
	if r := d.finish("tokens"); r.Verdict != api.Accepted {
		t.Errorf("verdict %s", r.Verdict)
	}
	for _, line := range strings.Fields(d.said() + lines.String()) {
		if strings.Contains(line, "secret") {
			t.Error("a token is in the log or in the file")
		}
	}
	d.drain()
}

func TestQueueFull(t *testing.T) {
	c := settings(t)
	c.Queue.MaxWaiting = 3
	d := serving(t, c)
	d.submit("runs", d.busy(60_000))
	d.reach("runs", api.Running)
	spec := d.sum(60, false)
	for n := range 3 {
		d.submit(fmt.Sprintf("waits-%d", n), spec)
	}
	a := d.ask("PUT", "/v1/jobs/too-many", d.encode(spec), "Content-Type", jsonType)
	if a.status != 429 || a.header.Get("Retry-After") == "" {
		t.Errorf("status %d, Retry-After %q, want 429 with one: %s", a.status, a.header.Get("Retry-After"), a.body)
	}
	if a := d.ask("PUT", "/v1/jobs/waits-1", d.encode(spec), "Content-Type", jsonType); a.status != 200 {
		t.Errorf("a job that is there already: %d %s, want 200", a.status, a.body)
	}
	if _, err := d.Cancel(d.ctx, "runs"); err != nil {
		t.Fatal(err)
	}
	// The client retries until there is room.
	d.submit("too-many", spec)
	for _, id := range []string{"waits-0", "waits-1", "waits-2", "too-many"} {
		if r := d.finish(id); r.Verdict != api.Accepted {
			t.Errorf("%s: %s", id, r.Verdict)
		}
	}
	d.drain()
}

// TestStepsAtOnce checks that a step that fails ends the others, that all have ended then, and that its error counts.
func TestStepsAtOnce(t *testing.T) {
	failed := errors.New("failed")
	for _, tt := range []struct {
		name string
		run  func(...step) step
		ends int64
	}{
		{"at once", atOnce, 3},
		{"in order", inOrder, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var ended atomic.Int64
			ends := func(err error) step {
				return func(context.Context) error { ended.Add(1); return err }
			}
			waits := func(ctx context.Context) error { <-ctx.Done(); ended.Add(1); return ctx.Err() }
			err := tt.run(ends(nil), ends(failed), waits)(t.Context())
			if err != failed || ended.Load() != tt.ends {
				t.Errorf("%v after %d steps, want %v after %d", err, ended.Load(), failed, tt.ends)
			}
		})
	}
}
