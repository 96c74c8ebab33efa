package judge

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"judged/internal/api"
	"judged/internal/base/poll"
	"judged/internal/client"
	"judged/internal/jobs"
)

// Options describe a judge node.
type Options struct {
	Front client.Client
	Node  string // name; with tokens, the name of the token
	// Unnamed means that Node is only a default, see api.Caller.
	Unnamed bool
	Spool   string // folder of the reports that no front has received yet
	// Outputs finds the copy of an output that this node has kept. It returns blobs.ErrNotFound if the copy is gone.
	Outputs func(digest string) (path string, err error)
	// Replaced is called for each report that no front accepted, so that its job has become IE. It may be nil.
	Replaced func()
	Log      *slog.Logger
	// Protocols are the versions that the node supports; the zero value means api.FleetProtocols().
	Protocols api.Protocols
}

// Source takes jobs from a front and sends their reports. Its methods return api.ErrUnavailable while no front
// responds, and api.ErrRefused for requests that no front ever accepts.
type Source struct {
	o     Options
	spool spool
	emits chan api.EmitRequest
	// spoken is the version that a front accepted last.
	spoken atomic.Int64

	// answered is the number of requests to which a front has responded.
	answered atomic.Int64

	mu      sync.Mutex // guards the fields below
	takes   map[string]string
	trouble map[api.Lease]trouble // reports that could not be delivered
}

// maxEmits is the number of tests that may wait to be sent. The report has all of them.
const maxEmits = 1024

// NewSource prepares the spool. Run sends what Emit receives.
func NewSource(o Options) (*Source, error) {
	s, err := openSpool(o.Spool)
	if err != nil {
		return nil, err
	}
	if o.Protocols == (api.Protocols{}) {
		o.Protocols = api.FleetProtocols()
	}
	if o.Replaced == nil {
		o.Replaced = func() {}
	}
	source := &Source{o: o, spool: s, emits: make(chan api.EmitRequest, maxEmits), takes: map[string]string{},
		trouble: map[api.Lease]trouble{}}
	source.spoken.Store(int64(o.Protocols.Newest))
	return source, nil
}

// Run sends tests and spooled reports until ctx is done, independently of each other.
func (s *Source) Run(ctx context.Context) {
	var tasks sync.WaitGroup
	defer tasks.Wait()
	tasks.Go(func() { s.sendTests(ctx) })
	for range poll.NowAndEvery(ctx, api.RegisterEvery) {
		_ = s.HandIn(ctx) // repeated at the next tick
	}
}

// sendTests sends each test once: the report has all of them.
func (s *Source) sendTests(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-s.emits:
			if _, err := post[api.Nothing](ctx, s, "emit", &e, 0); err != nil && ctx.Err() == nil {
				s.o.Log.Debug("cannot send a test; the report will have it", "job", e.ID, "error", err)
			}
		}
	}
}

// Register sends the state of the node, in the newest version that the front supports.
func (s *Source) Register(ctx context.Context, r api.Registration) (api.NodeCommands, error) {
	s.spoken.Store(int64(s.o.Protocols.Newest))
	return post[api.NodeCommands](ctx, s, "register", &r, 0)
}

// Take implements dispatch.Queue.
func (s *Source) Take(ctx context.Context, w api.Want) (api.Work, error) {
	q := api.TakeRequest{Pool: w.Pool, Width: w.Width, CPUs: w.CPUs, WaitMS: api.MaxWait.Milliseconds()}
	q.Key, q.Repeated = s.takeKey(w.CPUs)
	for {
		begun := time.Now()
		answer, err := post[api.TakeAnswer](ctx, s, "take", &q, api.MaxWait)
		switch {
		case err != nil:
			return api.Work{}, err
		case answer.Work != nil:
			if l := answer.Work.Work().Lease; !jobs.ValidStoredID(l.ID) || l.Attempt < 1 {
				return api.Work{}, fmt.Errorf("take: %w: the front sends attempt %d at job %.70q; check that "+
					"fleet.front is a judged of this version", api.ErrUnavailable, l.Attempt, l.ID)
			}
			s.taken(w.CPUs)
			return answer.Work.Work(), nil
		case ctx.Err() != nil:
			return api.Work{}, fmt.Errorf("take a job: %w", ctx.Err())
		}
		pace(ctx, begun)
	}
}

