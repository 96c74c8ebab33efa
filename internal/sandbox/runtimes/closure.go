package runtimes

import (
	"crypto/sha256"
	"encoding/binary"
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

// Is reports whether st describes the same, unchanged regular file.
func (e Entry) Is(st syscall.Stat_t) bool {
	return st.Mode&syscall.S_IFMT == syscall.S_IFREG && fs.FileMode(st.Mode).Perm() == e.Mode.Perm() &&
		st.Size == e.Size && time.Unix(st.Mtim.Unix()).Equal(e.Modified) && time.Unix(st.Ctim.Unix()).Equal(e.Changed)
}

func newClosure(entries map[string]Entry) *Closure {
	c := &Closure{}
	var all []byte
	for _, path := range slices.Sorted(maps.Keys(entries)) {
		e := entries[path]
		c.Entries = append(c.Entries, e)
		all = append(append(append(append(all, e.Path...), 0), e.Target...), 0)
		for _, n := range []int64{int64(e.Mode), e.Size, e.Modified.UnixNano(), e.Changed.UnixNano()} {
			all = binary.NativeEndian.AppendUint64(all, uint64(n))
		}
	}
	c.ID = sha256.Sum256(all)
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
