package httpapi

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"time"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/base/units"
	"judged/internal/jobs"
	"judged/internal/jobs/intake"
)

// Door is another interface to the jobs, with its own routes. Its requests have the limits, the log and the protection
// of all others. It authorizes them itself, by Enter.
type Door struct {
	Path     string   // such as /judge0; the handler does not see it. "" if there are Patterns
	Patterns []string // of http.ServeMux, without methods
	Open     func(*Desk) http.Handler
}

// Desk is the interface of a server for a door. It belongs to one configuration and set of tokens.
type Desk struct{ s *Server }

// Config returns the current configuration.
func (d *Desk) Config() config.Config { return d.s.config }

// Enter returns the request of the owner of a token, who has one of the scopes, or a *Problem. All that the request
// reads and stores is what the owner may see.
func (d *Desk) Enter(w http.ResponseWriter, r *http.Request, token string, scopes ...Scope) (*http.Request, error) {
	e, err := d.s.admit(r, scopes, func() (string, error) {
		if token == "" {
			return "", problem("unauthorized", "send a token", "this needs a token")
		}
		return token, nil
	})
	requestOf(r).note(e.name, r)
	if err != nil {
		return nil, err
	}
	if d.s.tokens == nil || len(scopes) > 0 {
		keepOpen(w, r)
	}
	return r.WithContext(withCaller(r.Context(), e.name, e.tenant)), nil
}

// Open reports whether requests need no token.
func (d *Desk) Open() bool { return d.s.tokens == nil }

// Has reports whether the caller of a request that Enter has returned has a scope.
func (d *Desk) Has(ctx context.Context, scope Scope) bool {
	return d.s.tokens == nil || d.s.tokens.has(caller(ctx), scope)
}

// Caller returns the name of the token of a request that Enter has returned, or "".
func (d *Desk) Caller(ctx context.Context) string { return caller(ctx) }

// Jobs returns the store. Its calls need the context of a request that Enter has returned.
func (d *Desk) Jobs() Jobs { return d.s.jobs }

// Slots returns the slots of this host, or nil on a front. They concern all tenants.
func (d *Desk) Slots() Slots { return d.s.slots }

// Nodes returns the nodes and pools of the fleet, or nil without one. They concern all tenants.
func (d *Desk) Nodes() Nodes { return d.s.nodes }

// Ready returns the reason why jobs are not accepted or cannot be judged, or nil.
func (d *Desk) Ready() error { return d.s.ready() }

// Filter returns the filter of a list of jobs with the parameters of GET /v1/jobs, or a *Problem.
func (d *Desk) Filter(r *http.Request) (jobs.Filter, error) {
	values, err := query(r, route{pattern: "?" + jobParameters}.parameters())
	if err != nil {
		return jobs.Filter{}, err
	}
	return filterOf(values)
}

// Log records what the caller of a request has changed.
func (d *Desk) Log(r *http.Request, what string, args ...any) {
	d.s.log.Info(what, append(args, by(r))...)
}

// Body returns the body of a request. It reserves memory until release is called.
func (d *Desk) Body(w http.ResponseWriter, r *http.Request) (body []byte, release func(), err error) {
	aside := &room{memory: d.s.memory}
	aside.Reader = http.MaxBytesReader(w, d.s.patientBody(w, r), int64(d.s.config.HTTP.MaxBody))
	body, err = io.ReadAll(untilGone{r.Context(), aside})
	if err != nil {
		aside.release()
		return nil, nil, unreadable(err)
	}
	return body, aside.release, nil
}

// maxFiles is the maximum size of the files of a response, in bodies of the maximum size: more than a job has.
const maxFiles = 2

