package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/base/poll"
)

// silence is how long a stream may be silent; the daemon sends something every 15 seconds.
const silence = 45 * time.Second

// Watch yields the events of a job with numbers above after, until its last one. It reconnects if the connection
// breaks, and yields no event twice. It ends with an error.
func (c Client) Watch(ctx context.Context, id string, after uint64) iter.Seq2[api.Event, error] {
	return func(yield func(api.Event, error) bool) {
		w := watch{client: c, path: "/v1/jobs/" + url.PathEscape(id) + "/events", last: strconv.FormatUint(after, 10)}
		w.tell = func(e FeedEvent) bool {
			if e.Seq <= after {
				return true
			}
			after = e.Seq
			return yield(e.Event, nil) && e.Type != api.EventDone && e.Type != api.EventCancelled
		}
		if err := w.run(ctx); err != nil {
			yield(api.Event{}, err)
		}
	}
}

// FeedEvent is an event of any job.
type FeedEvent struct {
	ID string `json:"id"` // a reader can resume after it
	api.Event
}

// FeedFilter selects events of all jobs for Follow. Zero members do not restrict.
type FeedFilter struct {
	Labels map[string]string // all must match
	Types  []api.EventType   // any of them
	After  string            // ID of an event; "0" selects all that are kept, "" those from now on
}

// Follow yields the events of all jobs, in the order in which they became durable. It reconnects if the connection
// breaks, and yields no event twice. It ends with an error, also if the daemon no longer keeps the events after the last
// one.
func (c Client) Follow(ctx context.Context, f FeedFilter) iter.Seq2[FeedEvent, error] {
	return func(yield func(FeedEvent, error) bool) {
		w := watch{client: c, path: "/v1/events", query: url.Values{}, last: f.After}
		addLabels(w.query, f.Labels)
		for _, t := range f.Types {
			w.query.Add("type", string(t))
		}
		w.tell = func(e FeedEvent) bool { return yield(e, nil) }
		if err := w.run(ctx); err != nil {
			yield(FeedEvent{}, err)
		}
	}
}

// watch is the state of a reader.
type watch struct {
	client Client
	path   string
	query  url.Values
	last   string               // ID of the last event
	tell   func(FeedEvent) bool // yields an event and reports whether more are wanted
	over   bool                 // no more are wanted, or there are none
}

// run reads until no more events are wanted.
func (w *watch) run(ctx context.Context) error {
	for reached := false; !w.over; reached = true {
		_, err := persist(ctx, reached, func() (struct{}, error) { return struct{}{}, w.once(ctx) })
		if err == nil && !w.over {
			poll.Sleep(ctx, pause)
			err = context.Cause(ctx)
		}
		if err != nil && !w.over {
			return err
		}
	}
	return nil
}

// once reads one connection to its end. A stream that ends early is not an error: a daemon that stops ends it, and so
// do proxies when it is old.
func (w *watch) once(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	alarm := time.AfterFunc(silence, func() { cancel(&Unreachable{w.client.Base, errors.New("no heartbeat")}) })
	defer alarm.Stop()
	q := request{method: http.MethodGet, path: w.path, query: w.query}
	if w.last != "" {
		q.header = http.Header{"Last-Event-Id": {w.last}}
	}
	res, err := w.client.do(ctx, q)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusNoContent {
		w.over = true
		return nil
	}
	// A page that a proxy sends instead would be a stream without events, which is read again for ever.
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind == "text/event-stream" {
		err = w.read(&flow{Reader: res.Body, alarm: alarm, patience: silence})
	} else {
		err = fmt.Errorf("%w stream, but of the type %.70q", errFormat, res.Header.Get("Content-Type"))
	}
	if errors.Is(err, errFormat) {
		return fmt.Errorf("read events from %s: %w; check that the address is that of a judged of this version", w.path,
			err)
	}
	return nil
}

// errFormat means that the stream is not an event stream.
var errFormat = errors.New("not an event")

// read reads server-sent events until the stream ends or no more are wanted.
func (w *watch) read(r io.Reader) error {
	lines := bufio.NewReader(r)
	var data strings.Builder
	for id := w.last; ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			// An event that is not terminated by an empty line does not count.
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		}
		line = strings.TrimRight(line, "\r\n")
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			w.last = id // also without an event
			if data.Len() == 0 {
				continue
			}
			e := FeedEvent{ID: id}
			if err := json.Unmarshal([]byte(data.String()), &e.Event); err != nil {
				return fmt.Errorf("%w: %w", errFormat, err)
			}
			data.Reset()
			if !w.tell(e) {
				w.over = true
				return nil
			}
		case name == "id":
			id = value
		case name == "data":
			// The data contains the type too.
			data.WriteString(value + "\n")
		}
	}
}
