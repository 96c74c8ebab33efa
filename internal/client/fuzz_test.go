package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"judged/internal/api"
)

// FuzzReadEvents reads any data that claims to be an event stream. It checks that events that follow it arrive, unless
// it was not an event stream.
func FuzzReadEvents(f *testing.F) {
	f.Add(": judged\n\n" + doneMessage)
	f.Add("data: {}\r\ndata: \n\nid\n:\n\n")
	f.Add("data: {\"seq\":1}\n\ndata:{\"seq\":2}\n\n")
	f.Add("data")
	f.Fuzz(func(t *testing.T, text string) {
		seen := []api.Event{}
		last, err := json.Marshal(api.Event{Seq: 77, Type: api.EventDone})
		if err != nil {
			t.Fatal(err)
		}
		stream := fmt.Sprintf("%s\n\ndata: %s\n\n", text, last)
		w := watch{tell: func(e FeedEvent) bool { seen = append(seen, e.Event); return true }}
		err = w.read(strings.NewReader(stream))
		if err != nil {
			if !errors.Is(err, errFormat) {
				t.Errorf("error %v", err)
			}
			return
		}
		if len(seen) == 0 || seen[len(seen)-1].Seq != 77 {
			t.Errorf("events %+v", seen)
		}
	})
}

// FuzzReadProblem reads any response with a status of 400 or above, from a proxy or any other server.
func FuzzReadProblem(f *testing.F) {
	f.Add(`{"type":"urn:judged:conflict","status":200,"detail":"d","errors":[{"field":"f","detail":"d"}]}`,
		"application/problem+json", "5", 409)
	f.Add("<html>", "text/html; charset=utf-8", "Thu, 01 Dec 1994 16:00:00 GMT", 503)
	f.Add("null", "application/problem+json", "99999999999999999999", 400)
	f.Add(`{"status":"x"}`, "application/problem+json;", "-1", 999)
	f.Add("", "", "9223372036854775807", 429)
	f.Fuzz(func(t *testing.T, body, kind, retry string, status int) {
		err := readProblem(&http.Response{StatusCode: status,
			Header: http.Header{"Content-Type": {kind}, "Retry-After": {retry}},
			Body:   io.NopCloser(bytes.NewReader([]byte(body)))})
		var p *Problem
		if !errors.As(err, &p) || p.Status != status || p.RetryAfter < 0 || p.Error() == "" {
			t.Errorf("%+v, %v", p, err)
		}
		if wait, ok := again(err); ok && wait < pause {
			t.Errorf("again after %v", wait)
		}
	})
}
