package httpapi

import (
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"os"
	"slices"
	"strings"

	"golang.org/x/sync/semaphore"

	"judged/internal/api"
	"judged/internal/jobs/intake"
)

// jobPart is the part of a multipart body that holds the JSON.
const jobPart = "job"

// maxParts limits the files of one body to more than a job can name.
const maxParts = 10_000

// readJob reads a submission. aside reserves memory for the JSON.
func (s *Server) readJob(w http.ResponseWriter, r *http.Request, aside *room) (intake.Request, error) {
	kind, params := mediaType(r)
	body := s.patientBody(w, r)
	switch kind {
	case mediaJSON:
		return s.readJSON(w, r, body, aside)
	case "multipart/form-data":
		if params["boundary"] == "" {
			return intake.Request{}, problem("bad-request", "let the HTTP client write the Content-Type",
				"the multipart body has no boundary")
		}
		return s.readParts(w, r, multipart.NewReader(body, params["boundary"]), aside)
	}
	return intake.Request{}, wrongType(r, "send application/json, or multipart/form-data with the JSON in the part job",
		"application/json, multipart/form-data")
}

const mediaJSON = "application/json"

// mediaType returns the media type of the body and its parameters, or "" if the header is invalid.
func mediaType(r *http.Request) (kind string, params map[string]string) {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return "", nil
	}
	return kind, params
}

// wrongType returns the error for a body that has none of the accepted media types.
func wrongType(r *http.Request, next, accepted string) error {
	return problem("media-type", next, "content type %.70q is not supported", r.Header.Get("Content-Type")).
		with("Accept", accepted)
}

func (s *Server) readJSON(w http.ResponseWriter, r *http.Request, body io.ReadCloser, aside *room) (intake.Request, error) {
	aside.Reader = http.MaxBytesReader(w, body, int64(s.config.HTTP.MaxBody))
	j, unfit, err := intake.Decode[api.Job](untilGone{r.Context(), aside})
	var useless intake.Errors
	if err != nil && !errors.As(err, &useless) {
		err = unreadable(err)
	}
	return intake.Request{Job: j, Findings: unfit}, err
}

// readStrict reads the body of a request that is not a job.
func readStrict[T any](s *Server, w http.ResponseWriter, r *http.Request) (T, error) {
	aside := &room{memory: s.memory}
	defer aside.release()
	return readStrictAside[T](s, w, r, aside)
}

// readStrictAside is readStrict for a caller that releases the memory.
func readStrictAside[T any](s *Server, w http.ResponseWriter, r *http.Request, aside *room) (v T, err error) {
	if kind, _ := mediaType(r); kind != mediaJSON {
		return v, wrongType(r, "send "+mediaJSON, mediaJSON)
	}
	aside.Reader = http.MaxBytesReader(w, s.patientBody(w, r), int64(s.config.HTTP.MaxBody))
	v, unfit, err := intake.Decode[T](untilGone{r.Context(), aside})
	if useless := findingsOf(err); len(useless) > 0 {
		unfit, err = useless, nil
	}
	if err != nil {
		return v, unreadable(err)
	}
	if len(unfit) > 0 {
		p := problem("bad-request", "correct the members named in errors and send it again", "%s", unfit)
		p.Errors = unfit
		return v, p
	}
	return v, nil
}

func (s *Server) readParts(w http.ResponseWriter, r *http.Request, body *multipart.Reader,
	aside *room) (sent intake.Request, err error) {
	parts := map[string]string{}
	found := false
	for n := 0; ; n++ {
		// Not NextPart, which decodes one of the encodings of mail.
		part, err := body.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return sent, unreadable(err)
		}
		if header := encodedBy(part.Header); header != "" {
			return sent, problem("media-type", "send the part as it is, without this header",
				"part %d has the header %s: %.70s", n+1, header, part.Header.Get(header))
		}
		name := part.FormName()
		_, again := parts[name]
		switch {
		case n == maxParts:
			return sent, problem("bad-request", "send the contents as blobs", "the body has more than %d parts",
				maxParts)
		case name == "":
			return sent, problem("bad-request", "send form-data; name=\"…\" with every part", "part %d has no name",
				n+1)
		case again || name == jobPart && found:
			return sent, problem("bad-request", "give every part another name", "two parts are named %.70q", name)
		case name == jobPart:
			found = true
			sent, err = s.readJSON(w, r, part, aside)
		default:
			parts[name], _, _, err = s.blobs.Put(r.Context(), "", fromCaller{part})
		}
		if err != nil {
			return sent, err
		}
	}
	if !found {
		return sent, problem("bad-request", "send the JSON of the job in the part named job",
			"the body has no part %q", jobPart)
	}
	sent.Parts = parts
	return sent, nil
}

// encodedBy returns the name of a header that says that a part is encoded, or "". Nothing decodes parts: a file would be
// judged with its encoding.
func encodedBy(h textproto.MIMEHeader) string {
	plain := []string{"", "7bit", "8bit", "binary", "identity"}
	for _, name := range []string{"Content-Transfer-Encoding", "Content-Encoding"} {
		if !slices.Contains(plain, strings.ToLower(h.Get(name))) {
			return name
		}
	}
	return ""
}

// findingsOf returns the validation errors in err.
func findingsOf(err error) (list intake.Errors) {
	errors.As(err, &list)
	return list
}

// untilGone is a body whose Read fails once its request is cancelled, so that nothing is decoded for a caller that has
// disconnected.
type untilGone struct {
	ctx context.Context
	io.Reader
}

// Read implements io.Reader.
func (u untilGone) Read(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.Reader.Read(b)
}

// room is a body that reserves memory for the bytes read, not for the announced length: a caller that never sends the
// body would keep memory from others.
type room struct {
	io.Reader
	memory *semaphore.Weighted
	held   int64
	spare  int64 // bytes that need no reservation
}

// smallBody is the size of bodies of judge nodes that need no reservation: all but reports and their outputs. A node whose
// leases are not extended while others send reports would lose its jobs.
const smallBody = 16 << 10

// Read implements io.Reader.
func (r *room) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if !r.take(int64(n)) {
		return 0, problem("not-ready", "try again later, or send large files as blobs",
			"other large bodies are being read").retryAfter(retryNotReady)
	}
	return n, err
}

// take reserves memory for more bytes, and reports whether there was enough.
func (r *room) take(n int64) bool {
	free := min(n, r.spare)
	r.spare -= free
	if n -= free; !r.memory.TryAcquire(n) {
		return false
	}
	r.held += n
	return true
}

func (r *room) release() { r.memory.Release(r.held) }

// unreadable turns read errors into a problem, except for bodies that are too long, for which there is no memory, or
// whose caller has disconnected.
func unreadable(err error) error {
	var (
		tooLong *http.MaxBytesError
		noRoom  *Problem
	)
	if errors.As(err, &tooLong) || errors.As(err, &noRoom) || errors.Is(err, context.Canceled) {
		return err
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		// Not an invalid request: a judge node would replace a report that it could send again.
		return problem("timeout", "send it again", "the body stopped for %s, or has less than %d KiB/s", stall,
			minRate>>10).with("Connection", "close")
	}
	return problem("bad-request", "send the whole body", "read the body: %s", err)
}

// fromCaller marks errors of reading a body, for calls that both read and store it.
type fromCaller struct{ io.Reader }

// Read implements io.Reader.
func (f fromCaller) Read(b []byte) (int, error) {
	n, err := f.Reader.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = unreadable(err)
	}
	return n, err
}
