package httpapi

import (
	"net/http"
	"os"
	"strconv"
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
		return problem(
			"too-large",
			"send a smaller file, or raise http.max_blob",
			"%d bytes; a blob has at most %d",
			r.ContentLength,
			most,
		)
	}
	return nil
}

// getBlob serves GET and HEAD, the whole blob or ranges.
func (s *Server) getBlob(w http.ResponseWriter, r *http.Request) error {
	digest, err := digestOf(r)
	if err != nil {
		return err
	}
	path, err := s.blobs.Path(digest)
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("ETag", strconv.Quote(digest))
	h.Set("Cache-Control", "private, max-age=31536000, immutable")
	// A browser must never execute what a contestant has submitted.
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", "attachment")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.transferTime(info.Size())))
	http.ServeContent(w, r, "", time.Time{}, f)
	return nil
}

func digestOf(r *http.Request) (string, error) {
	digest := r.PathValue("sha256")
	if !blobs.ValidDigest(digest) {
		return "", problem(
			"bad-request",
			"send the SHA-256 of the content as 64 lower-case hex digits",
			"invalid digest %q",
			digest,
		)
	}
	return digest, nil
}
