package judge

import (
	"context"
	"fmt"
	"io"

	"judged/internal/api"
	"judged/internal/client"
	"judged/internal/jobs/blobs"
)

// Verify makes the front verify a blob that reached this node damaged. It returns blobs.ErrNotFound if the blob was
// damaged there too.
func (s *Source) Verify(ctx context.Context, digest string) error {
	answer, err := post[api.VerifyAnswer](ctx, s, "verify", &api.VerifyRequest{Blob: digest}, 0)
	if err == nil && !answer.Stored {
		err = fmt.Errorf("%w on the front: it was damaged there and is deleted; upload it again", blobs.ErrNotFound)
	}
	return err
}

// Fetch returns a function that reads a blob from a front, for the cache of a judge node.
func Fetch(front client.Client) func(ctx context.Context, digest string) (io.ReadCloser, error) {
	return func(ctx context.Context, digest string) (io.ReadCloser, error) {
		body, err := front.GetBlob(ctx, digest)
		switch {
		case problemKind(err) == "not-found": // not 404, which is also the answer of a proxy without a front
			return nil, fmt.Errorf("%w on the front: %w", blobs.ErrNotFound, err)
		case err != nil:
			return nil, fmt.Errorf("%w: %w", api.ErrUnavailable, err)
		}
		return body, nil
	}
}
