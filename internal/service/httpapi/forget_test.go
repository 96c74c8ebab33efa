package httpapi

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/client"
	"judged/internal/fleet/front"
	"judged/internal/jobs"
)

// TestForgetNode checks that an operator removes a node only if it is down and has no jobs.
func TestForgetNode(t *testing.T) {
	for name, tt := range map[string]struct {
		silent time.Duration
		holds  int
		node   string
		want   string // in the error, "" means that the list is empty
	}{
		"down":            {2 * time.Minute, 0, "judge", ""},
		"up":              {0, 0, "judge", `node "judge" is up, stop judged there and wait 1m0s`},
		"down, with jobs": {2 * time.Minute, 2, "judge", `node "judge" holds 2 jobs, wait until another node`},
		"unknown":         {2 * time.Minute, 0, "jugde", "no such node"},
	} {
		t.Run(name, func(t *testing.T) {
			store := openStore(t)
			var later atomic.Int64
			registry := front.NewRegistry(store, func() time.Time { return time.Now().Add(time.Duration(later.Load())) },
				"default")
			server := httptest.NewServer(New(Options{Config: config.Default(), Jobs: store, Work: store,
				Protocols: api.FleetProtocols(), Nodes: registryNodes{registry},
				Accepts: func() error { return nil }, Ready: func() error { return nil }}))
			defer server.Close()
			if _, err := registry.Seen(t.Context(), api.Registration{Caller: api.Caller{Node: "judge"},
				Pool: "default"}); err != nil {
				t.Fatal(err)
			}
			for i := range tt.holds {
				if err := holdJob(t.Context(), store, fmt.Sprint(i)); err != nil {
					t.Fatal(err)
				}
			}
			later.Store(int64(tt.silent))
			list, err := client.ForgetNode(t.Context(), client.Client{Base: server.URL}, tt.node)
			if tt.want == "" && (err != nil || len(list) != 0) {
				t.Errorf("nodes %+v, %v", list, err)
			}
			if tt.want != "" && !strings.Contains(fmt.Sprint(err), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// holdJob stores a job that the node "judge" has.
func holdJob(ctx context.Context, store *jobs.Store, id string) error {
	_, _, err := store.Put(ctx, jobs.Submission{ID: id, Job: api.Job{Priority: api.Practice, Pool: "default"}})
	if err == nil {
		_, err = store.Take(ctx, api.Want{Pool: "default", Width: 1, Host: nodeOwner("judge"), Node: "judge", CPUs: "1"})
	}
	return err
}
