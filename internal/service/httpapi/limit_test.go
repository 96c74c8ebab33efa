package httpapi

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/testkit"
)

// guarded returns a server with tokens and few connections.
func guarded(t *testing.T, n int) *wire {
	f := newFixture(t, func(o *Options) { o.Log, o.Tokens = nil, tokens(t) })
	w := serveWire(t, f, n)
	w.crowd.grace = 0
	return w
}

// from connects from 127.0.0.N and sends text.
func (w *wire) from(n int, text string) net.Conn {
	w.t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(n))}}
	c, err := dialer.Dial("tcp4", w.addr)
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

// status reads one response and returns its status.
func (w *wire) status(c net.Conn) int {
	w.t.Helper()
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		w.t.Fatalf("no answer: %v", err)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

// gone waits until the server has closed a connection.
func gone(t *testing.T, c net.Conn) {
	t.Helper()
	_, err := io.Copy(io.Discard, c)
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
		t.Fatal("the connection was never closed")
	}
}

// members returns the connections with a request, or those without one.
func (c *crowd) members(busy ...bool) (all []member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for m := range c.open {
		if slices.Contains(busy, m.busy) {
			all = append(all, *m)
		}
	}
	return all
}

// settled waits until no connection has a request: a client receives a response before the server has finished it.
func (w *wire) settled() {
	w.t.Helper()
	testkit.WaitFor(w.t, patience, "the end of all requests", func() bool { return len(w.crowd.members(true)) == 0 })
}

// kept checks that the server has not closed a connection by sending a request on it.
func (w *wire) kept(c net.Conn, request string) {
	w.t.Helper()
	if _, err := io.WriteString(c, request); err != nil {
		w.t.Fatal(err)
	}
	w.status(c)
}

const (
	open   = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
	wrong  = "GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer wrong\r\n\r\n"
	right  = "GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer open sesame\r\n\r\n"
	poll   = "GET /v1/jobs/a?wait=60s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer open sesame\r\n\r\n"
	silent = ""
	slow   = "PUT /v1/jobs/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"
)

// TestStrangersKeepNobodyOut fills a server with unauthorized connections from one address and from many. It checks
// that a caller with a token can connect and stays connected.
func TestStrangersKeepNobodyOut(t *testing.T) {
	for name, text := range map[string]string{"silent": silent, "open route": open, "wrong token": wrong, "half": "GET",
		"body without a token": slow} {
		for _, addresses := range []int{1, 100} {
			t.Run(fmt.Sprint(name, " from ", addresses), func(t *testing.T) {
				w := guarded(t, 40)
				first := w.from(200, right)
				if got := w.status(first); got != 200 {
					t.Fatalf("status %d", got)
				}
				var last net.Conn
				for i := range 120 {
					last = w.from(1+i%addresses, text)
				}
				if text == open || text == wrong {
					w.status(last) // the newest unknown client gets a response, too
				}
				if got := w.status(w.from(1, right)); got != 200 {
					t.Errorf("status %d for a caller with a token at the address of strangers", got)
				}
				if got := w.status(w.from(200, right)); got != 200 {
					t.Errorf("status %d for a caller with a token", got)
				}
				w.kept(first, right)
			})
		}
	}
}

// TestOneAddressLeavesRoom checks that strangers at one address only replace each other's connections, not those of
// strangers elsewhere.
func TestOneAddressLeavesRoom(t *testing.T) {
	w := guarded(t, 40)
	elsewhere := w.from(2, open)
	w.status(elsewhere)
	w.settled()
	var all []net.Conn
	for range 100 {
		all = append(all, w.from(1, open))
		w.status(all[len(all)-1])
		w.settled()
	}
	for _, c := range all[:95] {
		gone(t, c)
	}
	for _, c := range append(all[95:], elsewhere) {
		w.kept(c, open)
	}
}

// TestBurst opens many connections at the same time. It checks that each has time to be authorized, and that those at
// one address leave half of the connections, so that clients at other addresses keep theirs.
func TestBurst(t *testing.T) {
	w := guarded(t, 40)
	w.crowd.grace = patience
	var burst, others []net.Conn
	for range 10 { // more than an eighth
		burst = append(burst, w.from(1, silent))
	}
	for _, c := range burst {
		w.kept(c, right)
	}
	for range 4 {
		others = append(others, w.from(4, silent))
	}
	for range 100 {
		w.from(2, silent)
	}
	if got := w.status(w.from(3, right)); got != 200 {
		t.Errorf("status %d", got)
	}
	testkit.WaitFor(t, patience, "half to be taken", func() bool { return len(w.crowd.members(true, false)) >= 30 })
	for _, c := range append(burst, others...) {
		w.kept(c, right)
	}
}