// leastPoll is the least time between two long polls. A front answers at once while it stops.
const leastPoll = time.Second

// pace waits before the next long poll.
func pace(ctx context.Context, begun time.Time) { poll.Sleep(ctx, leastPoll-time.Since(begun)) }

// takeKey returns the key for taking a job for a slot, and whether it was used before: the response to an earlier
// request may have been lost, and with it a job.
func (s *Source) takeKey(cpus string) (key string, repeated bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key, repeated = s.takes[cpus]; !repeated {
		key = rand.Text()
		s.takes[cpus] = key
	}
	return key, repeated
}

// taken discards the key of a slot.
func (s *Source) taken(cpus string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.takes, cpus)
}

// Extend implements dispatch.Queue.
func (s *Source) Extend(ctx context.Context, l api.Lease) (time.Time, error) {
	answer, err := post[api.ExtendAnswer](ctx, s, "extend", &api.ExtendRequest{Hold: hold(l)}, 0)
	return answer.Until, err
}

// Lost implements dispatch.Queue.
func (s *Source) Lost(ctx context.Context, l api.Lease) error {
	q := api.ExtendRequest{Hold: hold(l), WaitMS: api.MaxWait.Milliseconds()}
	for {
		begun := time.Now()
		if _, err := post[api.ExtendAnswer](ctx, s, "extend", &q, api.MaxWait); err != nil {
			return err
		}
		pace(ctx, begun)
	}
}

// Emit implements dispatch.Queue.
func (s *Source) Emit(l api.Lease, n int, t api.TestReport) error {
	select {
	case s.emits <- api.EmitRequest{Hold: hold(l), N: n, Test: t}:
		return nil
	default:
		return fmt.Errorf("emit test %d of job %q: %d tests wait to be sent", n, l.ID, maxEmits)
	}
}

// Return implements dispatch.Queue.
func (s *Source) Return(ctx context.Context, l api.Lease, back api.Returned) error {
	_, err := post[api.Nothing](ctx, s, "return",
		&api.ReturnRequest{Hold: hold(l), DelayMS: back.Delay.Milliseconds(), Uncounted: back.Uncounted,
			Reason: back.Reason}, 0)
	return err
}

// hold returns a Hold; post fills in the rest.
func hold(l api.Lease) api.Hold { return api.Hold{ID: l.ID, Attempt: l.Attempt} }

// post sends a request and translates the errors of the front. If the front does not support the version, post retries
// with an older one: during an upgrade, fronts behind one address differ.
func post[T any](ctx context.Context, s *Source, verb string, body interface{ From() *api.Caller },
	wait time.Duration) (T,
	error) {
	for version := int(s.spoken.Load()); ; version-- {
		*body.From() = api.Caller{Node: s.o.Node, Unnamed: s.o.Unnamed, Protocol: version}
		answer, err := client.Post[T](ctx, s.o.Front, "/v1/work/"+verb, body, wait)
		switch {
		case err == nil:
			s.spoken.Store(int64(version))
			s.answered.Add(1)
			return answer, nil
		case refusesVersion(err) && s.o.Protocols.Has(version-1):
			continue
		case refusesVersion(err): // the next request tries all versions again
			s.spoken.Store(int64(s.o.Protocols.Newest))
		}
		return answer, fmt.Errorf("%s: %w", verb, translate(ctx, err))
	}
}

func refusesVersion(err error) bool { return problemKind(err) == "protocol" }

// problemKind returns the kind of a front's problem, or "" for other errors.
func problemKind(err error) string {
	p, ok := errors.AsType[*client.Problem](err)
	if !ok {
		return ""
	}
	return p.Kind()
}

// translate maps the errors of requests to those of package api. If the node is denied access, for example because its
// token was revoked, it keeps its reports until an operator has acted.
func translate(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	kind := api.ErrUnavailable
	switch problemKind(err) {
	case "stale":
		kind = api.ErrStale
	case "final":
		kind = api.ErrFinal
	case "not-found":
		kind = api.ErrNotFound
	default:
		if client.ClassOf(err) == client.Refused {
			kind = api.ErrRefused
		}
	}
	return fmt.Errorf("%w: %w", kind, err)
}
