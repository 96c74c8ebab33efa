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

// silence is how long a stream may be silent; the daemon sends something every 15 seconds.
const silence = 45 * time.Second

// Watch yields the events of a job with numbers above after, until its last one. It reconnects if the connection
// breaks, and yields no event twice. It ends with an error.
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

// watch is the state of a reader.
type watch struct {
	client Client
	id     string
	after  uint64
	yield  func(api.Event, error) bool
	over   bool // the last event was yielded, or the caller stopped
}

// once reads one connection to its end. A stream that ends early is not an error: a daemon that stops ends it, and so
// do proxies when it is old.
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

// tell yields an event and reports whether more are wanted.
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

// errFormat means that the stream is not an event stream.
var errFormat = errors.New("not an event")

// readEvents reads server-sent events until the stream ends or tell returns false.
func readEvents(r io.Reader, tell func(api.Event) bool) error {
	lines := bufio.NewReader(r)
	var data strings.Builder
	for {
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
			// The data contains the number and the type too.
			data.WriteString(strings.TrimPrefix(value, " ") + "\n")
		}
	}
}
