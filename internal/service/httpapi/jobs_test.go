package httpapi

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
)

// queued returns a fixture with a job "a" in it.
func queued(t *testing.T, change ...func(*Options)) *fixture {
	t.Helper()
	f := newFixture(t, change...)
	if w := f.submit("PUT", "/v1/jobs/a", small); w.Code != 202 {
		t.Fatalf("status %d %s", w.Code, w.Body)
	}
	return f
}

func TestGetJob(t *testing.T) {
	f := queued(t)
	want := api.Report{ID: "a", State: api.Queued, Priority: api.Practice, CreatedAt: noon}
	w := f.ask("GET", "/v1/jobs/a", "")
	if diff := cmp.Diff(want, answer[api.Report](t, w)); diff != "" || w.Code != 200 || w.Header().Get("ETag") != "" {
		t.Errorf("status %d, header %v (-want +got):\n%s", w.Code, w.Header(), diff)
	}
	wantProblem(t, f.ask("GET", "/v1/jobs/b", ""), "not-found")
	wantProblem(t, f.ask("GET", "/v1/jobs/b?wait=1s", ""), "not-found")
	for _, query := range []string{"wait=1", "wait=-1s", "wait=1s&wait=2s", "wiat=1s", "wait=%zz"} {
		wantProblem(t, f.ask("GET", "/v1/jobs/a?"+query, ""), "bad-request")
	}
}

func TestFinalReportsHaveAnETag(t *testing.T) {
	f := queued(t)
	f.jobs.tell("a", api.Done, api.Event{Type: api.EventDone})
	w := f.ask("GET", "/v1/jobs/a?wait=60s", "")
	tag := w.Header().Get("ETag")
	if w.Code != 200 || tag == "" {
		t.Fatalf("status %d, ETag %q", w.Code, tag)
	}
	if w := f.ask("GET", "/v1/jobs/a", "", "If-None-Match: "+tag); w.Code != 304 || w.Body.Len() != 0 {
		t.Errorf("status %d, body %q", w.Code, w.Body)
	}
}

