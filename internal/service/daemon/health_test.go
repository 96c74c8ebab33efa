package daemon

import (
	"net/http"
	"testing"
)

// TestReadyNeedsASlot checks that with every slot drained a job is accepted and waits, and that the daemon is not
// ready.
func TestReadyNeedsASlot(t *testing.T) {
	d := serving(t, settings(t))
	all, err := d.Slots(d.ctx)
	if err != nil || len(all) != 1 {
		t.Fatalf("slots %v, error %v; want one", all, err)
	}
	cpus := all[0].CPUs
	d.wantState(1, http.StatusOK, "")
	if _, err := d.Drain(d.ctx, cpus, "new fan"); err != nil {
		t.Fatal(err)
	}
	d.wantState(0, http.StatusServiceUnavailable, "no slot is in use: "+cpus+" is drained (operator)")
	d.submit("waits", d.sum(1, false))
	if _, err := d.Undrain(d.ctx, cpus); err != nil {
		t.Fatal(err)
	}
	d.wantState(1, http.StatusOK, "")
	d.accepted("waits")
	d.drain()
}
