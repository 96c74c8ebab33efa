package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"judged/internal/api"
)

// silence is how long a stream may say nothing; the daemon says something every
// 15 seconds.
const silence = 45 * time.Second

// Watch yields the events of a job with numbers above after, until its last one.
// It reconnects where the connection breaks, and no event comes twice. An error
// ends it.
func (c Client) Watch(ctx context.Context, id string, after uint64) iter.Seq2[api.Event, error] {
	return func(yield func(api.Event, error) bool) {
		w := watch{client: c, id: id, after: after, yield: yield}
		for reached := false; !w.over; reached = true {
			_, err := persist(ctx, reached, func() (struct{}, error) { return struct{}{}, w.once(ctx) })
			if err == nil && !w.over && !rest(ctx, pause) {
				err = context.Cause(ctx)
			}
			if err != nil && !w.over {
				yield(api.Event{}, err)
				return
			}
		}
	}
}

// watch is where a reader is.
type watch struct {
	client Client
	id     string
	after  uint64
	yield  func(api.Event, error) bool
	over   bool // the last event was yielded, or the caller stopped
}

// once reads one connection to its end. A stream that was cut is no error: a
// daemon that stops cuts it, and so do proxies that find it old.
func (w *watch) once(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	alarm := time.AfterFunc(silence, func() { cancel(&Unreachable{w.client.Base, errors.New("no heartbeat")}) })
	defer alarm.Stop()
	res, err := w.client.do(ctx, request{
		method: http.MethodGet, path: "/v1/jobs/" + url.PathEscape(w.id) + "/events",
		header: http.Header{"Last-Event-Id": {strconv.FormatUint(w.after, 10)}},
	})
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusNoContent {
		w.over = true
		return nil
	}
	err = readEvents(flow{res.Body, alarm, silence}, w.tell)
	if errors.Is(err, errFormat) {
		return fmt.Errorf("read events of job %q: %w; check that the address is that of a judged of this version", w.id,
			err)
	}
	return nil
}

// tell passes an event on and reports whether more are wanted.
func (w *watch) tell(e api.Event) bool {
	if e.Seq <= w.after {
		return true
	}
	w.after = e.Seq
	if !w.yield(e, nil) || e.Type == api.EventDone || e.Type == api.EventCancelled {
		w.over = true
	}
	return !w.over
}

// errFormat is a stream of something else.
var errFormat = errors.New("not an event")

// readEvents reads server-sent events. It ends with the stream, or when tell wants
// no more.
func readEvents(r io.Reader, tell func(api.Event) bool) error {
	lines := bufio.NewReader(r)
	var data strings.Builder
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			// What is not closed by an empty line does not count.
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		}
		line = strings.TrimRight(line, "\r\n")
		name, value, _ := strings.Cut(line, ":")
		switch {
		case line == "" && data.Len() > 0:
			var e api.Event
			if err := json.Unmarshal([]byte(data.String()), &e); err != nil {
				return fmt.Errorf("%w: %w", errFormat, err)
			}
			data.Reset()
			if !tell(e) {
				return nil
			}
		case name == "data":
			// The number and the type are in the data too.
			data.WriteString(strings.TrimPrefix(value, " ") + "\n")
		}
	}
}
