package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/base/units"
	"judged/internal/jobs"
	"judged/internal/jobs/blobs"
)

// Work is the store as judge nodes use it; *jobs.Store implements it.
type Work interface {
	Take(ctx context.Context, w api.Want) (api.Work, error)
	Extend(ctx context.Context, l api.Lease) (until time.Time, err error)
	Lost(ctx context.Context, l api.Lease) error
	Emit(l api.Lease, n int, t api.TestReport) error
	Finish(ctx context.Context, l api.Lease, rep api.Report) error
	Return(ctx context.Context, l api.Lease, r api.Returned) error
	Reclaim(ctx context.Context, host string) (int, error)
	Holder(ctx context.Context, l api.Lease) (host string, err error)
	Held(ctx context.Context, host string) (int, error)
}

// Nodes are the judge nodes of a fleet; *front.Registry implements it.
type Nodes interface {
	Seen(ctx context.Context, r api.Registration) (api.NodeCommands, error)
	Drained(ctx context.Context, name string) (bool, error)
	Reserved(ctx context.Context, pool, node, cpus string) (bool, error)
	SetDrained(ctx context.Context, name string, drained bool) error
	Forget(ctx context.Context, name string) error
	Admit(ctx context.Context, name string) error
	Admitted(ctx context.Context, name, fingerprint string) (bool, error)
	FingerprintOf(ctx context.Context, name, claimed string) (string, error)
	RejudgingSet(ctx context.Context, node string) (api.RejudgingSet, error)
	Nodes(ctx context.Context) ([]api.Node, error)
	Pools(ctx context.Context, waiting jobs.Depths) ([]api.Pool, error)
	CheckPool(ctx context.Context, name string) error
	CheckCPUs(ctx context.Context, pool string, cpus int) (most int, err error)
	OpenScreen(ctx context.Context, pool string) error
	SetPrefetch(ctx context.Context, pool string, blobs []api.Blob) error
	PrefetchStatus(ctx context.Context, pool string) (api.PrefetchStatus, error)
}

// nodeRoutes returns the routes of a front for judge nodes and for operators of a fleet.
func (s *Server) nodeRoutes() []route {
	node, read, admin := []Scope{Node}, []Scope{Read}, []Scope{Admin}
	return []route{
		{"POST", "/v1/work/register", node, work(s, s.registerNode)},
		{"POST", "/v1/work/take", node, work(s, s.takeJob)},
		{"POST", "/v1/work/extend", node, leasedWork(s, s.extendJob)},
		{"POST", "/v1/work/emit", node, leasedWork(s, s.emitTest)},
		{"POST", "/v1/work/keep", node, leasedWork(s, s.storeOutput)},
		{"POST", "/v1/work/finish", node, leasedWork(s, s.finishJob)},
		{"POST", "/v1/work/return", node, leasedWork(s, s.returnJob)},
		{"POST", "/v1/work/verify", node, work(s, s.verifyBlob)},
		{"GET", "/v1/nodes", read, operators(s.answer(s.getNodes))},
		{"GET", "/v1/nodes/{name}/rejudge", read, operators(s.answer(s.getRejudgingSet))},
		{"GET", "/v1/pools", read, s.answer(s.getPools)},
		{"GET", "/v1/pools/{pool}/prefetch", read, operators(s.answer(s.getPrefetch))},
		{"POST", "/v1/pools/{pool}/prefetch", admin, operators(s.requestPrefetch)},
		{"POST", "/v1/pools/{pool}/open", admin, operators(s.bodiless(s.answer(s.openScreen)))},
		{"POST", "/v1/nodes/{name}/drain", admin, operators(s.bodiless(s.answer(s.setDrained(true))))},
		{"POST", "/v1/nodes/{name}/undrain", admin, operators(s.bodiless(s.answer(s.setDrained(false))))},
		{"POST", "/v1/nodes/{name}/admit", admin, operators(s.bodiless(s.answer(s.admitNode)))},
		{"POST", "/v1/nodes/{name}/forget", admin, operators(s.bodiless(s.answer(s.forgetNode)))},
	}
}

// nodeOwner returns the name under which a node holds jobs. The slash distinguishes it from the names of daemons that
// share the database.
func nodeOwner(node string) string { return "node/" + node }

// fromNode is a request that names the node that sends it.
type fromNode[T any] interface {
	*T
	From() *api.Caller
}

// work returns a handler that decodes the body of a node, checks its name, and responds with the value of a function.
func work[T any, P fromNode[T]](s *Server, f func(*http.Request, P) (any, error),
) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		q, err := readWork[T, P](s, w, r)
		if err != nil {
			return err
		}
		return s.answer(func(r *http.Request) (any, error) { return f(r, q) })(w, r)
	}
}

