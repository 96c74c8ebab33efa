package daemon

import (
	"errors"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"judged/internal/base/config"
	"judged/internal/base/units"
	"judged/internal/service/httpapi"
	"judged/internal/service/metrics"
	"judged/internal/testkit"
)

// TestReloadFailureIsAMetric: systemctl reload only sends a signal, so nothing but the log said that a reload has failed.
func TestReloadFailureIsAMetric(t *testing.T) {
	hangup := make(chan os.Signal, 1)
	d := &daemon{o: Options{Hangup: hangup, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Reload: func() (config.Config, error) { return config.Config{}, errors.New("line 3: unknown key") }}}
	d.metrics.Store(metrics.New(metrics.Options{}))
	has := func(line string) bool {
		w := httptest.NewRecorder()
		d.metrics.Load().Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		return strings.Contains(w.Body.String(), "\n"+line+"\n")
	}
	if !has("judged_reload_failed 0") {
		t.Error("not 0 before the first reload")
	}
	go d.reloads(t.Context())
	hangup <- syscall.SIGHUP
	testkit.WaitFor(t, 10*time.Second, "judged_reload_failed to be 1", func() bool { return has("judged_reload_failed 1") })
	d.metrics.Load().Reloaded(nil)
	if !has("judged_reload_failed 0") {
		t.Error("not 0 after a reload that worked")
	}
}

// TestReloadRefusal checks the reason for which requests are refused after a reload that adds tokens has failed.
func TestReloadRefusal(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("tokens", "a read "+strings.Repeat("1", 64)+"\n")
	const others = "http.token_file takes effect with all other settings and files, and one "
	for name, tt := range map[string]struct {
		tokens, secrets string
		keep            units.Bytes
		want            string
	}{
		"tokens":       {write("bad", "a read\n"), "", 1 << 20, "http.token_file is set and cannot be read; "},
		"another file": {good, write("secrets", "nothing\n"), 1 << 20, others},
		// It does not fit into http.max_blob before the restart.
		"a setting": {good, "", 32 << 20, others},
	} {
		now := config.Default()
		now.HTTP.MaxBlob = 2 << 20
		next := config.Default()
		next.HTTP.TokenFile, next.Callbacks.SecretFile, next.Limits.Max.Keep = tt.tokens, tt.secrets, tt.keep
		d := &daemon{o: Options{Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
			Reload: func() (config.Config, error) { return next, nil }}}
		d.api.Store(httpapi.New(httpapi.Options{Config: now}))
		if _, err := d.reload(now); err == nil {
			t.Errorf("%s: no error", name)
		}
		w := httptest.NewRecorder()
		d.api.Load().ServeHTTP(w, httptest.NewRequest("GET", "http://127.0.0.1/v1/doctor", nil))
		if w.Code != 503 || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s: %d %s, want %q", name, w.Code, w.Body, tt.want)
		}
	}
}
