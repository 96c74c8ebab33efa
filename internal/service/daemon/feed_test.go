package daemon

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/client"
)

// feed is the complete content of an event stream.
type feed []api.Event

func (f feed) types() []string {
	var all []string
	for _, e := range f {
		all = append(all, string(e.Type))
	}
	return all
}

// feed reads the events of a job after a number until the daemon ends the stream, unlike client.Watch, which stops at
// the first final event.
func (i *instance) feed(id string, after uint64) feed {
	i.t.Helper()
	var events feed
	i.stream(id, after, func(e api.Event) { events = append(events, e) })
	return events
}

// stream calls tell with each event as it arrives.
func (i *instance) stream(id string, after uint64, tell func(api.Event)) {
	i.t.Helper()
	r, err := http.NewRequestWithContext(i.ctx, "GET", i.Base+"/v1/jobs/"+id+"/events", nil)
	if err != nil {
		i.t.Fatal(err)
	}
	if after > 0 {
		r.Header.Set("Last-Event-ID", strconv.FormatUint(after, 10))
	}
	res, err := i.HTTP.Do(r)
	if err != nil {
		i.t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusNoContent {
		return
	}
	if kind := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || kind != "text/event-stream" {
		i.t.Fatalf("events of %q: status %d, type %q", id, res.StatusCode, kind)
	}
	if err := readFeed(res.Body, tell); err != nil {
		i.t.Errorf("events of %q: %v", id, err)
	}
}

// readFeed reads server-sent events strictly: id and type must equal those inside the data.
func readFeed(body io.Reader, tell func(api.Event)) error {
	var id, kind, data string
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			id = value
		case "event":
			kind = value
		case "data":
			data += value
		}
		if lines.Text() != "" || data == "" {
			continue
		}
		var e api.Event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return err
		}
		if id != strconv.FormatUint(e.Seq, 10) || kind != string(e.Type) {
			return fmt.Errorf("id %q and event %q with data %s", id, kind, data)
		}
		tell(e)
		id, kind, data = "", "", ""
	}
	return lines.Err()
}

// answer is the response to a request that the client package would not send.
type answer struct {
	status  int
	header  http.Header
	body    []byte
	problem client.Problem
}

// ask sends a request. headers are pairs of names and values.
func (i *instance) ask(method, path string, body []byte, headers ...string) answer {
	i.t.Helper()
	r, err := http.NewRequestWithContext(i.ctx, method, i.Base+path, bytes.NewReader(body))
	if err != nil {
		i.t.Fatal(err)
	}
	if i.Token != "" {
		r.Header.Set("Authorization", "Bearer "+i.Token)
	}
	for n := 0; n < len(headers); n += 2 {
		r.Header.Set(headers[n], headers[n+1])
	}
	res, err := i.HTTP.Do(r)
	if err != nil {
		i.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	a := answer{status: res.StatusCode, header: res.Header}
	if a.body, err = io.ReadAll(res.Body); err != nil {
		i.t.Fatalf("%s %s: %v", method, path, err)
	}
	if res.Header.Get("Content-Type") == "application/problem+json" && method != "HEAD" {
		if err := json.Unmarshal(a.body, &a.problem); err != nil {
			i.t.Fatalf("%s %s: %v", method, path, err)
		}
	}
	return a
}

// post sends a body and returns the problem in the response, or nil.
func post(i *instance, path, kind string, body []byte) error {
	i.t.Helper()
	return problemOf(i.ask("POST", path, body, "Content-Type", kind))
}

// problemOf returns the problem in a response, or nil.
func problemOf(a answer) error {
	if a.status < 400 {
		return nil
	}
	a.problem.Status = a.status
	if s, err := strconv.Atoi(a.header.Get("Retry-After")); err == nil {
		a.problem.RetryAfter = time.Duration(s) * time.Second
	}
	return &a.problem
}

// encode returns a job as JSON.
func (i *instance) encode(j api.Job) []byte {
	i.t.Helper()
	b, err := json.Marshal(j)
	if err != nil {
		i.t.Fatal(err)
	}
	return b
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, os.ErrNotExist)
}

func ended(p *process) bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}
