package httpapi

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"judged/internal/api"
	"judged/internal/jobs"
)

// encoded returns content in an encoding.
func encoded(t testing.TB, encoding, content string) string {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&out)
	if encoding == zstdEncoding {
		var err error
		if w, err = zstd.NewWriter(&out); err != nil {
			t.Fatal(err)
		}
	}
	_, err := io.WriteString(w, content)
	if closed := w.Close(); err != nil || closed != nil {
		t.Fatal(err, closed)
	}
	return out.String()
}

// decodedText is the inverse of encoded.
func decodedText(t testing.TB, encoding, body string) string {
	t.Helper()
	in := io.Reader(strings.NewReader(body))
	var err error
	switch encoding {
	case gzipEncoding:
		in, err = gzip.NewReader(in)
	case zstdEncoding:
		in, err = zstd.NewReader(in)
	}
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestEncodedRequests checks that each kind of body may be encoded, and that the limits apply to the content.
func TestEncodedRequests(t *testing.T) {
	content := strings.Repeat("content ", 100)
	long := `{"program": {"text": "` + strings.Repeat("x", 9<<10) + `"}, "tests": [{"name": "1"}]}`
	for _, encoding := range []string{gzipEncoding, zstdEncoding} {
		for _, tt := range []struct {
			name, method, target, body string
			want                       int
		}{
			{"job", "PUT", "/v1/jobs/a", small, 202},
			{"batch", "POST", batchPath, `{"jobs": [{"id": "a", "job": ` + small + `}]}`, 200},
			{"blob", "PUT", "/v1/blobs/" + digestText(content), content, 201},
			{"package", "PUT", "/v1/problems/double", "no archive", 422},
			{"no body", "DELETE", "/v1/jobs/none", "", 404},
			{"long job", "PUT", "/v1/jobs/a", long, 413},
			{"long blob", "PUT", "/v1/blobs/" + digestText(long), long, 413},
			{"other blob", "PUT", "/v1/blobs/" + digestText("other"), content, 422},
		} {
			t.Run(encoding+" "+tt.name, func(t *testing.T) {
				f := newFixture(t)
				if w := f.submit(tt.method, tt.target, encoded(t, encoding, tt.body),
					"Content-Encoding: "+encoding); w.Code != tt.want {
					t.Errorf("status %d, want %d: %s", w.Code, tt.want, w.Body)
				}
				if !f.codec.decoding.TryAcquire(zstdAtOnce) {
					t.Error("a decoder is held")
				}
			})
		}
	}
}

// TestBadEncodings checks that a body that cannot be decoded is refused, and that nothing of it is stored.
func TestBadEncodings(t *testing.T) {
	zip, z := encoded(t, gzipEncoding, small), encoded(t, zstdEncoding, small)
	window, err := zstd.NewWriter(nil, zstd.WithWindowSize(16<<20))
	if err != nil {
		t.Fatal(err)
	}
	var wide bytes.Buffer
	window.Reset(&wide)
	_, err = window.Write(bytes.Repeat([]byte(" "), 1<<20))
	if closed := window.Close(); err != nil || closed != nil {
		t.Fatal(err, closed)
	}
	type test struct{ name, encoding, body, kind string }
	tests := []test{
		{"unknown", "br", small, "media-type"},
		{"two", "gzip, zstd", small, "media-type"},
		{"not gzip", gzipEncoding, small, "bad-request"},
		{"not zstd", zstdEncoding, small, "bad-request"},
		{"empty gzip", gzipEncoding, " ", "bad-request"},
		{"trailing text", gzipEncoding, zip + "x", "bad-request"},
		{"trailing zstd", zstdEncoding, z + "x", "bad-request"},
		{"wrong checksum", gzipEncoding, zip[:len(zip)-8] + "\x00\x00\x00\x00" + zip[len(zip)-4:], "bad-request"},
		{"large window", zstdEncoding, wide.String(), "bad-request"},
	}
	for cut := 1; cut < len(zip); cut++ {
		tests = append(tests, test{fmt.Sprint("gzip of ", cut), gzipEncoding, zip[:cut], "bad-request"})
	}
	for cut := 1; cut < len(z); cut++ {
		tests = append(tests, test{fmt.Sprint("zstd of ", cut), zstdEncoding, z[:cut], "bad-request"})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			w := f.submit("PUT", "/v1/jobs/a", tt.body, "Content-Encoding: "+tt.encoding)
			wantProblem(t, w, tt.kind)
			if got := w.Header().Get("Accept-Encoding"); (got == encodings) != (tt.kind == "media-type") {
				t.Errorf("Accept-Encoding %q", got)
			}
			w = f.ask("PUT", "/v1/blobs/"+digestText(small), tt.body, "Content-Encoding: "+tt.encoding)
			wantProblem(t, w, tt.kind)
			if _, err := f.blobs.Stat(digestText(small)); err == nil || len(f.jobs.records) != 0 {
				t.Errorf("stored: blob %v, %d jobs", err, len(f.jobs.records))
			}
		})
	}
	f := newFixture(t)
	r := httptest.NewRequest("PUT", "/v1/blobs/"+digestText(""), io.MultiReader()) // in chunks, none of them
	r.Host, r.Header = "localhost", http.Header{"Content-Encoding": {gzipEncoding}}
	empty := httptest.NewRecorder()
	f.ServeHTTP(empty, r)
	wantProblem(t, empty, "bad-request")
	if w := f.submit("PUT", "/v1/jobs/a", zip+encoded(t, gzipEncoding, "\n"), "Content-Encoding: X-GZIP"); w.Code != 202 {
		t.Errorf("two members: %d %s", w.Code, w.Body)
	}
}

