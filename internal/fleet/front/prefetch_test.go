package front

import (
	"errors"
	"testing"
	"time"

	"judged/internal/api"

	"github.com/google/go-cmp/cmp"
)

// TestPrefetchRegistry checks that a request reaches each node of its pool once, through any front.
func TestPrefetchRegistry(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	values := &shared{all: map[string][]byte{}}
	one, two := NewRegistry(values, func() time.Time { return now }), NewRegistry(values, func() time.Time { return now })
	see := func(r *Registry, name, pool string, progress *api.PrefetchProgress) *api.Prefetch {
		t.Helper()
		c, err := r.Seen(t.Context(), api.Registration{Caller: api.Caller{Node: name}, Pool: pool, Time: now,
			Prefetch: progress})
		if err != nil {
			t.Fatal(err)
		}
		return c.Prefetch
	}
	status := func() api.PrefetchStatus {
		t.Helper()
		s, err := one.PrefetchStatus(t.Context(), "p")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, name := range []string{"a", "b"} {
		if p := see(two, name, "p", nil); p != nil {
			t.Errorf("node %s gets %+v before a request", name, p)
		}
	}
	see(two, "c", "q", nil)
	if err := one.SetPrefetch(t.Context(), "nowhere", nil); !errors.Is(err, api.ErrUnknownPool) {
		t.Errorf("request to an unknown pool: %v", err)
	}
	list := []api.Blob{{SHA256: "x", Size: 3}, {SHA256: "y", Size: 4}}
	if err := one.SetPrefetch(t.Context(), "p", list); err != nil {
		t.Fatal(err)
	}
	now = now.Add(prefetchFor)
	sent := see(two, "a", "p", nil)
	if sent == nil {
		t.Fatal("node a does not get the request from the other front")
	}
	if diff := cmp.Diff(list, sent.Blobs); diff != "" {
		t.Errorf("blobs (-want +got):\n%s", diff)
	}
	if p := see(two, "c", "q", nil); p != nil {
		t.Errorf("a node of another pool gets %+v", p)
	}
	requested := now.Add(-prefetchFor)
	want := api.PrefetchStatus{Pool: "p", At: requested, Blobs: 2, Size: 7,
		Nodes: []api.PrefetchedNode{{Node: "a", Up: true}, {Node: "b", Up: true}}}
	if diff := cmp.Diff(want, status()); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if p := see(two, "a", "p", &api.PrefetchProgress{ID: sent.ID, Blobs: 2}); p != nil {
		t.Errorf("a node gets the request again: %+v", p)
	}
	see(two, "b", "p", &api.PrefetchProgress{ID: sent.ID, Blobs: 1, Error: "full"})
	want.Nodes = []api.PrefetchedNode{{Node: "a", Up: true, Done: true, Blobs: 2},
		{Node: "b", Up: true, Blobs: 1, Error: "full"}}
	if diff := cmp.Diff(want, status()); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if err := one.SetPrefetch(t.Context(), "p", []api.Blob{}); err != nil { // ends the request
		t.Fatal(err)
	}
	want = api.PrefetchStatus{Pool: "p", At: now,
		Nodes: []api.PrefetchedNode{{Node: "a", Up: true, Done: true}, {Node: "b", Up: true, Done: true}}}
	if diff := cmp.Diff(want, status()); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

// TestPrefetchBehind checks that a request through a front whose clock is behind is later than the previous one.
func TestPrefetchBehind(t *testing.T) {
	ahead := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	values := &shared{all: map[string][]byte{}}
	one := NewRegistry(values, func() time.Time { return ahead })
	two := NewRegistry(values, func() time.Time { return ahead.Add(-time.Second) })
	see := func(r *Registry) *api.Prefetch {
		t.Helper()
		c, err := r.Seen(t.Context(), api.Registration{Caller: api.Caller{Node: "a"}, Pool: "p", Time: ahead})
		if err != nil {
			t.Fatal(err)
		}
		return c.Prefetch
	}
	see(two) // keeps what it has read for a while
	var last time.Time
	for i, front := range []*Registry{one, two, one} {
		if err := front.SetPrefetch(t.Context(), "p", []api.Blob{{SHA256: "x", Size: int64(i)}}); err != nil {
			t.Fatal(err)
		}
		got := see(front)
		if got == nil || !got.At.After(last) {
			t.Fatalf("request %d: got %+v, want one after %v", i, got, last)
		}
		last = got.At
	}
}
