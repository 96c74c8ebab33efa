package httpapi

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/fleet/front"
)

// TestJobWiderThanItsPool checks that a front refuses a job for which no slot of its pool is wide enough.
func TestJobWiderThanItsPool(t *testing.T) {
	store := openStore(t)
	registry := front.NewRegistry(store, time.Now, "default")
	f := newFixture(t, func(o *Options) {
		o.Jobs, o.Work, o.Nodes, o.Languages = store, store, registryNodes{registry}, registry
		o.Config.Slots.Width = 2
	})
	job := func(id, cpus string) int {
		t.Helper()
		return f.submit("PUT", "/v1/jobs/"+id, strings.Replace(small, "{", `{"cpus": `+cpus+`, `, 1)).Code
	}
	if got := job("before", "2"); got != http.StatusAccepted {
		t.Errorf("before a node has registered: status %d", got)
	}
	if _, err := registry.Seen(t.Context(), api.Registration{Caller: api.Caller{Node: "n"}, Pool: "default",
		Slots: []api.NodeSlot{{CPUs: "2"}}}); err != nil {
		t.Fatal(err)
	}
	for cpus, want := range map[string]int{"1": http.StatusAccepted, "2": http.StatusBadRequest} {
		if got := job("after-"+cpus, cpus); got != want {
			t.Errorf("%s CPUs: status %d, want %d", cpus, got, want)
		}
	}
}
