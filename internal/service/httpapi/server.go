package httpapi

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/base/cpuset"
	"judged/internal/base/units"
	"judged/internal/jobs"
	"judged/internal/jobs/intake"
)

// Jobs stores all jobs; *jobs.Store implements it.
type Jobs interface {
	Put(ctx context.Context, n jobs.Submission) (rec jobs.Record, created bool, err error)
	Pack(ctx context.Context, n jobs.Submission) (jobs.Packed, error)
	PutAll(ctx context.Context, list []jobs.Packed) ([]jobs.Stored, error)
	PutWhole(ctx context.Context, list []jobs.Packed) ([]jobs.Stored, error)
	Room(ctx context.Context) error
	Depth(ctx context.Context) (jobs.Depths, error)
	Waiting(ctx context.Context) (depths jobs.Depths, oldest map[api.Priority]time.Time, err error)
	Tenants(ctx context.Context) ([]api.Tenant, error)
	Get(ctx context.Context, id string) (jobs.Record, error)
	GetShort(ctx context.Context, id string) (jobs.Record, error)
	Copies(ctx context.Context, ids ...string) (map[string]map[string]int, error)
	Wait(ctx context.Context, id string) (api.Report, error)
	Expect(id string) (wait func(context.Context, api.Report) (api.Report, error), release func())
	Events(ctx context.Context, id string, after uint64) iter.Seq2[api.Event, error]
	Follow(ctx context.Context, after jobs.FeedPosition, filter jobs.FeedFilter) (*jobs.Follower, error)
	List(ctx context.Context, f jobs.Filter) (page []api.Report, next string, err error)
	Cancel(ctx context.Context, id string) (api.Report, error)
	Delete(ctx context.Context, id string) error
	PutProblem(ctx context.Context, p api.Problem, by jobs.Editor) (stored api.Problem, created bool, err error)
	Problem(ctx context.Context, id string) (api.Problem, error)
	Problems(ctx context.Context, after string, limit int) (page []api.ProblemSummary, next string, err error)
	DeleteProblem(ctx context.Context, id string, by jobs.Editor) error
	PutRejudging(ctx context.Context, q api.RejudgingRequest, digest string) (created bool, err error)
	Rejudging(ctx context.Context, id string) (api.Rejudging, error)
	Rejudgings(ctx context.Context, after string, limit int) (page []api.Rejudging, next string, err error)
	RejudgedPage(ctx context.Context, id string, changed bool, after string, limit int) (page []api.RejudgedReport,
		next string, err error)
	ApplyRejudging(ctx context.Context, id string) error
	CancelRejudging(ctx context.Context, id string) error
	Callbacks(ctx context.Context, id string) ([]api.CallbackLog, error)
	Receivers(ctx context.Context, after string, limit int) (page []api.Receiver, next string, err error)
	EnableReceiver(ctx context.Context, id string) (api.Receiver, error)
}

// Blobs stores files; *blobs.Store implements it.
type Blobs interface {
	Put(ctx context.Context, digest string, r io.Reader) (sha256 string, n units.Bytes, created bool, err error)
	// PutAll stores contents under their digests.
	PutAll(ctx context.Context, contents map[string][]byte) error
	Path(digest string) (string, error)
	// Verify deletes a blob whose content has another digest, and returns blobs.ErrNotFound then.
	Verify(ctx context.Context, digest string) error
	Stat(digest string) (units.Bytes, error)
}

// Slots are the slots of this host; *dispatch.Monitor implements it.
type Slots interface {
	Snapshot() []api.SlotStatus
	Drain(cpus cpuset.Set, reason string) error
	Undrain(cpus cpuset.Set) error
}

// Languages are the languages in which sources may be submitted: those of this host, or of a front's nodes.
type Languages interface {
	// CheckLanguage returns the reason why a pool cannot judge jobs in a language, or nil.
	CheckLanguage(ctx context.Context, pool, id string) error
	// CompileOptions returns the options that jobs in a language may add. known is false while it is not known.
	CompileOptions(ctx context.Context, pool, id string) (options []string, known bool, err error)
	ListLanguages(ctx context.Context) ([]api.LanguageStatus, error)
}

