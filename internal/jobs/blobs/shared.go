package blobs

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"strings"
	"time"

	"judged/internal/base/units"
)

// Bucket stores the blobs of several fronts in a bucket of an S3-compatible server, with copies in a folder of each
// front.
type Bucket struct {
	copies Cache
	bucket *bucket
	size   units.Bytes // maximum size of copies that have been unused for long
	recent recent      // blobs without a copy
}

// BucketOptions describe a Bucket.
type BucketOptions struct {
	URL       string // s3://BUCKET/PREFIX?endpoint=URL&region=REGION
	Folder    string // of the copies, used by one process
	Max       units.Bytes
	CacheSize units.Bytes     // 0 means no limit
	Life      context.Context // ends when judged exits

	now      func() time.Time // tests have their own
	patience time.Duration
}

// OpenBucket prepares the folder. The server need not be reachable yet.
func OpenBucket(o BucketOptions) (*Bucket, error) {
	if o.now == nil {
		o.now = time.Now
	}
	o.patience = cmp.Or(o.patience, bucketPatience)
	b, err := openBucket(o)
	if err != nil {
		return nil, err
	}
	copies, err := Open(o.Folder, o.Max)
	if err != nil {
		return nil, err
	}
	copies.origin, copies.now = b, o.now
	return &Bucket{bucket: b, size: o.CacheSize,
		copies: Cache{Store: copies, Fetch: b.fetch, Damaged: b.discard, Life: o.Life}}, nil
}

// Check returns the reason why the bucket does not respond, or nil.
func (b *Bucket) Check(ctx context.Context) error {
	_, err := b.bucket.find(ctx, strings.Repeat("0", sha256.Size*2))
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// Put is like Store.Put. When it returns without error, the bucket has the blob.
func (b *Bucket) Put(ctx context.Context, digest string, r io.Reader) (sum string, n units.Bytes, created bool,
	err error) {
	return b.copies.Store.Put(ctx, digest, r)
}

// PutAll is like Store.PutAll.
func (b *Bucket) PutAll(ctx context.Context, contents map[string][]byte) error {
	return b.copies.Store.PutAll(ctx, contents)
}

// Verify is like Store.Verify, for the copy of this process, or for the object in the bucket if there is no copy.
func (b *Bucket) Verify(ctx context.Context, digest string) error {
	_, err := b.Path(digest) // fetching verifies it
	if err == nil {
		err = b.copies.Store.Verify(ctx, digest)
	}
	return err
}

// Path returns the file of a copy. It fetches the blob if the copy is missing.
func (b *Bucket) Path(digest string) (string, error) {
	path, err := b.copies.Path(digest)
	if errors.Is(err, ErrNotFound) {
		b.recent.forget(digest) // deleted by a person, or because it was damaged
	}
	return path, err
}

// Stat is like Store.Stat.
func (b *Bucket) Stat(digest string) (units.Bytes, error) {
	n, err := b.copies.Store.Stat(digest)
	if !errors.Is(err, ErrNotFound) || !ValidDigest(digest) {
		return n, err
	}
	now := b.bucket.now()
	if n, known := b.recent.size(digest, now); known {
		return n, nil
	}
	if n, err = b.bucket.use(b.copies.Life, digest); err == nil {
		b.recent.add(digest, n, now)
	}
	return n, err
}

// Sweep is like Store.Sweep, for the bucket, where marks are at most a day old. It also deletes the least recently used
// copies until the rest fit.
func (b *Bucket) Sweep(ctx context.Context, age time.Duration,
	named func(context.Context) (map[string]bool, error)) (Swept, error) {
	_, err := b.copies.Store.Trim(ctx, b.size)
	if err != nil || age <= 0 {
		return Swept{}, err
	}
	if _, err := b.copies.Store.Sweep(ctx, age, unnamed); err != nil {
		return Swept{}, err
	}
	return b.bucket.sweep(ctx, age, named)
}

// unnamed names no blob: copies can be fetched again.
func unnamed(context.Context) (map[string]bool, error) { return nil, nil }
