package blobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Cache is a folder of copies. A missing blob is fetched, once for all jobs that want it, and verified by its digest.
type Cache struct {
	Store *Store
	// Fetch reads a blob from the origin. It returns ErrNotFound if the blob does not exist there.
	Fetch func(ctx context.Context, digest string) (io.ReadCloser, error)
	// Damaged is called when fetched content had a wrong digest twice. It makes the origin verify the blob, and returns
	// ErrNotFound if the blob was damaged there.
	Damaged func(ctx context.Context, digest string) error
	// Life is the lifetime of the process; its end cancels fetches.
	Life context.Context

	mu      sync.Mutex // guards fetches
	fetches map[string]*fetch
}

// fetch is a download that several jobs may wait for.
type fetch struct {
	done chan struct{} // closed when the download ends
	err  error
}

// fetchTime limits the duration of one download.
const fetchTime = 10 * time.Minute

// Path returns the file of a blob.
func (c *Cache) Path(digest string) (string, error) {
	path, err := c.Store.Path(digest)
	if !errors.Is(err, ErrNotFound) {
		return path, err
	}
	if err := c.fetch(digest); err != nil {
		return "", fmt.Errorf("fetch blob %q: %w", digest, err)
	}
	return c.Store.Path(digest)
}

func (c *Cache) fetch(digest string) error {
	c.mu.Lock()
	f, running := c.fetches[digest]
	if !running {
		f = &fetch{done: make(chan struct{})}
		if c.fetches == nil {
			c.fetches = map[string]*fetch{}
		}
		c.fetches[digest] = f
	}
	c.mu.Unlock()
	if running {
		<-f.done
		return f.err
	}
	f.err = c.download(digest)
	c.mu.Lock()
	delete(c.fetches, digest)
	c.mu.Unlock()
	close(f.done)
	return f.err
}

// download copies a blob. Content that was damaged in transit is fetched again.
func (c *Cache) download(digest string) error {
	ctx, cancel := context.WithTimeout(c.Life, fetchTime)
	defer cancel()
	err := c.copy(ctx, digest)
	if _, damaged := errors.AsType[*DigestError](err); damaged {
		err = c.copy(ctx, digest)
	}
	if _, damaged := errors.AsType[*DigestError](err); damaged {
		return cmp.Or(c.Damaged(ctx, digest), fmt.Errorf("%w: %w", ErrAway, err))
	}
	return err
}

func (c *Cache) copy(ctx context.Context, digest string) error {
	body, err := c.Fetch(ctx, digest)
	if err != nil {
		return err
	}
	defer body.Close()
	return c.Store.copy(ctx, digest, body)
}
