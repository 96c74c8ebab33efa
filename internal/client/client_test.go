package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Run(m)) }

// script is a daemon that gives prepared responses, one after the other, and records its requests.
type script struct {
	mu      sync.Mutex
	asked   []string
	answers []http.HandlerFunc
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	line := fmt.Sprintf("%s %s %s", r.Method, r.URL.RequestURI(), body)
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		line += "after " + id
	}
	s.asked = append(s.asked, strings.TrimSpace(line))
	next := s.answers[0]
	s.answers = s.answers[1:]
	s.mu.Unlock()
	next(w, r)
}

// play starts a daemon with these responses.
func play(t *testing.T, answers ...http.HandlerFunc) (Client, *script) {
	t.Helper()
	s := &script{answers: answers}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return Client{Base: server.URL, Token: "secret"}, s
}

// asStream is a header of says.
const asStream = "Content-Type: text/event-stream"

func says(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		kind := "application/json"
		if status >= 400 {
			kind = "application/problem+json"
		}
		w.Header().Set("Content-Type", kind)
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			w.Header().Set(name, value)
		}
		if r.Header.Get("Authorization") != "Bearer secret" {
			status, body = 401, `{"detail":"no token was sent"}`
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// hangsUp closes the connection without a response.
func hangsUp(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		conn.Close()
	}
}

// breaks closes the connection in the middle of a response.
func breaks(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", fmt.Sprint(len(doneJob)))
	fmt.Fprint(w, doneJob[:len(doneJob)/2])
}

func (s *script) check(t *testing.T, want ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if diff := cmp.Diff(want, s.asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

const (
	hello       = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
	busy        = `{"type":"urn:judged:queue-full","detail":"full"}`
	queuedJob   = `{"id":"a","state":"queued"}`
	doneJob     = `{"id":"a","state":"done","verdict":"AC"}`
	doneMessage = "id: 9\nevent: done\ndata: {\"seq\":9,\"job\":\"a\",\"type\":\"done\",\"at\":\"2026-11-20T12:00:00Z\"}\n\n"
)

func TestPutBlobFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name    string
		answers []http.HandlerFunc
		asked   []string
	}{
		{"there", []http.HandlerFunc{says(200, "")}, []string{"HEAD /v1/blobs/" + hello}},
		{"new", []http.HandlerFunc{says(404, ""), says(201, "{}")},
			[]string{"HEAD /v1/blobs/" + hello, "PUT /v1/blobs/" + hello + " hello"}},
		{"retried", []http.HandlerFunc{says(404, ""), says(503, "{}"), says(201, "{}")},
			[]string{"HEAD /v1/blobs/" + hello, "PUT /v1/blobs/" + hello + " hello", "PUT /v1/blobs/" + hello +
				" hello"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, s := play(t, tt.answers...)
			got, err := c.PutBlobFile(t.Context(), path)
			if err != nil || got != hello {
				t.Errorf("%s, %v", got, err)
			}
			s.check(t, tt.asked...)
		})
	}
	c, _ := play(t)
	if _, err := c.PutBlobFile(t.Context(), path+"x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent file: %v", err)
	}
}

func TestSubmit(t *testing.T) {
	t.Parallel()
	j := api.Job{Program: api.File{Blob: hello}, Tests: []api.Test{{Name: "1"}}}
	body, _ := json.Marshal(j)
	put := "PUT /v1/jobs/a%2Fb " + string(body)
	c, s := play(t, says(429, busy), says(202, queuedJob))
	got, err := c.Submit(t.Context(), "a/b", j)
	if err != nil || got.State != api.Queued {
		t.Errorf("%+v, %v", got, err)
	}
	s.check(t, put, put)

	// The retry of a job without an ID has the ID of the first attempt.
	c, s = play(t, says(503, busy), says(202, queuedJob))
	if _, err := c.Submit(t.Context(), "", j); err != nil {
		t.Error(err)
	}
	if len(s.asked) != 2 || s.asked[0] != s.asked[1] || !nameless.MatchString(s.asked[0]) {
		t.Errorf("requests %q", s.asked)
	}
}

