package blobs

import (
	"bytes"
	"context"
	"errors"
	"os"

	"golang.org/x/sync/errgroup"
)

// PutAll stores contents, each under its digest, which the caller has computed. When it returns without error, all of
// them survive power loss. In a folder of one process this costs two synced writes, regardless of the number.
func (s *Store) PutAll(ctx context.Context, contents map[string][]byte) (err error) {
	if s.origin != nil || s.syncAll == nil || len(contents) < 2 {
		return s.putEach(ctx, contents)
	}
	// syncfs reports what failed since the folder was opened.
	dir, err := os.Open(s.dir)
	if err != nil {
		return s.explain("open", err)
	}
	defer dir.Close()
	written := map[string]string{} // digest -> upload
	defer func() {
		for _, upload := range written {
			err = errors.Join(err, absent(os.Remove(upload)))
		}
	}()
	for digest, content := range contents {
		if written[digest], err = s.write(content); err != nil {
			return s.explain("write upload", err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	// As in keep: the contents are on disk before the names, and the names before the response.
	if err := s.syncAll(dir); err != nil {
		return s.explain("store blobs", err)
	}
	for digest, upload := range written {
		_, err := makeFan(s.path(digest))
		if err == nil {
			err = s.name(upload, s.path(digest))
		}
		if err != nil {
			return s.explain("store "+digest, err)
		}
		delete(written, digest)
	}
	if err := s.syncAll(dir); err != nil {
		return s.explain("store blobs", err)
	}
	return nil
}

// putAtOnce limits the blobs that putEach stores at the same time.
const putAtOnce = 16

// putEach stores contents one by one: a bucket has no other way, and syncfs syncs only what is known to this host.
func (s *Store) putEach(ctx context.Context, contents map[string][]byte) error {
	puts, ctx := errgroup.WithContext(ctx)
	puts.SetLimit(putAtOnce)
	for digest, content := range contents {
		puts.Go(func() error {
			_, _, _, err := s.Put(ctx, digest, bytes.NewReader(content))
			return err
		})
	}
	return puts.Wait()
}

// write creates an upload with this content, and returns its path.
func (s *Store) write(content []byte) (string, error) {
	f, err := s.upload()
	if err != nil {
		return "", err
	}
	_, err = f.Write(content)
	return f.Name(), errors.Join(err, f.Chmod(blobMode), f.Close())
}
