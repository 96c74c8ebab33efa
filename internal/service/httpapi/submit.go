package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"time"

	"judged/internal/base/job"
	"judged/internal/jobs/jobspec"
	"judged/internal/store"
)

// Retry-After in seconds: a queue drains slowly, a restart is over soon.
const (
	retryFull     = 5
	retryNotReady = 2
)

// recording bounds what follows the decision to accept a job.
const recording = 15 * time.Second

func (s *Server) postJob(w http.ResponseWriter, r *http.Request) error {
	key := r.Header.Get("Idempotency-Key")
	if len(key) > 255 {
		return problem("bad-request", "send at most 255 bytes", "the Idempotency-Key has %d bytes", len(key))
	}
	if key == "" {
		return s.submit(w, r, newID(s.now()))
	}
	return s.submit(w, r, keyedID(caller(r.Context()), key))
}

func (s *Server) putJob(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if !store.ValidID(id) {
		return problem("bad-request", "use 1 to 64 letters, digits, . _ and -, a letter or digit first", "%q is no id for a job", id)
	}
	return s.submit(w, r, id)
}

// submit is the way of a job from the body to the queue, and with wait= to its
// report.
func (s *Server) submit(w http.ResponseWriter, r *http.Request, id string) error {
	wait, err := waitOf(r)
	if err != nil {
		return err
	}
	if err := s.accepts(); err != nil {
		return problem("not-ready", "try again later; GET /readyz tells when", "%s", err).retryAfter(retryNotReady)
	}
	// Only a look, lest a large body comes in vain. The place is taken when the
	// body is here: callers who send slowly would hold them all.
	if _, err := s.admit(r.Context(), id, s.gate.open); err != nil {
		return err
	}
	rec, err := s.receive(w, r, id)
	if err != nil {
		return err
	}
	status, report, err := s.record(r.Context(), rec)
	if err != nil {
		return err
	}
	w.Header().Set("Location", location(id))
	if wait > 0 {
		if report, err = s.report(r.Context(), id, wait); err != nil {
			return err
		}
		if report.State.Final() {
			return s.writeReport(w, r, report)
		}
	}
	return s.writeJSON(w, status, report)
}

func location(id string) string { return "/v1/jobs/" + id }

// receive reads a job, puts what came with it into the blob store and returns
// the record to be. What it sets memory aside for is over when it returns.
func (s *Server) receive(w http.ResponseWriter, r *http.Request, id string) (store.Record, error) {
	aside := room{memory: s.memory}
	defer aside.giveBack()
	sent, err := s.readJob(w, r, &aside)
	if err != nil {
		return store.Record{}, err
	}
	// What is wrong is told before anything is stored.
	if err := s.check(sent); err != nil {
		return store.Record{}, err
	}
	normal, err := s.toBlobs(r.Context(), sent)
	if err != nil {
		return store.Record{}, err
	}
	digest, err := jobspec.Digest(normal)
	if err != nil {
		return store.Record{}, err
	}
	complete, err := jobspec.Complete(s.config, normal)
	if err != nil {
		return store.Record{}, err
	}
	return store.Record{ID: id, BodyDigest: digest, Job: complete, Report: job.Report{
		ID: id, State: job.Queued, Priority: complete.Priority, Labels: complete.Labels, CreatedAt: s.now().UTC(),
	}}, nil
}

// admit refuses a new job where ask, a method of the gate, finds the queue full.
// One that is recorded already passes all the same: it needs no place, and has
// none where ok is false.
func (s *Server) admit(ctx context.Context, id string, ask func(context.Context) (bool, error)) (ok bool, err error) {
	if ok, err = ask(ctx); ok || err != nil {
		return ok, err
	}
	_, err = s.jobs.Get(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		err = problem("queue-full", "try again later", "%d jobs are waiting", s.config.Queue.MaxWaiting).retryAfter(retryFull)
	}
	return false, err
}

// record makes the job durable and queues it. Once begun it does not stop for a
// caller who hangs up: a job that is recorded but not queued waits for its
// caller to come again, or for the sweep of the next start. The queue takes a
// job that it holds already for the same one.
//
// It returns the status that tells a new job from one that was there.
func (s *Server) record(ctx context.Context, rec store.Record) (status int, report job.Report, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recording)
	defer cancel()
	placed, err := s.admit(ctx, rec.ID, s.gate.take)
	if err != nil {
		return 0, report, err
	}
	if placed {
		defer s.gate.leave()
	}
	existing, err := s.jobs.Create(ctx, rec)
	if err != nil {
		return 0, report, temporary(err, "the job could not be recorded")
	}
	status, report = http.StatusAccepted, rec.Report
	if existing != nil {
		if existing.BodyDigest != rec.BodyDigest {
			p := problem("conflict", "use another id for another job", "job %q exists with another body", rec.ID)
			p.Instance = location(rec.ID)
			return 0, report, p
		}
		status, report = http.StatusOK, existing.Report
	}
	if existing == nil || existing.Report.State == job.Queued {
		if err := s.queue.Put(ctx, rec.ID, rec.Job.Priority); err != nil {
			p := temporary(err, "the job is recorded but not queued")
			p.Instance = location(rec.ID)
			return 0, report, p
		}
	}
	if existing == nil {
		s.gate.put()
	}
	return status, report, nil
}

// temporary is for errors of the broker: a full disk, a cluster without leader.
func temporary(cause error, detail string) *Problem {
	p := problem("temporary-failure", "send the job again under the same id or key", "%s", detail).retryAfter(retryNotReady)
	p.cause = cause
	return p
}

// toBlobs returns the job with all contents in the blob store.
func (s *Server) toBlobs(ctx context.Context, sent submission) (job.Job, error) {
	return jobspec.MapFiles(sent.job, func(_ string, f job.File) (job.File, error) {
		digest, err := s.toBlob(ctx, f, sent.parts)
		return job.File{Blob: digest}, err
	})
}

// toBlob returns the digest of a file's content, which lies in the blob store
// then.
func (s *Server) toBlob(ctx context.Context, f job.File, parts map[string]string) (string, error) {
	switch {
	case f.Text != nil:
		return s.keep(ctx, []byte(*f.Text))
	case f.Base64 != nil:
		content, err := decode(*f.Base64)
		if err != nil {
			return "", fmt.Errorf("decode base64 that was checked: %w", err)
		}
		return s.keep(ctx, content)
	case f.Part != "":
		return parts[f.Part], nil
	}
	return f.Blob, nil
}

// keep stores content unless it is there: platforms send the same inputs again
// and again, and a look is cheaper than a synced write.
func (s *Server) keep(ctx context.Context, content []byte) (string, error) {
	name := digest(content)
	if _, err := s.blobs.Stat(name); err == nil {
		return name, nil
	}
	_, _, _, err := s.blobs.Put(ctx, name, bytes.NewReader(content))
	return name, err
}

func decode(text string) ([]byte, error) { return base64.StdEncoding.Strict().DecodeString(text) }

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