// leasedWork is work for a request about a job that the node must have.
func leasedWork[T any, P interface {
	fromNode[T]
	Lease() api.Lease
}](s *Server, f func(*http.Request, P) (any, error)) func(http.ResponseWriter, *http.Request) error {
	return work(s, func(r *http.Request, q P) (any, error) {
		if err := s.held(r.Context(), q.From().Node, q.Lease()); err != nil {
			return nil, err
		}
		return f(r, q)
	})
}

// readWork decodes the body of a node and checks its name.
func readWork[T any, P fromNode[T]](s *Server, w http.ResponseWriter, r *http.Request) (P, error) {
	v := new(T)
	if err := s.decode(w, r, v, sameVersion); err != nil {
		return nil, err
	}
	from := P(v).From()
	if !s.protocols.Has(from.Protocol) {
		return nil, problem("protocol", "update judged on the node or on the front: one may be a version ahead",
			"the node speaks version %d of the node protocol, this front versions %d to %d", from.Protocol,
			s.protocols.Oldest, s.protocols.Newest)
	}
	token := callerName(r)
	if s.tokens != nil && from.Unnamed {
		from.Node = token
	}
	if !jobs.ValidID(from.Node) {
		return nil, problem("bad-request", "set fleet.node on the judge node", "invalid node name %.70q", from.Node)
	}
	if s.tokens != nil && token != from.Node {
		return nil, problem("forbidden", "set fleet.node to the name of the token, or leave it empty",
			"the token of %q is not one of node %.70q", token, from.Node)
	}
	return v, nil
}

// decode reads a small body of another judged into v. Unknown members are ignored, because the sender may be newer.
// next is the next step for a caller whose body is invalid.
func (s *Server) decode(w http.ResponseWriter, r *http.Request, v any, next string) error {
	aside := &room{memory: s.nodeMemory, spare: smallBody}
	defer aside.release()
	most := int64(s.config.HTTP.MaxBody)
	if _, keeps := v.(*api.KeepRequest); keeps {
		most = max(most, outputBody(s.config))
	}
	aside.Reader = http.MaxBytesReader(w, s.patientBody(w, r), most)
	body, err := io.ReadAll(aside)
	if err != nil {
		return unreadable(err)
	}
	if err := json.Unmarshal(body, v); err != nil {
		return problem("bad-request", next, "read the body: %s", err)
	}
	return nil
}

// outputBody returns the maximum size of a request that has an output of a job: base64, and the other members.
func outputBody(c config.Config) int64 {
	return int64(base64.StdEncoding.EncodedLen(int(c.Limits.Max.Keep))) + 2<<10
}

func callerName(r *http.Request) string { return caller(r.Context()) }

// held returns an error if another node has the job.
func (s *Server) held(ctx context.Context, node string, l api.Lease) error {
	host, err := s.work.Holder(ctx, l)
	if err != nil {
		return err
	}
	if host != nodeOwner(node) {
		return api.ErrStale
	}
	return nil
}

// waiting returns the context of a long poll.
func (s *Server) waiting(r *http.Request, ms int64) (context.Context, func()) {
	wait := time.Duration(min(max(ms, 0), api.MaxWait.Milliseconds())) * time.Millisecond
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	stop := context.AfterFunc(s.closing, cancel)
	return ctx, func() { stop(); cancel() }
}

// poolOf returns an error if the token is not valid for the pool.
func (s *Server) poolOf(r *http.Request, pool string) error {
	if name := callerName(r); s.tokens != nil && !s.tokens.mayServe(name, pool) {
		return problem("forbidden", "set slots.pool on the judge node, or ask for a token of its pool",
			"the token %q is not for pool %q", name, pool)
	}
	return nil
}

// sameVersion is the next step after a request that no judge node of this version sends.
const sameVersion = "run the same version of judged on nodes and fronts"

func (s *Server) registerNode(r *http.Request, g *api.Registration) (any, error) {
	if err := s.poolOf(r, g.Pool); err != nil {
		return nil, err
	}
	if !config.ValidPool(g.Pool) {
		return nil, problem("bad-request", "set slots.pool on the judge node", "invalid pool name %.70q", g.Pool)
	}
	if err := g.Check(); err != nil {
		return nil, problem("bad-request", sameVersion, "invalid registration: %s", err)
	}
	if size := hardwareSize(g); size > maxHardware {
		return nil, problem("bad-request", sameVersion,
			"the hardware of the node has %d bytes, want at most %d", size, maxHardware)
	}
	if err := g.Kernels.Check(); err != nil {
		return nil, problem("bad-request", sameVersion, "invalid times of the node: %s", err)
	}
	if g.Started {
		n, err := s.work.Reclaim(r.Context(), nodeOwner(g.Node))
		if err != nil {
			return nil, err
		}
		s.log.Info("a judge node has started", "node", g.Node, "pool", g.Pool, "version", g.Version,
			"jobs_taken_again", n)
	}
	commands, err := s.nodes.Seen(r.Context(), *g)
	if err != nil {
		return nil, err
	}
	commands.Node = g.Node
	if (g.Started || g.Kernels != nil) && commands.KeptOut != "" {
		s.log.Warn("a judge node gets no jobs", "node", g.Node, "reason", commands.KeptOut)
	}
	return commands, nil
}

