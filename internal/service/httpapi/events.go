package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"judged/internal/api"
)

// heartbeat is the interval of comments that keep proxies and readers from closing a silent connection.
const heartbeat = 15 * time.Second

const eventStream = "text/event-stream"

// getEvents streams the events of a job until its last one.
func (s *Server) getEvents(w http.ResponseWriter, r *http.Request) error {
	after, err := resumeAt(r)
	if err != nil {
		return err
	}
	record, err := s.jobs.Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	if !record.MayHaveSent(after) {
		return problem("gone", "read GET /v1/jobs/{id}, then follow the events without Last-Event-ID and after",
			"the job cannot have had an event with this id: another job had its id, or a backup was restored")
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.closing, cancel)()
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", eventStream)
		s.write(w, http.StatusOK, nil)
		return nil
	}
	events, failed := s.pump(ctx, record.ID, after)
	var first *api.Event
	if record.Report.State.Final() {
		e, ok := <-events
		if !ok {
			if err := <-failed; err != nil {
				return err
			}
			if ctx.Err() != nil {
				return problem("not-ready", "try again later", "judged is stopping").retryAfter(retryNotReady)
			}
			// The caller has all events. A browser's EventSource reconnects after a stream ends; status 204 stops it.
			s.write(w, http.StatusNoContent, nil)
			return nil
		}
		first = &e
	}
	return s.stream(w, first, events, failed)
}

// lastEvents returns what the caller sends as the last event that it has; the last text takes precedence.
func lastEvents(r *http.Request, values url.Values) []string {
	return []string{values.Get("after"), r.Header.Get("Last-Event-ID")}
}

// resumeAt returns the number of the last event that the caller has.
func resumeAt(r *http.Request) (last uint64, err error) {
	for _, text := range lastEvents(r, r.URL.Query()) {
		if text == "" {
			continue
		}
		if last, err = strconv.ParseUint(text, 10, 64); err != nil {
			return 0, problem("bad-request", "send the id of an event, or nothing to begin at the first",
				"Last-Event-ID or after: %.70q is not a number", text)
		}
	}
	return last, nil
}

// pump sends the events to a channel, so that heartbeats can be sent between them.
// It closes both channels after the last event or when ctx is done.
func (s *Server) pump(ctx context.Context, id string, after uint64) (<-chan api.Event, <-chan error) {
	events, failed := make(chan api.Event), make(chan error, 1)
	go func() {
		defer close(failed)
		defer close(events)
		for e, err := range s.jobs.Events(ctx, id, after) {
			if err != nil {
				if ctx.Err() == nil {
					failed <- err
				}
				return
			}
			select {
			case events <- e:
			case <-ctx.Done():
				return
			}
		}
	}()
	return events, failed
}

func (s *Server) stream(w http.ResponseWriter, first *api.Event, events <-chan api.Event, failed <-chan error) error {
	out := s.startEvents(w)
	if first != nil {
		out.event(*first)
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for out.err == nil {
		select {
		case e, ok := <-events:
			if !ok {
				// The status has been sent. A stream that ends early makes the reader reconnect.
				if err := <-failed; err != nil {
					s.log.Error("read events", "error", err)
				}
				return nil
			}
			out.event(e)
		case <-beat.C:
			out.comment("heartbeat")
		}
	}
	return nil
}

// startEvents begins the response of a stream.
func (s *Server) startEvents(w http.ResponseWriter) *eventWriter {
	w.Header().Set("Content-Type", eventStream)
	w.Header().Set("X-Accel-Buffering", "no") // nginx would buffer events
	out := &eventWriter{w: w, control: http.NewResponseController(w), time: s.transferTime}
	w.WriteHeader(http.StatusOK)
	out.comment("judged")
	return out
}

// eventWriter writes server-sent events. After an error it writes nothing more.
type eventWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	time    func(size int64) time.Duration // time that a reader may take; the last event has a whole report
	err     error
}

func (o *eventWriter) event(e api.Event) {
	data, err := json.Marshal(e)
	if err != nil {
		o.err = err
		return
	}
	o.send(fmt.Appendf(nil, "id: %d\nevent: %s\ndata: %s\n\n", e.Seq, e.Type, data))
}

func (o *eventWriter) comment(text string) { o.send([]byte(": " + text + "\n\n")) }

func (o *eventWriter) send(text []byte) {
	if o.err != nil {
		return
	}
	_ = o.control.SetWriteDeadline(time.Now().Add(o.time(int64(len(text)))))
	if _, o.err = o.w.Write(text); o.err == nil {
		o.err = o.control.Flush()
	}
}
