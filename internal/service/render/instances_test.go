package render

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
)

func TestInstancesNote(t *testing.T) {
	got := TestNotes(api.TestReport{Verdict: api.RuntimeError, Instances: []api.InstanceReport{
		{CPUTime: 700 * time.Millisecond, Exit: &api.Exit{Code: new(0)}},
		{CPUTime: 800 * time.Millisecond, Exit: &api.Exit{Code: new(3)}},
		{CPUTime: time.Second, Exit: &api.Exit{Signal: "SIGABRT"}}, {}}})
	want := []string{"CPU time of the instances: 700.0 ms, 800.0 ms (exit status 3), 1.000 s (SIGABRT), " +
		"0 s (did not end by itself)"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
