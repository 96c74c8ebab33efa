package httpapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"judged/internal/api"
	"judged/internal/base/text"
	"judged/internal/jobs"
)

// getFeed streams the events of all jobs that the caller may see, until the caller disconnects.
func (s *Server) getFeed(w http.ResponseWriter, r *http.Request) error {
	after, filter, err := feedQuery(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.closing, cancel)()
	follower, err := s.jobs.Follow(ctx, after, filter)
	if err != nil {
		return err
	}
	defer follower.Close()
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", eventStream)
		s.write(w, http.StatusOK, nil)
		return nil
	}
	out := s.startEvents(w)
	out.send(appendFeed(nil, nil, follower.Position()))
	for out.err == nil && ctx.Err() == nil {
		beat, stop := context.WithTimeout(ctx, heartbeat)
		events, err := follower.Next(beat)
		stop()
		if errors.Is(err, jobs.ErrNoPosition) {
			return nil // the caller reconnects, and gets that as an answer
		}
		if err != nil {
			// The status has been sent. A stream that ends early makes the reader reconnect.
			s.log.Error("read the events of all jobs", "error", err)
			return nil
		}
		text := s.texts.Get().(*[]byte)
		*text = appendFeed((*text)[:0], events, follower.Position())
		out.send(*text)
		s.texts.Put(text)
	}
	return nil
}

// appendFeed appends events as the stream has them, or a heartbeat if there are none. At the end it sets the last ID of
// the reader, without an event: a reader that gets few events can still resume.
func appendFeed(b []byte, events []*jobs.FeedEvent, at jobs.FeedPosition) []byte {
	for _, e := range events {
		b = appendID(append(b, "id: "...), e.FeedPosition)
		b = append(append(b, "\nevent: "...), e.Type...)
		b = append(append(append(b, "\ndata: "...), e.JSON...), "\n\n"...)
	}
	if len(events) == 0 {
		b = append(b, ": heartbeat\n"...)
	}
	return append(appendID(append(b, "id: "...), at), "\n\n"...)
}

func appendID(b []byte, p jobs.FeedPosition) []byte {
	b = strconv.AppendInt(b, p.Row, 10)
	if p.Part > 0 {
		b = strconv.AppendInt(append(b, '.'), int64(p.Part), 10)
	}
	return b
}

var eventTypes = []api.EventType{api.EventQueued, api.EventRunning, api.EventTest, api.EventDone, api.EventCancelled}

// feedID is the syntax of an ID in the feed: a position, and which part of its events if there are more.
var feedID = text.Pattern(`^([0-9]{1,18})(?:\.([0-9]{1,9}))?$`)

// feedQuery returns where the caller begins, and what it wants.
func feedQuery(r *http.Request) (after jobs.FeedPosition, filter jobs.FeedFilter, err error) {
	values := r.URL.Query()
	if filter.Label, err = labelsOf(values); err != nil {
		return after, filter, err
	}
	for _, text := range values["type"] {
		if !slices.Contains(eventTypes, api.EventType(text)) {
			return after, filter, problem("bad-request", "use queued, running, test, done or cancelled",
				"parameter type: %.70q is unknown", text)
		}
		filter.Types = append(filter.Types, api.EventType(text))
	}
	after = jobs.FeedNow
	for _, text := range lastEvents(r, values) {
		if text == "" {
			continue
		}
		m := feedID().FindStringSubmatch(text)
		if m == nil {
			return after, filter, problem("bad-request",
				"send the id of an event, 0 for all events that are kept, or nothing for those from now on",
				"Last-Event-ID or after: %.70q is not an id", text)
		}
		after.Row, _ = strconv.ParseInt(m[1], 10, 64) // the digits fit
		after.Part, _ = strconv.Atoi(m[2])            // "" is 0
	}
	return after, filter, nil
}
