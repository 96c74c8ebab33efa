package runtimes

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"syscall"
	"time"

	"judged/internal/base/units"
)

// Closure is all the files of the host that a program needs.
type Closure struct {
	Entries []Entry // ordered by path
	// ID identifies the files by path, size and times.
	ID [sha256.Size]byte

	read sync.Once // reading into the page cache
}

// Entry is one file or symbolic link of the host.
type Entry struct {
	Path     string // absolute and without links
	Target   string // target of a link, as written
	Mode     fs.FileMode
	Size     int64
	Modified time.Time
	Changed  time.Time // ctime, which programs cannot set
}

func newEntry(path string, info fs.FileInfo) Entry {
	st := info.Sys().(*syscall.Stat_t) // always has this type on Linux
	return Entry{Path: path, Mode: info.Mode(), Size: info.Size(), Modified: info.ModTime(),
		Changed: time.Unix(st.Ctim.Unix())}
}

// IsLink reports whether the entry is a symbolic link. Every other entry is a regular file.
func (e Entry) IsLink() bool { return e.Mode&fs.ModeSymlink != 0 }

// Is reports whether info describes the same, unchanged file.
func (e Entry) Is(info fs.FileInfo) bool {
	now := newEntry(e.Path, info)
	return now.Mode == e.Mode && now.Size == e.Size && now.Modified.Equal(e.Modified) && now.Changed.Equal(e.Changed)
}

func newClosure(entries map[string]Entry) *Closure {
	c := &Closure{}
	sum := sha256.New()
	for _, path := range slices.Sorted(maps.Keys(entries)) {
		e := entries[path]
		c.Entries = append(c.Entries, e)
		fmt.Fprintf(sum, "%q %q %o %d %d %d\n", e.Path, e.Target, e.Mode, e.Size, e.Modified.UnixNano(),
			e.Changed.UnixNano())
	}
	sum.Sum(c.ID[:0])
	return c
}

// Memory that a file takes: its pages, and the kernel's data about it.
const (
	pageBytes  = 4 << 10
	inodeBytes = 1 << 10
)

// Footprint returns the memory used by a copy of a file of the given size.
func Footprint(size int64) units.Bytes {
	return units.Bytes((size+pageBytes-1)&^(pageBytes-1) + inodeBytes)
}

// Bytes returns the memory used by a copy of the closure.
func (c *Closure) Bytes() units.Bytes {
	var n units.Bytes
	for _, e := range c.Entries {
		n += Footprint(e.Size)
	}
	return n
}
