package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"judged/internal/base/job"
	"judged/internal/broker"
)

// Options are of one pool.
type Options struct {
	Pool       string        // "" is default; letters, digits, "-" and "_"
	MaxDeliver int           // Delivery.Last is true from this one on; 0 is 3
	AckWait    time.Duration // a delivery without Ack or Extend for this long is made again; 0 is 30 s
	Log        *slog.Logger
}

// Queue is the waiting jobs of one pool. Its methods may be called from any
// goroutine. Open a pool once in a process.
type Queue struct {
	broker  *broker.Broker
	js      jetstream.JetStream
	opts    Options
	classes []*class    // by urgency, the most urgent first
	askers  chan *asker // free ones
}

// maxAskers is how many inboxes are kept; more than there are slots.
const maxAskers = 64

// class is one priority of the pool.
type class struct {
	priority job.Priority
	subject  string // without the id
	consumer string
	pull     string                    // where messages are asked for
	flying   atomic.Int64              // deliveries of this process that are not settled
	change   atomic.Pointer[time.Time] // when this process last put a job here or gave one back
	empty    atomic.Pointer[time.Time] // when it last asked for one and got none
}

const (
	// believeEmpty is how long a class is believed to be empty without asking:
	// leases that run out put jobs back, and nobody is told.
	believeEmpty = time.Second
	// hearsay is how long a consumer may take to hear of a job that was put
	// into a stream in memory. It takes a fraction of a millisecond.
	hearsay = 100 * time.Millisecond
)

// changed is called after every word to the broker that can bring a job.
func (c *class) changed() {
	now := time.Now()
	c.change.Store(&now)
}

// knownEmpty spares the question, a tenth of a millisecond for each class of
// each job. It is of use only where nobody else puts jobs here.
func (c *class) knownEmpty() bool {
	asked, change := c.empty.Load(), c.change.Load()
	return asked != nil && time.Since(*asked) < believeEmpty && (change == nil || asked.Sub(*change) > hearsay)
}

const (
	streamName     = "JUDGED_QUEUE"
	defaultPool    = "default"
	defaultDeliver = 3
	// defaultAckWait is long enough for a daemon that is stopped for a while
	// (a suspended machine, a debugger): a needless second run costs a slot.
	defaultAckWait = 30 * time.Second
)

// Open prepares the stream and the consumers of one pool.
func Open(ctx context.Context, b *broker.Broker, opts Options) (*Queue, error) {
	opts = withDefaults(opts)
	if !plain(opts.Pool) {
		return nil, fmt.Errorf("open queue of pool %q: a pool's name has only letters, digits, - and _", opts.Pool)
	}
	q := &Queue{broker: b, js: b.JetStream(), opts: opts, askers: make(chan *asker, maxAskers)}
	if err := q.openStream(ctx); err != nil {
		return nil, fmt.Errorf("open queue: %w", b.Explain(err))
	}
	for _, p := range job.Priorities() {
		c := newClass(opts.Pool, p)
		if err := q.openConsumer(ctx, c); err != nil {
			return nil, fmt.Errorf("open queue of pool %q, priority %s: %w", opts.Pool, p, b.Explain(err))
		}
		q.classes = append(q.classes, c)
	}
	return q, nil
}

// Serves reports whether jobs of a pool are for this queue: those of its own, and
// where nobody else is all, whatever the pool was called when they came.
func (q *Queue) Serves(pool string) bool {
	return q.broker.Embedded() || cmp.Or(pool, defaultPool) == q.opts.Pool
}

func withDefaults(o Options) Options {
	if o.Pool == "" {
		o.Pool = defaultPool
	}
	if o.MaxDeliver <= 0 {
		o.MaxDeliver = defaultDeliver
	}
	if o.AckWait <= 0 {
		o.AckWait = defaultAckWait
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

func newClass(pool string, p job.Priority) *class {
	consumer := pool + "_" + string(p)
	return &class{
		priority: p,
		subject:  "jobs." + pool + "." + string(p),
		consumer: consumer,
		pull:     "$JS.API.CONSUMER.MSG.NEXT." + streamName + "." + consumer,
	}
}

func (q *Queue) openStream(ctx context.Context) error {
	_, err := q.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: streamName, Description: "judged: jobs that wait or are being judged",
		Subjects: []string{"jobs.*.*.*"}, Storage: q.storage(), Replicas: q.broker.Replicas(),
		Retention: jetstream.WorkQueuePolicy,
		// One message per subject, new ones refused: that makes Put idempotent
		// for as long as the job is here, which a window of message ids is not.
		MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, DiscardNewPerSubject: true,
	})
	return err
}

