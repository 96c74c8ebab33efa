package guestlab

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/host/slots"
	"judged/internal/testkit"
)

// TestIsolatedRepeats judges a program that exceeds its limit on two isolated cores. In the report, the first
// two counted runs are on the leased core and all others on the other one. A disturbed run is on the same core
// as its successor.
func TestIsolatedRepeats(t *testing.T) {
	before := look(t)
	d := serve(t, "--cpu-list", "2-3", "--data-dir", t.TempDir())
	digest, err := d.PutBlobFile(t.Context(), samples+"sum/TLE-spin")
	if err != nil {
		t.Fatal(err)
	}
	r, err := d.Submit(t.Context(), "", api.Job{
		Program: api.File{Blob: digest}, Tests: []api.Test{{Name: "1"}},
		Limits:  api.Limits{CPUTimeMS: 20, WallTimeMS: 60_000},
		Repeats: api.Repeats{Policy: api.Confirm, Min: 4, Max: 5},
	})
	if err != nil {
		t.Fatal(err)
	}
	if r, err = d.Wait(t.Context(), r.ID); err != nil {
		t.Fatal(err)
	}
	if r.Verdict != api.TimeLimit {
		t.Fatalf("verdict %s, want TLE", r.Verdict)
	}
	runs := r.Tests[0].Runs
	other := map[string]string{"2": "3", "3": "2"}[runs[0].CPUs]
	var want, got []string
	kept := 0
	for _, one := range runs {
		got = append(got, one.CPUs)
		if kept < 2 {
			want = append(want, runs[0].CPUs)
		} else {
			want = append(want, other)
		}
		if one.Kept {
			kept++
		}
	}
	t.Logf("%d runs, %d kept, on CPUs %v", len(runs), kept, got)
	if diff := cmp.Diff(want, got); diff != "" || kept < 4 {
		t.Errorf("%d of %d runs kept; CPUs (-want +got):\n%s", kept, len(runs), diff)
	}
	testkit.WaitFor(t, patience, "both slots to be idle", func() bool {
		list, err := d.Slots(t.Context())
		return err == nil && len(list) == 2 && list[0].State == slots.Idle && list[1].State == slots.Idle
	})
	d.stop(t)
	before.compare(t)
}
