package judge

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"judged/internal/api"
	"judged/internal/base/units"
)

// Prefetcher fetches the blobs that a pool's prefetch requests, one at a time in addition to those that jobs wait for.
type Prefetcher struct {
	fetch  func(digest string) (path string, err error)
	fits   func(total, next units.Bytes) error
	log    *slog.Logger
	wanted chan api.Prefetch

	mu       sync.Mutex // guards the fields below
	progress *api.PrefetchProgress
	at       time.Time // time of the request
}

// NewPrefetcher returns a Prefetcher for a cache. fits returns the reason why a blob should not be fetched, given the
// total size of the requested blobs, or nil.
func NewPrefetcher(fetch func(digest string) (path string, err error), fits func(total, next units.Bytes) error,
	log *slog.Logger) *Prefetcher {
	return &Prefetcher{fetch: fetch, fits: fits, log: log, wanted: make(chan api.Prefetch, 1)}
}

// Progress returns what the node reports to its front, or nil before the first request.
func (p *Prefetcher) Progress() *api.PrefetchProgress {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.progress
}

// Want replaces the request. nil changes nothing, nor does a request that is older than the last one: a front may still
// have it in its cached copy.
func (p *Prefetcher) Want(w *api.Prefetch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w == nil || w.At.Before(p.at) {
		return
	}
	p.progress, p.at = &api.PrefetchProgress{ID: w.ID}, w.At
	select {
	case <-p.wanted: // replaced before Run has received it
	default:
	}
	p.wanted <- *w // has room: only Want sends, with mu held
}

// Run fetches until ctx is done. Failed fetches are repeated every api.RegisterEvery.
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

// fetchAll reports whether the node has all blobs, or a new request has replaced this one.
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
		// Errors are reported at the end, after the others have been fetched.
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

// report stores the progress, unless its request was replaced.
func (p *Prefetcher) report(state api.PrefetchProgress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.progress.ID == state.ID {
		p.progress = &state
	}
}

// fetchOne fetches a blob. It does not wait longer than ctx; the fetch itself ends with the cache.
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
