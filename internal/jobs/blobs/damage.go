package blobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// A disk, a network file system or a person can change the content of a blob. No task scans all blobs for that. A
// damaged blob is found by Verify, which a judge node requests when a copy has a wrong digest, by the cache of a
// bucket, and by Put, which compares contents. It is then deleted, so that an upload of the same content is stored
// again.

// Verify reads a blob and compares its content with its digest. It deletes a damaged blob and returns ErrNotFound, as
// for a blob that does not exist.
func (s *Store) Verify(ctx context.Context, digest string) error {
	path, err := s.Path(digest)
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("blob %q: %w", digest, ErrNotFound)
	case err != nil:
		return s.explain("verify", err)
	}
	defer f.Close()
	err = Verify(digest, &source{ctx: ctx, r: f})
	other, isDamaged := errors.AsType[*DigestError](err)
	switch {
	case isDamaged:
	case err != nil:
		return s.explain("verify "+digest, err)
	default:
		return nil
	}
	if err := s.discard(digest, f); err != nil {
		return s.explain("delete damaged "+digest, err)
	}
	return damaged(other)
}

// damaged returns the error for a blob that was deleted because its content had changed.
func damaged(found *DigestError) error {
	return fmt.Errorf("%w: it was damaged and is deleted (%w); upload it again", ErrNotFound, found)
}

// discarding is the prefix of the names of damaged blobs in the folder of uploads.
const discarding = "bad-"

// discard deletes the blob if it is still the file f. It renames the blob first: an upload may replace it at any time,
// and must stay.
func (s *Store) discard(digest string, f *os.File) error {
	aside := filepath.Join(s.dir, uploads, discarding+digest)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := os.Rename(s.path(digest), aside); err != nil {
		return absent(err)
	}
	found, err := os.Stat(aside)
	if err != nil {
		return absent(err) // another process was faster
	}
	known, err := f.Stat()
	if err == nil && !os.SameFile(found, known) {
		return os.Rename(aside, s.path(digest))
	}
	return errors.Join(err, absent(os.Remove(aside)))
}

// holds reports whether the blob exists with the content of an upload of that digest.
func (s *Store) holds(ctx context.Context, digest string, upload *os.File) (bool, error) {
	if s.origin != nil {
		if _, err := s.origin.use(ctx, digest); err != nil {
			return false, unlessNotFound(err)
		}
	}
	if _, err := s.stat(digest); err != nil {
		return false, unlessNotFound(err)
	}
	f, err := os.Open(s.path(digest))
	if err != nil {
		return false, absent(err)
	}
	defer f.Close()
	same, err := equal(&source{ctx: ctx, r: f}, &source{ctx: ctx, r: io.NewSectionReader(upload, 0, 1<<62)})
	if err != nil {
		return false, s.explain("compare "+digest, err)
	}
	return same, nil
}

func unlessNotFound(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// equal compares two contents.
func equal(a, b io.Reader) (bool, error) {
	const block = 64 << 10
	inA, inB := make([]byte, block), make([]byte, block)
	for {
		n, errA := io.ReadFull(a, inA)
		m, errB := io.ReadFull(b, inB)
		for _, err := range []error{errA, errB} {
			if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
				return false, err
			}
		}
		if !bytes.Equal(inA[:n], inB[:m]) {
			return false, nil
		}
		if errA != nil || errB != nil {
			return errA != nil && errB != nil, nil
		}
	}
}
