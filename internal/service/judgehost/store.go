package judgehost

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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
)

// store is a cache of folders that are written once: test cases, executables and compiled submissions. It removes the
// least recently used folders first. All slots share it; only one process may use it at a time.
type store struct {
	folder  string
	most    int64 // bytes
	flights singleflight.Group

	mu      sync.Mutex // guards the fields below
	entries map[string]*entry
	bytes   int64
}

// entry is a folder of the store.
type entry struct {
	bytes int64
	used  time.Time
	pins  int
}

// unfinishedPrefix is the name prefix of folders that are not complete.
const unfinishedPrefix = "new-"

// openStore opens a folder. It removes incomplete entries of an earlier process.
func openStore(folder string, most int64) (*store, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("open cache: %w", err)
	}
	s := &store{folder: folder, most: most, entries: map[string]*entry{}}
	list, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("open cache: %w", err)
	}
	for _, d := range list {
		path := filepath.Join(folder, d.Name())
		if strings.HasPrefix(d.Name(), unfinishedPrefix) {
			if err := os.RemoveAll(path); err != nil {
				return nil, fmt.Errorf("open cache: %w", err)
			}
			continue
		}
		info, err := d.Info()
		if err != nil || !d.IsDir() {
			continue
		}
		size, err := sizeOf(path)
		if err != nil {
			return nil, fmt.Errorf("open cache: %w", err)
		}
		s.entries[d.Name()] = &entry{bytes: size, used: info.ModTime()}
		s.bytes += size
	}
	return s, nil
}

// sizeOf returns the size of the files in a folder, with a constant overhead for each file.
func sizeOf(folder string) (sum int64, err error) {
	const each = 4 << 10
	err = filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if sum += each; err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}

// held is a folder of the store that is not removed before release.
type held struct {
	path    string
	release func()
}

// get returns the folder for a key. If it does not exist, one caller fills it and the others wait. If the context of
// one caller is done, the others continue.
func (s *store) get(ctx context.Context, key string, fill func(ctx context.Context, folder string) error) (held, error) {
	name := entryName(key)
	for {
		if h, ok := s.remove(name); ok {
			return h, nil
		}
		done := s.flights.DoChan(name, func() (any, error) {
			return nil, s.fill(context.WithoutCancel(ctx), name, fill)
		})
		select {
		case <-ctx.Done():
			return held{}, context.Cause(ctx)
		case r := <-done:
			if r.Err != nil {
				return held{}, r.Err
			}
		}
	}
}

func entryName(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:16])
}

// has reports whether there is a folder for a key.
func (s *store) has(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.entries[entryName(key)] != nil
}

func (s *store) remove(name string) (held, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[name]
	if e == nil {
		return held{}, false
	}
	e.pins++
	e.used = time.Now()
	path := filepath.Join(s.folder, name)
	_ = os.Chtimes(path, e.used, e.used) // needed only for the order after a restart
	return held{path, sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		e.pins--
	})}, true
}

// fill fills a new folder and then renames it, so that a crash leaves no incomplete entry.
func (s *store) fill(ctx context.Context, name string, fill func(context.Context, string) error) error {
	s.mu.Lock()
	_, made := s.entries[name] // another caller may have made it meanwhile
	s.mu.Unlock()
	if made {
		return nil
	}
	folder, err := os.MkdirTemp(s.folder, unfinishedPrefix)
	if err != nil {
		return fmt.Errorf("write to the cache: %w", err)
	}
	if err := fill(ctx, folder); err != nil {
		return errors.Join(err, os.RemoveAll(folder))
	}
	size, err := sizeOf(folder)
	if err == nil {
		err = s.publish(folder, name, size)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write to the cache: %w", err), os.RemoveAll(folder))
	}
	return nil
}

func (s *store) publish(folder, name string, size int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := os.Rename(folder, filepath.Join(s.folder, name)); err != nil {
		return err
	}
	s.entries[name] = &entry{bytes: size, used: time.Now()}
	s.bytes += size
	return s.shrink(s.most, name)
}

// shrink removes unused entries until the rest has at most that many bytes. The caller holds the lock.
func (s *store) shrink(most int64, newest string) error {
	var names []string
	for name, e := range s.entries {
		if e.pins == 0 && name != newest {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return s.entries[a].used.Compare(s.entries[b].used) })
	for _, name := range names {
		if s.bytes <= most {
			return nil
		}
		if err := os.RemoveAll(filepath.Join(s.folder, name)); err != nil {
			return err
		}
		s.bytes -= s.entries[name].bytes
		delete(s.entries, name)
	}
	return nil
}

// clear removes all unused entries.
func (s *store) clear() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shrink(0, "")
}
