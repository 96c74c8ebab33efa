package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"judged/internal/base/job"
)

// testBits is how many bits of an event's number count the events since the
// last change of state that was written, whose sequence is above them: tests,
// and before them a Begin that was not.
const testBits = 20

func eventSeq(state, after uint64) uint64 { return state<<testBits | after }

func splitSeq(seq uint64) (state, after uint64) { return seq >> testBits, seq & (1<<testBits - 1) }

// Emit tells that a test of the attempt r, as Begin returned it, has been
// judged. It does not wait: the report will hold the test durably. Changes of
// state are events by themselves. An attempt calls it from one goroutine at a
// time. It returns ErrStale when r no longer holds the job.
func (s *Store) Emit(_ context.Context, r Record, t job.TestReport) error {
	n, ok := s.index.nextEvent(r.ID, r.begun, t)
	if !ok {
		return fmt.Errorf("emit test %q of job %q: %w", t.Name, r.ID, ErrStale)
	}
	data, err := json.Marshal(testEvent(r, t, n, s.opts.Now()))
	if err != nil {
		return fmt.Errorf("encode event of job %q: %w", r.ID, err)
	}
	if _, err := s.js.PublishMsgAsync(&nats.Msg{Subject: feedSubject(r.ID), Data: data}); err != nil {
		return fmt.Errorf("emit test %q of job %q: %w", t.Name, r.ID, s.broker.Explain(err))
	}
	return nil
}

func testEvent(r Record, t job.TestReport, n uint64, at time.Time) job.Event {
	t.Runs = nil
	return job.Event{Seq: eventSeq(r.begun, n), Job: r.ID, Type: job.EventTest, At: at, Test: &t}
}

// dropFeed asks for the deletion of a job's test events without waiting.
func (s *Store) dropFeed(id string) {
	request, _ := json.Marshal(map[string]string{"filter": feedSubject(id)})
	conn := s.broker.Conn()
	if err := conn.PublishRequest("$JS.API.STREAM.PURGE."+feedStream, conn.NewInbox(), request); err != nil {
		s.opts.Log.Debug("drop test events", "job", id, "error", err)
	}
}

// Events tells a job's events with numbers above after: those that were, then
// those that come, in order, each once. It ends after the final event, with an
// error, or when ctx is done (then silently). It runs in the caller's
// goroutine and leaves none behind.
func (s *Store) Events(ctx context.Context, id string, after uint64) iter.Seq2[job.Event, error] {
	return func(yield func(job.Event, error) bool) {
		f := feed{store: s, ctx: ctx, id: id, yield: yield}
		f.state, f.test = splitSeq(after)
		if err := f.run(); err != nil && !errors.Is(err, errStopped) && ctx.Err() == nil {
			yield(job.Event{}, err)
		}
	}
}

// errStopped ends a feed whose reader has gone.
var errStopped = errors.New("reader stopped")

// feed is one reader's place in a job's events: the last change of state and
// the last test after it that were told.
type feed struct {
	store       *Store
	ctx         context.Context
	id          string
	yield       func(job.Event, error) bool
	state, test uint64
	read        uint64 // sequence in the feed stream up to which was read
}

// feedBuffer is how many test events may wait for a slow reader; what does not
// fit is read from the stream.
const feedBuffer = 64

func (f *feed) run() error {
	live := make(chan *nats.Msg, feedBuffer)
	// Subscribed before the first read: what is published later is seen here.
	sub, err := f.store.broker.Conn().ChanSubscribe(toldSubject(f.id), live)
	if err != nil {
		return fmt.Errorf("follow job %q: %w", f.id, f.store.broker.Explain(err))
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := f.storedTests(); err != nil {
		return err
	}
	for {
		now, changed, ok := f.store.index.watch(f.id)
		if !ok {
			return fmt.Errorf("job %q: %w", f.id, ErrNotFound)
		}
		if err := f.catchUp(now.last); err != nil {
			return err
		}
		if now.running != nil {
			if err := f.began(*now.running); err != nil {
				return err
			}
		}
		if now.state.Final() {
			return nil
		}
		select {
		case <-f.ctx.Done():
			return nil
		case <-changed:
		case m := <-live:
			if err := f.liveTest(m); err != nil {
				return err
			}
		}
	}
}

// catchUp tells the changes of state up to the sequence last.
func (f *feed) catchUp(last uint64) error {
	for f.state < last {
		m, err := f.store.records.GetMsg(f.ctx, f.state+1, jetstream.WithGetMsgSubject(recordSubject(f.id)))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return fmt.Errorf("job %q: %w", f.id, ErrNotFound)
		}
		if err != nil {
			return fmt.Errorf("read events of job %q: %w", f.id, f.store.broker.Explain(err))
		}
		r, err := decode(m)
		if err != nil {
			return err
		}
		if err := f.change(r); err != nil {
			return err
		}
	}
	return nil
}

