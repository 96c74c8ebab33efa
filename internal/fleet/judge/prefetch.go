package judge

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"judged/internal/api"

	"judged/internal/base/units"
)

// Prefetcher fetches on a node what its pool is to have. One blob is fetched at a time,
// besides those that jobs wait for.
type Prefetcher struct {
	fetch  func(digest string) (path string, err error)
	fits   func(total, next units.Bytes) error
	log    *slog.Logger
	wanted chan api.Prefetch

	mu       sync.Mutex // guards the rest
	progress *api.PrefetchProgress
	at       time.Time // of the request
}

// NewPrefetcher returns a Prefetcher over a cache. fits returns why a blob, of requested
// ones with a total size, is not to be fetched, or nil.
func NewPrefetcher(fetch func(digest string) (path string, err error), fits func(total, next units.Bytes) error,
	log *slog.Logger) *Prefetcher {
	return &Prefetcher{fetch: fetch, fits: fits, log: log, wanted: make(chan api.Prefetch, 1)}
}

// Progress is what the node reports to its front; nil before the first request.
func (p *Prefetcher) Progress() *api.PrefetchProgress {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.progress
}

// Want replaces what is to be fetched; nil changes nothing, nor does a request from
// before the last one, which a front may still have in its copy of the requests.
func (p *Prefetcher) Want(w *api.Prefetch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w == nil || w.At.Before(p.at) {
		return
	}
	p.progress, p.at = &api.PrefetchProgress{ID: w.ID}, w.At
	select {
	case <-p.wanted: // replaced before Run has seen it
	default:
	}
	p.wanted <- *w // has room: only Want sends, with the lock
}

// Run fetches until ctx is done. What has failed is repeated every api.RegisterEvery.
func (p *Prefetcher) Run(ctx context.Context) {
	var now api.Prefetch
	var again <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case now = <-p.wanted:
			p.log.Info("fetching blobs before jobs need them", "blobs", len(now.Blobs), "size_bytes", now.Size())
		case <-again:
		}
		if again = nil; !p.fetchAll(ctx, now) {
			again = time.After(api.RegisterEvery)
		}
	}
}

// fetchAll reports whether the node has all blobs, or is to fetch others.
func (p *Prefetcher) fetchAll(ctx context.Context, w api.Prefetch) bool {
	state := api.PrefetchProgress{ID: w.ID}
	var failed error
	for _, b := range w.Blobs {
		if ctx.Err() != nil || len(p.wanted) > 0 {
			return true
		}
		if err := p.fetchOne(ctx, w, b); err != nil {
			failed = err
		} else {
			state.Blobs++
		}
		// Errors are reported at the end: until then others are fetched.
		p.report(state)
	}
	if failed == nil {
		p.log.Info("fetched blobs before jobs need them", "blobs", len(w.Blobs))
		return true
	}
	p.log.Warn("cannot fetch all blobs before jobs need them; retrying", "blobs", state.Blobs, "of", len(w.Blobs),
		"error", failed)
	state.Error = failed.Error()
	p.report(state)
	return false
}

// report drops the progress of a request that was replaced.
func (p *Prefetcher) report(state api.PrefetchProgress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.progress.ID == state.ID {
		p.progress = &state
	}
}

// fetchOne does not wait for a fetch beyond ctx. The fetch ends with the cache.
func (p *Prefetcher) fetchOne(ctx context.Context, w api.Prefetch, b api.Blob) error {
	if err := p.fits(units.Bytes(w.Size()), units.Bytes(b.Size)); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		_, err := p.fetch(b.SHA256)
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
