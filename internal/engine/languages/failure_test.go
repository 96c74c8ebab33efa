package languages

import (
	"testing"

	"judged/internal/sandbox"
)

// TestCompilerWithoutProcesses: the reason names the limit of processes where it refused the compiler some, as its own
// messages rarely do. That may end differently another time.
func TestCompilerWithoutProcesses(t *testing.T) {
	limits := sandbox.Limits{Processes: 64}
	for _, tt := range []struct {
		name      string
		result    sandbox.Result
		reason    string
		transient bool
	}{
		{"refused", sandbox.Result{Code: 2, Refused: new(int64(3))},
			"the compiler reached the limit of 64 processes and threads, and exited with status 2", true},
		{"refused, but it succeeded", sandbox.Result{Refused: new(int64(3))}, "", false},
		{"not refused", sandbox.Result{Code: 2, Refused: new(int64(0))}, "the compiler exited with status 2", false},
		{"unknown", sandbox.Result{Code: 1}, "the compiler exited with status 1", false},
	} {
		reason, transient := failure(tt.result, limits)
		if reason != tt.reason || transient != tt.transient {
			t.Errorf("%s: %q, %t, want %q, %t", tt.name, reason, transient, tt.reason, tt.transient)
		}
	}
}
