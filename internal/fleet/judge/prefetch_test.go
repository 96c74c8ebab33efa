package judge

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

// TestPrefetcher checks that a failed fetch does not block the others, that a new request replaces the previous one,
// and that an old one changes nothing.
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
