package hostfs

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing/fstest"
)

// Limits for reading and writing a capture. A host with 512 CPUs and 20 000 threads has about 60 000 files and
// 12 MiB.
const (
	maxFiles     = 200_000
	maxFileBytes = 4 << 20
	maxBytes     = 64 << 20
)

// WriteArchive writes files as a gzipped tar. It is reproducible: sorted, without owners and times.
func WriteArchive(w io.Writer, files fstest.MapFS) error {
	if err := checkBounds(files); err != nil {
		return fmt.Errorf("write capture: %w", err)
	}
	zipped := gzip.NewWriter(w)
	archive := tar.NewWriter(zipped)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := addFile(archive, name, files[name]); err != nil {
			return fmt.Errorf("write capture: %w", err)
		}
	}
	if err := errors.Join(archive.Close(), zipped.Close()); err != nil {
		return fmt.Errorf("write capture: %w", err)
	}
	return nil
}

func addFile(archive *tar.Writer, name string, f *fstest.MapFile) error {
	h := tar.Header{Name: name, Mode: int64(f.Mode.Perm()), Typeflag: tar.TypeReg, Size: int64(len(f.Data)),
		Format: tar.FormatPAX}
	if f.Mode.IsDir() {
		h.Typeflag, h.Name, h.Size = tar.TypeDir, name+"/", 0
	}
	if err := archive.WriteHeader(&h); err != nil || f.Mode.IsDir() {
		return err
	}
	_, err := archive.Write(f.Data)
	return err
}

func checkBounds(files fstest.MapFS) error {
	total := 0
	for name, f := range files {
		if len(f.Data) > maxFileBytes {
			return fmt.Errorf("/%s has %d bytes, more than %d", name, len(f.Data), maxFileBytes)
		}
		total += len(f.Data)
	}
	if len(files) > maxFiles || total > maxBytes {
		return fmt.Errorf("%d files with %d bytes are more than %d files or %d bytes", len(files), total, maxFiles,
			maxBytes)
	}
	return nil
}

// ReadArchive reads a capture into memory. The capture is untrusted: names outside the tree, links, devices and
// anything beyond the limits are errors, and nothing is written to disk.
func ReadArchive(r io.Reader) (fstest.MapFS, error) {
	zipped, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("read capture: %w", err)
	}
	// One block above the limit, to detect files that are too long. Headers count too: 1 KiB per file.
	archive := tar.NewReader(io.LimitReader(zipped, maxBytes+maxFiles<<10))
	files := fstest.MapFS{}
	for total := 0; ; {
		h, err := archive.Next()
		if err == io.EOF {
			return files, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read capture: %w", err)
		}
		name, f, err := readEntry(archive, h)
		if err != nil {
			return nil, fmt.Errorf("read capture: %w", err)
		}
		if total += len(f.Data); total > maxBytes || len(files) >= maxFiles {
			return nil, fmt.Errorf("read capture: more than %d files or %d bytes", maxFiles, maxBytes)
		}
		if name != "." {
			files[name] = f
		}
	}
}

func readEntry(r io.Reader, h *tar.Header) (string, *fstest.MapFile, error) {
	name := strings.TrimSuffix(strings.TrimPrefix(h.Name, "./"), "/")
	if name == "" {
		name = "."
	}
	switch {
	case !fs.ValidPath(name):
		return "", nil, fmt.Errorf("refuse %q: the name leads out of the captured host", h.Name)
	case h.Typeflag == tar.TypeDir:
		return name, &fstest.MapFile{Mode: fs.ModeDir | 0o555}, nil
	case h.Typeflag != tar.TypeReg:
		return "", nil, fmt.Errorf("refuse %q: neither a file nor a directory", h.Name)
	case h.Size > maxFileBytes:
		return "", nil, fmt.Errorf("refuse %q: %d bytes are more than %d", h.Name, h.Size, maxFileBytes)
	}
	content, err := io.ReadAll(r)
	if err != nil {
		return "", nil, err
	}
	return name, &fstest.MapFile{Data: content, Mode: fs.FileMode(h.Mode) & 0o444}, nil
}
