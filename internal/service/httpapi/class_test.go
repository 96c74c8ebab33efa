package httpapi

import (
	"testing"

	"judged/internal/client"
)

// TestEveryProblemHasAClass checks that every problem has a class, which says whether the same request may succeed
// later. A judge node resends a report after a passing or barred problem, and replaces it after a refusal.
func TestEveryProblemHasAClass(t *testing.T) {
	classes := map[client.Class][]string{
		client.Passing: {"queue-full", "quota", "internal", "not-ready", "temporary-failure", "no-space", "timeout"},
		client.Barred:  {"unauthorized", "forbidden", "misdirected", "method", "path", "protocol"},
		client.Refused: {"bad-request", "invalid-job", "not-found", "conflict", "gone",
			"in-use", "stale", "final", "too-large", "media-type", "precondition", "range",
			"digest", "missing-language", "invalid-problem", "invalid-report", "missing-problem",
			"missing-blob", "invalid-batch"},
	}
	known := 0
	for want, names := range classes {
		for _, kind := range names {
			known++
			p := problem(kind, "", "")
			if _, found := kinds[kind]; !found {
				t.Errorf("%s is not an answer", kind)
			}
			if got := client.ClassOf(&client.Problem{Type: p.Type, Status: p.Status}); got != want {
				t.Errorf("%s: class %d, want %d", kind, got, want)
			}
		}
	}
	if known != len(kinds) {
		t.Errorf("%d kinds have a class here, there are %d", known, len(kinds))
	}
}
