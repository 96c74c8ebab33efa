package blobs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"judged/internal/base/linux"
	"judged/internal/base/units"
)

// Errors that callers distinguish.
var (
	ErrNotFound = errors.New("no such blob")
	ErrTooBig   = errors.New("blob is too big")
	// ErrAway means that a bucket or a front does not respond; the same call may succeed later.
	ErrAway = errors.New("blobs unavailable")
)

// DigestError means that content does not have the expected digest.
type DigestError struct{ Want, Got string }

func (e *DigestError) Error() string {
	return fmt.Sprintf("content has digest %s, not %s", e.Got, e.Want)
}

// Store is a folder of blobs. It is safe for concurrent use.
type Store struct {
	dir string
	max units.Bytes
	now func() time.Time // the clock of the file system; tests have their own
	// syncAll makes all files of the file system durable. It is nil if other hosts may have the folder open.
	syncAll func(*os.File) error
	// origin holds the blobs that this folder has copies of; nil if the folder itself is the origin.
	origin origin

	// mu is read-locked while Stat checks and marks a blob and while an upload is renamed, and write-locked while the
	// sweep checks and deletes a blob, so a blob that Stat has found stays. The sweep of another process may hide it
	// for a moment, see remove.
	mu sync.RWMutex
}

// origin is storage that several fronts share.
type origin interface {
	// use marks a blob as used now. It returns ErrNotFound if the blob does not exist.
	use(ctx context.Context, digest string) (units.Bytes, error)
	// store stores a new blob durably.
	store(ctx context.Context, digest string, content *os.File) error
}

// Uploads are written to a separate folder, so that leftovers of a crash are recognized. It is on the same file system,
// so that rename is atomic.
const uploads = "tmp"

// Open prepares a folder for one process, and deletes unfinished uploads that a crash left. max limits the size of a
// blob; 0 means no limit.
func Open(dir string, max units.Bytes) (*Store, error) {
	if err := os.RemoveAll(filepath.Join(dir, uploads)); err != nil {
		return nil, (&Store{dir: dir}).explain("clear uploads", err)
	}
	s, err := OpenShared(dir, max)
	if err != nil {
		return nil, err
	}
	s.syncAll = linux.SyncFileSystem
	return s, nil
}

// OpenShared prepares a folder that several processes may use, including one on a network file system.
func OpenShared(dir string, max units.Bytes) (*Store, error) {
	s := &Store{dir: dir, max: max, now: time.Now}
	if err := os.MkdirAll(filepath.Join(dir, uploads), 0o700); err != nil {
		return nil, s.explain("create", err)
	}
	return s, nil
}

// Check returns the reason why blobs cannot be stored now, such as an unmounted network file system, or nil.
func (s *Store) Check(context.Context) error {
	if _, err := os.Stat(filepath.Join(s.dir, uploads)); err != nil {
		return s.explain("check", err)
	}
	return nil
}

// Attach returns a store for a folder that the daemon may have open. Unlike Open, it changes nothing.
func Attach(dir string) *Store { return &Store{dir: dir, now: time.Now} }

// Verify reads content to its end. It returns a *DigestError if the digest differs.
func Verify(digest string, content io.Reader) error {
	h := sha256.New()
	if _, err := io.Copy(h, content); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != digest {
		return &DigestError{Want: digest, Got: got}
	}
	return nil
}

// ValidDigest reports whether s is a SHA-256 in lower-case hex.
func ValidDigest(s string) bool {
	if len(s) != 2*sha256.Size {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// Put stores the content of r and returns its digest and size. When it returns without error, the blob survives power
// loss. digest is the expected digest, or "" for any; Put returns a *DigestError if the content has another one.
// created is false if the blob existed with this content. Even then r is read and verified, and it replaces a damaged
// blob.
func (s *Store) Put(ctx context.Context, digest string, r io.Reader) (sum string, n units.Bytes, created bool,
	err error) {
	if digest != "" && !ValidDigest(digest) {
		return "", 0, false, fmt.Errorf("store blob %q: the name is not a SHA-256 in lower-case hex: %w", digest,
			ErrNotFound)
	}
	f, err := s.upload()
	if err != nil {
		return "", 0, false, err
	}
	defer os.Remove(f.Name()) // nothing is left to remove after keep
	defer f.Close()
	sum, n, err = s.receive(ctx, f, r, s.max)
	if err != nil {
		return "", 0, false, err
	}
	if digest != "" && sum != digest {
		return "", 0, false, &DigestError{Want: digest, Got: sum}
	}
	same, err := s.holds(ctx, sum, f)
	if err != nil {
		return "", 0, false, err
	}
	if same {
		return sum, n, false, nil
	}
	if s.origin != nil {
		if err := s.origin.store(ctx, sum, f); err != nil {
			return "", 0, false, err
		}
	}
	if err := s.store(f, sum); err != nil {
		return "", 0, false, s.explain("store "+sum, err)
	}
	return sum, n, true, nil
}

// copy stores a copy of a blob of the origin.
func (s *Store) copy(ctx context.Context, digest string, r io.Reader) error {
	f, err := s.upload()
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	sum, _, err := s.receive(ctx, f, r, 0)
	if err == nil && sum != digest {
		err = &DigestError{Want: digest, Got: sum}
	}
	if err != nil {
		return err
	}
	if err := s.store(f, sum); err != nil {
		return s.explain("store "+sum, err)
	}
	return nil
}

func (s *Store) upload() (*os.File, error) {
	f, err := os.CreateTemp(filepath.Join(s.dir, uploads), "up-*")
	if err != nil {
		return nil, s.explain("create upload", err)
	}
	return f, nil
}

// receive copies up to most bytes from r to f; 0 means no limit. An error of r is returned unchanged: it is the
// sender's.
func (s *Store) receive(ctx context.Context, f *os.File, r io.Reader, most units.Bytes) (string, units.Bytes, error) {
	from := &source{ctx: ctx, r: r}
	var in io.Reader = from
	if most > 0 {
		in = io.LimitReader(from, int64(most)+1)
	}
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, h), in)
	switch {
	case from.err != nil:
		return "", 0, fmt.Errorf("read blob: %w", from.err)
	case err != nil:
		return "", 0, s.explain("write upload", err)
	case most > 0 && n > int64(most):
		return "", 0, fmt.Errorf("store blob of more than %s: %w", most, ErrTooBig)
	}
	return hex.EncodeToString(h.Sum(nil)), units.Bytes(n), nil
}