// TestJudge checks that Judge needs one request if the job ends in time, and polls otherwise.
func TestJudge(t *testing.T) {
	t.Parallel()
	j := api.Job{Program: api.File{Blob: hello}, Tests: []api.Test{{Name: "1"}}}
	body, _ := json.Marshal(j)
	put := "PUT /v1/jobs/a?wait=1m0s " + string(body)
	for _, tt := range []struct {
		answers []http.HandlerFunc
		want    []string
	}{
		{[]http.HandlerFunc{says(200, doneJob)}, []string{put}},
		{[]http.HandlerFunc{says(429, busy), says(202, queuedJob), says(200, doneJob)},
			[]string{put, put, "GET /v1/jobs/a?wait=1m0s"}},
	} {
		c, s := play(t, tt.answers...)
		if got, err := c.Judge(t.Context(), "a", j); err != nil || got.Verdict != api.Accepted {
			t.Errorf("%+v, %v", got, err)
		}
		s.check(t, tt.want...)
	}
}

var nameless = regexp.MustCompile(`^PUT /v1/jobs/[a-z0-9]{20,64} \{`)

func TestSubmitGivesUpWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c, _ := play(t, func(w http.ResponseWriter, r *http.Request) {
		says(429, busy, "Retry-After: 3600")(w, r)
		time.AfterFunc(10*time.Millisecond, cancel)
	})
	var p *Problem
	if _, err := c.Submit(ctx, "a", api.Job{}); !errors.As(err, &p) && !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestProblems(t *testing.T) {
	c, _ := play(t, says(400, `{"type":"urn:judged:invalid-job","title":"T","status":400,"detail":"tests: none","next_step":"correct it",
		"errors":[{"field":"tests","detail":"none"}]}`, "Retry-After: 7"))
	_, err := c.Submit(t.Context(), "a", api.Job{})
	var p *Problem
	if !errors.As(err, &p) {
		t.Fatalf("error %v", err)
	}
	want := &Problem{Type: "urn:judged:invalid-job", Title: "T", Status: 400, Detail: "tests: none",
		NextStep: "correct it",
		Errors:   []api.FieldError{{Field: "tests", Detail: "none"}}, RetryAfter: 7 * time.Second}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := err.Error(); got != "judged answered 400: tests: none; correct it" {
		t.Errorf("text %q", got)
	}
}

func TestStrangeAnswers(t *testing.T) {
	html := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(404)
		_, _ = io.WriteString(w, "<html>")
	}
	c, _ := play(t, html, says(200, "<html>"), says(200, doneJob+doneJob))
	if _, err := c.Job(t.Context(), "a", 0); !NotFound(err) ||
		!strings.Contains(err.Error(), "check that the address") {
		t.Errorf("HTML error: %v", err)
	}
	if _, err := c.Job(t.Context(), "a", 0); err == nil || !strings.Contains(err.Error(), "check that the address") {
		t.Errorf("HTML answer: %v", err)
	}
	if _, err := c.Job(t.Context(), "a", 0); err == nil || !strings.Contains(err.Error(), "more follows its JSON") {
		t.Errorf("two answers: %v", err)
	}
}

// TestEndlessAnswer checks that a response is not decoded without end.
func TestEndlessAnswer(t *testing.T) {
	c, _ := play(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"id":"`)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat("a", 1<<10)); err != nil {
				return
			}
		}
	})
	_, err := call[api.Report](t.Context(), c, request{method: http.MethodGet, path: "/v1/jobs/a", most: 1 << 20})
	if err == nil || !strings.Contains(err.Error(), "it is too long; check that the address") {
		t.Errorf("error %v", err)
	}
}

// TestConnectionsAreUsedAgain checks that requests in a row use one connection, also if the end of a response arrives
// after its JSON.
func TestConnectionsAreUsedAgain(t *testing.T) {
	var connections atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, doneJob)
		_ = http.NewResponseController(w).Flush()
		_, _ = io.WriteString(w, strings.Repeat("\n", 64<<10))
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	c := Client{Base: server.URL, HTTP: server.Client()}
	for range 20 {
		if _, err := c.Job(t.Context(), "a", 0); err != nil {
			t.Fatal(err)
		}
	}
	if got := connections.Load(); got != 1 {
		t.Errorf("%d connections for 20 requests, want 1", got)
	}
}