// maxHardware is the maximum size of the hardware description that a node sends, in bytes; a host with 100 CPUs sends
// 20 KB.
const maxHardware = 256 << 10

func hardwareSize(g *api.Registration) int {
	n := 0
	for name, value := range g.Hardware {
		n += len(name) + len(value)
	}
	if g.Kernels != nil {
		n += len(g.Kernels.Program)
		for name := range g.Kernels.CPUTime {
			n += len(name)
		}
	}
	return n
}

// takeJob waits for a job. A job that was leased while the node disconnected is returned to the queue immediately.
func (s *Server) takeJob(r *http.Request, q *api.TakeRequest) (any, error) {
	q.Pool = cmp.Or(q.Pool, config.Default().Slots.Pool)
	if err := s.poolOf(r, q.Pool); err != nil {
		return nil, err
	}
	if err := q.Check(); err != nil {
		return nil, problem("bad-request", sameVersion, "invalid slot: %s", err)
	}
	ctx, done := s.waiting(r, q.WaitMS)
	defer done()
	drained, err := s.nodes.Drained(r.Context(), q.Node) // even if the node does not wait
	if err != nil {
		return nil, err
	}
	for drained {
		select {
		case <-ctx.Done(): // the node will ask again
			return api.TakeAnswer{}, nil
		case <-time.After(time.Second):
		}
		if drained, err = s.nodes.Drained(r.Context(), q.Node); err != nil {
			return nil, err
		}
	}
	contests, err := s.nodes.Reserved(r.Context(), q.Pool, q.Node, q.CPUs)
	if err != nil {
		return nil, err
	}
	work, err := s.work.Take(ctx, api.Want{Pool: q.Pool, Width: q.Width, Host: nodeOwner(q.Node), Node: q.Node,
		CPUs: q.CPUs, Contests: contests, Key: q.Key, Repeated: q.Repeated})
	switch {
	case err != nil && ctx.Err() != nil:
		return api.TakeAnswer{}, nil
	case err != nil:
		return nil, err
	case r.Context().Err() != nil:
		return api.TakeAnswer{}, s.work.Return(context.WithoutCancel(r.Context()), work.Lease, api.Returned{Uncounted: true})
	}
	s.leases.note(work.Lease, leasedJob{job: work.Job, pool: q.Pool})
	return api.TakeAnswer{Work: api.NodeWorkOf(work)}, nil
}

// extendJob extends a lease, and with wait_ms responds as soon as it is lost.
func (s *Server) extendJob(r *http.Request, q *api.ExtendRequest) (any, error) {
	until, err := s.work.Extend(r.Context(), q.Lease())
	if err != nil {
		return nil, err
	}
	if q.WaitMS > 0 {
		ctx, done := s.waiting(r, q.WaitMS)
		defer done()
		if err := s.work.Lost(ctx, q.Lease()); err != nil && ctx.Err() == nil {
			return nil, err
		}
	}
	return api.ExtendAnswer{Until: until}, nil
}

func (s *Server) emitTest(r *http.Request, q *api.EmitRequest) (any, error) {
	leased, err := s.leasedJob(r.Context(), q.Lease())
	if err != nil {
		return nil, err
	}
	if err := leased.job.CheckTest(q.N, q.Test); err != nil {
		return nil, invalidReport(q.Hold, err)
	}
	return api.Nothing{}, s.work.Emit(q.Lease(), q.N, q.Test)
}

// storeOutput stores an output that the report of the attempt will name. A node repeats the request if the response was
// lost, or if the report was not accepted.
func (s *Server) storeOutput(r *http.Request, q *api.KeepRequest) (any, error) {
	leased, err := s.leasedJob(r.Context(), q.Lease())
	if err != nil {
		return nil, err
	}
	if !blobs.ValidDigest(q.SHA256) {
		return nil, problem("bad-request", sameVersion, "invalid digest %.80q", q.SHA256)
	}
	if _, err := s.blobs.Stat(q.SHA256); err == nil {
		return api.Nothing{}, nil
	}
	size, keep := units.Bytes(len(q.Content)), leased.job.Keep
	if size > keep.Bytes || s.leases.spend(q.Lease(), size) > keep.Total {
		return nil, invalidReport(q.Hold, fmt.Errorf("an output of %d bytes is more than the job keeps", size))
	}
	_, _, _, err = s.blobs.Put(r.Context(), q.SHA256, bytes.NewReader(q.Content))
	if err == nil || errors.As(err, new(*blobs.DigestError)) || errors.Is(err, blobs.ErrTooBig) {
		return api.Nothing{}, err
	}
	s.leases.spend(q.Lease(), -size) // the node sends it again
	// A node drops an output for which a front always fails. This failure is not about the output.
	p := problem("not-ready", "try again later; GET /readyz shows when", "no output can be stored").retryAfter(retryNotReady)
	p.cause = err
	return nil, p
}

