package httpapi

import (
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Run(m)) }

// timed is a response that records the deadline of each write.
type timed struct {
	*httptest.ResponseRecorder
	times []time.Duration
}

// SetWriteDeadline implements the method that http.ResponseController uses.
func (w *timed) SetWriteDeadline(t time.Time) error {
	if !t.IsZero() {
		w.times = append(w.times, time.Until(t))
	}
	return nil
}

// TestLongReports checks that the deadline for a report depends on its length, both as a response and in an event.
func TestLongReports(t *testing.T) {
	for _, tt := range []struct {
		name, path, message string
		want                []time.Duration
	}{
		{"short report", "/v1/jobs/a", "", []time.Duration{stall}},
		{"long report", "/v1/jobs/a", strings.Repeat("x", 10<<20), []time.Duration{stall + 160*time.Second}},
		{"short event", "/v1/jobs/a/events", "", []time.Duration{stall, stall}},
		{"long event", "/v1/jobs/a/events", strings.Repeat("x", 10<<20), []time.Duration{stall, stall + 160*time.Second}},
		{"problem", "/v1/jobs/b", "", []time.Duration{stall}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := queued(t)
				r := f.jobs.records["a"]
				r.Report.Message = tt.message
				f.jobs.records["a"] = r
				f.jobs.tell("a", api.Done, api.Event{Type: api.EventDone, Report: &r.Report})
				w := &timed{ResponseRecorder: httptest.NewRecorder()}
				ask := httptest.NewRequest("GET", tt.path, nil)
				ask.Host = "localhost"
				f.ServeHTTP(w, ask)
				if diff := cmp.Diff(tt.want, w.times); diff != "" {
					t.Errorf("time for each write of %d bytes (-want +got):\n%s", w.Body.Len(), diff)
				}
			})
		})
	}
}
