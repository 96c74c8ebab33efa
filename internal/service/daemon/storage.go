package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/base/units"
	"judged/internal/fleet/front"
	"judged/internal/jobs"
	"judged/internal/jobs/blobs"
	"judged/internal/service/httpapi"
)

// storage is the store as other parts use it. It refuses new work while the disk is nearly full.
type storage struct {
	*jobs.Store
	finish    func(context.Context, api.Lease, api.Report) error
	screen    *front.Screen // nil until the fleet is open, and on a judge node
	blobs     blobStore
	space     *space
	failed    func(operation string)
	cancelled func(*api.Report)
}

// Put stores a job, unless the space for the reports of accepted jobs would be used.
func (s *storage) Put(ctx context.Context, n jobs.Submission) (rec jobs.Record, created bool, err error) {
	if err := s.route(ctx, &n); err != nil {
		return rec, false, err
	}
	return s.Store.Put(ctx, n)
}

// Pack encodes a job for PutAll.
func (s *storage) Pack(ctx context.Context, n jobs.Submission) (jobs.Packed, error) {
	if err := s.route(ctx, &n); err != nil {
		return jobs.Packed{}, err
	}
	return s.Store.Pack(ctx, n)
}

// QueueRejudged is like Put for a job of a rejudging.
func (s *storage) QueueRejudged(ctx context.Context, id string, old jobs.SelectedJob, n jobs.Submission) error {
	if err := s.route(ctx, &n); err != nil {
		return err
	}
	return s.Store.QueueRejudged(ctx, id, old, n)
}

// route chooses the pool of a new job.
func (s *storage) route(ctx context.Context, n *jobs.Submission) (err error) {
	if err := s.room("put", reserveBytes); err != nil {
		return err
	}
	n.Pool, err = s.screen.Route(ctx, n.Job)
	return err
}

// Finish stores a report, unless another pool decides because the times of this pool do not, or another host judges
// because the time is near the limit.
func (s *storage) Finish(ctx context.Context, l api.Lease, rep api.Report) error {
	if err := s.useOutputs(rep); err != nil {
		return fmt.Errorf("finish job %q: %w", l.ID, err)
	}
	return s.finish(ctx, l, rep)
}

// useOutputs marks the blobs that a report names as used now, so that they are kept for longer than the report. The
// sender of a report stores its outputs again before it repeats a failed Finish.
func (s *storage) useOutputs(rep api.Report) error {
	used := map[string]bool{"": true}
	for _, o := range rep.Outputs {
		if used[o.Blob] {
			continue
		}
		used[o.Blob] = true
		if _, err := s.blobs.Stat(o.Blob); err != nil {
			return fmt.Errorf("use an output of test %q: %w: %v", o.Test, api.ErrUnavailable, err)
		}
	}
	return nil
}

// Take takes a job, unless its report might not fit on the disk.
func (s *storage) Take(ctx context.Context, w api.Want) (api.Work, error) {
	if err := s.room("take", floorBytes); err != nil {
		return api.Work{}, err
	}
	return s.Store.Take(ctx, w)
}

// Cancel cancels a job and counts it.
func (s *storage) Cancel(ctx context.Context, id string) (api.Report, error) {
	r, err := s.Store.Cancel(ctx, id)
	if err == nil {
		s.cancelled(&r)
	}
	return r, err
}

func (s *storage) room(operation string, least units.Bytes) error {
	err := s.space.check(least)
	if err == nil {
		return nil
	}
	s.failed(operation)
	return fmt.Errorf("%s job: %w: %w", operation, api.ErrUnavailable, err)
}

// blobStore stores the blobs of a daemon with a database; *blobs.Store and *blobs.Bucket implement it.
type blobStore interface {
	httpapi.Blobs
	Check(context.Context) error
	Sweep(ctx context.Context, age time.Duration,
		named func(context.Context) (map[string]bool, error)) (blobs.Swept, error)
}

// files is the blob store as the HTTP server uses it. It applies the same limits to the disk.
type files struct {
	blobStore
	space  *space
	failed func(operation string)
	quotas quotas
}

// quotas limits what tenants upload; *jobs.Store implements it.
type quotas interface {
	CheckUpload(ctx context.Context) error
	ChargeBlobs(ctx context.Context, n units.Bytes)
}

// blobOperation is the label of failed uploads in judged_store_errors_total.
const blobOperation = "blob"

func (d *daemon) filesOf(b blobStore) *files {
	return &files{b, d.blobSpace, d.storeFailed, d.store}
}

// storeOutput stores an output of a job. On a judge node it stores a copy, which the node sends to its front before the
// report that names it.
func (d *daemon) storeOutput(ctx context.Context, content string) (digest string, err error) {
	to := d.blobs
	if d.copies != nil {
		to = d.copies
	}
	digest, _, _, err = d.filesOf(to).Put(ctx, "", strings.NewReader(content))
	return digest, err
}

// Put stores a blob. It stops an upload before it fills the disk. Quotas limit new blobs only: a caller sends a blob, or a
// job with its files, again if the response was lost.
func (f *files) Put(ctx context.Context, digest string,
	r io.Reader) (sum string, n units.Bytes, created bool, err error) {
	if err := f.quotas.CheckUpload(ctx); err != nil && !f.has(digest) {
		return "", 0, false, err
	}
	from := &upload{Reader: r, space: f.space}
	sum, n, created, err = f.blobStore.Put(ctx, digest, from)
	if err == nil && created {
		f.quotas.ChargeBlobs(ctx, n)
	}
	_, differs := errors.AsType[*blobs.DigestError](err)
	answered := err == nil || differs || errors.Is(err, blobs.ErrTooBig) || errors.Is(err, context.Canceled)
	if from.full || from.err == nil && !answered {
		f.failed(blobOperation)
	}
	return sum, n, created, err
}

// has reports whether all of these blobs are stored.
func (f *files) has(digests ...string) bool {
	return !slices.ContainsFunc(digests, func(digest string) bool {
		_, err := f.Stat(digest)
		return err != nil
	})
}

// PutAll stores contents, unless they would fill the disk.
func (f *files) PutAll(ctx context.Context, contents map[string][]byte) error {
	if err := f.quotas.CheckUpload(ctx); err != nil && !f.has(slices.Collect(maps.Keys(contents))...) {
		return err
	}
	fresh, size := units.Bytes(0), reserveBytes
	for digest, content := range contents {
		size += units.Bytes(len(content))
		if _, err := f.Stat(digest); err != nil {
			fresh += units.Bytes(len(content))
		}
	}
	err := f.space.check(size)
	if err == nil {
		if err = f.blobStore.PutAll(ctx, contents); err == nil {
			f.quotas.ChargeBlobs(ctx, fresh)
		}
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		f.failed(blobOperation)
	}
	return err
}

// upload is a body whose Read fails when the disk is nearly full.
type upload struct {
	io.Reader
	space   *space
	checked units.Bytes // bytes read before the next check of the free space
	read    units.Bytes
	err     error // error of the sender
	full    bool
}

// lookEvery is the amount of an upload that is written between two checks of the free space.
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