func TestLongPoll(t *testing.T) {
	f := queued(t)
	// Uses a listener, because the deadlines of connections are tested too.
	server := httptest.NewServer(f)
	defer server.Close()
	get := func(query string) (string, error) {
		res, err := http.Get(server.URL + "/v1/jobs/a?" + query)
		if err != nil {
			return "", err
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		return string(body), err
	}
	if body, err := get("wait=1ms"); err != nil || !strings.Contains(body, `"state":"queued"`) {
		t.Errorf("after the time: %s %v", body, err)
	}
	got := make(chan string, 1)
	go func() {
		body, _ := get("wait=60s")
		got <- body
	}()
	f.jobs.tell("a", api.Done, api.Event{Type: api.EventDone})
	if body := <-got; !strings.Contains(body, `"state":"done"`) {
		t.Errorf("when it ended: %s", body)
	}
}

func TestEndStreamsEndsLongPolls(t *testing.T) {
	f := queued(t)
	got := make(chan *httptest.ResponseRecorder, 1)
	go func() { got <- f.ask("GET", "/v1/jobs/a?wait=60s", "") }()
	f.EndStreams()
	if w := <-got; w.Code != 200 || answer[api.Report](t, w).State != api.Queued {
		t.Errorf("status %d %s", w.Code, w.Body)
	}
}

func TestListJobs(t *testing.T) {
	f := queued(t)
	w := f.ask("GET", "/v1/jobs?state=queued&label=team%3D7&limit=5", "")
	want := jobList{Jobs: []api.Report{{ID: "a", State: api.Queued, Priority: api.Practice, CreatedAt: noon}}}
	if diff := cmp.Diff(want, answer[jobList](t, w)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if w := f.ask("GET", "/v1/jobs?state=done", ""); strings.TrimSpace(w.Body.String()) != `{"jobs":[]}` {
		t.Errorf("empty list %s", w.Body)
	}
	for _, query := range []string{"state=lost", "label=team", "label==7", "limit=0", "limit=501", "limit=x", "sort=id"} {
		wantProblem(t, f.ask("GET", "/v1/jobs?"+query, ""), "bad-request")
	}
}

func TestCancel(t *testing.T) {
	f := queued(t)
	for range 2 { // the second time with the same response
		w := f.ask("DELETE", "/v1/jobs/a", "")
		if w.Code != 200 || answer[api.Report](t, w).State != api.CancelledState {
			t.Errorf("status %d %s", w.Code, w.Body)
		}
	}
	f = queued(t)
	f.jobs.tell("a", api.Done, api.Event{Type: api.EventDone})
	wantProblem(t, f.ask("DELETE", "/v1/jobs/a", ""), "final")
	wantProblem(t, f.ask("DELETE", "/v1/jobs/b", ""), "not-found")
}

func TestEvents(t *testing.T) {
	f := queued(t)
	f.jobs.tell("a", api.Queued, api.Event{Type: api.EventQueued, At: noon})
	f.jobs.tell("a", api.Running, api.Event{Type: api.EventRunning, At: noon, CPUs: "2"})
	server := httptest.NewServer(f)
	defer server.Close()
	if w := f.ask("HEAD", "/v1/jobs/a/events", ""); w.Code != 200 || w.Body.Len() != 0 {
		t.Errorf("HEAD: status %d %s", w.Code, w.Body)
	}
	lines := follow(t, server.URL+"/v1/jobs/a/events", "1")
	if got := <-lines; got != "id: 2\nevent: running\n"+
		`data: {"seq":2,"job":"a","type":"running","at":"2026-11-20T12:00:00Z","cpus":"2"}`+"\n" {
		t.Errorf("first event %q", got)
	}
	// The reader has received an event, so the next ones arrive live.
	f.jobs.tell("a", api.Done, api.Event{Type: api.EventDone, At: noon})
	if got := <-lines; !strings.HasPrefix(got, "id: 3\nevent: done\n") {
		t.Errorf("second event %q", got)
	}
	if got, ok := <-lines; ok {
		t.Errorf("behind the last event: %q", got)
	}

	if w := f.ask("GET", "/v1/jobs/a/events", "", "Last-Event-ID: 3"); w.Code != 204 {
		t.Errorf("all seen: status %d %s", w.Code, w.Body)
	}
	if w := f.ask("GET", "/v1/jobs/a/events?after=2", ""); w.Code != 200 ||
		!strings.Contains(w.Body.String(), "id: 3\n") ||
		strings.Contains(w.Body.String(), "id: 2\n") {
		t.Errorf("one left: status %d %s", w.Code, w.Body)
	}
	wantProblem(t, f.ask("GET", "/v1/jobs/a/events", "", "Last-Event-ID: x"), "bad-request")
	wantProblem(t, f.ask("GET", "/v1/jobs/a/events?after=x", "", "Last-Event-ID: 3"), "bad-request")
	wantProblem(t, f.ask("GET", "/v1/jobs/b/events", ""), "not-found")
}

// TestEventsOfAnotherJob checks, with the real store, that a reader whose last event the job never had gets an error. It
// would wait for the end in vain: another job had the ID before, or a backup was restored.
func TestEventsOfAnotherJob(t *testing.T) {
	store := openStore(t)
	f := newFixture(t, func(o *Options) { o.Jobs = store })
	seen := func(want int) {
		t.Helper()
		const end = "2097151" // of the first attempt
		if w := f.ask("GET", "/v1/jobs/a/events", "", "Last-Event-ID: "+end); w.Code != want {
			t.Errorf("all events of one attempt seen: status %d %s, want %d", w.Code, w.Body, want)
		}
		wantProblem(t, f.ask("GET", "/v1/jobs/a/events?after=2097152", ""), "gone")
	}
	if w := f.submit("PUT", "/v1/jobs/a", small); w.Code != http.StatusAccepted {
		t.Fatal(w.Code, w.Body)
	}
	seen(http.StatusGone)
	lease, err := store.Take(t.Context(), api.Want{CPUs: "2-3"})
	if err != nil {
		t.Fatal(err)
	}
	seen(http.StatusGone)
	if err := store.Finish(t.Context(), lease.Lease, api.Report{Verdict: api.Accepted}); err != nil {
		t.Fatal(err)
	}
	seen(http.StatusNoContent)
}

// follow returns a channel with the events of a stream, without comments.
func follow(t *testing.T, url, lastID string) <-chan string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Last-Event-ID", lastID)
	return eventsOf(t, r)
}

// eventsOf sends a request and returns the events of the response, until the context of the request is done.
func eventsOf(t *testing.T, r *http.Request) <-chan string {
	t.Helper()
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if got := res.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatalf("Content-Type %q", got)
	}
	events := make(chan string)
	go func() {
		defer close(events)
		defer res.Body.Close()
		text := ""
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			switch line := lines.Text(); {
			case line == "" && text != "":
				select {
				case events <- text:
				case <-r.Context().Done():
					return
				}
				text = ""
			case line != "" && !strings.HasPrefix(line, ":"):
				text += line + "\n"
			}
		}
	}()
	return events
}

func TestShutdownEndsStreams(t *testing.T) {
	f := queued(t)
	f.jobs.tell("a", api.Queued, api.Event{Type: api.EventQueued, At: noon})
	listener := httptest.NewUnstartedServer(nil).Listener
	server := f.HTTPServer()
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	events := follow(t, "http://"+listener.Addr().String()+"/v1/jobs/a/events", "0")
	<-events
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		t.Errorf("shutdown: %v", err)
	}
	if _, ok := <-events; ok {
		t.Error("the stream went on")
	}
	if err := <-served; err != http.ErrServerClosed {
		t.Errorf("serve: %v", err)
	}
}
