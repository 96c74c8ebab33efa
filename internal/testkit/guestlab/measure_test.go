package guestlab

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/lab/bench"
)

// TestIsolatedMeasure runs a program in each placement and checks where it ran, on a host with isolated CPUs
// and two nodes. Placements with load are the same as slot, and their load would take an emulated guest a
// minute.
func TestIsolatedMeasure(t *testing.T) {
	before := look(t)
	_, out := output(t, nil, "measure", "-n", "1", "--head", "1KiB", "--json",
		"--placements", strings.Join([]string{bench.Free, bench.Pinned, bench.Slot, bench.TurboOff}, ","),
		programs+"where", "10")
	before.compare(t)
	var r bench.Result
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatal(err)
	}
	type place struct{ CPUs, Mems string }
	got := map[string]place{}
	for _, o := range r.Cases {
		for _, run := range o.Runs {
			got[o.Case] = place{allowed(run.Stdout, "Cpus_allowed_list"), allowed(run.Stdout, "Mems_allowed_list")}
		}
	}
	want := map[string]place{
		bench.Free:   {"0-1", "0-1"},
		bench.Pinned: {"1", "0-1"},
		bench.Slot:   {"2", "1"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(r.LeftOut) != 1 || r.LeftOut[0].ID != bench.TurboOff || r.LeftOut[0].Reason == "" {
		t.Errorf("left out %v, want turbo-off with a reason", r.LeftOut)
	}
}

// allowed returns a list of /proc/self/status that the program printed.
func allowed(stdout *string, key string) string {
	if stdout == nil {
		return "no output"
	}
	_, after, _ := strings.Cut(*stdout, key+":")
	list, _, _ := strings.Cut(after, "\n")
	return strings.TrimSpace(list)
}
