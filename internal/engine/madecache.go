package engine

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"judged/internal/base/units"
	"judged/internal/engine/problem"
)

// maxMadeCache is how much the cache of made files keeps.
const maxMadeCache = units.Bytes(4 << 30)

// madeCache keeps files of tests that programs made, by what they were made of. Several processes may use it at once: a
// file becomes visible whole. "" keeps nothing.
type madeCache string

// openMadeCache opens a cache. Where the folder cannot be made nothing is kept, such as on a read-only file system.
func openMadeCache(folder string) madeCache {
	if folder == "" || os.MkdirAll(folder, 0o700) != nil {
		return ""
	}
	return madeCache(folder)
}

func (c madeCache) path(key string, i int) string {
	return filepath.Join(string(c), fmt.Sprint(key, "-", i))
}

// restore copies products from the cache, if it has all of them.
func (c madeCache) restore(key string, products []problem.Product) (bool, error) {
	if c == "" {
		return false, nil
	}
	for i, p := range products {
		ok, err := restoreFile(p.Path, c.path(key, i))
		if err != nil {
			return false, fmt.Errorf("read cache of made tests: %w", err)
		}
		if !ok {
			return false, nil
		}
		now := time.Now()
		_ = os.Chtimes(c.path(key, i), now, now) // an older time only makes it go earlier
	}
	return true, nil
}

// put copies products to the cache.
func (c madeCache) put(key string, products []problem.Product) error {
	if c == "" {
		return nil
	}
	for i, p := range products {
		if err := keepFile(c.path(key, i), p.Path); err != nil {
			return fmt.Errorf("keep a made test: %w", err)
		}
	}
	return nil
}

// keepFile copies a file to the cache and appends the SHA-256 of its content.
func keepFile(to, from string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err = io.Copy(sum, f); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return err
	}
	return writeNew(to, io.MultiReader(f, bytes.NewReader(sum.Sum(nil))))
}

// restoreFile copies a file from the cache, and reports whether it is there and whole. Files of the cache are not
// synced, so a power loss can leave a short one, or one with zeros.
func restoreFile(to, from string) (bool, error) {
	f, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() < sha256.Size {
		return false, err
	}
	content := io.NewSectionReader(f, 0, info.Size()-sha256.Size)
	want, sum := make([]byte, sha256.Size), sha256.New()
	if _, err = f.ReadAt(want, content.Size()); err == nil {
		_, err = io.Copy(sum, content)
	}
	if err != nil || !bytes.Equal(sum.Sum(nil), want) {
		return false, err
	}
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return false, err
	}
	return true, writeNew(to, content)
}

// shrink removes the longest unused files until the rest fits.
func (c madeCache) shrink() error {
	if c == "" {
		return nil
	}
	list, err := os.ReadDir(string(c))
	if err != nil {
		return fmt.Errorf("shrink cache of made tests: %w", err)
	}
	var all []fs.FileInfo
	sum := units.Bytes(0)
	for _, d := range list {
		if info, err := d.Info(); err == nil { // else another process has removed it
			all = append(all, info)
			sum += units.Bytes(info.Size())
		}
	}
	slices.SortFunc(all, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for _, info := range all {
		if sum <= maxMadeCache {
			break
		}
		err := os.Remove(filepath.Join(string(c), info.Name()))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("shrink cache of made tests: %w", err)
		}
		sum -= units.Bytes(info.Size())
	}
	return nil
}
