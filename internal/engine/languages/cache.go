package languages

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"judged/internal/base/units"
)

// The files of an entry of the cache.
const (
	artifactFile = "program"
	builtFolder  = "files"
	recordFile   = "record.json"
)

// entry is the result of one compilation.
type entry struct {
	Failure string `json:"failure,omitempty"`
	Output  string `json:"output,omitempty"`
	// Size is the full size of the output, which may be cut. Earlier versions did not store it.
	Size  units.Bytes `json:"output_bytes,omitempty"`
	Files []string    `json:"files,omitempty"` // of a folder, by their names

	transient bool // may end differently another time, so it is not cached
}

// cache stores compiled programs in a folder. It removes the least recently used ones first. Only one process uses it
// at a time.
type cache struct {
	folder string
	most   units.Bytes

	mu   sync.Mutex // guards the files and pins
	pins map[string]int
}

// unfinished is the prefix of the names of entries that are being written.
const unfinished = "new-"

// openCache opens a cache and removes unfinished entries of an earlier judged.
func openCache(folder string, most units.Bytes) (*cache, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("open cache of compiled programs: %w", err)
	}
	left, err := filepath.Glob(filepath.Join(folder, unfinished+"*"))
	for _, path := range left {
		err = errors.Join(err, os.RemoveAll(path))
	}
	if err != nil {
		return nil, fmt.Errorf("open cache of compiled programs: %w", err)
	}
	return &cache{folder: folder, most: most, pins: map[string]int{}}, nil
}

// pin returns an entry and the folder of its program, which stays until unpin is called.
func (c *cache) pin(key string) (e entry, folder string, unpin func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	folder = filepath.Join(c.folder, key)
	text, err := os.ReadFile(filepath.Join(folder, recordFile))
	if err != nil || json.Unmarshal(text, &e) != nil {
		return entry{}, "", nil, false
	}
	now := time.Now()
	_ = os.Chtimes(folder, now, now) // an older time only removes it earlier
	c.pins[key]++
	return e, folder, sync.OnceFunc(func() { c.unpin(key) }), true
}

func (c *cache) unpin(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pins[key]--; c.pins[key] == 0 {
		delete(c.pins, key)
	}
}

// put stores an entry and a copy of its program or of the files of its folder, which may be nil. The record is written
// last, and the entry becomes visible atomically, so a crash leaves no partial entry.
func (c *cache) put(key string, e entry, program *os.File) error {
	folder, err := os.MkdirTemp(c.folder, unfinished)
	if err == nil {
		err = fillEntry(folder, e, program)
	}
	if err == nil {
		err = c.publish(folder, key)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("keep a compiled program: %w", err), os.RemoveAll(folder))
	}
	return nil
}

func fillEntry(folder string, e entry, program *os.File) error {
	if len(e.Files) > 0 {
		if err := copyBuilt(filepath.Join(folder, builtFolder), program, e.Files); err != nil {
			return err
		}
	} else if program != nil {
		if err := copyFile(filepath.Join(folder, artifactFile), program); err != nil {
			return err
		}
	}
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, recordFile), text, 0o600)
}

func copyFile(path string, from io.Reader) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	if err == nil {
		err = f.Sync() // the entry survives a power loss only as a whole
	}
	return errors.Join(err, f.Close())
}

func (c *cache) publish(folder, key string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	path := filepath.Join(c.folder, key)
	if c.pins[key] > 0 {
		return os.RemoveAll(folder) // the same program exists and is in use
	}
	if err := errors.Join(os.RemoveAll(path), os.Rename(folder, path)); err != nil {
		return err
	}
	return c.shrink(key)
}

// shrink removes the least recently used entries until the rest fits. It keeps the newest one and those in use.
func (c *cache) shrink(newest string) error {
	list, err := os.ReadDir(c.folder)
	if err != nil {
		return err
	}
	type kept struct {
		key  string
		used time.Time
		size units.Bytes
	}
	var all []kept
	var sum units.Bytes
	for _, d := range list {
		info, err := d.Info()
		if err != nil || strings.HasPrefix(d.Name(), unfinished) || d.Name() == preparedFolder {
			continue
		}
		k := kept{d.Name(), info.ModTime(), diskUse(filepath.Join(c.folder, d.Name()))}
		sum += k.size
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b kept) int { return cmp.Or(a.used.Compare(b.used), strings.Compare(a.key, b.key)) })
	for _, k := range all {
		if sum <= c.most {
			break
		}
		if k.key == newest || c.pins[k.key] > 0 {
			continue
		}
		if err := os.RemoveAll(filepath.Join(c.folder, k.key)); err != nil {
			return err
		}
		sum -= k.size
	}
	return nil
}

// block is the minimum disk space of a file.
const block = 4 << 10

func diskUse(folder string) units.Bytes {
	var sum units.Bytes
	_ = filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // nobody else writes here; what cannot be read is not counted
		}
		sum += block
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			sum += units.Bytes(info.Size())
		}
		return nil
	})
	return sum
}
