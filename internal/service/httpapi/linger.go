package httpapi

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"time"
)

// serverDrains is how much of an unread body net/http reads before it responds, so that the connection can serve
// another request.
const serverDrains = 256 << 10

// tracked counts the bytes read from a body.
type tracked struct {
	io.ReadCloser
	read  int64
	ended bool // reached its end, or failed
}

// Read implements io.Reader.
func (t *tracked) Read(b []byte) (int, error) {
	n, err := t.ReadCloser.Read(b)
	t.read += int64(n)
	t.ended = t.ended || err != nil
	return n, err
}

// track returns a copy of r with a tracked body. The original keeps its body, because net/http checks its type.
func track(r *http.Request) *http.Request {
	if r.Body == nil || r.ContentLength == 0 {
		return r
	}
	r = r.WithContext(r.Context())
	r.Body = &tracked{ReadCloser: r.Body}
	return r
}

// unwanted returns the body of a refused request if the rest of it is more than net/http reads by itself. A caller that
// waits for 100 Continue has not sent it.
func unwanted(r *http.Request) *tracked {
	t, ok := r.Body.(*tracked)
	asked := ok && t.read == 0 && r.Header.Get("Expect") != ""
	if !ok || t.ended || asked || r.ContentLength >= 0 && r.ContentLength-t.read <= serverDrains {
		return nil
	}
	return t
}

// refuse responds before the body has arrived, then reads and discards the body within the usual deadline. Most clients
// send the whole body before they read the response, and net/http would reset the connection before that. nginx does
// the same with lingering_close.
func (s *Server) refuse(w http.ResponseWriter, body *tracked, status int, answer []byte) {
	control := http.NewResponseController(w)
	if err := control.EnableFullDuplex(); err != nil {
		s.write(w, status, answer) // no connection to keep open
		return
	}
	h := w.Header()
	h.Set("Connection", "close")
	h.Del("Keep-Alive")
	h.Set("Content-Length", strconv.Itoa(len(answer)))
	s.write(w, status, answer)
	if control.Flush() != nil {
		return
	}
	_ = control.SetReadDeadline(time.Now().Add(s.stall))
	defer context.AfterFunc(s.closing, func() { _ = control.SetReadDeadline(time.Now()) })()
	_, _ = io.Copy(io.Discard, body) // until the deadline
}
