package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// Requests for messages are sent by hand (the pull protocol of JetStream, one
// JSON object to one subject): the client library opens a subscription and a
// goroutine per fetch, which costs more than the fetch, and cannot wait for
// several consumers at once without taking too much.
const (
	// askTimeout bounds one request that does not wait. A message that comes
	// later is delivered again after AckWait.
	askTimeout = 5 * time.Second
	// waitEmbedded and waitCluster bound one wait; then everything is asked
	// again. On a cluster a restarted server has forgotten who waits.
	waitEmbedded = 10 * time.Minute
	waitCluster  = 15 * time.Second
	// grace is how much longer the own timer waits than the server's.
	grace = time.Second
	// pause is before asking again after the server said that it cannot.
	pause = 100 * time.Millisecond
)

// pullRequest asks a consumer for messages.
type pullRequest struct {
	Batch   int           `json:"batch"`
	NoWait  bool          `json:"no_wait,omitempty"`
	Expires time.Duration `json:"expires,omitempty"` // nanoseconds
}

// errRetry is a wait that ended without a message.
var errRetry = errors.New("ask again")

// Take returns the next job: of the most urgent class that has one, the oldest
// one. It blocks until there is one or ctx is done. Of jobs that were put within
// the same fraction of a millisecond it may see one before the others. A message
// that arrives too late to be returned goes back to the queue.
func (q *Queue) Take(ctx context.Context) (*Delivery, error) {
	for {
		for _, c := range q.classes {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if q.broker.Embedded() && c.knownEmpty() {
				continue
			}
			m, err := q.ask(c)
			if errors.Is(err, nats.ErrTimeout) {
				continue // the server is away, or starved: it comes back, or the broker's health tells
			}
			if err != nil {
				return nil, fmt.Errorf("take a job of %s: %w", c.subject, q.broker.Explain(err))
			}
			if m == nil {
				continue
			}
			if d := q.accept(m); d != nil {
				return d, nil
			}
		}
		d, err := q.wait(ctx)
		if !errors.Is(err, errRetry) {
			return d, err
		}
	}
}

// ask returns a message of c that is there now, or nil.
func (q *Queue) ask(c *class) (*nats.Msg, error) {
	a, err := q.asker()
	if err != nil {
		return nil, err
	}
	request, err := json.Marshal(pullRequest{Batch: 1, NoWait: true})
	if err != nil {
		return nil, err
	}
	asked := time.Now()
	m, err := a.ask(c, request)
	if err != nil {
		return nil, errors.Join(err, a.sub.Unsubscribe())
	}
	q.free(a)
	switch said := status(m); {
	case said == "":
		return m, nil
	case said == "503" && q.broker.Embedded():
		return nil, nats.ErrNoResponders
	}
	c.empty.Store(&asked)
	// Nothing there, or the cluster elects a leader: wait deals with that.
	return nil, nil
}

// asker is an inbox for one request at a time. The connection's own requests
// cannot be used: they find the answer by its subject, and the answer to this
// request has the subject of the job.
type asker struct {
	conn    *nats.Conn
	inbox   string
	answers chan *nats.Msg
	sub     *nats.Subscription
}

// asker takes a free one or makes one.
func (q *Queue) asker() (*asker, error) {
	select {
	case a := <-q.askers:
		return a, nil
	default:
	}
	a := &asker{conn: q.broker.Conn(), answers: make(chan *nats.Msg, 1)}
	a.inbox = a.conn.NewInbox()
	var err error
	a.sub, err = a.conn.ChanSubscribe(a.inbox, a.answers)
	return a, err
}

func (q *Queue) free(a *asker) {
	select {
	case q.askers <- a:
	default:
		_ = a.sub.Unsubscribe()
	}
}

