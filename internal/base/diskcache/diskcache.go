// Package diskcache keeps folders that are written once in a folder of limited size, also across restarts. It removes
// the least recently used folders first. Only one process may use a cache at a time.
package diskcache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"judged/internal/base/units"
)

// Cache is a cache of folders. It is safe for concurrent use.
type Cache struct {
	folder  string
	most    units.Bytes
	flights singleflight.Group

	mu      sync.Mutex // guards the fields below
	entries map[string]*entry
	bytes   units.Bytes
}

// entry is a folder of the cache.
type entry struct {
	bytes units.Bytes
	used  time.Time
	pins  int
}

// Unfinished is the prefix of the names of what is not complete, and what Open removes.
const Unfinished = "new-"

// Open opens a cache of at most that many bytes. It removes incomplete folders of an earlier process. The folders
// others are not of the cache.
func Open(folder string, most units.Bytes, others ...string) (*Cache, error) {
	c := &Cache{folder: folder, most: most, entries: map[string]*entry{}}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("open cache: %w", err)
	}
	list, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("open cache: %w", err)
	}
	for _, d := range list {
		path := filepath.Join(folder, d.Name())
		if strings.HasPrefix(d.Name(), Unfinished) {
			if err := os.RemoveAll(path); err != nil {
				return nil, fmt.Errorf("open cache: %w", err)
			}
			continue
		}
		info, err := d.Info()
		if err != nil || !d.IsDir() || slices.Contains(others, d.Name()) {
			continue
		}
		size, err := sizeOf(path)
		if err != nil {
			return nil, fmt.Errorf("open cache: %w", err)
		}
		c.entries[d.Name()] = &entry{bytes: size, used: info.ModTime()}
		c.bytes += size
	}
	return c, nil
}

// sizeOf returns the size of the files in a folder, with a constant overhead for each file.
func sizeOf(folder string) (sum units.Bytes, err error) {
	const each = 4 << 10
	err = filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if sum += each; err == nil && info.Mode().IsRegular() {
			sum += units.Bytes(info.Size())
		}
		return err
	})
	return sum, err
}

// Held is a folder of the cache that is not removed before Release.
type Held struct {
	Path    string
	Release func()
}

// Get returns a folder. If it does not exist, one caller fills it and the others wait. If the context of one caller is
// done, the others continue.
func (c *Cache) Get(ctx context.Context, name string, fill func(ctx context.Context, folder string) error) (Held, error) {
	for {
		if h, ok := c.Acquire(name); ok {
			return h, nil
		}
		done := c.flights.DoChan(name, func() (any, error) {
			if c.Has(name) {
				return nil, nil // another caller has filled it meanwhile
			}
			return nil, c.Put(name, func(folder string) error { return fill(context.WithoutCancel(ctx), folder) })
		})
		select {
		case <-ctx.Done():
			return Held{}, context.Cause(ctx)
		case r := <-done:
			if r.Err != nil {
				return Held{}, r.Err
			}
		}
	}
}

// Has reports whether a folder exists.
func (c *Cache) Has(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.entries[name] != nil
}

// Acquire returns a folder if it exists.
func (c *Cache) Acquire(name string) (Held, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[name]
	if e == nil {
		return Held{}, false
	}
	e.pins++
	e.used = time.Now()
	path := filepath.Join(c.folder, name)
	_ = os.Chtimes(path, e.used, e.used) // needed only for the order after a restart
	return Held{path, sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		e.pins--
	})}, true
}

// Put has a new folder filled, and then gives it its name, so that no crash leaves an incomplete one. fill makes it
// durable. An earlier folder of that name is replaced, unless it is in use. An error of fill is returned unchanged.
func (c *Cache) Put(name string, fill func(folder string) error) error {
	folder, err := os.MkdirTemp(c.folder, Unfinished)
	if err != nil {
		return fmt.Errorf("write to the cache: %w", err)
	}
	if err := fill(folder); err != nil {
		return errors.Join(err, os.RemoveAll(folder))
	}
	size, err := sizeOf(folder)
	if err == nil {
		err = c.publish(folder, name, size)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write to the cache: %w", err), os.RemoveAll(folder))
	}
	return nil
}

func (c *Cache) publish(folder, name string, size units.Bytes) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[name]; e != nil && e.pins > 0 {
		return os.RemoveAll(folder)
	}
	if err := c.remove(name); err != nil {
		return err
	}
	if err := os.Rename(folder, filepath.Join(c.folder, name)); err != nil {
		return err
	}
	c.entries[name] = &entry{bytes: size, used: time.Now()}
	c.bytes += size
	return c.shrink(c.most, name)
}

// remove removes a folder that may exist. It takes its name away first, so that neither a crash nor an error leaves a part
// of it in the cache. The caller holds the lock.
func (c *Cache) remove(name string) error {
	gone := filepath.Join(c.folder, Unfinished+name)
	if err := os.RemoveAll(gone); err != nil { // left by an error
		return err
	}
	err := os.Rename(filepath.Join(c.folder, name), gone)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if e := c.entries[name]; e != nil {
		c.bytes -= e.bytes
		delete(c.entries, name)
	}
	return os.RemoveAll(gone)
}

// shrink removes unused folders until the rest has at most that many bytes. The caller holds the lock.
func (c *Cache) shrink(most units.Bytes, newest string) error {
	var names []string
	for name, e := range c.entries {
		if e.pins == 0 && name != newest {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(c.entries[a].used.Compare(c.entries[b].used), strings.Compare(a, b))
	})
	for _, name := range names {
		if c.bytes <= most {
			return nil
		}
		if err := c.remove(name); err != nil {
			return err
		}
	}
	return nil
}

// Clear removes all unused folders.
func (c *Cache) Clear() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shrink(0, "")
}
