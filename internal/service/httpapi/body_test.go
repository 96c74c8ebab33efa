package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"judged/internal/api"
)

// TestRoomForBodies checks that the JSON of a job reserves memory for its length, with or without other parts, and that
// all of it is released.
func TestRoomForBodies(t *testing.T) {
	const asks = `{"program": {"part": "prog"}, "tests": [{"name": "1"}]}`
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, p := range [][2]string{{"job", asks}, {"prog", strings.Repeat("x", 4<<10)}} {
		w, _ := form.CreateFormFile(p[0], "file")
		_, _ = w.Write([]byte(p[1]))
	}
	_ = form.Close()
	for _, tt := range []struct {
		name, kind, body string
		room             int
		want             string // "" means accepted
	}{
		{"JSON", "application/json", small, len(small), ""},
		{"JSON without room", "application/json", small, len(small) - 1, "not-ready"},
		{"parts", form.FormDataContentType(), body.String(), len(asks), ""},
		{"parts without room", form.FormDataContentType(), body.String(), len(asks) - 1, "not-ready"},
		{"no JSON", "application/json", "{", len(small), "invalid-job"},
		{"long JSON", "application/json", strings.Repeat(" ", 9<<10), 8 << 10, "too-large"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			if !f.memory.TryAcquire(bodiesAtOnce*8<<10 - int64(tt.room)) {
				t.Fatal("no room at first")
			}
			w := f.ask("PUT", "/v1/jobs/a", tt.body, "Content-Type: "+tt.kind)
			if tt.want != "" {
				wantProblem(t, w, tt.want)
			} else if w.Code != http.StatusAccepted {
				t.Errorf("status %d %s", w.Code, w.Body)
			}
			if again := w.Header().Get("Retry-After") != ""; again != (tt.want == "not-ready") {
				t.Errorf("header %v", w.Header())
			}
			if !f.memory.TryAcquire(int64(tt.room)) {
				t.Error("the body was not given back")
			}
		})
	}
}

// TestCallersWhoSendNothing checks that a body that is announced but not sent takes no memory from other callers.
func TestCallersWhoSendNothing(t *testing.T) {
	const form = "multipart/form-data; boundary=b"
	for _, tt := range []struct{ name, headers string }{
		{"JSON", "Content-Type: application/json\r\nContent-Length: 8192\r\n"},
		{"JSON in chunks", "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n"},
		{"parts", "Content-Type: " + form + "\r\nContent-Length: 1000000\r\n"},
		{"parts in chunks", "Content-Type: " + form + "\r\nTransfer-Encoding: chunked\r\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWire(t)
			for range bodiesAtOnce + 1 {
				c := w.send(
					"PUT /v1/jobs/a HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n" + tt.headers + "\r\n")
				// The server sends 100 Continue when it starts to read.
				if line, err := bufio.NewReader(c).ReadString('\n'); line != "HTTP/1.1 100 Continue\r\n" {
					t.Fatalf("%q, %v", line, err)
				}
			}
			if a := w.submit("PUT", "/v1/jobs/b", small); a.Code != http.StatusAccepted {
				t.Errorf("status %d %s", a.Code, a.Body)
			}
		})
	}
}

// counter counts the bytes read from a body.
type counter struct {
	io.Reader
	read int
}

// Read reads and counts.
func (c *counter) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.read += n
	return n, err
}

// TestUselessBodies checks that a body is read only until it is known to be invalid: the rest costs time and memory,
// whether or not its sender waits.
func TestUselessBodies(t *testing.T) {
	const most = 4 << 20
	long := strings.Repeat("[1,2],", most/8)
	job := `{"program": {"text": "x"}, "tests": [{"name": "1"}], `
	for _, tt := range []struct {
		name, body, field string
		hangUp            bool
	}{
		{"unknown member", job + `"labls": [` + long + `1]}`, "labls", false},
		{"unknown member of a member", `{"limits": {"cpu": {"a": [` + long + `1]}}}`, "limits.cpu", false},
		{"array for text", job + `"stop": [` + long + `1]}`, "stop", false},
		{"object for a number", job + `"cpus": {"a": [` + long + `1]}}`, "cpus", false},
		{"array for a test", `{"tests": [[` + long + `1]]}`, "tests[0]", false},
		{"no JSON", job + `nonsense ` + long, "", false},
		{"two jobs", job + `"cpus": 1} [` + long + `1]`, "", false},
		{"caller who hangs up", `{"command": [` + strings.Repeat(`"a",`, most/8) + `"a"]}`, "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t, func(o *Options) { o.Config.HTTP.MaxBody = most })
			ctx, hangUp := context.WithCancel(t.Context())
			defer hangUp()
			body := &counter{Reader: strings.NewReader(tt.body)}
			if tt.hangUp {
				body.Reader = io.MultiReader(
					io.LimitReader(body.Reader, 100<<10),
					readerFunc(func([]byte) (int, error) {
						hangUp()
						return 0, io.EOF
					}),
					body.Reader,
				)
			}
			r := httptest.NewRequestWithContext(ctx, "PUT", "/v1/jobs/a", body)
			r.Host = "localhost"
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			f.ServeHTTP(w, r)
			if !tt.hangUp {
				if p := wantProblem(t, w, "invalid-job"); len(p.Errors) != 1 || p.Errors[0].Field != tt.field {
					t.Errorf("findings %v, want one of %q", p.Errors, tt.field)
				}
			}
			if body.read > 256<<10 {
				t.Errorf("%d of %d bytes were read", body.read, len(tt.body))
			}
			if len(f.jobs.records) > 0 {
				t.Errorf("recorded %v", f.jobs.records)
			}
		})
	}
}

// TestLateBodies checks that a body that does not arrive in time is not invalid, for each way of reading it. A judge node
// would replace its report by an internal error.
func TestLateBodies(t *testing.T) {
	f := newFixture(t)
	for name, read := range map[string]func(http.ResponseWriter, *http.Request) error{
		"job":     f.putJob,
		"blobs":   f.haveBlobs,
		"blob":    f.putBlob,
		"package": f.putProblem,
		"report":  func(w http.ResponseWriter, r *http.Request) error { return f.decode(w, r, new(api.FinishRequest), "") },
		"no body": f.bodiless(func(http.ResponseWriter, *http.Request) error { return nil }),
	} {
		late := readerFunc(func([]byte) (int, error) { return 0, os.ErrDeadlineExceeded })
		r := httptest.NewRequest("POST", "/", io.MultiReader(strings.NewReader("{"), late))
		r.Header.Set("Content-Type", mediaJSON)
		r.SetPathValue("id", "a")
		r.SetPathValue("sha256", digestText("{"))
		if p := problemOf(read(httptest.NewRecorder(), r)); p.Type != problemType+"timeout" {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// readerFunc is an io.Reader that calls a function.
type readerFunc func([]byte) (int, error)

// Read implements io.Reader.
func (f readerFunc) Read(b []byte) (int, error) { return f(b) }