func (a *asker) ask(c *class, request []byte) (*nats.Msg, error) {
	if err := a.conn.PublishRequest(c.pull, a.inbox, request); err != nil {
		return nil, err
	}
	timer := time.NewTimer(askTimeout)
	defer timer.Stop()
	select {
	case m := <-a.answers:
		return m, nil
	case <-timer.C:
		return nil, nats.ErrTimeout
	}
}

// wait asks all consumers at once, as all were empty a moment ago, and returns
// the first message. The inbox is given up then, which withdraws the other
// requests; what they bring in that moment goes back.
func (q *Queue) wait(ctx context.Context) (*Delivery, error) {
	w := &waiter{got: make(chan struct{}), conn: q.broker.Conn()}
	inbox := w.conn.NewInbox()
	sub, err := w.conn.Subscribe(inbox, w.receive)
	if err != nil {
		return nil, fmt.Errorf("wait for a job: %w", q.broker.Explain(err))
	}
	// Drain, not Unsubscribe: messages on their way still reach receive.
	defer func() { _ = sub.Drain() }()
	expires := waitCluster
	if q.broker.Embedded() {
		expires = waitEmbedded
	}
	request, err := json.Marshal(pullRequest{Batch: 1, Expires: expires})
	if err != nil {
		return nil, err
	}
	for _, c := range q.classes {
		if err := w.conn.PublishRequest(c.pull, inbox, request); err != nil {
			return nil, fmt.Errorf("wait for a job: %w", q.broker.Explain(err))
		}
	}
	timer := time.NewTimer(expires + grace)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-w.got:
	case <-timer.C:
	}
	return q.settle(ctx, w)
}

// settle closes a wait and decides what came of it.
func (q *Queue) settle(ctx context.Context, w *waiter) (*Delivery, error) {
	m, said := w.close()
	switch {
	case ctx.Err() != nil:
		if m != nil {
			giveBack(m)
		}
		return nil, ctx.Err()
	case m != nil:
		if d := q.accept(m); d != nil {
			return d, nil
		}
		return nil, errRetry
	case said == "" || said == "408": // expired
		return nil, errRetry
	}
	// A leader changes, the server stops: it says so at once, again and again.
	select {
	case <-time.After(pause):
		return nil, errRetry
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// waiter receives what several requests bring and keeps the first message.
type waiter struct {
	conn *nats.Conn
	got  chan struct{} // closed at the first message or status

	mu     sync.Mutex // guards the rest
	first  *nats.Msg
	said   string // status instead of a message
	closed bool
}

func (w *waiter) receive(m *nats.Msg) {
	w.mu.Lock()
	defer w.mu.Unlock()
	said := status(m)
	if said == "" && (w.closed || w.first != nil) {
		giveBack(m)
		return
	}
	if w.first == nil && w.said == "" {
		defer close(w.got)
	}
	if said == "" {
		w.first = m
	} else {
		w.said = said
	}
}

func (w *waiter) close() (*nats.Msg, string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	return w.first, w.said
}

// status is the code of a message without content, "" for a job.
func status(m *nats.Msg) string {
	if len(m.Data) > 0 {
		return ""
	}
	return m.Header.Get("Status")
}

// giveBack returns a message that nobody saw. That fails only when the
// connection is gone, and then it is delivered again anyway.
func giveBack(m *nats.Msg) { _ = m.Respond([]byte("-NAK")) }

// accept reads a message. One that judged did not write, which only somebody
// else on a cluster can, is thrown away: it would come again for ever.
func (q *Queue) accept(m *nats.Msg) *Delivery {
	d, err := q.delivery(m)
	if err != nil {
		q.opts.Log.Error("a message in the queue is no job; it is thrown away", "subject", m.Subject, "error", err)
		_ = m.Respond([]byte("+TERM")) // fails when the connection is gone, and then it comes again
	}
	return d
}

func (q *Queue) classOf(subject string) *class {
	for _, c := range q.classes {
		if strings.HasPrefix(subject, c.subject+".") {
			return c
		}
	}
	return nil
}
