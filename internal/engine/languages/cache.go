package languages

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"judged/internal/base/diskcache"
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
	// Time is when the compiler failed. Earlier versions did not store it.
	Time time.Time `json:"failed_at,omitzero"`

	transient bool // may end differently another time, so it is not cached
}

// failureAge is how long a failure is used again. A library that was missing may have been installed meanwhile, which the
// key does not show.
const failureAge = 10 * time.Minute

// isStale reports whether the sources should be compiled again.
func (e entry) isStale(now time.Time) bool { return e.Failure != "" && now.Sub(e.Time) > failureAge }

// cache stores compiled programs.
type cache struct{ *diskcache.Cache }

func openCache(folder string, most units.Bytes) (cache, error) {
	c, err := diskcache.Open(folder, most, preparedFolder)
	if err != nil {
		return cache{}, fmt.Errorf("open cache of compiled programs: %w", err)
	}
	return cache{c}, nil
}

// pin returns an entry and the folder of its program, which stays until it is released. A stale entry, and one whose record
// cannot be read, count as missing.
func (c cache) pin(key string) (e entry, folder diskcache.Held, ok bool) {
	if folder, ok = c.Acquire(key); !ok {
		return e, folder, false
	}
	text, err := os.ReadFile(filepath.Join(folder.Path, recordFile))
	if err != nil || json.Unmarshal(text, &e) != nil || e.isStale(time.Now()) {
		folder.Release()
		return entry{}, diskcache.Held{}, false
	}
	return e, folder, true
}

// put stores an entry and a copy of its program or of the files of its folder, which may be nil. The record is written
// last.
func (c cache) put(key string, e entry, program *os.File) error {
	err := c.Put(key, func(folder string) error { return fillEntry(folder, e, program) })
	if err != nil {
		return fmt.Errorf("keep a compiled program: %w", err)
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
