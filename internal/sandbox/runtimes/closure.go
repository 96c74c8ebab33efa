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

// Closure is all that a program needs of the host.
type Closure struct {
	Entries []Entry // ordered by path
	// ID is the same for the same files: paths, sizes and times.
	ID [sha256.Size]byte

	read sync.Once // into the page cache
}

// Entry is one file or link of the host.
type Entry struct {
	Path     string // absolute, with no link on the way there
	Target   string // of a link, as it is written
	Mode     fs.FileMode
	Size     int64
	Modified time.Time
	Changed  time.Time // the kernel's own time, which nobody can set
}

func newEntry(path string, info fs.FileInfo) Entry {
	st := info.Sys().(*syscall.Stat_t) // of this kernel's files
	return Entry{Path: path, Mode: info.Mode(), Size: info.Size(), Modified: info.ModTime(), Changed: time.Unix(st.Ctim.Unix())}
}

// IsLink reports whether it is a symbolic link; all others are files.
func (e Entry) IsLink() bool { return e.Mode&fs.ModeSymlink != 0 }

// Is reports whether a file is the one that was found, unchanged.
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
		fmt.Fprintf(sum, "%q %q %o %d %d %d\n", e.Path, e.Target, e.Mode, e.Size, e.Modified.UnixNano(), e.Changed.UnixNano())
	}
	sum.Sum(c.ID[:0])
	return c
}

// What a file takes in memory: its pages, and what the kernel knows of it.
const (
	pageBytes  = 4 << 10
	inodeBytes = 1 << 10
)

// Footprint is what a copy of a file takes in memory.
func Footprint(size int64) units.Bytes {
	return units.Bytes((size+pageBytes-1)&^(pageBytes-1) + inodeBytes)
}

// Bytes is what a copy takes in memory.
func (c *Closure) Bytes() units.Bytes {
	var n units.Bytes
	for _, e := range c.Entries {
		n += Footprint(e.Size)
	}
	return n
}
