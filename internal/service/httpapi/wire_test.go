package httpapi

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/testkit"
)

// patience is a timeout that distinguishes a slow machine from a connection that is never closed.
const patience = time.Minute

// connections is more than the number of connections that a test opens.
const connections = 1000

// wire is a server behind a socket to which tests write bytes.
type wire struct {
	*fixture
	t     *testing.T
	addr  string
	crowd *crowd
}

// newWire starts a server that is patient with a busy machine. Tests that wait for the end of its patience set stall.
func newWire(t *testing.T, change ...func(*http.Server)) *wire {
	t.Helper()
	f := newFixture(t, func(o *Options) { o.Log = nil }) // its buffer is for one request at a time
	return serveWire(t, f, connections, change...)
}

// serveWire serves a fixture with at most n connections.
func serveWire(t *testing.T, f *fixture, n int, change ...func(*http.Server)) *wire {
	t.Helper()
	f.Server.stall = patience
	server := f.HTTPServer()
	for _, c := range change {
		c(server)
	}
	listener := httptest.NewUnstartedServer(nil).Listener
	limited := Limit(server, listener.(*net.TCPListener), n).(*limited)
	served := make(chan error, 1)
	go func() { served <- server.Serve(limited) }()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return &wire{f, t, listener.Addr().String(), limited.crowd}
}

// send writes text to a new connection and returns it.
func (w *wire) send(text string) net.Conn {
	w.t.Helper()
	c, err := net.Dial("tcp", w.addr)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(c, text); err != nil {
		w.t.Fatal(err)
	}
	return c
}

// said returns everything that the server sends until it closes the connection. The server may reset a connection with
// unread data.
func (w *wire) said(c net.Conn) string {
	w.t.Helper()
	text, err := io.ReadAll(c)
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		w.t.Fatalf("the connection was never closed; the server said %q", text)
	}
	return string(text)
}

// TestCallersWhoKeepUsWaiting checks that no caller can hold a connection by sending nothing, for any
// missing part of a request, and whether or not a handler reads it.
func TestCallersWhoKeepUsWaiting(t *testing.T) {
	t.Parallel()
	const head = " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	// Without a status there is no response: the connection is closed.
	tests := []struct{ name, send, status string }{
		{"nothing", "", ""},
		{"half a request line", "GET /v1/jo", ""},
		{"no end of the headers", "GET /healthz HTTP/1.1\r\nHost: localhost\r\nA: b\r\n", ""},
		{"a body that is read", "PUT /v1/jobs/a" + head + "Content-Length: 100\r\n\r\n{", "408"},
		{"a blob", "PUT /v1/blobs/" + digestText("x") + head + "Content-Length: 100\r\n\r\nx", "408"},
		{"a body in chunks", "PUT /v1/jobs/a" + head + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n", "408"},
		{"a chunk", "PUT /v1/jobs/a" + head + "Transfer-Encoding: chunked\r\n\r\nffff\r\n{}", "408"},
		{"the body of a GET", "GET /healthz" + head + "Content-Length: 100\r\n\r\n", "200"},
		{"the body of an unknown path", "POST /nowhere" + head + "Content-Length: 100\r\n\r\n", "404"},
		{"the body of an unknown method", "BREW /v1/jobs" + head + "Content-Length: 100\r\n\r\n", "405"},
		{"chunks of an unknown path", "POST /nowhere" + head + "Transfer-Encoding: chunked\r\n\r\n", "404"},
		{"a body of another type", "PUT /v1/jobs/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n", "415"},
		{"the body that it wants to be asked for",
			"GET /healthz" + head + "Expect: 100-continue\r\nContent-Length: 100\r\n\r\n", "200"},
	}
	said := make([]func() string, len(tests))
	for i, tt := range tests { // they wait together
		w := newWire(t, func(s *http.Server) {
			if s.ReadHeaderTimeout <= 0 || s.ReadHeaderTimeout > stall || s.IdleTimeout <= 0 ||
				s.MaxHeaderBytes > 1<<20 {
				t.Errorf("the server waits %v for headers of %d bytes, %v for another request", s.ReadHeaderTimeout,
					s.MaxHeaderBytes, s.IdleTimeout)
			}
			s.ReadHeaderTimeout, s.IdleTimeout = time.Second, 100*time.Millisecond
		})
		w.stall = time.Second
		c := w.send(tt.send)
		said[i] = func() string { return w.said(c) }
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := said[i]()
			if tt.status != "" && !strings.HasPrefix(got, "HTTP/1.1 "+tt.status+" ") {
				t.Errorf("answer %q, want status %q", got, tt.status)
			}
		})
	}
}