// Options configure New. Only Tokens, Log and Now are optional.
type Options struct {
	Config    config.Config // its sections http, queue, limits, slots and repeats are used
	Tokens    *Tokens       // nil: requests need a loopback host name, but no token
	Jobs      Jobs
	Blobs     Blobs
	Slots     Slots // nil on a front
	Languages Languages
	Callbacks intake.Callbacks
	Factors   map[string]api.Factors // of the operator, by language
	Work      Work                   // nil on a judge node, like Jobs and Nodes
	Nodes     Nodes
	Protocols api.Protocols // of nodes
	Doors     []Door
	LinkKey   []byte // of signatures of links; nil means a new one, so that links end with the server
	Doctor    func(context.Context) (api.DoctorReport, error)
	Accepts   func() error // returns the reason why jobs are not accepted, or nil
	Ready     func() error // returns the reason why jobs are not accepted or cannot be judged, or nil
	Metrics   http.Handler
	Log       *slog.Logger
	Now       func() time.Time
}

// Server serves requests. It is safe for concurrent use.
type Server struct {
	config    config.Config
	tokens    *Tokens
	refused   string // reason why all requests with a scope are refused, or ""
	jobs      Jobs
	blobs     Blobs
	slots     Slots
	languages Languages
	factors   map[string]api.Factors
	work      Work
	nodes     Nodes
	protocols api.Protocols
	doors     []Door
	linkKey   []byte
	intake    *intake.Intake
	doctor    func(context.Context) (api.DoctorReport, error)
	accepts   func() error
	ready     func() error
	metrics   http.Handler
	log       *slog.Logger
	now       func() time.Time

	stall  time.Duration       // time limit; shorter in tests
	memory *semaphore.Weighted // bytes of bodies that are being read and decoded
	// nodeMemory is memory for bodies of judge nodes: callers may send theirs slowly for half an hour.
	nodeMemory *semaphore.Weighted
	leases     *leases    // jobs that nodes have taken here
	texts      *sync.Pool // of *[]byte: texts of the feed that are being written, one for each follower
	// unpacking is held by the request that is unpacking a package.
	unpacking *semaphore.Weighted
	codec     *codec
	batching  *semaphore.Weighted // held by the batch that is being prepared and stored
	document  []byte              // OpenAPI
	handler   http.Handler
	closing   context.Context // done after EndStreams
	close     context.CancelFunc
}

// New returns a server without starting anything.
func New(o Options) *Server {
	s := &Server{
		config: o.Config, tokens: o.Tokens, jobs: o.Jobs, blobs: o.Blobs, slots: o.Slots, languages: o.Languages,
		work: o.Work, nodes: o.Nodes, protocols: o.Protocols, doors: o.Doors,
		doctor: o.Doctor, accepts: o.Accepts, ready: o.Ready, metrics: o.Metrics, log: o.Log, now: o.Now, stall: stall,
		intake: &intake.Intake{Config: o.Config, Jobs: o.Jobs, Blobs: o.Blobs, Languages: o.Languages, Pools: o.Nodes,
			Factors: o.Factors, Callbacks: o.Callbacks},
		factors: o.Factors, leases: &leases{all: map[api.Lease]leasedJob{}},
		texts: &sync.Pool{New: func() any { return new([]byte) }},
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.linkKey = o.LinkKey; s.linkKey == nil {
		s.linkKey = make([]byte, sha256.Size)
		rand.Read(s.linkKey)
	}
	body := int64(o.Config.HTTP.MaxBody)
	s.memory = semaphore.NewWeighted(bodiesAtOnce * body)
	s.nodeMemory = semaphore.NewWeighted(bodiesAtOnce * max(body, outputBody(o.Config)))
	s.codec = newCodec()
	s.unpacking, s.batching = semaphore.NewWeighted(1), semaphore.NewWeighted(1)
	s.document = openAPIOf(o.Config)
	s.closing, s.close = context.WithCancel(context.Background())
	s.handler = s.outer(s.mux())
	return s
}

// With returns a server with other limits and tokens for new requests. Only the sections limits and repeats of the
// configuration may differ, and queue.max_waiting, which the server only displays. It shares everything else with s. If
// the tokens have changed, the streams of s end, since the tokens that opened them may no longer be valid. Otherwise
// EndStreams of either server ends the streams of both.
func (s *Server) With(c config.Config, t *Tokens) *Server {
	next := *s
	next.config, next.tokens, next.refused = c, t, ""
	in := *s.intake
	in.Config = c
	next.intake = &in
	next.document = openAPIOf(c)
	if !s.tokens.equal(t) {
		next.replaceStreams(s)
	}
	next.handler = next.outer(next.mux())
	return &next
}

// Refusing returns a server that refuses requests that need a scope, and ends the streams of s. With returns a server
// that accepts them again.
func (s *Server) Refusing(why string) *Server {
	next := *s
	next.refused = why
	next.replaceStreams(s)
	next.handler = next.outer(next.mux())
	return &next
}

// replaceStreams ends the streams of the previous server.
func (s *Server) replaceStreams(before *Server) {
	s.closing, s.close = context.WithCancel(context.Background())
	before.EndStreams()
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// EndStreams ends long polls, each with the current report, and event streams, which their readers can resume. New ones
// end immediately.
func (s *Server) EndStreams() { s.close() }

// HTTPServer returns an http.Server for s. It has no timeouts for whole bodies or responses, which may be large or
// long-lived; each single read and write has a deadline. Its Shutdown ends the streams.
func (s *Server) HTTPServer() *http.Server {
	srv := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       idle,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	srv.RegisterOnShutdown(s.EndStreams)
	return srv
}

// idle is how long a connection may stay open between two requests. A client or proxy that sends its next request while
// the server closes the connection loses it, so the server closes later than clients do: Go's client after 90 s, nginx
// and AWS' load balancers after 60 s, Caddy after 2 min, Azure's after 4 min, Google's after 10 min. idleTold is the
// time in the Keep-Alive header, which some clients respect, such as Node's agents.
const (
	idle     = idleTold + time.Minute
	idleTold = 10 * time.Minute
)

// bodiesAtOnce is the number of JSON bodies of the maximum size that may be in memory: a decoded body takes a multiple
// of its size.
const bodiesAtOnce = 4

// stall is the deadline of a single read or write. minRate is the minimum average speed of a body in bytes per second,
// since a body holds memory and a connection.
const (
	stall   = 30 * time.Second
	minRate = 32 << 10
	// savedTime is the most that a sender saves by sending faster.
	savedTime = 2 * time.Minute
)

// transferTime returns the time limit for a response of this size. Readers slower than 64 KiB/s are disconnected.
func (s *Server) transferTime(size int64) time.Duration {
	return s.stall + time.Duration(size>>16)*time.Second
}

// write sends a complete response, encoded as the request accepts it.
func (s *Server) write(w http.ResponseWriter, status int, body []byte) {
	w.Header().Add("Vary", "Accept-Encoding")
	if seen, ok := w.(*statusWriter); ok {
		body = s.codec.encode(w.Header(), seen.encoding, body)
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.transferTime(int64(len(body)))))
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error means that the caller has disconnected
}

// answer returns a handler that responds with the value of a function.
func (s *Server) answer(f func(*http.Request) (any, error)) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		v, err := f(r)
		if err != nil {
			return err
		}
		return s.writeJSON(w, http.StatusOK, v)
	}
}

