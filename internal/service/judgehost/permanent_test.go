package judgehost

import (
	"strings"
	"testing"
	"time"

	"judged/internal/testkit"
	"judged/internal/testkit/domserver"
)

// TestPermanentError: a task for which the server always fails, such as one with a test case that is too large for its
// PHP, is reported. It was assigned again for ever, and the hosts judged nothing else.
func TestPermanentError(t *testing.T) {
	t.Parallel()
	for call, kind := range map[string]string{
		"GET judgehosts/get_files/testcase":         "testcase",
		"GET judgehosts/get_files/compile":          "compile_script",
		"GET judgehosts/get_files/run":              "run_script",
		"GET judgehosts/get_files/compare":          "compare_script",
		"GET judgehosts/get_files/source":           "judgehost",
		"GET judgehosts/get_version_commands":       "judgehost",
		"PUT judgehosts/update-judging":             "judgehost",
		"POST judgehosts/add-judging-run":           "judgehost",
		"GET config":                                "", // says nothing about the task
		"POST judgehosts/add-judging-run of others": "",
	} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.outage = 10 * time.Millisecond
			call, other := strings.CutSuffix(call, " of others")
			fault := domserver.Fault{Status: 500, Body: "<html>Allowed memory size exhausted"}
			if other {
				fault.Status = 502
			}
			started := make(chan struct{})
			w.Fault = func(method, path string) *domserver.Fault {
				select {
				case <-started:
				default:
					return nil
				}
				if !matches(call, method, path) {
					return nil
				}
				return &fault
			}
			w.submit(w.problem("1"), "1 AC")
			stop := w.start(newFakeEngine(1))
			close(started)
			const many = 2 * maxServerFailures
			testkit.WaitFor(t, patience, "an internal error, or many requests", func() bool {
				return len(w.Errors()) > 0 || kind == "" && w.Requests("judgehosts/fetch-work") > many
			})
			stop()
			found := ""
			for _, e := range w.Errors() {
				found = e.Kind
				if !strings.Contains(e.Description, "500") || !strings.Contains(e.Log, "log of the DOMjudge server") {
					t.Errorf("internal error %+v", e)
				}
			}
			if found != kind {
				t.Errorf("internal error of %q, want %q", found, kind)
			}
			w.clean()
		})
	}
}
