package blobs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"judged/internal/base/units"
)

const (
	// markEvery is the age at which a mark is renewed, so that checking a blob costs one stat, and one write an hour.
	// The last use may be later than its mark by that much.
	markEvery = time.Hour
	// submission is the time that a job may take from the first check of its blobs to its record, which names them from
	// then on. It covers long multipart bodies over slow connections, however short the retention of blobs is.
	submission = time.Hour
)

// mark records a use of a blob. The caller holds mu.
func (s *Store) mark(path string, info fs.FileInfo) error {
	if info.Mode().Perm() != blobMode { // created by an earlier version
		if err := os.Chmod(path, blobMode); err != nil {
			return err
		}
	}
	now := s.now()
	if now.Sub(info.ModTime()) <= markEvery {
		return nil
	}
	if err := os.Chtimes(path, time.Time{}, now); err != nil {
		return err
	}
	// The kernel looks up the file before it sets the time, so another process may have renamed and deleted it in
	// between.
	_, err := os.Stat(path)
	return err
}

// Swept counts what a sweep has deleted.
type Swept struct {
	Blobs int
	Size  units.Bytes
}

// Sweep deletes blobs that have been unused for age; it may keep them up to two hours longer. An age of 0 keeps all.
// named returns blobs to keep regardless of their age. It is called only if there are old blobs; if it fails, nothing
// is deleted. A blob that cannot be deleted does not stop the sweep; Sweep returns the last such error.
func (s *Store) Sweep(ctx context.Context, age time.Duration,
	named func(context.Context) (map[string]bool, error)) (Swept, error) {
	if age <= 0 {
		return Swept{}, nil
	}
	// The age is counted from here and not from the removal: a job that has no record yet when named reads the records
	// used its blobs after this point, or at most a submission before it.
	before := s.now().Add(-age - markEvery - submission)
	failed := s.clearUploads(before)
	if failed != nil {
		failed = s.explain("clear uploads", failed)
	}
	old, err := s.markedBefore(ctx, before)
	if err != nil || len(old) == 0 {
		return Swept{}, errors.Join(failed, err)
	}
	keep, err := named(ctx)
	if err != nil {
		return Swept{}, err
	}
	var swept Swept
	for _, digest := range old {
		if err := ctx.Err(); err != nil {
			return swept, err
		}
		if keep[digest] {
			continue
		}
		switch n, gone, err := s.remove(digest, before); {
		case err != nil:
			failed = s.explain("delete", err)
		case gone:
			swept.Blobs++
			swept.Size += n
		}
	}
	return swept, failed
}

// Trim deletes the least recently used blobs until the rest takes at most most bytes; 0 means no limit. It is for
// copies, which can be fetched again. Blobs used in the last two hours stay: a job may need them.
func (s *Store) Trim(ctx context.Context, most units.Bytes) (Swept, error) {
	if most <= 0 {
		return Swept{}, nil
	}
	var all []fs.FileInfo
	var total units.Bytes
	if err := s.each(ctx, func(info fs.FileInfo) {
		all = append(all, info)
		total += units.Bytes(info.Size())
	}); err != nil {
		return Swept{}, err
	}
	slices.SortFunc(all, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	var swept Swept
	before := s.now().Add(-markEvery - submission)
	for _, info := range all {
		if total-swept.Size <= most || !info.ModTime().Before(before) || ctx.Err() != nil {
			break
		}
		n, gone, err := s.remove(info.Name(), before)
		if err != nil {
			return swept, s.explain("delete", err)
		}
		if gone {
			swept.Blobs++
			swept.Size += n
		}
	}
	return swept, ctx.Err()
}

// markedBefore returns the blobs whose last mark is older than the given time.
func (s *Store) markedBefore(ctx context.Context, before time.Time) (old []string, err error) {
	err = s.each(ctx, func(info fs.FileInfo) {
		if info.ModTime().Before(before) {
			old = append(old, info.Name())
		}
	})
	return old, err
}

// each calls f for every blob. Uploads have no digest as a name; Open deletes leftover ones.
func (s *Store) each(ctx context.Context, f func(fs.FileInfo)) error {
	fans, err := os.ReadDir(s.dir)
	if err != nil {
		return s.explain("list", err)
	}
	for _, fan := range fans {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !fan.IsDir() {
			continue
		}
		files, err := os.ReadDir(filepath.Join(s.dir, fan.Name()))
		if err != nil {
			return s.explain("list", err)
		}
		for _, file := range files {
			if !ValidDigest(file.Name()) {
				continue
			}
			switch info, err := file.Info(); {
			case errors.Is(err, fs.ErrNotExist): // deleted by an administrator
			case err != nil:
				return s.explain("list", err)
			default:
				f(info)
			}
		}
	}
	return nil
}

// removing is the prefix of the names of blobs in the folder of uploads while they are deleted.
const removing = "rm-"

// remove deletes a blob unless it was marked or stored again since it was found to be old. Another process may mark it
// by its name at any time, so remove renames it first. After a crash the blob may reappear, complete; the next sweep
// finds it again.
func (s *Store) remove(digest string, before time.Time) (n units.Bytes, gone bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	info, err := os.Stat(s.path(digest))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, false, nil
	case err != nil:
		return 0, false, err
	case !info.ModTime().Before(before):
		return 0, false, nil
	}
	aside := filepath.Join(s.dir, uploads, removing+digest)
	if err := os.Rename(s.path(digest), aside); err != nil {
		return 0, false, absent(err)
	}
	gone, err = s.decide(aside, before)
	return units.Bytes(info.Size()), gone, err
}

// decide deletes a blob that has been renamed, or restores its name if it was marked before that. Two processes reach
// the same decision.
func (s *Store) decide(aside string, before time.Time) (gone bool, err error) {
	info, err := os.Stat(aside)
	switch {
	case err != nil:
		return false, absent(err)
	case info.ModTime().Before(before):
		err = os.Remove(aside)
		return err == nil, absent(err)
	}
	digest := strings.TrimPrefix(filepath.Base(aside), removing)
	return false, absent(os.Rename(aside, s.path(digest)))
}

// absent ignores the error that another process has already removed the file.
func absent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// clearUploads removes what terminated processes left in the folder of uploads. An upload without progress for as long
// as a submission may take is abandoned. The mark of a blob that was being deleted decides whether it is restored.
func (s *Store) clearUploads(before time.Time) error {
	entries, err := os.ReadDir(filepath.Join(s.dir, uploads))
	if err != nil {
		return err
	}
	var failed error
	for _, e := range entries {
		path := filepath.Join(s.dir, uploads, e.Name())
		info, err := e.Info()
		switch {
		case err != nil:
			failed = errors.Join(failed, absent(err))
		case ValidDigest(strings.TrimPrefix(e.Name(), removing)):
			_, err := s.decide(path, before)
			failed = errors.Join(failed, err)
		case s.now().Sub(info.ModTime()) > submission:
			failed = errors.Join(failed, absent(os.Remove(path)))
		}
	}
	return failed
}