// TestBombs checks that a short body with a long content is refused without the memory for the content.
func TestBombs(t *testing.T) {
	const size = 1 << 30
	spaces := bytes.Repeat([]byte(" "), 1<<20)
	for _, encoding := range []string{gzipEncoding, zstdEncoding} {
		var bomb bytes.Buffer
		var w io.WriteCloser = gzip.NewWriter(&bomb)
		if encoding == zstdEncoding {
			w, _ = zstd.NewWriter(&bomb)
		}
		for range size / len(spaces) {
			_, _ = w.Write(spaces)
		}
		_ = w.Close()
		for _, target := range []string{"/v1/jobs/a", "/v1/blobs/" + digestText("x"), "/v1/problems/a"} {
			f := newFixture(t)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			answer := f.submit("PUT", target, bomb.String(), "Content-Encoding: "+encoding)
			runtime.ReadMemStats(&after)
			wantProblem(t, answer, "too-large")
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 32<<20 {
				t.Errorf("%s to %s: %d bytes were allocated", encoding, target, grown)
			}
		}
	}
}

// TestZstdIsBounded checks that further bodies in zstd are refused while as many as allowed are being read.
func TestZstdIsBounded(t *testing.T) {
	f := newFixture(t)
	f.codec.wait = 0
	if !f.codec.decoding.TryAcquire(zstdAtOnce) {
		t.Fatal("a decoder is held")
	}
	body := encoded(t, zstdEncoding, small)
	w := f.submit("PUT", "/v1/jobs/a", body, "Content-Encoding: zstd")
	if wantProblem(t, w, "not-ready"); w.Header().Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	f.codec.decoding.Release(1)
	if w := f.submit("PUT", "/v1/jobs/a", body, "Content-Encoding: zstd"); w.Code != 202 {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

// manyTests has many tests.
func manyTests(n int) api.Report {
	rep := api.Report{ID: "long", State: api.Done, Verdict: api.Accepted, CreatedAt: noon}
	for i := range n {
		rep.Tests = append(rep.Tests, api.TestReport{Name: fmt.Sprint("secret/", i), Verdict: api.Accepted})
	}
	return rep
}

// TestEncodedAnswers checks which responses are encoded, and that their content is the same.
func TestEncodedAnswers(t *testing.T) {
	f := newFixture(t)
	f.jobs.records["long"] = jobs.Record{ID: "long", Report: manyTests(300)}
	content := strings.Repeat("0", 3000)
	f.ask("PUT", "/v1/blobs/"+digestText(content), content)
	f.jobs.events["long"] = []api.Event{{Job: "long", Seq: 1, Type: api.EventDone, Report: &api.Report{}}}
	for _, tt := range []struct{ target, accept, want string }{
		{"/v1/jobs/long", "", ""},
		{"/v1/jobs/long", "br, identity", ""},
		{"/v1/jobs/long", "gzip", gzipEncoding},
		{"/v1/jobs/long", "gzip, deflate, br, zstd", zstdEncoding},
		{"/v1/jobs/long", "GZIP;q=0.8, zstd;q=0.5", gzipEncoding},
		{"/v1/jobs/long", "gzip;q=0, zstd;q=0.0", ""},
		{"/v1/jobs/long", "gzip;q=x", ""},
		{"/openapi.json", "zstd", zstdEncoding},
		{"/v1/queue", "gzip", ""},
		{"/v1/blobs/" + digestText(content), "gzip", ""},
		{"/v1/jobs/long/events", "gzip", ""},
	} {
		plain := f.ask("GET", tt.target, "")
		w := f.ask("GET", tt.target, "", "Accept-Encoding: "+tt.accept)
		h := w.Header()
		if got := h.Get("Content-Encoding"); got != tt.want || w.Code != 200 {
			t.Errorf("%s with %q: status %d, encoding %q, want %q", tt.target, tt.accept, w.Code, got, tt.want)
			continue
		}
		if tt.want != "" && w.Body.Len() > plain.Body.Len()/2 {
			t.Errorf("%s with %q: %d of %d bytes", tt.target, tt.accept, w.Body.Len(), plain.Body.Len())
		}
		if got := decodedText(t, tt.want, w.Body.String()); got != plain.Body.String() {
			t.Errorf("%s with %q: content %.100q", tt.target, tt.accept, got)
		}
		streamed := strings.Contains(tt.target, "/blobs/") || strings.Contains(tt.target, "/events")
		if (h.Get("Vary") == "") != streamed || plain.Header().Get("Vary") != h.Get("Vary") {
			t.Errorf("%s with %q: Vary %q", tt.target, tt.accept, h.Get("Vary"))
		}
	}
}

// TestEncodedETag checks that the tag of an encoded report is weak, and that each form of it is recognized.
func TestEncodedETag(t *testing.T) {
	f := newFixture(t)
	f.jobs.records["long"] = jobs.Record{ID: "long", Report: manyTests(300)}
	strong := f.ask("GET", "/v1/jobs/long", "").Header().Get("ETag")
	weak := f.ask("GET", "/v1/jobs/long", "", "Accept-Encoding: gzip").Header().Get("ETag")
	if weak != "W/"+strong || strong == "" {
		t.Errorf("tags %q and %q", strong, weak)
	}
	for _, tag := range []string{strong, weak} {
		if w := f.ask("GET", "/v1/jobs/long", "", "Accept-Encoding: gzip", "If-None-Match: "+tag); w.Code != 304 ||
			w.Header().Get("Vary") == "" {
			t.Errorf("%s: status %d, %v", tag, w.Code, w.Header())
		}
	}
}

// TestEncodedOverHTTP checks encoded bodies on a connection that is used again, also after a refused one.
func TestEncodedOverHTTP(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Config.HTTP.MaxBody = 1 << 20 })
	f.jobs.records["long"] = jobs.Record{ID: "long", Report: manyTests(3000)}
	srv := httptest.NewServer(f)
	defer srv.Close()
	for i, want := range []int{202, 400, 202, 413, 202} {
		body := map[int]string{202: small, 400: "{", 413: small + strings.Repeat(" ", 4<<20)}[want]
		encoding := []string{gzipEncoding, zstdEncoding}[i%2]
		r, err := http.NewRequest("PUT", fmt.Sprint(srv.URL, "/v1/jobs/a", i), strings.NewReader(encoded(t, encoding, body)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Content-Encoding", encoding)
		res, err := srv.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if text, _ := io.ReadAll(res.Body); res.StatusCode != want {
			t.Errorf("%d: status %d, want %d: %s", i, res.StatusCode, want, text)
		}
		res.Body.Close()
	}
	res, err := srv.Client().Get(srv.URL + "/v1/jobs/long") // asks for gzip and decodes it
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if plain := f.ask("GET", "/v1/jobs/long", "").Body.String(); !res.Uncompressed || string(text) != plain || err != nil {
		t.Errorf("decoded %t, %d bytes, want %d: %v", res.Uncompressed, len(text), len(plain), err)
	}
}

func BenchmarkEncode(b *testing.B) {
	body := []byte(strings.Repeat(`{"name":"secret/1","verdict":"AC","cpu_time_ns":1234567,"runs":[]},`, 20_000))
	c := newCodec()
	for _, encoding := range []string{gzipEncoding, zstdEncoding} {
		b.Run(encoding, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				c.encode(http.Header{}, encoding, body)
			}
		})
	}
}