func (s *Server) writeJSON(w http.ResponseWriter, status int, v any) error {
	return s.writeAs(w, "application/json", status, v)
}

// writeAs sends v as JSON of a media type.
func (s *Server) writeAs(w http.ResponseWriter, kind string, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	w.Header().Set("Content-Type", kind)
	s.write(w, status, append(body, '\n'))
	return nil
}

// patient is a body whose sender may not stop for longer than stall, and needs a minimum speed: the time that it makes the
// server wait, less that of its bytes at the minimum speed, is at most stall. A sender that was faster may be slower for
// savedTime, but cannot hold memory for half an hour by sending most of a body at once. The time of the server itself does
// not count. The deadline is removed at the end of the body, and only there: after the body, net/http reads in the
// background to notice that a caller has disconnected, and would treat an expired deadline as that. It also reads and
// discards the rest of a broken body.
type patient struct {
	io.ReadCloser
	control *http.ResponseController
	stall   time.Duration
	waited  time.Duration // counts against stall
}

// Read implements io.Reader.
func (p *patient) Read(b []byte) (int, error) {
	begun := time.Now()
	_ = p.control.SetReadDeadline(begun.Add(p.stall - max(p.waited, 0)))
	n, err := p.ReadCloser.Read(b)
	p.waited += time.Since(begun) - time.Duration(n)*time.Second/minRate
	p.waited = max(p.waited, -savedTime)
	if errors.Is(err, io.EOF) {
		_ = p.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

func (s *Server) patientBody(w http.ResponseWriter, r *http.Request) io.ReadCloser {
	return &patient{ReadCloser: r.Body, control: http.NewResponseController(w), stall: s.stall}
}

// callerKey is the context key of the name of the token in use.
type callerKey struct{}

// withCaller returns the context of a request. All that it reads and stores is what the tenant of the caller may see.
func withCaller(ctx context.Context, name, tenant string) context.Context {
	return context.WithValue(jobs.WithTenant(ctx, tenant), callerKey{}, name)
}

func caller(ctx context.Context) string {
	name, _ := ctx.Value(callerKey{}).(string)
	return name
}
