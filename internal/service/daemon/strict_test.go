package daemon

import (
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/testkit"
)

// TestStrict checks that a host without isolation refuses to judge. The job is submitted before: a strict daemon does
// not accept one.
func TestStrict(t *testing.T) {
	c := settings(t)
	d := serving(t, c)
	d.submit("first", d.busy(60_000))
	d.reach("first", api.Running)
	d.submit("waits", d.sum(1, false))
	d.signal(syscall.SIGTERM)
	d.draining()
	d.signal(syscall.SIGTERM)
	d.exit()

	c.Slots.Strict = true
	d = serving(t, c)
	err := d.Ready(d.ctx)
	refused(t, "GET /readyz", err)
	if err == nil || !strings.Contains(err.Error(), "isolat") && !strings.Contains(err.Error(), "turbo") {
		t.Errorf("readyz says %v, want isolation or turbo", err)
	}
	refused(t, "POST /v1/jobs", post(d, "/v1/jobs", jsonType, d.encode(d.sum(2, false))))
	testkit.WaitFor(t, patience, "the slot to be taken out of use", func() bool {
		slots, err := d.Slots(d.ctx)
		return err == nil && slots[0].State == "drained" && strings.Contains(slots[0].Reason, "refuse to judge")
	})
	if a := d.ask("GET", "/healthz", nil); a.status != 200 {
		t.Errorf("healthz: %d, want 200", a.status)
	}
	d.drain()
	want := map[string]string{"first": "queued  0", "waits": "queued  0"}
	if diff := cmp.Diff(want, states(inspect(t, c))); diff != "" {
		t.Errorf("after the strict daemon (-want +got):\n%s", diff)
	}

	c.Slots.Strict = false
	d = serving(t, c)
	d.reach("first", api.Running)
	if _, err := d.Cancel(d.ctx, "first"); err != nil {
		t.Fatal(err)
	}
	if r := d.finish("waits"); r.Verdict != api.Accepted || r.Attempt != 1 {
		t.Errorf("verdict %s in attempt %d, want AC in the first", r.Verdict, r.Attempt)
	}
	d.drain()
}
