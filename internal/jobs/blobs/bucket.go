package blobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"judged/internal/base/units"
)

// bucket is a bucket of an S3-compatible server. An object is named PREFIX DIGEST/MARK, where the mark is the hour of
// the last use. To mark a blob, its object is copied within the server to a name with the current hour. So a sweep
// never deletes what another front marks: it deletes the old name, and the copy either fails or already exists.
type bucket struct {
	server *minio.Client
	name   string
	prefix string // "" or ends with a slash
	now    func() time.Time
	// patience limits how long a response takes, and how long a transfer may make no progress. A server may accept a
	// connection and never respond.
	patience time.Duration
}

const (
	// markLayout sorts by time.
	markLayout = "2006-01-02T15"
	// bucketMarkEvery is the age at which a mark is renewed: a copy costs the server as much as a write.
	bucketMarkEvery = 24 * time.Hour
	bucketPatience  = 20 * time.Second
)

// openBucket parses an address such as s3://BUCKET/PREFIX?endpoint=http://HOST:PORT&region=REGION.
func openBucket(o BucketOptions) (*bucket, error) {
	u, err := url.Parse(o.URL)
	if err != nil {
		return nil, fmt.Errorf("read the address of the bucket: %w", err)
	}
	endpoint, err := url.Parse(cmp.Or(u.Query().Get("endpoint"), "https://s3.amazonaws.com"))
	if err != nil {
		return nil, fmt.Errorf("read the endpoint of the bucket: %w", err)
	}
	secure := endpoint.Scheme == "https"
	transport, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, fmt.Errorf("prepare requests to bucket %q: %w", u.Host, err)
	}
	transport.ResponseHeaderTimeout = o.patience
	server, err := minio.New(endpoint.Host, &minio.Options{
		Secure: secure, Transport: transport, Region: u.Query().Get("region"), MaxRetries: 3,
		Creds: credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{},
			&credentials.FileAWSCredentials{}, &credentials.IAM{Client: &http.Client{Timeout: o.patience}}}),
	})
	if err != nil {
		return nil, fmt.Errorf("use bucket %q: %w", u.Host, err)
	}
	b := &bucket{server: server, name: u.Host, prefix: strings.Trim(u.Path, "/"), now: o.now, patience: o.patience}
	if b.prefix != "" {
		b.prefix += "/"
	}
	return b, nil
}

// object is one object of a blob.
type object struct {
	key    string
	digest string
	mark   time.Time
	size   units.Bytes
}

// objects calls f for each object whose name begins with prefix, in the order of names. It skips foreign objects.
func (b *bucket) objects(ctx context.Context, prefix string, f func(object)) error {
	ctx, cancel := context.WithCancel(ctx) // ends the listing
	defer cancel()
	for info := range b.server.ListObjects(ctx, b.name, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
		if info.Err != nil {
			return b.explain("list", info.Err)
		}
		digest, mark, _ := strings.Cut(strings.TrimPrefix(info.Key, b.prefix), "/")
		at, err := time.Parse(markLayout, mark)
		if err == nil && ValidDigest(digest) {
			f(object{info.Key, digest, at, units.Bytes(info.Size)})
		}
	}
	return nil
}

// find returns the object of a blob with the latest mark.
func (b *bucket) find(ctx context.Context, digest string) (o object, err error) {
	ctx, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	err = b.objects(ctx, b.prefix+digest+"/", func(found object) { o = found })
	if err == nil && o.key == "" {
		err = fmt.Errorf("blob %q in bucket %q: %w", digest, b.name, ErrNotFound)
	}
	return o, err
}

func (b *bucket) keyOf(digest string) string {
	return b.prefix + digest + "/" + b.now().UTC().Format(markLayout)
}

// use implements origin.
func (b *bucket) use(ctx context.Context, digest string) (units.Bytes, error) {
	o, err := b.find(ctx, digest)
	if err != nil || b.now().Sub(o.mark) <= bucketMarkEvery {
		return o.size, err
	}
	ctx, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	_, err = b.server.ComposeObject(ctx, minio.CopyDestOptions{Bucket: b.name, Object: b.keyOf(digest)},
		minio.CopySrcOptions{Bucket: b.name, Object: o.key})
	if err != nil {
		return 0, b.explain("mark "+digest, err)
	}
	return o.size, nil
}

// store implements origin.
func (b *bucket) store(ctx context.Context, digest string, content *os.File) error {
	info, err := content.Stat()
	if err != nil {
		return err
	}
	sending, watch := b.watch(ctx)
	defer watch.stop()
	_, err = b.server.PutObject(sending, b.name, b.keyOf(digest),
		&section{io.NewSectionReader(content, 0, info.Size()), watch}, info.Size(),
		minio.PutObjectOptions{ContentType: "application/octet-stream"})
	if err != nil && ctx.Err() == nil {
		return b.explain("store "+digest, cmp.Or(watch.stalled(), err))
	}
	return err
}

// watch cancels a transfer that makes no progress.
type watch struct {
	ctx      context.Context
	end      context.CancelCauseFunc
	patience time.Duration
	timer    *time.Timer
}

var errStalled = errors.New("the server made no progress")

