package httpapi

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"

	"golang.org/x/sync/semaphore"

	"judged/internal/intake"
	"judged/internal/job"
)

// jobPart is the part of a multipart body that holds the JSON.
const jobPart = "job"

// maxParts bounds the files of one body: it is more than a job may name.
const maxParts = 10_000

// readJob reads a submission. Of a multipart body the files go straight into
// the blob store; parts says under which digests. The JSON is counted in aside.
func (s *Server) readJob(w http.ResponseWriter, r *http.Request, aside *room) (j job.Job, parts map[string]string, err error) {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		kind = ""
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return j, nil, problem("media-type", "send the body as it is", "content encoding %q is not supported", encoding)
	}
	body := s.patientBody(w, r)
	switch kind {
	case "application/json":
		j, err = s.readJSON(w, body, aside)
		return j, nil, err
	case "multipart/form-data":
		if params["boundary"] == "" {
			return j, nil, problem("bad-request", "let the HTTP client write the Content-Type", "the multipart body has no boundary")
		}
		return s.readParts(w, r, multipart.NewReader(body, params["boundary"]), aside)
	}
	return j, nil, problem("media-type", "send application/json, or multipart/form-data with the JSON in the part job",
		"content type %q is not supported", r.Header.Get("Content-Type")).with("Accept", "application/json, multipart/form-data")
}

func (s *Server) readJSON(w http.ResponseWriter, body io.ReadCloser, aside *room) (job.Job, error) {
	aside.Reader = http.MaxBytesReader(w, body, int64(s.config.HTTP.MaxBody))
	data, err := io.ReadAll(aside)
	if err != nil {
		return job.Job{}, unreadable(err)
	}
	return intake.Decode(data)
}

func (s *Server) readParts(w http.ResponseWriter, r *http.Request, body *multipart.Reader, aside *room) (j job.Job, parts map[string]string, err error) {
	parts = map[string]string{}
	found := false
	for n := 0; ; n++ {
		// Raw: the contents of judges' tests are not to be decoded.
		part, err := body.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return j, nil, unreadable(err)
		}
		name := part.FormName()
		_, again := parts[name]
		switch {
		case n == maxParts:
			return j, nil, problem("bad-request", "send the contents as blobs", "the body has more than %d parts", maxParts)
		case name == "":
			return j, nil, problem("bad-request", "send form-data; name=\"…\" with every part", "part %d has no name", n+1)
		case again || name == jobPart && found:
			return j, nil, problem("bad-request", "give every part a name of its own", "two parts are named %q", name)
		case name == jobPart:
			found = true
			j, err = s.readJSON(w, part, aside)
		default:
			parts[name], _, _, err = s.blobs.Put(r.Context(), "", fromCaller{part})
		}
		if err != nil {
			return j, nil, err
		}
	}
	if !found {
		return j, nil, problem("bad-request", "send the JSON of the job in the part named job", "the body has no part %q", jobPart)
	}
	return j, parts, nil
}

// room is a body that sets memory aside for what was read of it, and not for what
// is announced: that may never come, and leave none to other callers.
type room struct {
	io.Reader
	memory *semaphore.Weighted
	held   int64
}

// Read reads and sets aside.
func (r *room) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if !r.memory.TryAcquire(int64(n)) {
		return 0, problem("not-ready", "try again later, or send large files as blobs", "other large bodies are being read").retryAfter(retryNotReady)
	}
	r.held += int64(n)
	return n, err
}

func (r *room) giveBack() { r.memory.Release(r.held) }

// unreadable tells bodies that are broken from those that are too long, or for
// which there is no room.
func unreadable(err error) error {
	var (
		tooLong *http.MaxBytesError
		noRoom  *Problem
	)
	if errors.As(err, &tooLong) || errors.As(err, &noRoom) {
		return err
	}
	return problem("bad-request", "send the whole body", "read the body: %s", err)
}

// fromCaller marks what goes wrong with a body as the caller's, where reading
// and storing are one call.
type fromCaller struct{ io.Reader }

// Read reads and marks.
func (f fromCaller) Read(b []byte) (int, error) {
	n, err := f.Reader.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = unreadable(err)
	}
	return n, err
}
