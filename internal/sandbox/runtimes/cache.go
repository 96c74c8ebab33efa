package runtimes

import (
	"bytes"
	"encoding/binary"
	"runtime"
)

// cacheMagic is the start of the loader's cache as glibc has written it since 2.2 (sysdeps/generic/dl-cache.h).
// Before 2.32 an older format preceded it.
const cacheMagic = "glibc-ld.so.cache1.1"

// cacheHead and cacheEntry are struct cache_file_new and file_entry_new.
type cacheHead struct {
	Magic                 [len(cacheMagic)]byte
	Libraries, TextBytes  uint32
	Flags                 uint8
	_                     [3]byte
	ExtensionOffset, _, _ uint32
	_                     uint32
}

type cacheEntry struct {
	Flags, Name, Path, OSVersion uint32
	Hwcap                        uint64
}

// cacheFlags mark libraries for this processor: 64 bits, little-endian, glibc 2.
var cacheFlags = map[string]uint32{"amd64": 0x0303, "arm64": 0x0a03}[runtime.GOARCH]

// maxCached is the maximum number of libraries read from a cache: a hundred times what a large host has.
const maxCached = 1 << 16

// readCache returns the paths at which the loader finds libraries by name: one path, or several from which it
// chooses the best for the processor. It returns nil for a file that is not a cache.
func readCache(b []byte) map[string][]string {
	begin := bytes.Index(b, []byte(cacheMagic))
	if begin < 0 {
		return nil
	}
	b = b[begin:] // offsets are relative to the magic
	var head cacheHead
	if _, err := binary.Decode(b, binary.LittleEndian, &head); err != nil {
		return nil
	}
	size := binary.Size(cacheEntry{})
	rest := b[binary.Size(head):]
	entries := make([]cacheEntry, min(int(head.Libraries), len(rest)/size, maxCached))
	if _, err := binary.Decode(rest, binary.LittleEndian, entries); err != nil {
		return nil
	}
	found := map[string][]string{}
	for _, e := range entries {
		name, path := cacheString(b, e.Name), cacheString(b, e.Path)
		if e.Flags == cacheFlags && name != "" && path != "" {
			found[name] = append(found[name], path)
		}
	}
	return found
}

// cacheString returns the string at an offset, or "".
func cacheString(b []byte, at uint32) string {
	if int64(at) >= int64(len(b)) {
		return ""
	}
	b = b[at:min(int64(len(b)), int64(at)+maxString)]
	end := bytes.IndexByte(b, 0)
	if end < 0 {
		return ""
	}
	return string(b[:end])
}
