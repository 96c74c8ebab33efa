package daemon

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/base/cpuset"
	"judged/internal/fleet/front"
	"judged/internal/host/slots"
)

// TestReadyInTheFleet checks that a single host is ready if it or another node of its pool takes jobs. `judged nodes
// drain` and audits drain the node, and not its slots.
func TestReadyInTheFleet(t *testing.T) {
	const here, other = "here", "other"
	for _, tt := range []struct {
		name         string
		slot         bool   // whether the slot is drained
		drained      string // node
		pool         string // of the other node; "" for none
		otherDrained bool
		want         string // reason, "" if ready
	}{
		{name: "alone", want: ""},
		{name: "slot drained", slot: true, want: "no slot is in use: 2 is drained (operator); see GET /v1/slots"},
		{name: "node drained", drained: here, want: "this node is drained or kept out of its pool; see GET /v1/nodes"},
		{name: "slot drained, another node", slot: true, pool: "default", want: ""},
		{name: "node drained, another node", drained: here, pool: "default", want: ""},
		{name: "node drained, another one of another pool", drained: here, pool: "cloud",
			want: "this node is drained or kept out of its pool; see GET /v1/nodes"},
		{name: "the other one drained", drained: other, pool: "default", want: ""},
		{name: "slot and the other one drained", slot: true, drained: other, pool: "default",
			want: "no slot is in use: 2 is drained (operator); see GET /v1/slots"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := config.Default()
			c.DataDir = filepath.Join(t.TempDir(), "data")
			d := &daemon{o: Options{Config: c, Log: slog.New(slog.NewTextHandler(&bytes.Buffer{}, nil))}, node: here}
			if err := inOrder(d.openFolder, d.openData)(t.Context()); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := d.close(); err != nil {
					t.Error(err)
				}
			}()
			cpus := cpuset.New(2)
			d.pool = slots.NewPool([]slots.Slot{{CPUs: cpus}}, time.Now)
			d.health = &health{pool: d.pool, log: d.o.Log}
			d.registry = front.NewRegistry(d.store, d.store.Now, c.PoolNames()...)
			register := func(name, pool string) {
				g := api.Registration{Caller: api.Caller{Node: name}, Pool: pool, Ready: true, Time: time.Now()}
				if _, err := d.registry.Seen(t.Context(), g); err != nil {
					t.Fatal(err)
				}
			}
			register(here, "default")
			if tt.pool != "" {
				register(other, tt.pool)
			}
			if tt.slot {
				if err := d.pool.Hold(cpus, slots.Hold{Cause: api.HoldOperator}); err != nil {
					t.Fatal(err)
				}
			}
			if tt.drained != "" {
				if err := d.registry.SetDrained(t.Context(), tt.drained, true); err != nil {
					t.Fatal(err)
				}
			}
			got := ""
			if err := d.takesJobs(t.Context()); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
