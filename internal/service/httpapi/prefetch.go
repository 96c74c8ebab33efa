package httpapi

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"judged/internal/api"
	"judged/internal/jobs"
	"judged/internal/jobs/blobs"
)

// maxPrefetch limits the blobs of one request: the response to a registration contains all of them.
const maxPrefetch = 50_000

// requestPrefetch makes the nodes of a pool fetch the named problems and blobs.
func (s *Server) requestPrefetch(w http.ResponseWriter, r *http.Request) error {
	q, err := readStrict[api.PrefetchRequest](s, w, r)
	if err != nil {
		return err
	}
	list, err := s.prefetched(r.Context(), q)
	if err != nil {
		return err
	}
	pool := r.PathValue("pool")
	if err := s.nodes.SetPrefetch(r.Context(), pool, list); err != nil {
		return err
	}
	s.log.Info("requested that the nodes of a pool fetch blobs", "pool", pool, "blobs", len(list), by(r))
	return s.answer(s.getPrefetch)(w, r)
}

// prefetched returns each blob of a request once. All of them exist.
func (s *Server) prefetched(ctx context.Context, q api.PrefetchRequest) ([]api.Blob, error) {
	list, seen := []api.Blob{}, map[string]bool{"": true} // a file may have its text inline
	add := func(digest string) error {
		if seen[digest] {
			return ctx.Err()
		}
		seen[digest] = true
		size, err := s.blobs.Stat(digest)
		if errors.Is(err, blobs.ErrNotFound) {
			return problem("missing-blob", "upload it with PUT /v1/blobs/{sha256} and send the request again",
				"no blob %.70q", digest)
		}
		if err != nil {
			return err
		}
		if list = append(list, api.Blob{SHA256: digest, Size: int64(size)}); len(list) > maxPrefetch {
			return problem("too-large", "send a smaller request when the nodes are done with it", "more than %d blobs",
				maxPrefetch)
		}
		return ctx.Err()
	}
	slices.Sort(q.Problems)
	for _, id := range slices.Compact(q.Problems) {
		p, err := s.jobs.Problem(ctx, id)
		if errors.Is(err, jobs.ErrNoProblem) {
			return nil, problem("missing-problem", "store it with PUT /v1/problems/{id} and send the request again",
				"no problem %.70q", id)
		}
		var digests []string
		if err == nil {
			err = p.EachBlob(func(digest string) { digests = append(digests, digest) })
		}
		for _, digest := range digests {
			if err == nil {
				err = add(digest)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	for _, digest := range q.Blobs {
		err := add(digest)
		if digest == "" { // which add takes for a file whose text is inline
			err = checkDigest(digest)
		}
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (s *Server) getPrefetch(r *http.Request) (any, error) {
	return s.nodes.PrefetchStatus(r.Context(), r.PathValue("pool"))
}