// source records its own error, which io.Copy does not distinguish from the writer's. It ends with the context.
type source struct {
	ctx context.Context
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	if s.err = s.ctx.Err(); s.err != nil {
		return 0, s.err
	}
	n, err := s.r.Read(p)
	if err != io.EOF {
		s.err = err
	}
	return n, err
}

// The modes of blobs and their folders, regardless of the umask: only judged and, for a folder that fronts share, its
// group may read tests and submissions.
const (
	blobMode = 0o640
	fanMode  = 0o750
)

// store turns an upload into a blob. It syncs the content before it creates the name, and the name before it returns.
func (s *Store) store(f *os.File, sum string) error {
	if err := f.Chmod(blobMode); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	path := s.path(sum)
	created, err := makeFan(path)
	if err == nil && created {
		err = linux.SyncDir(s.dir)
	}
	if err != nil {
		return err
	}
	if err := s.name(f.Name(), path); err != nil {
		return err
	}
	return linux.SyncDir(filepath.Dir(path))
}

// makeFan creates the folder of a blob.
func makeFan(blob string) (created bool, err error) {
	fan := filepath.Dir(blob)
	switch err := os.Mkdir(fan, 0o700); {
	case err == nil:
		return true, os.Chmod(fan, fanMode)
	case !errors.Is(err, fs.ErrExist):
		return false, err
	}
	return false, nil
}

// name renames an upload to the name of a blob, which may exist already.
func (s *Store) name(upload, path string) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return os.Rename(upload, path)
}

// Path returns the file of a blob, for reading only, or ErrNotFound if it does not exist. Like Stat, Path counts as a
// use.
func (s *Store) Path(digest string) (string, error) {
	if _, err := s.Stat(digest); err != nil {
		return "", err
	}
	return s.path(digest), nil
}

// Stat returns the size of a blob, or ErrNotFound if it does not exist. Stat counts as a use: Sweep keeps the blob for
// its age from now on.
func (s *Store) Stat(digest string) (units.Bytes, error) {
	if !ValidDigest(digest) {
		return 0, fmt.Errorf("blob %q: the name is not a SHA-256 in lower-case hex: %w", digest, ErrNotFound)
	}
	if s.origin != nil && s.isOld(digest) {
		if _, err := s.origin.use(context.Background(), digest); err != nil {
			return 0, err
		}
	}
	return s.stat(digest)
}

// stat is like Stat but does not ask the origin.
func (s *Store) stat(digest string) (units.Bytes, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	info, err := os.Stat(s.path(digest))
	if err == nil {
		err = s.mark(s.path(digest), info)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist): // or deleted by another process
		return 0, fmt.Errorf("blob %q: %w", digest, ErrNotFound)
	case err != nil:
		return 0, s.explain("use", err)
	}
	return units.Bytes(info.Size()), nil
}

// isOld reports whether a copy has been unused for so long that the origin may have deleted the blob.
func (s *Store) isOld(digest string) bool {
	info, err := os.Stat(s.path(digest))
	return err == nil && s.now().Sub(info.ModTime()) > markEvery
}

func (s *Store) path(digest string) string { return filepath.Join(s.dir, digest[:2], digest) }

func (s *Store) explain(what string, err error) error {
	return fmt.Errorf("%s in blob folder %q: %w: free disk space there or give judged write access", what, s.dir, err)
}
