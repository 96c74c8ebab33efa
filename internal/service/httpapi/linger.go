package httpapi

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"time"
)

// serverDrains is how much of an unread body net/http reads before it answers,
// so that the connection can serve another request.
const serverDrains = 256 << 10

// tracked is a body that knows what was read of it.
type tracked struct {
	io.ReadCloser
	read  int64
	ended bool // at its end, or with an error
}

// Read reads and counts.
func (t *tracked) Read(b []byte) (int, error) {
	n, err := t.ReadCloser.Read(b)
	t.read += int64(n)
	t.ended = t.ended || err != nil
	return n, err
}

// track returns r with a tracked body. The original keeps its own, of which
// net/http looks at the type.
func track(r *http.Request) *http.Request {
	if r.Body == nil || r.ContentLength == 0 {
		return r
	}
	r = r.WithContext(r.Context())
	r.Body = &tracked{ReadCloser: r.Body}
	return r
}

// unwanted returns the body of a request that is refused, if more of it is on its
// way than net/http reads by itself. A caller who asked whether to send it, and
// was not answered yet, keeps it.
func unwanted(r *http.Request) *tracked {
	t, ok := r.Body.(*tracked)
	asked := ok && t.read == 0 && r.Header.Get("Expect") != ""
	if !ok || t.ended || asked || r.ContentLength >= 0 && r.ContentLength-t.read <= serverDrains {
		return nil
	}
	return t
}

// refuse answers while the body is still on its way, and then reads it for as long
// as a caller may keep us waiting, to throw it away. Most clients send all of a
// body before they look for an answer, and net/http would reset the connection
// under them. nginx does the same with lingering_close.
func (s *Server) refuse(w http.ResponseWriter, body *tracked, status int, answer []byte) {
	control := http.NewResponseController(w)
	if err := control.EnableFullDuplex(); err != nil {
		s.write(w, status, answer) // no connection that could be reset
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
	_, _ = io.Copy(io.Discard, body) // ends with the deadline at the latest
}