// storage is where waiting jobs are. Embedded, they are in memory: the process
// that loses them is the one that reads the records anew when it starts, and
// puts every unfinished job back. A file would write and sync twice more for
// each job, to say again what its record says.
func (q *Queue) storage() jetstream.StorageType {
	if q.broker.Embedded() {
		return jetstream.MemoryStorage
	}
	return jetstream.FileStorage
}

func (q *Queue) openConsumer(ctx context.Context, c *class) error {
	if q.broker.Embedded() {
		// Forget the leases of the process before this one.
		err := q.js.DeleteConsumer(ctx, streamName, c.consumer)
		if err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
			return err
		}
	}
	_, err := q.js.CreateOrUpdateConsumer(ctx, streamName, jetstream.ConsumerConfig{
		Durable: c.consumer, FilterSubject: c.subject + ".*",
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: q.opts.AckWait,
		// The server would drop a job silently after its last delivery. It is
		// delivered on and on instead, and who takes it ends it.
		MaxDeliver: -1, MaxAckPending: -1,
		// No synced write per delivery where leases die with the process.
		MemoryStorage: q.broker.Embedded(),
	})
	return err
}

// refused is what the server says to a second message on a subject.
const refused = "maximum messages per subject exceeded"

// Put adds a job whose record is durable already. A job that waits in this
// class or is being judged is not added again; so to judge a job once more,
// give its delivery back with Nak: a Put right after its Ack may still find it
// there.
func (q *Queue) Put(ctx context.Context, id string, p job.Priority) error {
	c := q.class(p)
	if c == nil {
		return fmt.Errorf("queue job %q: unknown priority %q", id, p)
	}
	token, err := tokenOf(id)
	if err != nil {
		return err
	}
	ctx, cancel := q.broker.Writing(ctx)
	defer cancel()
	_, err = q.js.Publish(ctx, c.subject+"."+token, []byte(id))
	c.changed()
	var api *jetstream.APIError
	if errors.As(err, &api) && strings.Contains(api.Description, refused) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("queue job %q: %w", id, q.broker.Explain(err))
	}
	return nil
}

// class returns nil for an unknown priority; "" is practice.
func (q *Queue) class(p job.Priority) *class {
	if p == "" {
		p = job.Practice
	}
	for _, c := range q.classes {
		if c.priority == p {
			return c
		}
	}
	return nil
}

// tokenOf is an id as one token of a subject: dots part tokens.
func tokenOf(id string) (string, error) {
	if plain(strings.ReplaceAll(id, ".", "_")) {
		return strings.ReplaceAll(id, ".", "="), nil
	}
	return "", fmt.Errorf("queue job %q: an id has only letters, digits, - . and _", id)
}

// plain reports whether s is one token of a subject and part of a consumer's
// name.
func plain(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

// Depth is how many jobs wait, by priority. On a cluster jobs that were
// delivered once and wait again are not counted: only their new holder knows
// that they do not wait.
func (q *Queue) Depth(ctx context.Context) (map[job.Priority]int, error) {
	depth := make(map[job.Priority]int, len(q.classes))
	for _, c := range q.classes {
		consumer, err := q.js.Consumer(ctx, streamName, c.consumer)
		if err != nil {
			return nil, fmt.Errorf("read depth of %s: %w", c.subject, q.broker.Explain(err))
		}
		info := consumer.CachedInfo()
		n := int64(info.NumPending)
		if q.broker.Embedded() {
			n += max(int64(info.NumAckPending)-c.flying.Load(), 0)
		}
		depth[c.priority] = int(n)
	}
	return depth, nil
}