func (f *feed) change(r Record) error {
	if err := f.began(r); err != nil {
		return err
	}
	if r.Report.State.Final() && r.begun == f.state {
		// Tests that were not told live are in the report.
		first := uint64(1)
		if r.unwritten() {
			first = 2
		}
		for n := max(f.test+1, first); n-first < uint64(len(r.Report.Tests)); n++ {
			if err := f.tell(testEvent(r, r.Report.Tests[n-first], n, r.Report.FinishedAt)); err != nil {
				return err
			}
		}
	}
	if err := f.tell(stateEvent(r)); err != nil {
		return err
	}
	if r.Report.State == job.Running {
		return f.storedTests()
	}
	return nil
}

// began tells a Begin that is not in the stream, unless it was told. An attempt
// that failed and was followed by another one is told only while it lasts.
func (f *feed) began(r Record) error {
	if !r.unwritten() || f.state != r.begun || f.test > 0 {
		return nil
	}
	if err := f.tell(runningEvent(r, eventSeq(r.begun, 1))); err != nil {
		return err
	}
	return f.storedTests()
}

func runningEvent(r Record, seq uint64) job.Event {
	return job.Event{Seq: seq, Job: r.ID, Type: job.EventRunning, At: r.Report.StartedAt, CPUs: r.CPUs}
}

func stateEvent(r Record) job.Event {
	e := job.Event{Seq: eventSeq(r.Revision, 0), Job: r.ID}
	switch rep := r.Report; rep.State {
	case job.Queued:
		e.Type, e.At = job.EventQueued, rep.CreatedAt
	case job.Running:
		return runningEvent(r, e.Seq)
	case job.Done:
		e.Type, e.At, e.Report = job.EventDone, rep.FinishedAt, &rep
	case job.CancelledState:
		e.Type, e.At, e.Report = job.EventCancelled, rep.FinishedAt, &rep
	}
	return e
}

// liveTest tells a test event that was just stored. It may overtake the change
// of state it belongs to, or leave a gap behind it when the reader was slow;
// the gap is in the stream, or, when that was dropped meanwhile, in the report
// that comes next.
func (f *feed) liveTest(m *nats.Msg) error {
	var e job.Event
	if err := json.Unmarshal(m.Data, &e); err != nil {
		return fmt.Errorf("decode event of job %q: %w", f.id, err)
	}
	state, test := splitSeq(e.Seq)
	if state > f.state {
		if err := f.catchUp(state); err != nil {
			return err
		}
	}
	if r, ok := f.store.index.runs(f.id); ok {
		if err := f.began(r); err != nil {
			return err
		}
	}
	if state == f.state && test > f.test+1 {
		if err := f.storedTests(); err != nil {
			return err
		}
	}
	if state != f.state || test != f.test+1 {
		return nil
	}
	return f.tell(e)
}

// storedTests tells what the feed stream holds of the current attempt, up to
// the first gap: what a full stream has dropped is told from the report.
func (f *feed) storedTests() error {
	for f.state > 0 {
		m, err := f.store.feed.GetMsg(f.ctx, f.read+1, jetstream.WithGetMsgSubject(feedSubject(f.id)))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read events of job %q: %w", f.id, f.store.broker.Explain(err))
		}
		var e job.Event
		if err := json.Unmarshal(m.Data, &e); err != nil {
			return fmt.Errorf("decode event of job %q: %w", f.id, err)
		}
		if e.Seq > eventSeq(f.state, f.test+1) {
			return nil // of a later attempt, or beyond a gap
		}
		f.read = m.Sequence
		if e.Seq == eventSeq(f.state, f.test+1) {
			if err := f.tell(e); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *feed) tell(e job.Event) error {
	if !f.yield(e, nil) {
		return errStopped
	}
	f.state, f.test = splitSeq(e.Seq)
	return nil
}
