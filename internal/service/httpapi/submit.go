package httpapi

import (
	"context"
	"errors"
	"net/http"

	"judged/internal/api"
	"judged/internal/jobs"
)

// Retry-After in seconds. A restart takes less time than emptying a full queue.
const (
	retryFull     = 5
	retryNotReady = 2
)

func (s *Server) postJob(w http.ResponseWriter, r *http.Request) error {
	key, err := keyOf(r)
	if err != nil {
		return err
	}
	if key == "" {
		return s.submit(w, r, newID(s.now()))
	}
	return s.submit(w, r, keyedID(caller(r.Context()), key))
}

// keyOf returns the Idempotency-Key of a request, or "" without one.
func keyOf(r *http.Request) (key string, err error) {
	switch all := r.Header.Values("Idempotency-Key"); {
	case len(all) == 0:
		return "", nil
	case len(all) > 1 || all[0] == "":
		return "", problem("bad-request", "send one key, or leave the header out",
			"%d headers Idempotency-Key, the first one %.70q", len(all), all[0])
	default:
		return all[0], checkKey(all[0])
	}
}

// checkKey returns an error for an Idempotency-Key that is too long.
func checkKey(key string) error {
	if len(key) > 255 {
		return problem("bad-request", "send at most 255 bytes", "the Idempotency-Key has %d bytes", len(key))
	}
	return nil
}

func (s *Server) putJob(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if err := checkID(id); err != nil {
		return err
	}
	return s.submit(w, r, id)
}

// idRule says what jobs.ValidID accepts.
const idRule = "use 1 to 64 letters, digits, . _ and -, a letter or digit first"

// checkID returns an error for an ID that callers cannot give to a job.
func checkID(id string) error {
	if !jobs.ValidID(id) {
		return problem("bad-request", idRule, "invalid job id %.70q", id)
	}
	return nil
}

// submit stores a job, and with wait= responds with its report.
func (s *Server) submit(w http.ResponseWriter, r *http.Request, id string) error {
	wait, err := waitOf(r)
	if err != nil {
		return err
	}
	if err := s.checkAccepts(); err != nil {
		return err
	}
	if err := s.checkRoom(r.Context(), id); err != nil {
		return err
	}
	submission, err := s.receive(w, r, id)
	if err != nil {
		return err
	}
	expected, release := s.jobs.Expect(id) // before the job is put, so that no end is missed
	defer release()
	status, report, err := s.put(r.Context(), submission)
	if err != nil {
		return err
	}
	w.Header().Set("Location", location(id))
	if wait > 0 {
		report, err = s.wait(r.Context(), wait, func(ctx context.Context) (api.Report, error) {
			if status == storedStatus(true) {
				return expected(ctx, report)
			}
			return s.jobs.Wait(ctx, id)
		})
		if err != nil {
			return err
		}
		if report.State.Final() {
			return s.writeReport(w, r, report)
		}
	}
	return s.writeJSON(w, status, report)
}

// checkAccepts returns an error if no jobs are accepted.
func (s *Server) checkAccepts() error {
	if err := s.accepts(); err != nil {
		return problem("not-ready", "try again later; GET /readyz shows when", "%s", err).retryAfter(retryNotReady)
	}
	return nil
}

func location(id string) string { return "/v1/jobs/" + id }

// checkRoom refuses a new job before its body is read if the queue is full. A job that is already stored is not
// refused.
func (s *Server) checkRoom(ctx context.Context, id string) error {
	err := s.jobs.Room(ctx)
	if !errors.Is(err, jobs.ErrFull) {
		return err
	}
	if _, failed := s.jobs.Get(ctx, id); !errors.Is(failed, api.ErrNotFound) {
		return failed
	}
	return s.full(err)
}

// receive reads a job and stores its files as blobs. It releases its reserved memory when it returns.
func (s *Server) receive(w http.ResponseWriter, r *http.Request, id string) (jobs.Submission, error) {
	aside := room{memory: s.memory}
	defer aside.release()
	sent, err := s.readJob(w, r, &aside)
	if err != nil {
		return jobs.Submission{}, err
	}
	sent.ID = id
	return s.intake.Prepare(r.Context(), sent)
}

// put stores the job, even if the caller disconnects meanwhile. The status distinguishes a new job from one that was
// stored before.
func (s *Server) put(ctx context.Context, n jobs.Submission) (status int, report api.Report, err error) {
	rec, created, err := s.jobs.Put(context.WithoutCancel(ctx), n)
	if err != nil {
		return 0, report, s.notStored(n.ID, err)
	}
	return storedStatus(created), rec.Report, nil
}

func storedStatus(created bool) int {
	if created {
		return http.StatusAccepted
	}
	return http.StatusOK
}

// notStored adds what the caller can do to an error of the store about a new job.
func (s *Server) notStored(id string, err error) error {
	switch {
	case errors.Is(err, jobs.ErrConflict):
		p := problem("conflict", "use another id for another job", "job %q exists with another body", id)
		p.Instance = location(id)
		return p
	case errors.Is(err, jobs.ErrFull):
		return s.full(err)
	}
	return err
}

// full returns the problem of a full queue, or of a quota.
func (s *Server) full(err error) error {
	if errors.As(err, new(*jobs.QuotaError)) {
		return problemOf(err)
	}
	return problem("queue-full", "try again later", "%d jobs are waiting",
		s.config.Queue.MaxWaiting).retryAfter(retryFull)
}
