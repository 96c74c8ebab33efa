package fleet

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"judged/internal/api"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/units"
	"judged/internal/testkit"
)

// TestPrefetchRegistry: a request reaches each node of its pool once, through any front.
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
	if err := one.SetPrefetch(t.Context(), "nowhere", nil); !errors.Is(err, ErrUnknownPool) {
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
	if err := one.SetPrefetch(t.Context(), "p", []api.Blob{}); err != nil { // ends it
		t.Fatal(err)
	}
	want = api.PrefetchStatus{Pool: "p", At: now,
		Nodes: []api.PrefetchedNode{{Node: "a", Up: true, Done: true}, {Node: "b", Up: true, Done: true}}}
	if diff := cmp.Diff(want, status()); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

// TestPrefetchBehind: a request through a front whose clock is behind is later than the one before.
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
	see(two) // which keeps what it has read for a while
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

// TestPrefetcher: what fails does not keep the rest from being fetched, a new request
// replaces the one before, and an old one changes nothing.
func TestPrefetcher(t *testing.T) {
	var mu sync.Mutex
	var fetched []string
	hang := make(chan struct{})
	var p *Prefetcher
	fetch := func(digest string) (string, error) {
		mu.Lock()
		fetched = append(fetched, digest)
		mu.Unlock()
		switch digest {
		case "broken":
			return "", errors.New("no such blob")
		case "hangs":
			<-hang
		case "last":
			if got := p.Progress().ID; got != "4" {
				t.Errorf("the progress is that of request %s, want 4", got)
			}
		}
		return "", nil
	}
	fits := func(total, next units.Bytes) error {
		if total > 10 {
			return errors.New("larger than the cache")
		}
		return nil
	}
	p = NewPrefetcher(fetch, fits, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { p.Run(ctx) })
	defer running.Wait()
	defer stop()
	if got := p.Progress(); got != nil {
		t.Errorf("progress before a request: %+v", got)
	}
	start := time.Now()
	ask := func(id string, after time.Duration, blobs ...api.Blob) {
		p.Want(&api.Prefetch{ID: id, At: start.Add(after), Blobs: blobs})
	}
	reach := func(want api.PrefetchProgress) {
		t.Helper()
		testkit.WaitFor(t, time.Minute, "progress", func() bool {
			got := *p.Progress()
			if strings.Contains(got.Error, want.Error) && want.Error != "" {
				got.Error = want.Error
			}
			return got == want
		})
	}
	ask("1", 0, api.Blob{SHA256: "a", Size: 1}, api.Blob{SHA256: "broken", Size: 1}, api.Blob{SHA256: "b", Size: 1})
	reach(api.PrefetchProgress{ID: "1", Blobs: 2, Error: "no such blob"})
	ask("2", time.Second, api.Blob{SHA256: "c", Size: 6}, api.Blob{SHA256: "d", Size: 5})
	reach(api.PrefetchProgress{ID: "2", Error: "larger than the cache"})
	ask("1", 0, api.Blob{SHA256: "old", Size: 1})
	p.Want(nil)
	if got := p.Progress().ID; got != "2" {
		t.Errorf("the progress is that of request %s, want 2", got)
	}
	ask("3", 2*time.Second, api.Blob{SHA256: "e", Size: 1}, api.Blob{SHA256: "hangs", Size: 1})
	reach(api.PrefetchProgress{ID: "3", Blobs: 1})
	testkit.WaitFor(t, time.Minute, "the last fetch", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(fetched) == 5
	})
	ask("4", 3*time.Second, api.Blob{SHA256: "last", Size: 1})
	close(hang)
	reach(api.PrefetchProgress{ID: "4", Blobs: 1})
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff([]string{"a", "broken", "b", "e", "hangs", "last"}, fetched); diff != "" {
		t.Errorf("fetched (-want +got):\n%s", diff)
	}
}