// TestTrickle checks that a body needs a minimum average speed, and that the memory reserved for it is released.
func TestTrickle(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	w.stall = time.Second
	c := w.send(
		"PUT /v1/jobs/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 8000\r\n\r\n{")
	stop := make(chan struct{})
	tick := time.NewTicker(w.stall / 20) // too short for a stall
	defer tick.Stop()
	go func() {
		defer close(stop)
		for {
			if _, err := c.Write([]byte(" ")); err != nil {
				return
			}
			<-tick.C
		}
	}()
	if got := w.said(c); !strings.HasPrefix(got, "HTTP/1.1 408 ") {
		t.Errorf("answer %q", got)
	}
	c.Close()
	<-stop
	if !w.memory.TryAcquire(bodiesAtOnce * 8 << 10) {
		t.Error("the body still holds memory")
	}
}

// TestOddRequests checks the responses to requests that no client sends by mistake.
func TestOddRequests(t *testing.T) {
	long := strings.Repeat("a", 100<<10)
	body := func(headers, body string) string {
		return "PUT /v1/jobs/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + headers + "\r\n" + body
	}
	tests := []struct {
		name, send string
		status     []string // of all responses on the connection
	}{
		{"two lengths", body(fmt.Sprintf("Content-Length: %d\r\nContent-Length: 0\r\n", len(small)), small),
			[]string{"400"}},
		{"a length with a sign", body("Content-Length: +5\r\n", "{}   "), []string{"400"}},
		{"a negative length", body("Content-Length: -1\r\n", "{}"), []string{"400"}},
		{"a length beyond any", body("Content-Length: 9223372036854775807\r\n", "{}"), []string{"408"}},
		// The chunks count and the length does not. The data after them is not treated as a request: a proxy in front
		// may interpret it differently.
		{
			"length and chunks",
			body("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
				"2\r\n{}\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"),
			[]string{"400"},
		},
		{"chunks twice", body("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
			[]string{"501", "400"}},
		{"an unknown coding", body("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), []string{"501"}},
		{"a broken chunk", body("Transfer-Encoding: chunked\r\n", "zz\r\n{}"), []string{"400"}},
		{"a folded header", "GET /healthz HTTP/1.1\r\nHost: localhost\r\nA: b\r\n c\r\n\r\n", []string{"200", "400"}},
		{"a space before the colon", "GET /healthz HTTP/1.1\r\nHost : localhost\r\n\r\n", []string{"400"}},
		{"no host", "GET /healthz HTTP/1.1\r\n\r\n", []string{"400"}},
		{"two hosts", "GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", []string{"400"}},
		{"a long header", "GET /healthz HTTP/1.1\r\nHost: localhost\r\nA: " + long + "\r\n\r\n", []string{"431"}},
		{"many headers", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + strings.Repeat("A: b\r\n", 20<<10) + "\r\n",
			[]string{"431"}},
		{"a long path", "GET /v1/jobs/" + long + " HTTP/1.1\r\nHost: localhost\r\n\r\n", []string{"431"}},
		{"a NUL in the path", "GET /v1/jobs/a\x00b HTTP/1.1\r\nHost: localhost\r\n\r\n", []string{"400"}},
		{"a NUL in a header", "GET /healthz HTTP/1.1\r\nHost: localhost\r\nA: \x00\r\n\r\n", []string{"400"}},
		{"an escape in the path", "GET /v1/jobs/\x1b[2J HTTP/1.1\r\nHost: localhost\r\n\r\n", []string{"400"}},
		{"an escaped NUL", "GET /v1/jobs/a%00b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
			[]string{"404"}},
		{"dots", "GET /v1/jobs/%2e%2e%2f%2e%2e%2fetc HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
			[]string{"404"}},
		{"a wildcard", "GET /v1/jobs/%3E/events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
			[]string{"404"}},
		{"another host in the path",
			"GET http://evil.example/v1/jobs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
			[]string{"421"}},
		{"no path", "GET * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", []string{"400"}},
		{"a tunnel", "CONNECT localhost:22 HTTP/1.1\r\nHost: localhost:22\r\nConnection: close\r\n\r\n",
			[]string{"400"}},
		{"a trace",
			"TRACE /v1/jobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer secret\r\nConnection: close\r\n\r\n",
			[]string{"405"}},
		{"options of all", "OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", []string{"200"}},
		{"a version to come", "GET /healthz HTTP/3.0\r\nHost: localhost\r\n\r\n", []string{"505"}},
		{"an upgrade", "GET /healthz HTTP/1.1\r\nHost: localhost\r\nUpgrade: h2c\r\nConnection: Upgrade, close\r\n\r\n",
			[]string{"200"}},
		{"HTTP/2 without asking", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", []string{"505", "400"}},
		{"TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", []string{"400"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t, func(s *http.Server) { s.IdleTimeout = 100 * time.Millisecond })
			w.stall = 5 * time.Second
			if tt.status[0] == "408" { // it announces a body that never comes
				w.stall = time.Second
			}
			got := w.said(w.send(tt.send))
			answers := strings.Count(got, "HTTP/1.1 ")
			ok := false
			for _, status := range tt.status {
				ok = ok || strings.HasPrefix(got, "HTTP/1.1 "+status+" ")
			}
			if !ok || answers != 1 {
				t.Errorf("%d answers %.300q, want one of %v", answers, got, tt.status)
			}
			if strings.Contains(got, "secret") || strings.ContainsAny(got, "\x00\x1b") {
				t.Errorf("answer %q repeats what was sent", got)
			}
			if len(w.jobs.records) > 0 {
				t.Errorf("recorded %v", w.jobs.records)
			}
		})
	}
}

// TestConflictingTokens checks that requests with two tokens are refused: a proxy in front may have checked the other
// one.
func TestConflictingTokens(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Tokens = tokens(t) })
	for _, second := range []string{"Bearer open sesame", "Bearer wrong", "Basic x", ""} {
		r := httptest.NewRequest("GET", "/v1/jobs", nil)
		r.Header["Authorization"] = []string{"Bearer open sesame", second}
		w := httptest.NewRecorder()
		f.ServeHTTP(w, r)
		wantProblem(t, w, "bad-request")
	}
}

// TestManyReaders checks that readers of events cost something only while they are connected, and that all of them
// receive the events.
func TestManyReaders(t *testing.T) {
	const readers = 200
	w := newWire(t)
	if a := w.submit("PUT", "/v1/jobs/a", small); a.Code != 202 {
		t.Fatal(a.Body)
	}
	before := runtime.NumGoroutine()
	var streams []*bufio.Reader
	var conns []net.Conn
	for range readers {
		c := w.send("GET /v1/jobs/a/events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		conns, streams = append(conns, c), append(streams, bufio.NewReader(c))
	}
	w.jobs.tell("a", api.Running, api.Event{Type: api.EventRunning, At: noon})
	for i, s := range streams {
		for line := ""; !strings.HasPrefix(line, "event: running"); {
			var err error
			if line, err = s.ReadString('\n'); err != nil {
				t.Fatalf("reader %d: %v", i, err)
			}
		}
	}
	for _, c := range conns {
		c.Close()
	}
	testkit.WaitFor(t, patience, "the readers' goroutines to end",
		func() bool { return runtime.NumGoroutine() <= before+2 })
}

// TestTenThousandTests checks that a job of the maximum size is accepted, and that the error for a larger one names
// what exceeds the limit.
func TestTenThousandTests(t *testing.T) {
	f := newFixture(t, func(o *Options) {
		o.Config.HTTP.MaxBody, o.Config.Limits.Max.Tests = 4<<20, 10_000
	})
	body := func(n int) string {
		j := api.Job{Program: api.File{Text: new(string)}}
		for i := range n {
			j.Tests = append(j.Tests, api.Test{Name: fmt.Sprintf("%0250d", i)})
		}
		text, err := json.Marshal(j)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if w := f.submit("PUT", "/v1/jobs/a", body(10_000)); w.Code != 202 {
		t.Errorf("status %d %s", w.Code, w.Body)
	}
	p := wantProblem(t, f.submit("PUT", "/v1/jobs/b", body(10_001)), "invalid-job")
	if len(p.Errors) != 1 || p.Errors[0].Field != "tests" {
		t.Errorf("%+v", p)
	}
}