// Files returns a function that reads blobs for one response. It reserves memory for them until release is called.
func (d *Desk) Files() (read func(digest string) ([]byte, error), release func()) {
	aside, most := &room{memory: d.s.memory}, maxFiles*int64(d.s.config.HTTP.MaxBody)
	return func(digest string) ([]byte, error) {
		path, err := d.s.blobs.Path(digest)
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if aside.held+info.Size() > most {
			return nil, problem("too-large", "ask for less in one request",
				"the files of the response have more than %s", units.Bytes(most))
		}
		if !aside.take(info.Size()) {
			return nil, problem("not-ready", "try again later", "other large bodies and files are in memory").
				retryAfter(retryNotReady)
		}
		return os.ReadFile(path)
	}, aside.release
}

// Room returns a *Problem if no job is accepted now.
func (d *Desk) Room(ctx context.Context) error {
	if err := d.s.accepts(); err != nil {
		return problem("not-ready", "try again later; GET /readyz shows when", "%s", err).retryAfter(retryNotReady)
	}
	err := d.s.jobs.Room(ctx)
	if errors.Is(err, jobs.ErrFull) {
		return d.s.full(err)
	}
	return err
}

// Prepare validates a job and stores its files.
func (d *Desk) Prepare(ctx context.Context, r intake.Request) (jobs.Submission, error) {
	return d.s.intake.Prepare(ctx, r)
}

// Put stores a job that Prepare has returned.
func (d *Desk) Put(ctx context.Context, n jobs.Submission) error {
	_, _, err := d.s.put(ctx, n)
	return err
}

// NewBatch returns an empty batch. Call release once its jobs are stored.
func (d *Desk) NewBatch(ctx context.Context) (b *Batch, release func(), err error) {
	return d.s.newBatch(ctx)
}

// Wait waits until a job has ended, the server ends streams, or ctx is done.
func (d *Desk) Wait(ctx context.Context, id string) error {
	_, err := d.s.report(ctx, id, maxDoorWait)
	return err
}

// maxDoorWait is longer than any job takes: the caller or the server ends the wait.
const maxDoorWait = 24 * time.Hour

// Load returns how many jobs wait, and the states of the slots of this host, or of the nodes that judge for a front.
func (d *Desk) Load(ctx context.Context) (waiting int, states []string, err error) {
	depths, err := d.s.jobs.Depth(ctx)
	if err != nil {
		return 0, nil, err
	}
	if d.s.slots != nil {
		for _, s := range d.s.slots.Snapshot() {
			states = append(states, s.State)
		}
	}
	if d.s.nodes != nil {
		nodes, err := d.s.nodes.Nodes(ctx)
		if err != nil {
			return 0, nil, err
		}
		for _, n := range nodes {
			if !n.Judging() {
				continue
			}
			for _, s := range n.Slots {
				states = append(states, s.State)
			}
		}
	}
	return depths.Total(), states, nil
}

// Languages returns the languages of this host or fleet.
func (d *Desk) Languages(ctx context.Context) ([]api.LanguageStatus, error) {
	return d.s.languages.ListLanguages(ctx)
}

// Now returns the time.
func (d *Desk) Now() time.Time { return d.s.now() }

// Explain returns the problem that an error is for the caller. It logs internal errors.
func (d *Desk) Explain(r *http.Request, err error) *Problem {
	p := problemOf(err)
	d.s.logCause(r, p)
	return p
}

// Answer sends a complete response.
func (d *Desk) Answer(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	if left := unwanted(r); left != nil {
		d.s.refuse(w, left, status, body)
		return
	}
	d.s.write(w, status, body)
}

// Header returns the headers of a problem, such as Retry-After.
func (p *Problem) Header() http.Header { return p.header }

// logCause logs the cause of an internal error, unless that is that the caller has disconnected.
func (s *Server) logCause(r *http.Request, p *Problem) {
	if p.cause == nil || errors.Is(p.cause, context.Canceled) && r.Context().Err() != nil {
		return
	}
	s.log.Error("request failed", slog.String("method", r.Method), slog.String("path", r.URL.Path),
		slog.Any("error", p.cause))
}