func (b *bucket) watch(ctx context.Context) (context.Context, *watch) {
	ctx, end := context.WithCancelCause(ctx)
	return ctx, &watch{ctx, end, b.patience, time.AfterFunc(b.patience, func() { end(errStalled) })}
}

func (w *watch) progress() { w.timer.Reset(w.patience) }

func (w *watch) stop() {
	w.timer.Stop()
	w.end(nil)
}

// stalled returns errStalled if the transfer ended for that reason.
func (w *watch) stalled() error {
	if err := context.Cause(w.ctx); errors.Is(err, errStalled) {
		return err
	}
	return nil
}

// section is the source of an upload, which reads it in parts, and again after a retry.
type section struct {
	*io.SectionReader
	watch *watch
}

// Read implements io.Reader.
func (s *section) Read(p []byte) (int, error) {
	s.watch.progress()
	return s.SectionReader.Read(p)
}

// ReadAt implements io.ReaderAt.
func (s *section) ReadAt(p []byte, at int64) (int, error) {
	s.watch.progress()
	return s.SectionReader.ReadAt(p, at)
}

// download is the content of an object.
type download struct {
	io.ReadCloser
	watch *watch
	b     *bucket
}

// Read implements io.Reader.
func (d *download) Read(p []byte) (int, error) {
	d.watch.progress()
	n, err := d.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = d.b.explain("read", cmp.Or(d.watch.stalled(), err))
	}
	return n, err
}

// Close implements io.Closer.
func (d *download) Close() error {
	d.watch.stop()
	return d.ReadCloser.Close()
}

// fetch opens a blob for reading. If another front marks it meanwhile, the object has a new name.
func (b *bucket) fetch(ctx context.Context, digest string) (io.ReadCloser, error) {
	for try := 0; ; try++ {
		o, err := b.find(ctx, digest)
		if err != nil {
			return nil, err
		}
		reading, watch := b.watch(ctx)
		content, err := b.server.GetObject(reading, b.name, o.key, minio.GetObjectOptions{})
		if err == nil {
			_, err = content.Stat() // sends the request
		}
		if err == nil {
			return &download{content, watch, b}, nil
		}
		err = cmp.Or(watch.stalled(), err)
		watch.stop()
		if err = b.explain("read "+digest, err); !errors.Is(err, ErrNotFound) || try == 1 {
			return nil, err
		}
	}
}

// sweep deletes blobs last used before age, and objects that have a newer mark. See Store.Sweep.
func (b *bucket) sweep(ctx context.Context, age time.Duration,
	named func(context.Context) (map[string]bool, error)) (Swept, error) {
	now := b.now()
	// A front checks the mark again once that of its copy is old.
	before := now.Add(-age - bucketMarkEvery - markEvery - submission)
	var unused, superseded []object
	last := object{}
	err := b.objects(ctx, b.prefix, func(o object) {
		switch {
		case o.digest != last.digest && last.key != "" && last.mark.Before(before):
			unused = append(unused, last)
		case o.digest == last.digest && last.mark.Before(now.Add(-2*bucketMarkEvery)):
			superseded = append(superseded, last)
		}
		last = o
	})
	if last.key != "" && last.mark.Before(before) {
		unused = append(unused, last)
	}
	if err != nil || len(unused)+len(superseded) == 0 {
		return Swept{}, err
	}
	keep, err := named(ctx)
	if err != nil {
		return Swept{}, err
	}
	var swept Swept
	for _, o := range unused {
		if keep[o.digest] {
			continue
		}
		if err := b.remove(ctx, o.key); err != nil {
			return swept, err
		}
		swept.Blobs++
		swept.Size += o.size
	}
	for _, o := range superseded {
		if err := b.remove(ctx, o.key); err != nil {
			return swept, err
		}
	}
	return swept, b.clearUploads(ctx, now.Add(-bucketMarkEvery))
}

// clearUploads removes the parts of unfinished uploads.
func (b *bucket) clearUploads(ctx context.Context, before time.Time) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for upload := range b.server.ListIncompleteUploads(ctx, b.name, b.prefix, true) {
		if upload.Err != nil {
			return b.explain("list uploads", upload.Err)
		}
		if upload.Initiated.Before(before) {
			if err := b.server.RemoveIncompleteUpload(ctx, b.name, upload.Key); err != nil {
				return b.explain("clear uploads", err)
			}
		}
	}
	return nil
}

// discard deletes a blob whose content had a wrong digest twice. It returns ErrNotFound.
func (b *bucket) discard(ctx context.Context, digest string) error {
	o, err := b.find(ctx, digest)
	if err == nil {
		err = b.remove(ctx, o.key)
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: it was damaged in bucket %q and is deleted; upload it again", ErrNotFound, b.name)
}

func (b *bucket) remove(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	return b.explain("delete "+key, b.server.RemoveObject(ctx, b.name, key, minio.RemoveObjectOptions{}))
}

// explain adds ErrNotFound or ErrAway, and the next step.
func (b *bucket) explain(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case minio.ToErrorResponse(err).Code == "NoSuchKey":
		return fmt.Errorf("%s in bucket %q: %w: %w", what, b.name, ErrNotFound, err)
	}
	return fmt.Errorf("%s in bucket %q: %w: %w; check blobs.url and that the server at %s is up and permits it", what,
		b.name, ErrAway, err, b.server.EndpointURL().Host)
}
