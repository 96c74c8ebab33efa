package problem

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"

	"judged/internal/base/units"
)

// entry is a file, folder or link of an archive.
type entry struct {
	name string // name with slashes
	mode fs.FileMode
	link string // target of a symbolic link
	open func() (io.ReadCloser, error)
}

// eachEntry calls f for the entries of a ZIP archive or of a tar archive, which may be compressed with gzip. An error
// of f stops it and is returned with the name of the entry. If ctx is done, its error is returned without a name.
func eachEntry(ctx context.Context, name string, f func(entry) error) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	start := make([]byte, tarMagicAt+len(tarMagic))
	n, err := file.ReadAt(start, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	start = start[:n]
	switch {
	case bytes.HasPrefix(start, []byte(gzipMagic)):
		z, err := gzip.NewReader(file)
		if err != nil {
			return fmt.Errorf("%w; create the archive again", err)
		}
		return eachTarEntry(untilDone{ctx, z}, f)
	case len(start) > tarMagicAt && string(start[tarMagicAt:]) == tarMagic:
		return eachTarEntry(untilDone{ctx, file}, f)
	}
	return eachZIPEntry(ctx, file, f)
}

// untilDone is a reader that returns an error once ctx is done.
type untilDone struct {
	ctx context.Context
	io.Reader
}

// Read implements io.Reader.
func (u untilDone) Read(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.Reader.Read(b)
}

const (
	gzipMagic  = "\x1f\x8b"
	tarMagic   = "ustar"
	tarMagicAt = 257
)

func eachTarEntry(r io.Reader, f func(entry) error) error {
	// Names, padding and the content of sparse files also count, so that every part of the stream is bounded.
	stream := &io.LimitedReader{R: r, N: int64(MaxUnpacked) + int64(maxDirectory)}
	t := tar.NewReader(stream)
	for n := 0; ; n++ {
		h, err := t.Next()
		switch {
		case errors.Is(err, io.EOF) && stream.N > 0:
			return nil
		case stream.N <= 0:
			return fmt.Errorf("more than %s unpacked; split the archive", MaxUnpacked)
		case err != nil:
			return fmt.Errorf("%w; create the archive again", err)
		case n == maxEntries:
			return fmt.Errorf("more than %d entries; split the archive", maxEntries)
		}
		mode := h.FileInfo().Mode()
		if h.Typeflag == tar.TypeLink {
			return fmt.Errorf("entry %q: hard link; create the archive without hard links", h.Name)
		}
		e := entry{slashed(h.Name), mode, h.Linkname, func() (io.ReadCloser, error) { return io.NopCloser(t), nil }}
		if err := f(e); err != nil {
			return fmt.Errorf("entry %q: %w", h.Name, err)
		}
	}
}

func eachZIPEntry(ctx context.Context, file *os.File, f func(entry) error) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	z, err := OpenZIP(file, info.Size(), maxEntries)
	if errors.Is(err, ErrEntries) {
		return fmt.Errorf("%w; split the archive", err)
	}
	if err != nil {
		return fmt.Errorf("%w; give a folder, or an archive in the format ZIP, tar or tar.gz", err)
	}
	for _, x := range z.File {
		if err := ctx.Err(); err != nil {
			return err
		}
		e := entry{name: slashed(x.Name), mode: x.Mode(), open: func() (io.ReadCloser, error) {
			content, err := x.Open()
			if err != nil {
				return nil, err
			}
			return cancelled{untilDone{ctx, content}, content}, nil
		}}
		if e.mode&fs.ModeSymlink != 0 {
			if e.link, err = readLink(x); err != nil {
				return fmt.Errorf("entry %q: %w", x.Name, err)
			}
		}
		if err := f(e); err != nil {
			return fmt.Errorf("entry %q: %w", x.Name, err)
		}
	}
	return nil
}

// cancelled reads the content of an entry until ctx is done.
type cancelled struct {
	io.Reader
	io.Closer
}