// TestConnectionsAreBounded checks that a caller with a token replaces the connection that has been idle for longest,
// and waits if none is idle.
func TestConnectionsAreBounded(t *testing.T) {
	const n = 10
	w := guarded(t, n)
	if rec := w.submit("PUT", "/v1/jobs/a", small, "Authorization: Bearer open sesame"); rec.Code != 202 {
		t.Fatal(rec.Body)
	}
	var idle []net.Conn
	for range n {
		idle = append(idle, w.send(right))
		w.status(idle[len(idle)-1])
		w.settled()
	}
	w.kept(idle[0], right) // now the second one has been idle for longest
	w.settled()
	var polls []net.Conn
	for i := range n {
		polls = append(polls, w.send(poll))
		testkit.WaitFor(t, patience, "the poll", func() bool { return w.jobs.waiting("a") })
		gone(t, idle[(i+1)%n])
	}
	late := w.send(strings.Replace(open, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1))
	_ = late.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := late.Read(make([]byte, 1)); err == nil {
		t.Errorf("answered %d bytes beyond the bound", n)
	}
	_ = late.SetReadDeadline(time.Now().Add(patience))
	polls[0].Close()
	if got := w.said(late); !strings.HasPrefix(got, "HTTP/1.1 200 ") {
		t.Errorf("answer %q", got)
	}
	w.jobs.tell("a", api.Done, api.Event{Type: api.EventDone})
	for _, c := range polls[1:] {
		w.status(c)
	}
}

// TestStrangersIdle checks that a stranger's idle connection is closed long before that of a caller with a token, over
// HTTP, HTTPS and HTTP/2.
func TestStrangersIdle(t *testing.T) {
	for _, protocol := range []string{"HTTP", "HTTPS", "HTTP/2"} {
		t.Run(protocol, func(t *testing.T) {
			f := newFixture(t, func(o *Options) { o.Log, o.Tokens = nil, tokens(t) })
			server := httptest.NewUnstartedServer(f)
			limited := Limit(server.Config, server.Listener.(*net.TCPListener), 10).(*limited)
			limited.crowd.idle = 20 * time.Millisecond
			server.Listener = limited
			if server.EnableHTTP2 = protocol == "HTTP/2"; protocol == "HTTP" {
				server.Start()
			} else {
				server.StartTLS()
			}
			defer server.Close()
			get := func(path, token string) {
				t.Helper()
				r, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				if token != "" {
					r.Header.Set("Authorization", "Bearer "+token)
				}
				// A connection that is closed loses a request on its way. Go's client repeats it for HTTP/1 only.
				var res *http.Response
				testkit.WaitFor(t, patience, "a response to "+path, func() bool {
					res, err = server.Client().Do(r)
					return err == nil
				})
				_, _ = io.Copy(io.Discard, res.Body)
				if res.Body.Close(); (res.ProtoMajor == 2) != (protocol == "HTTP/2") {
					t.Errorf("protocol %s", res.Proto)
				}
			}
			members := func() []member { return limited.crowd.members(false, true) }
			get("/healthz", "")
			get("/v1/jobs", "wrong")
			testkit.WaitFor(t, patience, "the connections of strangers to be closed",
				func() bool { return len(members()) == 0 })
			get("/v1/jobs", "open sesame")
			testkit.WaitFor(t, patience, "the connection to be idle", func() bool {
				all := members()
				return len(all) == 1 && !all[0].busy
			})
			if m := members()[0]; !m.known || m.alarm != nil {
				t.Errorf("a connection that a caller with a token has: %+v", m)
			}
			server.Client().CloseIdleConnections()
			testkit.WaitFor(t, patience, "the connection to be closed", func() bool { return len(members()) == 0 })
			if n := len(limited.crowd.strangers); n != 0 {
				t.Errorf("%d addresses are counted without a connection", n)
			}
		})
	}
}

func TestAddressOf(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.7:80": "192.0.2.7/32", "[::ffff:192.0.2.7]:80": "192.0.2.7/32",
		"[2001:db8:1:2:3::4]:80": "2001:db8:1:2::/64", "[fe80::1%lo]:80": "fe80::/64",
	} {
		if got := addressOf(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(text))).String(); got != want {
			t.Errorf("address of %s: %s, want %s", text, got, want)
		}
	}
	if got := addressOf(&net.UnixAddr{}); got.IsValid() {
		t.Errorf("address of another kind: %s", got)
	}
}
