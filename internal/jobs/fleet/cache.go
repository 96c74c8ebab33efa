package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"judged/internal/jobs"
	"judged/internal/jobs/blobs"
	"judged/internal/jobs/client"
)

// Cache is the blobs of a judge node. A blob that is missing is fetched from the
// front, once however many jobs want it, and verified by its digest.
type Cache struct {
	Store *blobs.Store
	Front client.Client
	// Life ends when judged ends; it ends fetches.
	Life context.Context

	mu      sync.Mutex // guards fetches
	fetches map[string]*fetch
}

// fetch is a download that several jobs may wait for.
type fetch struct {
	done chan struct{} // closed at its end
	err  error
}

// fetchTime bounds one download.
const fetchTime = 10 * time.Minute

// Path returns the file of a blob.
func (c *Cache) Path(digest string) (string, error) {
	path, err := c.Store.Path(digest)
	if !errors.Is(err, blobs.ErrNotFound) {
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

func (c *Cache) download(digest string) error {
	ctx, cancel := context.WithTimeout(c.Life, fetchTime)
	defer cancel()
	body, err := c.Front.GetBlob(ctx, digest)
	if client.NotFound(err) {
		return fmt.Errorf("%w on the front: %w", blobs.ErrNotFound, err)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", jobs.ErrUnavailable, err)
	}
	defer body.Close()
	_, _, _, err = c.Store.Put(ctx, digest, body)
	return err
}
