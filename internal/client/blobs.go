package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// slowest is the speed in bytes per second below which an upload is aborted.
const slowest = 64 << 10

// PutBlobFile makes sure that the daemon has the content of a file, and returns its digest. It uploads only content
// that the daemon lacks.
func (c Client) PutBlobFile(ctx context.Context, path string) (digest string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read file to upload: %w; give an existing file", err)
	}
	defer f.Close()
	h := sha256.New()
	size, err := io.Copy(h, f)
	if err != nil {
		return "", fmt.Errorf("read file to upload: %w", err)
	}
	digest = hex.EncodeToString(h.Sum(nil))
	// Each reader starts at the beginning, also for a retry.
	return digest, c.putBlob(ctx, digest, size, func() (io.ReadCloser, error) {
		return io.NopCloser(io.NewSectionReader(f, 0, size)), nil
	})
}

func (c Client) putBlob(ctx context.Context, digest string, size int64, body func() (io.ReadCloser, error)) error {
	there, err := c.HasBlob(ctx, digest)
	if err != nil || there {
		return err
	}
	q := request{
		method: http.MethodPut, path: "/v1/blobs/" + digest, body: body, size: size,
		header: http.Header{"Content-Type": {"application/octet-stream"}},
		limit:  patience + time.Duration(size/slowest)*time.Second,
	}
	_, err = persist(ctx, true, func() (struct{}, error) { return call[struct{}](ctx, c, q) })
	return err
}

// HasBlob reports whether the daemon has the blob.
func (c Client) HasBlob(ctx context.Context, digest string) (bool, error) {
	ctx, cancel := c.patient(ctx)
	defer cancel()
	res, err := c.do(ctx, request{method: http.MethodHead, path: "/v1/blobs/" + digest})
	if NotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, res.Body.Close()
}

// patient limits a request whose response has no body.
func (c Client) patient(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, patience,
		&Unreachable{Base: c.Base, Err: fmt.Errorf("no answer in %s", patience)})
}

// GetBlob returns the content of a blob, which the caller verifies and closes. ctx limits the whole transfer.
func (c Client) GetBlob(ctx context.Context, digest string) (io.ReadCloser, error) {
	res, err := c.do(ctx, request{method: http.MethodGet, path: "/v1/blobs/" + digest})
	if err != nil {
		return nil, err
	}
	return res.Body, nil
}
