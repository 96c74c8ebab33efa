package daemon

import (
	"context"
	"errors"
	"io"

	"judged/internal/base/job"
	"judged/internal/base/units"
	"judged/internal/jobs/blobs"
	"judged/internal/service/metrics"
	"judged/internal/store"
)

// storage is the store as the other parts have it: it writes nothing that there
// is no room for, and counts what fails.
type storage struct {
	*store.Store
	space  space
	failed func(metrics.StoreOperation)
}

// Create needs more room than the rest: it is what brings more writes.
func (s *storage) Create(ctx context.Context, r store.Record) (existing *store.Record, err error) {
	if err = s.space.check(reserveBytes); err == nil {
		existing, err = s.Store.Create(ctx, r)
	}
	return existing, s.seen(metrics.StoreCreate, err)
}

// Begin, Finish, Cancel and SetValue write.
func (s *storage) Begin(ctx context.Context, id string, delivery int, cpus string) (r store.Record, err error) {
	if err = s.space.check(floorBytes); err == nil {
		r, err = s.Store.Begin(ctx, id, delivery, cpus)
	}
	return r, s.seen(metrics.StoreBegin, err)
}

func (s *storage) Finish(ctx context.Context, r store.Record, rep job.Report) error {
	err := s.space.check(floorBytes)
	if err == nil {
		err = s.Store.Finish(ctx, r, rep)
	}
	return s.seen(metrics.StoreFinish, err)
}

func (s *storage) Cancel(ctx context.Context, id string) (r job.Report, err error) {
	if err = s.space.check(floorBytes); err == nil {
		r, err = s.Store.Cancel(ctx, id)
	}
	return r, s.seen(metrics.StoreCancel, err)
}

func (s *storage) SetValue(ctx context.Context, v any, name ...string) error {
	err := s.space.check(floorBytes)
	if err == nil {
		err = s.Store.SetValue(ctx, v, name...)
	}
	return s.seen(metrics.StoreValue, err)
}

// Value and Get read.
func (s *storage) Value(ctx context.Context, v any, name ...string) (bool, error) {
	found, err := s.Store.Value(ctx, v, name...)
	return found, s.seen(metrics.StoreRead, err)
}

func (s *storage) Get(ctx context.Context, id string) (store.Record, error) {
	r, err := s.Store.Get(ctx, id)
	return r, s.seen(metrics.StoreRead, err)
}

func (s *storage) List(ctx context.Context, f store.Filter) (page []job.Report, next string, err error) {
	page, next, err = s.Store.List(ctx, f)
	return page, next, s.seen(metrics.StoreRead, err)
}

// seen counts an error that is the storage's own.
func (s *storage) seen(op metrics.StoreOperation, err error) error {
	if ours(err) {
		s.failed(op)
	}
	return err
}

// ours reports whether an error is a failure and not an answer.
func ours(err error) bool {
	for _, answer := range []error{nil, store.ErrNotFound, store.ErrFinal, store.ErrStale, store.ErrBadID, store.ErrBadCursor,
		blobs.ErrNotFound, blobs.ErrTooBig, context.Canceled} {
		if errors.Is(err, answer) {
			return false
		}
	}
	_, differs := errors.AsType[*blobs.DigestError](err)
	return !differs
}

// files are the blobs as the HTTP server has them, with the same care.
type files struct {
	*blobs.Store
	space  space
	failed func(metrics.StoreOperation)
}

// Put stops an upload before it fills the disk.
func (f *files) Put(ctx context.Context, digest string, r io.Reader) (sum string, n units.Bytes, created bool, err error) {
	from := &upload{Reader: r, space: f.space}
	sum, n, created, err = f.Store.Put(ctx, digest, from)
	if from.full || from.err == nil && ours(err) {
		f.failed(metrics.StoreBlob)
	}
	return sum, n, created, err
}

// upload is a body that ends with an error when there is no room for more.
type upload struct {
	io.Reader
	space   space
	checked units.Bytes // up to here there was room
	read    units.Bytes
	err     error // of the sender
	full    bool
}

// lookEvery is how much of an upload is written between two looks at the room.
const lookEvery units.Bytes = 1 << 20

// Read implements io.Reader.
func (u *upload) Read(p []byte) (int, error) {
	if u.checked == 0 || u.read >= u.checked {
		if err := u.space.check(reserveBytes); err != nil {
			u.full = true
			return 0, err
		}
		u.checked = u.read + lookEvery
	}
	n, err := u.Reader.Read(p)
	u.read += units.Bytes(n)
	if err != io.EOF {
		u.err = err
	}
	return n, err
}