func TestDeleteJob(t *testing.T) {
	c, s := play(t, says(204, ""), says(409, `{"detail":"it is queued"}`), says(200, "{}"))
	if err := c.DeleteJob(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"judged answered 409: it is queued", "its status is 200"} {
		if err := c.DeleteJob(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	s.check(t, "POST /v1/jobs/a/delete", "POST /v1/jobs/a/delete", "POST /v1/jobs/a/delete")
}

// TestMissingMembers checks that a response without what judged always sends is an error, not an empty result.
func TestMissingMembers(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for name, ask := range map[string]func(Client) error{
		"submit": func(c Client) error { _, err := c.Submit(ctx, "a", api.Job{}); return err },
		"judge":  func(c Client) error { _, err := c.Judge(ctx, "a", api.Job{}); return err },
		"job":    func(c Client) error { _, err := c.Job(ctx, "a", 0); return err },
		"wait":   func(c Client) error { _, err := c.Wait(ctx, "a"); return err },
		"cancel": func(c Client) error { _, err := c.Cancel(ctx, "a"); return err },
		"list":   func(c Client) error { _, err := c.List(ctx, Filter{}); return err },
		"queue":  func(c Client) error { _, err := c.Waiting(ctx); return err },
		"rejudging": func(c Client) error {
			_, err := Get[api.Rejudging](ctx, c, "/v1/rejudgings/a")
			return err
		},
	} {
		c, _ := play(t, says(200, "{}"))
		if err := ask(c); err == nil || !strings.Contains(err.Error(), ": it has no ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUnreachable(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	c := Client{Base: server.URL}
	_, submit := c.Submit(t.Context(), "a", api.Job{})
	_, wait := c.Wait(t.Context(), "a")
	var watch error
	for _, watch = range c.Watch(t.Context(), "a", 0) {
	}
	for name, err := range map[string]error{"submit": submit, "wait": wait, "watch": watch} {
		var u *Unreachable
		if !errors.As(err, &u) || !strings.Contains(err.Error(), server.URL) ||
			!strings.Contains(err.Error(), "; start it with judged serve") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, base := range []string{"", "127.0.0.1:8080", "ftp://x", "http://", "::"} {
		if err := (Client{Base: base}).Ready(t.Context()); err == nil ||
			!strings.Contains(err.Error(), "is no URL; write it as") {
			t.Errorf("base %q: %v", base, err)
		}
	}
}

func TestWaitOutlivesARestart(t *testing.T) {
	t.Parallel()
	c, s := play(t, says(200, queuedJob), hangsUp, breaks, says(503, busy), says(200, doneJob))
	got, err := c.Wait(t.Context(), "a")
	if err != nil || got.Verdict != api.Accepted {
		t.Errorf("%+v, %v", got, err)
	}
	poll := "GET /v1/jobs/a?wait=1m0s"
	// net/http itself retries a GET when a kept-alive connection breaks.
	if n := len(s.asked); n < 5 || s.asked[0] != poll || s.asked[n-1] != poll {
		t.Errorf("requests %q", s.asked)
	}
}

func TestWatchResumes(t *testing.T) {
	t.Parallel()
	stream := func(text string) http.HandlerFunc { return says(200, text, asStream) }
	running := ": judged\n\nid: 5\nevent: running\ndata: {\"seq\":5,\n" +
		"data: \"job\":\"a\",\"type\":\"running\",\"at\":\"2026-11-20T12:00:00Z\"}\n\n"
	c, s := play(t, stream(running+"id: 7\ndata: {\"seq\":7"),
		stream(running+": heartbeat\r\n\r\n"+doneMessage+"garbage"))
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	var got []api.Event
	for e, err := range c.Watch(t.Context(), "a", 3) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e)
	}
	want := []api.Event{{Seq: 5, Job: "a", Type: api.EventRunning, At: at},
		{Seq: 9, Job: "a", Type: api.EventDone, At: at}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	s.check(t, "GET /v1/jobs/a/events after 3", "GET /v1/jobs/a/events after 5")
}

func TestFollowResumes(t *testing.T) {
	t.Parallel()
	stream := func(text string) http.HandlerFunc { return says(200, text, asStream) }
	event := func(id, job string) string {
		return "id: " + id + "\nevent: queued\ndata: {\"seq\":1,\"job\":\"" + job +
			"\",\"type\":\"queued\",\"at\":\"2026-11-20T12:00:00Z\"}\n\n"
	}
	c, s := play(t, stream(": judged\n\nid: 3\n\n"), stream(event("5.1", "a")+event("5", "b")+"id: 7\ndata: {"),
		stream("id: 9\n\n"), says(410, `{"detail":"no event has this id","status":410}`))
	var got []string
	var last error
	for e, err := range c.Follow(t.Context(), FeedFilter{Labels: map[string]string{"team": "1=2"},
		Types: []api.EventType{api.EventQueued, api.EventDone}}) {
		if last = err; err == nil {
			got = append(got, e.ID+" "+e.Job+" "+string(e.Type))
		}
	}
	if diff := cmp.Diff([]string{"5.1 a queued", "5 b queued"}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if last == nil || !strings.Contains(last.Error(), "no event has this id") {
		t.Errorf("after an event that is not kept: %v", last)
	}
	path := "GET /v1/events?label=team%3D1%3D2&type=queued&type=done"
	s.check(t, path, path+" after 3", path+" after 5", path+" after 9")
}

func TestWatchEnds(t *testing.T) {
	tests := []struct {
		name   string
		answer http.HandlerFunc
		want   string // substring of the error, "" for none
	}{
		{"all seen", says(204, ""), ""},
		{"no such job", says(404, `{"detail":"no such job"}`), "no such job"},
		{"not events", says(200, "data: <html>\n\n", asStream), "check that the address"},
		{"a page of a proxy", says(200, "<html>\n\n", "Content-Type: text/html"), "check that the address"},
		{"JSON", says(200, "{}"), "check that the address"},
		{"a stream with parameters", says(200, doneMessage, asStream+"; charset=utf-8"), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, _ := play(t, tt.answer)
			var last error
			for _, err := range c.Watch(t.Context(), "a", 0) {
				last = err
			}
			if (tt.want == "") != (last == nil) || last != nil && !strings.Contains(last.Error(), tt.want) {
				t.Errorf("error %v, want %q", last, tt.want)
			}
		})
	}
	c, _ := play(t, says(200, strings.ReplaceAll(doneMessage, "done", "running"), asStream))
	for range c.Watch(t.Context(), "a", 0) {
		break // a reader that has stopped is not called again
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range c.Watch(ctx, "a", 0) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	}
}

func TestListCancelSlots(t *testing.T) {
	idle := `{"slots":[{"cpus":"2","numa_node":1,"state":"idle","since":"2026-11-20T12:00:00Z"}]}`
	c, s := play(t, says(200, `{"jobs":[`+doneJob+`],"next":"n"}`), says(200, doneJob), says(200, idle),
		says(200, idle), says(200, idle),
		says(200, `{"waiting":{"contest":3}}`), says(200, `{"schema":1,"ready":true,"checks":[]}`), says(503, busy))
	ctx := t.Context()
	page, err := c.List(ctx, Filter{State: api.Done, Verdict: api.WrongAnswer, Problem: "p", Language: "c",
		Tenant: "x", Labels: map[string]string{"team": "a b"}, After: "m", Limit: 2,
		CreatedFrom: time.Date(2026, 11, 20, 12, 0, 0, 5, time.UTC)})
	if err != nil || len(page.Jobs) != 1 || page.Next != "n" {
		t.Errorf("list: %+v, %v", page, err)
	}
	if r, err := c.Cancel(ctx, "a"); err != nil || r.ID != "a" {
		t.Errorf("cancel: %+v, %v", r, err)
	}
	want := []api.SlotStatus{{CPUs: "2", Node: 1, State: "idle", Since: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}}
	for _, ask := range []func() ([]api.SlotStatus, error){
		func() ([]api.SlotStatus, error) { return c.Slots(ctx) },
		func() ([]api.SlotStatus, error) { return c.Drain(ctx, "2", "fan") },
		func() ([]api.SlotStatus, error) { return c.Undrain(ctx, "2") },
	} {
		got, err := ask()
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("slots: %v (-want +got):\n%s", err, diff)
		}
	}
	if n, err := c.Waiting(ctx); err != nil || n[api.Contest] != 3 {
		t.Errorf("waiting: %v, %v", n, err)
	}
	if d, err := c.Doctor(ctx); err != nil || !d.Ready {
		t.Errorf("doctor: %+v, %v", d, err)
	}
	if err := c.Ready(ctx); err == nil {
		t.Error("ready")
	}
	s.check(t, "GET /v1/jobs?after=m&created_from=2026-11-20T12%3A00%3A00.000000005Z&label=team%3Da+b"+
		"&language=c&limit=2&problem=p&state=done&tenant=x&verdict=WA", "DELETE /v1/jobs/a", "GET /v1/slots",
		"POST /v1/slots/2/drain?reason=fan", "POST /v1/slots/2/undrain", "GET /v1/queue", "GET /v1/doctor",
		"GET /readyz")
}
