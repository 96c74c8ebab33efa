package runtimes

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"
	"slices"
	"strings"
)

// linkage is the dynamic linking information of an ELF file.
type linkage struct {
	loader    string   // PT_INTERP, or ""
	libraries []string // DT_NEEDED
	runpath   []string // DT_RUNPATH, as written
	rpath     []string // DT_RPATH: also applies to libraries of the libraries
}

// Limits on what is read from one file. Real files need a tenth of them. Each name is looked up in each folder
// while other jobs wait.
const (
	maxSegments  = 64
	maxEntries   = 1024 // of the dynamic section
	maxLibraries = 64
	maxFolders   = 8
	maxString    = 1024 // bytes of a name or of a list of folders
)

// readLinkage reads a little-endian 64-bit ELF file, and reports whether it is one; for any other file the linkage is
// empty. It does not use package debug/elf, whose readers are not hardened against hostile files (for example, they
// unpack compressed sections). It reads only segments, and a bounded part of them.
func readLinkage(f io.ReaderAt) (l linkage, ok bool) {
	var h elf.Header64
	if !readAt(f, 0, &h) || string(h.Ident[:elf.EI_VERSION]) != elf.ELFMAG+"\x02\x01" || h.Phnum > maxSegments {
		return l, false
	}
	segments := make([]elf.Prog64, h.Phnum)
	if !readAt(f, h.Phoff, segments) {
		return l, false
	}
	if s, ok := firstOf(segments, elf.PT_INTERP); ok {
		l.loader = readString(f, s.Off)
	}
	if s, ok := firstOf(segments, elf.PT_DYNAMIC); ok {
		l.readDynamic(f, segments, s)
	}
	return l, true
}

// isWhole returns Program.Whole for a file of the given size.
func isWhole(f io.ReaderAt, size uint64) bool {
	ident := make([]byte, elf.EI_NIDENT)
	n, _ := f.ReadAt(ident, 0) // a short read means a short file
	if !strings.HasPrefix(string(ident[:n]), elf.ELFMAG) {
		return true
	}
	if n < len(ident) {
		return false
	}
	if ident[elf.EI_DATA] != byte(elf.ELFDATA2LSB) {
		return true // for another architecture: execve reports that
	}
	switch elf.Class(ident[elf.EI_CLASS]) {
	case elf.ELFCLASS64:
		return isWhole64(f, size)
	case elf.ELFCLASS32:
		return isWhole32(f, size)
	}
	return true
}

func isWhole64(f io.ReaderAt, size uint64) bool {
	var h elf.Header64
	if !readAt(f, 0, &h) {
		return false
	}
	segments := make([]elf.Prog64, h.Phnum)
	return readAt(f, h.Phoff, segments) && loadable(segments, size)
}

func isWhole32(f io.ReaderAt, size uint64) bool {
	var h elf.Header32
	if !readAt(f, 0, &h) {
		return false
	}
	small := make([]elf.Prog32, h.Phnum)
	if !readAt(f, uint64(h.Phoff), small) {
		return false
	}
	var segments []elf.Prog64
	for _, s := range small {
		segments = append(segments, elf.Prog64{Type: s.Type, Off: uint64(s.Off), Filesz: uint64(s.Filesz),
			Memsz: uint64(s.Memsz)})
	}
	return loadable(segments, size)
}

func loadable(segments []elf.Prog64, size uint64) bool {
	some := false
	for _, s := range segments {
		if kind := elf.ProgType(s.Type); kind != elf.PT_LOAD && kind != elf.PT_INTERP {
			continue
		} else if kind == elf.PT_LOAD {
			some = true
		}
		if s.Off > size || s.Filesz > size-s.Off {
			return false
		}
	}
	return some
}

func firstOf(segments []elf.Prog64, kind elf.ProgType) (elf.Prog64, bool) {
	i := slices.IndexFunc(segments, func(s elf.Prog64) bool { return elf.ProgType(s.Type) == kind })
	if i < 0 {
		return elf.Prog64{}, false
	}
	return segments[i], true
}

func (l *linkage) readDynamic(f io.ReaderAt, segments []elf.Prog64, dynamic elf.Prog64) {
	entries := make([]elf.Dyn64, min(dynamic.Filesz/16, maxEntries))
	if !readAt(f, dynamic.Off, entries) {
		return
	}
	table, ok := uint64(0), false
	for _, e := range entries {
		if elf.DynTag(e.Tag) == elf.DT_STRTAB {
			table, ok = offset(segments, e.Val)
		}
	}
	if !ok {
		return
	}
	for _, e := range entries {
		switch elf.DynTag(e.Tag) {
		case elf.DT_NULL:
			return
		case elf.DT_NEEDED:
			if len(l.libraries) < maxLibraries {
				l.libraries = append(l.libraries, readString(f, table+e.Val))
			}
		case elf.DT_RUNPATH:
			l.runpath = splitFolders(readString(f, table+e.Val))
		case elf.DT_RPATH:
			l.rpath = splitFolders(readString(f, table+e.Val))
		}
	}
}

// offset converts an address of the program to an offset in the file.
func offset(segments []elf.Prog64, address uint64) (uint64, bool) {
	for _, s := range segments {
		if elf.ProgType(s.Type) == elf.PT_LOAD && address >= s.Vaddr && address-s.Vaddr < s.Filesz {
			return address - s.Vaddr + s.Off, true
		}
	}
	return 0, false
}

// readString reads the null-terminated string at an offset, or returns "".
func readString(f io.ReaderAt, at uint64) string {
	b := make([]byte, maxString)
	n, _ := f.ReadAt(b, int64(at)) // a short read is at the end of the file
	end := bytes.IndexByte(b[:n], 0)
	if end < 0 {
		return ""
	}
	return string(b[:end])
}

func splitFolders(list string) []string {
	if list == "" {
		return nil
	}
	folders := strings.Split(list, ":")
	return folders[:min(len(folders), maxFolders)]
}

// readAt reads a fixed-size value, and reports whether the file has all of it.
func readAt(f io.ReaderAt, at uint64, into any) bool {
	return binary.Read(io.NewSectionReader(f, int64(at), int64(binary.Size(into))), binary.LittleEndian, into) == nil
}
