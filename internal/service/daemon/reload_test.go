package daemon

import (
	"errors"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"judged/internal/base/config"
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