// finishJob stores a report. A node repeats the request if the response was lost.
func (s *Server) finishJob(r *http.Request, q *api.FinishRequest) (any, error) {
	leased, err := s.leasedJob(r.Context(), q.Lease())
	if err != nil {
		return nil, err
	}
	if err := leased.job.CheckReport(q.Report); err != nil {
		s.log.Error("refused the report of a judge node", "node", q.Node, "job", q.ID, "error", err)
		return nil, invalidReport(q.Hold, err)
	}
	if err := s.vouch(r.Context(), q, leased); err != nil {
		return nil, err
	}
	if err := s.work.Finish(r.Context(), q.Lease(), q.Report); err != nil {
		return nil, err
	}
	s.leases.forget(q.Lease())
	return api.Nothing{}, nil
}

func (s *Server) returnJob(r *http.Request, q *api.ReturnRequest) (any, error) {
	delay, err := q.Delay()
	if err != nil {
		return nil, problem("bad-request", sameVersion, "invalid return: %s", err)
	}
	s.leases.forget(q.Lease())
	back := api.Returned{Delay: delay, Uncounted: q.Uncounted, Reason: q.Reason}
	return api.Nothing{}, s.work.Return(r.Context(), q.Lease(), back)
}

// verifyBlob verifies a blob that reached a node with a wrong digest.
func (s *Server) verifyBlob(r *http.Request, q *api.VerifyRequest) (any, error) {
	err := s.blobs.Verify(r.Context(), q.Blob)
	if errors.Is(err, blobs.ErrNotFound) {
		s.log.Warn("a blob for a node is missing or damaged", "node", q.Node, "error", err)
		return api.VerifyAnswer{}, nil
	}
	if err != nil {
		return nil, err
	}
	return api.VerifyAnswer{Stored: true}, nil
}

func (s *Server) getNodes(r *http.Request) (any, error) {
	nodes, err := s.nodes.Nodes(r.Context())
	return api.NodeList{Nodes: nodes}, err
}

func (s *Server) getRejudgingSet(r *http.Request) (any, error) {
	return s.nodes.RejudgingSet(r.Context(), r.PathValue("name"))
}

func (s *Server) getPools(r *http.Request) (any, error) {
	depth, err := s.jobs.Depth(r.Context())
	if err != nil {
		return nil, err
	}
	pools, err := s.nodes.Pools(r.Context(), depth)
	return api.PoolList{Pools: pools}, err
}

// openScreen makes a screening pool learn its ratios again after a check has closed it.
func (s *Server) openScreen(r *http.Request) (any, error) {
	pool := r.PathValue("pool")
	if err := s.nodes.OpenScreen(r.Context(), pool); err != nil {
		return nil, err
	}
	s.log.Info("opened a screening pool", "pool", pool, by(r))
	return s.getPools(r)
}

// admitNode lets a node judge although it differs from its pool.
func (s *Server) admitNode(r *http.Request) (any, error) {
	name := r.PathValue("name")
	if err := s.nodes.Admit(r.Context(), name); err != nil {
		return nil, err
	}
	s.log.Info("admitted a judge node that differs from its pool", "node", name, by(r))
	return s.getNodes(r)
}

// forgetNode removes a node that is down and has no jobs from the list.
func (s *Server) forgetNode(r *http.Request) (any, error) {
	name := r.PathValue("name")
	held, err := s.work.Held(r.Context(), nodeOwner(name))
	if err == nil && held > 0 {
		err = fmt.Errorf("node %.70q holds %d jobs, wait until another node judges them, or cancel them: %w", name, held,
			api.ErrNodeInUse)
	}
	if err == nil {
		err = s.nodes.Forget(r.Context(), name)
	}
	if err != nil {
		return nil, err
	}
	s.log.Info("forgot a judge node", "node", name, by(r))
	return s.getNodes(r)
}

// setDrained returns a handler that changes a node and responds with all nodes.
func (s *Server) setDrained(drained bool) func(*http.Request) (any, error) {
	done := "undrained a judge node"
	if drained {
		done = "drained a judge node"
	}
	return func(r *http.Request) (any, error) {
		name := r.PathValue("name")
		if err := s.nodes.SetDrained(r.Context(), name, drained); err != nil {
			return nil, err
		}
		s.log.Info(done, "node", name, by(r))
		return s.getNodes(r)
	}
}
