package daemon

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/cpuset"
	"judged/internal/engine"
	"judged/internal/host/slots"
)

// TestReadyNeedsASlot: with every slot drained a job is accepted and waits, and
// the daemon is not ready.
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
	d.wantState(0, http.StatusServiceUnavailable, "no slot is in use: "+cpus+" is drained (operator: new fan)")
	d.submit("waits", d.sum(1, false))
	if _, err := d.Undrain(d.ctx, cpus); err != nil {
		t.Fatal(err)
	}
	d.wantState(1, http.StatusOK, "")
	d.accepted("waits")
	d.drain()
}

// TestRestore: a host that is fit again brings back what was held for its sake,
// not what an operator drained, whatever the words of the reason.
func TestRestore(t *testing.T) {
	planned := []slots.Slot{{CPUs: cpuset.New(1)}, {CPUs: cpuset.New(2)}, {CPUs: cpuset.New(3)}}
	pool := slots.NewPool(planned, func() time.Time { return time.Time{} })
	const reason = "refuse to judge: the fan is broken"
	for i, h := range []slots.Hold{{Cause: slots.Operator, Reason: reason}, {Cause: slots.UnfitHost, Reason: reason}, {Cause: slots.Quarantine, Reason: reason}} {
		if err := pool.Hold(planned[i].CPUs, h); err != nil {
			t.Fatal(err)
		}
	}
	(&health{eng: &engine.Engine{}, pool: pool}).restore() // an engine that is not strict has any host fit
	want := []slots.Status{
		{CPUs: "1", State: slots.Drained, Cause: slots.Operator, Reason: reason},
		{CPUs: "2", State: slots.Idle},
		{CPUs: "3", State: slots.Quarantined, Cause: slots.Quarantine, Reason: reason},
	}
	if diff := cmp.Diff(want, pool.Snapshot()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
