package httpapi

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"judged/internal/jobs/blobs"
)

// blobInfo describes a stored blob.
type blobInfo struct {
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size_bytes"`
}

func (s *Server) putBlob(w http.ResponseWriter, r *http.Request) error {
	digest, err := digestOf(r)
	if err != nil {
		return err
	}
	if err := s.checkLength(r); err != nil {
		return err
	}
	_, size, created, err := s.blobs.Put(r.Context(), digest, fromCaller{s.patientBody(w, r)})
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
		w.Header().Set("Location", "/v1/blobs/"+digest)
	}
	return s.writeJSON(w, status, blobInfo{SHA256: digest, Size: int64(size)})
}

// checkLength refuses a body that is too large for a blob before it is read.
func (s *Server) checkLength(r *http.Request) error {
	if most := int64(s.config.HTTP.MaxBlob); r.ContentLength > most {
		return problem("too-large", "send a smaller file, or raise http.max_blob", "%d bytes; a blob has at most %d",
			r.ContentLength, most)
	}
	return nil
}

// getBlob serves GET and HEAD, the whole blob or ranges.
func (s *Server) getBlob(w http.ResponseWriter, r *http.Request) error {
	digest, err := digestOf(r)
	if err != nil {
		return err
	}
	content, size, err := s.contentOf(r.Method, digest)
	if err != nil {
		return err
	}
	defer content.Close()
	h := w.Header()
	h.Set("ETag", strconv.Quote(digest))
	h.Set("Cache-Control", "private, max-age=31536000, immutable")
	// A browser must never execute what a contestant has submitted.
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", "attachment")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.transferTime(size)))
	answer := &contentWriter{ResponseWriter: w}
	http.ServeContent(answer, r, "", time.Time{}, content)
	return answer.refused
}

// contentOf opens a blob for a method. HEAD has no body, and a bucket would have to send all of it first: a client that
// asks whether a large file is stored would give up.
func (s *Server) contentOf(method, digest string) (content io.ReadSeekCloser, size int64, err error) {
	if method == http.MethodHead {
		n, err := s.blobs.Stat(digest)
		return sizeOnly{io.NewSectionReader(strings.NewReader(""), 0, int64(n))}, int64(n), err
	}
	path, err := s.blobs.Path(digest)
	if err != nil {
		return nil, 0, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// sizeOnly is a content that is not read.
type sizeOnly struct{ *io.SectionReader }

// Close implements io.Closer.
func (sizeOnly) Close() error { return nil }

// contentWriter replaces the errors of http.ServeContent, which are plain text or empty, by a problem.
type contentWriter struct {
	http.ResponseWriter
	refused error
}

// WriteHeader implements http.ResponseWriter.
func (w *contentWriter) WriteHeader(status int) {
	switch status {
	case http.StatusRequestedRangeNotSatisfiable:
		w.refused = problem("range", "send bytes=FIRST-LAST within the blob, or no Range",
			"the blob does not have this range")
	case http.StatusPreconditionFailed:
		w.refused = problem("precondition", "leave out If-Match: a blob never changes", "the ETag is another one")
	default:
		w.ResponseWriter.WriteHeader(status)
		return
	}
	for _, name := range []string{"Content-Disposition", "ETag"} {
		w.Header().Del(name)
	}
	w.Header().Set("Cache-Control", "no-store")
}

// Write implements http.ResponseWriter.
func (w *contentWriter) Write(b []byte) (int, error) {
	if w.refused != nil {
		return len(b), nil
	}
	return w.ResponseWriter.Write(b)
}

func digestOf(r *http.Request) (string, error) {
	digest := r.PathValue("sha256")
	return digest, checkDigest(digest)
}

func checkDigest(digest string) error {
	if blobs.ValidDigest(digest) {
		return nil
	}
	return problem("bad-request", "send the SHA-256 of the content as 64 lower-case hex digits", "invalid digest %.70q",
		digest)
}

// maxHave limits the digests of one request: more than the files of a large problem.
const maxHave = 10_000

// haveRequest asks which blobs are stored.
type haveRequest struct {
	SHA256 []string `json:"sha256"`
}

// haveAnswer has each digest of a request once.
type haveAnswer struct {
	Stored  []blobInfo `json:"stored"`
	Missing []string   `json:"missing"`
}

// haveBlobs responds with the blobs of a list that are stored. Like HEAD, it counts as a use of each.
func (s *Server) haveBlobs(w http.ResponseWriter, r *http.Request) error {
	q, err := readStrict[haveRequest](s, w, r)
	switch n := len(q.SHA256); {
	case err != nil:
		return err
	case n == 0:
		return problem("bad-request", `send {"sha256": ["…"]}`, "the request has no digests")
	case n > maxHave:
		return problem("bad-request", "send several requests", "%d digests; a request has at most %d", n, maxHave)
	}
	a, seen := haveAnswer{Stored: []blobInfo{}, Missing: []string{}}, map[string]bool{}
	for _, digest := range q.SHA256 {
		if seen[digest] {
			continue
		}
		seen[digest] = true
		if err := checkDigest(digest); err != nil {
			return err
		}
		switch size, err := s.blobs.Stat(digest); {
		case errors.Is(err, blobs.ErrNotFound):
			a.Missing = append(a.Missing, digest)
		case err != nil:
			return err
		default:
			a.Stored = append(a.Stored, blobInfo{SHA256: digest, Size: int64(size)})
		}
		if err := r.Context().Err(); err != nil {
			return err
		}
	}
	return s.writeJSON(w, http.StatusOK, a)
}
