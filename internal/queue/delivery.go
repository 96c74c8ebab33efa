package queue

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"judged/internal/base/job"
)

// Delivery is a lease on a job. It ends by Ack or Nak, or AckWait after Take
// or the last Extend; the job is delivered again then.
type Delivery struct {
	ID       string
	Attempt  int // number of this delivery, 1 and up; restarts with the process when embedded
	Last     bool
	Priority job.Priority
	QueuedAt time.Time // broker's clock

	msg     *nats.Msg
	queue   *Queue
	class   *class
	settled atomic.Bool
}

// delivery reads a message of the stream. Last is true from the last
// permitted delivery on: what fails then is to be ended, not given back.
func (q *Queue) delivery(m *nats.Msg) (*Delivery, error) {
	meta, err := m.Metadata()
	if err != nil {
		return nil, fmt.Errorf("take job %q: %w", m.Data, err)
	}
	c, token := q.classOf(m.Subject), ""
	if c != nil {
		token, err = tokenOf(string(m.Data))
	}
	if c == nil || err != nil || m.Subject != c.subject+"."+token || meta.NumDelivered == 0 || meta.NumDelivered > math.MaxInt32 {
		return nil, fmt.Errorf("take job %q: subject %q is not that of a job", m.Data, m.Subject)
	}
	c.flying.Add(1)
	return &Delivery{
		ID: string(m.Data), Attempt: int(meta.NumDelivered), Last: int(meta.NumDelivered) >= q.opts.MaxDeliver,
		Priority: c.priority, QueuedAt: meta.Timestamp,
		msg: m, queue: q, class: c,
	}, nil
}

// Ack takes the job out of the queue. It does not wait for the broker: a lost
// acknowledgement delivers a job again that is final by then.
func (d *Delivery) Ack(context.Context) error { return d.settle("+ACK") }

// Nak gives the job back, to be delivered again after delay.
func (d *Delivery) Nak(_ context.Context, delay time.Duration) error {
	if delay <= 0 {
		return d.settle("-NAK")
	}
	return d.settle(fmt.Sprintf(`-NAK {"delay": %d}`, delay.Nanoseconds()))
}

// Extend starts AckWait anew. Call it every third of AckWait. After Ack or Nak
// it does nothing: the broker would take it for a claim on the job.
func (d *Delivery) Extend() error {
	if d.settled.Load() {
		return nil
	}
	return d.say("+WPI")
}

// Forget lets go of a job that a newer delivery has. The broker is not told:
// it takes a word about any delivery of a job for one about the newest.
func (d *Delivery) Forget() {
	if !d.settled.Swap(true) {
		d.class.flying.Add(-1)
	}
}

func (d *Delivery) settle(word string) error {
	if d.settled.Swap(true) {
		return fmt.Errorf("settle delivery of job %q: %w", d.ID, jetstream.ErrMsgAlreadyAckd)
	}
	d.class.flying.Add(-1)
	defer d.class.changed()
	return d.say(word)
}

func (d *Delivery) say(word string) error {
	if err := d.queue.broker.Conn().Publish(d.msg.Reply, []byte(word)); err != nil {
		return fmt.Errorf("settle delivery of job %q: %w", d.ID, d.queue.broker.Explain(err))
	}
	return nil
}