// slashed replaces the backslashes in names of archives made on Windows.
func slashed(name string) string { return strings.ReplaceAll(name, `\`, "/") }

// maxLink is the maximum length of the target of a symbolic link in bytes: PATH_MAX.
const maxLink = 4096

// readLink returns the target of a symbolic link, which is the content of its entry.
func readLink(f *zip.File) (string, error) {
	r, err := f.Open()
	if err != nil {
		return "", fmt.Errorf("%w; create the archive again", err)
	}
	defer r.Close()
	target, err := io.ReadAll(io.LimitReader(r, maxLink+1))
	if err == nil && len(target) > maxLink {
		err = errors.New("the target of the link is too long")
	}
	return slashed(string(target)), err
}

// ErrEntries means that an archive has too many entries.
var ErrEntries = errors.New("too many entries")

// entrySize is how much of the list of entries an entry may take on average, with its name.
const entrySize = units.Bytes(512)

// OpenZIP reads the list of entries of a ZIP archive. It returns ErrEntries if there are more than most.
func OpenZIP(r io.ReaderAt, size int64, most int) (*zip.Reader, error) {
	list := &bounded{r, units.Bytes(most) * entrySize}
	z, err := zip.NewReader(list, size)
	if list.left < 0 {
		return nil, fmt.Errorf("%w: list of entries larger than %s", ErrEntries, units.Bytes(most)*entrySize)
	}
	if err != nil {
		return nil, err
	}
	list.left = math.MaxInt64 // from here on, the caller limits the unpacked size
	if len(z.File) > most {
		return nil, fmt.Errorf("%w: %d entries; the maximum is %d", ErrEntries, len(z.File), most)
	}
	return z, nil
}

// bounded limits how much of a file is read. Package zip allocates all entries of an archive before they can be
// counted, and the number of entries in the archive is stored modulo 65536.
type bounded struct {
	r    io.ReaderAt
	left units.Bytes
}

func (b *bounded) ReadAt(p []byte, at int64) (int, error) {
	if b.left -= units.Bytes(len(p)); b.left < 0 {
		return 0, errors.New("read beyond the bound")
	}
	return b.r.ReadAt(p, at)
}

// copyTo writes the content of an entry, at most left bytes, and closes dst.
func (e entry) copyTo(dst *os.File, left int64) (int64, error) {
	src, err := e.open()
	if errors.Is(err, zip.ErrAlgorithm) {
		return 0, errors.Join(fmt.Errorf("%w; compress the archive with Deflate", err), dst.Close())
	}
	if err != nil {
		return 0, errors.Join(fmt.Errorf("%w; create the archive again", err), dst.Close())
	}
	defer src.Close()
	// Copy one byte more than allowed to detect excess, because the size in the archive cannot be trusted.
	n, err := io.Copy(dst, io.LimitReader(src, left+1))
	if err != nil && !errors.As(err, new(*fs.PathError)) { // an error from reading the archive
		err = fmt.Errorf("%w; create the archive again", err)
	}
	err = errors.Join(err, dst.Close())
	if err == nil && n > left {
		err = fmt.Errorf("more than %s unpacked; split the archive", MaxUnpacked)
	}
	return n, err
}

// maxDepth is the maximum depth of a file in a package. For each file, os.Root opens the folders one by one.
const maxDepth = 64

// unpackTree writes the files of an archive into dir, with their folders. os.Root refuses to write outside of dir, for
// all names and links.
func unpackTree(ctx context.Context, archive, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	left := int64(MaxUnpacked)
	return eachEntry(ctx, archive, func(e entry) error {
		name := strings.TrimPrefix(strings.TrimSuffix(e.name, "/"), "./")
		if name == "" || name == "." || e.mode.IsDir() || strings.HasSuffix(e.name, "/") {
			return nil // folders are created with their files
		}
		if !fs.ValidPath(name) {
			return errors.New("invalid name; create the archive again from the folder of the package")
		}
		if strings.Count(name, "/") > maxDepth {
			return fmt.Errorf("more than %d folders deep; use fewer", maxDepth)
		}
		if i := strings.LastIndexByte(name, '/'); i > 0 {
			if err := root.MkdirAll(name[:i], 0o700); err != nil {
				return err
			}
		}
		switch {
		case e.mode&fs.ModeSymlink != 0:
			return root.Symlink(e.link, name)
		case !e.mode.IsRegular():
			return errors.New("neither a file nor a folder; remove it")
		}
		mode := fs.FileMode(0o600)
		if e.mode&0o111 != 0 {
			mode = 0o700
		}
		dst, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) {
			return errors.New("another entry has the same name; rename one of them")
		}
		if err != nil {
			return err
		}
		n, err := e.copyTo(dst, left)
		left -= n
		return err
	})
}
