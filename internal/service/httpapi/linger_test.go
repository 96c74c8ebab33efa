package httpapi

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"judged/internal/base/config"
)

// TestAnswersToThoseWhoSendFirst checks that a caller that sends its whole body before it reads receives the response
// that was decided long before. Otherwise the connection is reset, and Python's http.client reports only a broken pipe.
func TestAnswersToThoseWhoSendFirst(t *testing.T) {
	const size = 32 << 20 // more than the buffers of both sides hold
	body := strings.Repeat("[1,2],", size/6+1)[:size]
	unknown := `{"x": [` + body[7:]
	for _, tt := range []struct {
		name, line, header, body, status string
	}{
		{"a long blob", "PUT /v1/blobs/" + digestText("x"), "", body, "413"},
		{"a long blob in chunks", "PUT /v1/blobs/" + digestText("x"), "chunked", body, "413"},
		{"a long job", "PUT /v1/jobs/a", "", `{"pool": "` + body[10:], "413"},
		{"an unknown member", "PUT /v1/jobs/a", "", unknown, "400"},
		{"a bad digest", "PUT /v1/blobs/x", "", body, "400"},
		{"an unknown path", "POST /nowhere", "", body, "404"},
		{"a wrong method", "POST /v1/slots", "", body, "405"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWire(t)
			length := fmt.Sprintf("Content-Length: %d\r\n", len(tt.body))
			sent := tt.body
			if tt.header == "chunked" {
				length = "Transfer-Encoding: chunked\r\n"
				sent = fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(tt.body), tt.body)
			}
			c := w.send(
				tt.line + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + length + "\r\n")
			if n, err := io.WriteString(c, sent); err != nil {
				t.Fatalf("%d of %d bytes could be sent: %v", n, len(sent), err)
			}
			got := w.said(c)
			res, err := http.ReadResponse(bufio.NewReader(strings.NewReader(got)), nil)
			if err != nil || !strings.HasPrefix(res.Status, tt.status) || !res.Close {
				t.Errorf("%.200q, want %s and a close: %v", got, tt.status, err)
			}
		})
	}
}

// TestLingerEnds checks that an unwanted body is not read for ever.
func TestLingerEnds(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	w.stall = time.Second
	c := w.send(
		"PUT /v1/blobs/" + digestText("x") + " HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
	chunk := fmt.Appendf(nil, "%x\r\n%s\r\n", 1<<20, strings.Repeat("x", 1<<20))
	var timeout net.Error
	for {
		if _, err := c.Write(chunk); errors.As(err, &timeout) && timeout.Timeout() {
			t.Fatal("the server still reads")
		} else if err != nil {
			break
		}
	}
	if got := w.said(c); len(got) > 0 && !strings.HasPrefix(string(got), "HTTP/1.1 413 ") {
		t.Errorf("answer %.100q", got)
	}
}

// TestExpectContinue checks that a caller that sends Expect: 100-continue is not asked for an unwanted body.
func TestExpectContinue(t *testing.T) {
	w := newWire(t)
	w.stall = time.Second
	c := w.send("PUT /v1/blobs/" + digestText("x") +
		" HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 1000000\r\n\r\n")
	if got := w.said(c); !strings.HasPrefix(got, "HTTP/1.1 413 ") || strings.Contains(got, "100 Continue") {
		t.Errorf("answer %.200q", got)
	}
}

// TestIdleConnections checks that a client or proxy never sends a request on a connection that is being closed here, if
// it closes connections that have been idle for the time in the Keep-Alive header, or for ten minutes like the most
// patient ones.
func TestIdleConnections(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Config = config.Default() })
	if got := f.HTTPServer().IdleTimeout; got <= idleTold || idleTold < 10*time.Minute {
		t.Errorf("idle connections are closed after %v, the header says %v", got, idleTold)
	}
	if got := f.ask("GET", "/healthz", "").Header().Get("Keep-Alive"); got != "timeout=600" {
		t.Errorf("Keep-Alive %q", got)
	}
	f = newFixture(t, func(o *Options) { o.Tokens = tokens(t) })
	for _, tt := range []struct{ path, token, want string }{
		{"/healthz", "", "timeout=90"}, {"/v1/jobs", "", "timeout=90"}, {"/healthz", "open sesame", "timeout=90"},
		{"/v1/jobs", "other", "timeout=90"}, {"/v1/jobs", "open sesame", "timeout=600"},
	} {
		if got := f.ask("GET", tt.path, "",
			"Authorization: Bearer "+tt.token).Header().Get("Keep-Alive"); got != tt.want {
			t.Errorf("Keep-Alive of %s with token %q: %q, want %q", tt.path, tt.token, got, tt.want)
		}
	}
	if strangerIdle <= strangerTold || strangerTold < 90*time.Second {
		t.Errorf("connections of strangers are closed after %v, the header says %v", strangerIdle, strangerTold)
	}
}
