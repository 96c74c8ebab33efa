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
	// markEvery is how old a mark must be to be made again, so that a look at a
	// blob costs one stat, and one write an hour. The last use may be that much
	// younger than its mark.
	markEvery = time.Hour
	// submission is what a job may take from the first look at its blobs to its
	// record, which names them from then on: long multipart bodies over slow
	// lines are in it, however short the age is that blobs are kept for.
	submission = time.Hour
)

// mark records a use of a blob. The caller holds mu.
func (s *Store) mark(path string, info fs.FileInfo) error {
	if info.Mode().Perm() != blobMode { // of an earlier version
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
	// The kernel finds the file before it sets the time: another process may have renamed
	// and deleted it in between.
	_, err := os.Stat(path)
	return err
}

// Swept is what a sweep has deleted.
type Swept struct {
	Blobs int
	Size  units.Bytes
}

// Sweep deletes the blobs that nobody has used for age and up to two hours
// more; age 0 keeps all. named returns which to keep however old they are; it
// is called only when there are old ones, and when it fails nothing is deleted. A
// blob that cannot be deleted does not keep the others; the error is the last
// one's.
func (s *Store) Sweep(ctx context.Context, age time.Duration,
	named func(context.Context) (map[string]bool, error)) (Swept, error) {
	if age <= 0 {
		return Swept{}, nil
	}
	// Counted from here and not from the removal: a job that has no record yet
	// when named looks used its blobs after this, or at most a submission before.
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

// Trim deletes the blobs that were used longest ago until the rest takes at most
// most; 0 is no bound. It is for copies, which can be fetched again. What was used
// in the last two hours stays: a job may need it.
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

// markedBefore lists the blobs whose last mark is older than a moment.
func (s *Store) markedBefore(ctx context.Context, before time.Time) (old []string, err error) {
	err = s.each(ctx, func(info fs.FileInfo) {
		if info.ModTime().Before(before) {
			old = append(old, info.Name())
		}
	})
	return old, err
}

// each calls f for every blob. Uploads have no digest for a name; Open clears what
// is left of them.
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
			case errors.Is(err, fs.ErrNotExist): // deleted by hand
			case err != nil:
				return s.explain("list", err)
			default:
				f(info)
			}
		}
	}
	return nil
}

// removing begins the names that blobs have in the folder of uploads while they are
// deleted.
const removing = "rm-"

// remove deletes a blob unless it was marked, or put again, since it was found
// to be old. Another process may mark it at any time, by its name, so it loses the
// name first. A crash may bring it back, whole: the next sweep finds it again.
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

// decide deletes a blob that has lost its name, or gives the name back if the blob was
// marked before. What two processes decide is the same.
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

// absent accepts that another process was faster.
func absent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// clearUploads removes what processes that ended have left in the folder of uploads: a
// sender that is silent for as long as a submission may take has been cut off. A blob that
// was being deleted is decided about by its mark.
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
