package judge0

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/jobs"
)

// TestHostile checks that bad input is rejected, that the error names the member, and that nothing is stored.
func TestHostile(t *testing.T) {
	f := newFixture(t, "")
	with := func(member string, value any) string {
		body := map[string]any{"source_code": "x", "language_id": 71, member: value}
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	link := zipped(t, func(w *zip.Writer) error {
		h := &zip.FileHeader{Name: "link"}
		h.SetMode(fs.ModeSymlink | 0o777)
		entry, err := w.CreateHeader(h)
		if err == nil {
			_, err = entry.Write([]byte("/etc/passwd"))
		}
		return err
	})
	many := func(n int) string {
		return zipped(t, func(w *zip.Writer) error {
			for i := range n {
				if _, err := w.Create(fmt.Sprint(i)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	bomb := zipOf(t, "zeros", strings.Repeat("\x00", int(maxExtracted)+1))
	for _, tt := range []struct {
		name, query, body string
		status            int
		member, detail    string
	}{
		{"base64", "?base64_encoded=true", with("stdin", "a*b"), 422, "stdin", "is not base64"},
		{"padding within base64", "?base64_encoded=true", with("stdin", "YQ==YQ=="), 422, "stdin", "is not base64"},
		{"zip in no base64", "", with("additional_files", "\x00"), 422, "additional_files", "is not base64"},
		{"no zip", "", with("additional_files", "YWJj"), 422, "additional_files", "is not a zip file"},
		{"bomb", "", with("additional_files", bomb), 422, "additional_files", "more than 10240 kB"},
		{"two halves of a bomb", "", with("additional_files", zipOf(t, "a", strings.Repeat("a", 6<<20), "a",
			strings.Repeat("b", 6<<20))), 422, "additional_files", "more than 10240 kB"},
		{"many entries", "", with("additional_files", many(maxEntries+1)), 422, "additional_files", "1001 entries"},
		{"list without end", "", with("additional_files", many(12*maxEntries)), 422, "additional_files",
			"list of entries larger than"},
		{"path above", "", with("additional_files", zipOf(t, "a/../../x", "")), 422, "additional_files", "a/../../x"},
		{"absolute path", "", with("additional_files", zipOf(t, "/etc/x", "")), 422, "additional_files", "/etc/x"},
		{"path of Windows", "", with("additional_files", zipOf(t, `..\x`, "")), 422, "additional_files", `..\\x`},
		{"link", "", with("additional_files", link), 422, "additional_files", "not a regular file"},
		{"name with a NUL", "", with("additional_files", zipOf(t, "a\x00b", "")), 422, "additional_files", `a\x00b`},
		{"name of the program", "", with("additional_files", zipOf(t, "program", "")), 422, "additional_files", "program"},
		{"NUL in arguments", "", with("command_line_arguments", "a\x00"), 422, "command_line_arguments", "NUL"},
		{"compiler options", "", with("compiler_options", "-fplugin=x"), 422, "compiler_options", "-fplugin=x"},
		{"open quote in compiler options", "", with("compiler_options", "'-O2"), 422, "compiler_options", "cannot be split"},
		{"private callback", "", with("callback_url", "http://127.0.0.1/"), 422, "callback_url", "is not public"},
		{"callback without a host", "", with("callback_url", "file:///etc/passwd"), 422, "callback_url", "not a URL"},
		{"open quote", "", with("command_line_arguments", "'a"), 422, "command_line_arguments", "cannot be split"},
		{"text of objects", "", with("source_code", map[string]string{"a": "b"}), 422, "source_code", "is not a text"},
		{"infinite", "", with("cpu_time_limit", "Inf"), 422, "cpu_time_limit", "is not a number"},
		{"huge", "", strings.Replace(with("memory_limit", 0), `"memory_limit":0`, `"memory_limit":1e400`, 1), 422,
			"memory_limit", "is not a number"},
		{"huge language", "", with("language_id", 1e30), 422, "language_id", "must be less"},
		{"no truth value", "", with("enable_network", "perhaps"), 422, "enable_network", "is not true or false"},
		{"large field", "", with("stdin", strings.Repeat("x", 1<<20)), 201, "token", "-"},
		{"large compiler options", "", with("compiler_options", strings.Repeat("x", 1<<20)), 422, "compiler_options",
			"is too long"},
		{"large body", "", with("stdin", strings.Repeat("x", 5<<20)), 413, "error", "larger than"},
		{"bytes that are not UTF-8", "", with("stdin", "x")[:10] + "\xff", 400, "error", "not UTF-8"},
		{"array", "", "[]", 400, "error", "not a JSON object: it has an element of type array"},
		{"deep", "", strings.Repeat("[", 100_000), 400, "error", "not a JSON object"},
		{"batch of texts", "/batch", `{"submissions": ["a"]}`, 400, "error", "not an array of objects: it has an element of type string"},
	} {
		before := f.depth(t)
		w := f.send("POST", "/submissions"+tt.query, tt.body)
		if w.Code != tt.status {
			t.Errorf("%s: status %d, want %d: %.200s", tt.name, w.Code, tt.status, w.Body)
		}
		got := fmt.Sprint(decoded[map[string]any](t, w)[tt.member])
		if !strings.Contains(got, tt.detail) {
			t.Errorf("%s: %s %q, want %q", tt.name, tt.member, got, tt.detail)
		}
		if stored := f.depth(t) - before; stored != 0 && tt.status != http.StatusCreated {
			t.Errorf("%s: %d jobs are stored", tt.name, stored)
		}
	}
}

// depth returns the number of waiting jobs.
func (f *fixture) depth(t testing.TB) int {
	t.Helper()
	d, err := f.store.Depth(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return d.Total()
}

// TestForm checks that a submission may be a form, whose last values count.
func TestForm(t *testing.T) {
	f := newFixture(t, "")
	body := url.Values{"source_code": {"print(1)"}, "language_id": {"50", "71"}, "redirect_stderr_to_stdout": {"false"}}
	w := f.send("POST", "/submissions", body.Encode(), "Content-Type: application/x-www-form-urlencoded")
	if w.Code != http.StatusCreated {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	token := decoded[map[string]string](t, w)["token"]
	got := decoded[map[string]any](t, f.send("GET", "/submissions/"+token+"?fields=source_code,language_id", ""))
	if diff := cmp.Diff(map[string]any{"source_code": "print(1)", "language_id": 71.0}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestBodiesOfOtherKinds checks that a body that is not read as JSON or a form is refused with what to send.
func TestBodiesOfOtherKinds(t *testing.T) {
	f := newFixture(t, "")
	for header, want := range map[string]string{
		"Content-Type: Multipart/Form-Data; boundary=b": "the content type multipart/form-data is not supported; send " +
			"application/json or application/x-www-form-urlencoded",
		"Content-Encoding: gzip": "the content encoding gzip is not supported; send the body as it is",
	} {
		for _, path := range []string{"/submissions", "/submissions/batch"} {
			w := f.send("POST", path, hello, header)
			if got := decoded[map[string]string](t, w)["error"]; w.Code != http.StatusUnsupportedMediaType || got != want {
				t.Errorf("%s, %s: %d %q, want %q", path, header, w.Code, got, want)
			}
		}
	}
	for _, header := range []string{"Content-Type: text/plain", "Content-Type: ", "Content-Encoding: identity"} {
		if w := f.send("POST", "/submissions", hello, header); w.Code != http.StatusCreated {
			t.Errorf("%s: %d %s", header, w.Code, w.Body)
		}
	}
}

// TestFractions checks that whole numbers lose their fraction, as in Judge0, whose columns are integers.
func TestFractions(t *testing.T) {
	f := newFixture(t, "")
	token := f.create(t, "", `{"source_code": "x", "language_id": 71.9, "number_of_runs": 2.9, "memory_limit": "4096.9",
		"cpu_time_limit": 1.25}`)
	got := decoded[map[string]any](t, f.send("GET", "/submissions/"+token+
		"?fields=language_id,number_of_runs,memory_limit,cpu_time_limit", ""))
	if diff := cmp.Diff(map[string]any{"language_id": 71.0, "number_of_runs": 2.0, "memory_limit": 4096.0,
		"cpu_time_limit": "1.25"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestFilesComeBack checks that additional files become files of the job, and are returned with the same content.
func TestFilesComeBack(t *testing.T) {
	f := newFixture(t, "")
	token := f.create(t, "", fmt.Sprintf(`{"source_code": "x", "language_id": 50, "additional_files": %q}`,
		zipOf(t, "./a.h", "int a;", "b.txt", "b", "empty/", "")))
	rec, err := f.store.Get(t.Context(), idOf(token))
	if err != nil {
		t.Fatal(err)
	}
	if len(rec.Job.Files) != 2 || len(rec.Job.Tests[0].Files) != 2 {
		t.Errorf("files %v, of the test %v", rec.Job.Files, rec.Job.Tests[0].Files)
	}
	got := decoded[map[string]string](t, f.send("GET", "/submissions/"+token+"?fields=additional_files", ""))
	content, err := decode(got["additional_files"])
	if err != nil {
		t.Fatal(err)
	}
	files, err := unzip(content)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string][]byte{"a.h": []byte("int a;"), "b.txt": []byte("b")}, files); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestMemory checks that submissions which are being prepared have the memory for their bodies reserved, and that few
// are unpacked at the same time. Each submission is sent while the one before is being prepared, and the fifth is not
// prepared.
func TestMemory(t *testing.T) {
	large := `{"source_code": "x", "language_id": 50` + strings.Repeat(" ", 4<<20-1<<10) + `}` // four are permitted
	files := fmt.Sprintf(`{"source_code": "x", "language_id": 50, "additional_files": %q}`, zipOf(t, "a", "a"))
	for _, tt := range []struct{ name, path, first, then string }{
		{"body", "", large, large},
		{"body of a batch", "/batch", `{"submissions": [` + large[:len(large)-1<<9] + `}]}`, large},
		{"files", "", files, files},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t, "")
			prepared, codes := 0, []int{}
			send := func(path, body string) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				if prepared == unpackAtOnce && tt.then == files {
					ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond) // it waits for the others
				}
				defer cancel()
				r := httptest.NewRequestWithContext(ctx, "POST", "http://localhost/judge0/submissions"+path,
					strings.NewReader(body))
				r.Header.Set("Content-Type", "application/json")
				w := httptest.NewRecorder()
				f.ServeHTTP(w, r)
				codes = append(codes, w.Code)
			}
			f.languages.checked = func() {
				if prepared++; prepared <= 4 {
					send("", tt.then)
				}
			}
			send(tt.path, tt.first)
			if want := []int{201, 201, 201, 201}; prepared != 4 || !slices.Equal(codes[1:], want) {
				t.Errorf("%d prepared, statuses %v, from the last", prepared, codes)
			}
		})
	}
}

// TestLargeAnswers checks that a response has files of at most 8 MiB here, and that their memory is released.
func TestLargeAnswers(t *testing.T) {
	f := newFixture(t, "")
	token := f.create(t, "", `{"source_code": "x", "language_id": 50, "stdin": "`+strings.Repeat("x", 3<<20)+`"}`)
	for i := range 10 {
		for n, want := range map[int]int{1: 200, 2: 200, 3: 413, 20: 413} {
			w := f.send("GET", "/submissions/batch?fields=stdin&tokens="+strings.Repeat(token+",", n), "")
			if w.Code != want {
				t.Fatalf("request %d for %d submissions: %d %.100s, want %d", i, n, w.Code, w.Body, want)
			}
		}
	}
}

// TestForeignJobs checks that jobs of another API are not submissions, even if their IDs look like it.
func TestForeignJobs(t *testing.T) {
	f := newFixture(t, "")
	const id = "11111111-2222-4333-8444-555555555555"
	put := httptest.NewRequest("PUT", "http://localhost/v1/jobs/"+id,
		strings.NewReader(`{"program": {"text": "x"}, "tests": [{"name": "1"}]}`))
	put.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	f.ServeHTTP(w, put)
	if w.Code != http.StatusAccepted {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if w := f.send("GET", "/submissions/"+id, ""); w.Code != http.StatusNotFound {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if jobs.ValidID(idOf(id)) {
		t.Errorf("callers can name %q", idOf(id))
	}
}

// FuzzSubmission sends any body, and checks that the response is JSON and not an internal error.
func FuzzSubmission(f *testing.F) {
	for _, body := range []string{hello, "{}", "[", `{"submissions": [` + hello + `]}`, "source_code=x&language_id=71",
		`{"source_code": "eA", "language_id": 89, "additional_files": "` + zipOf(f, "run", "echo") + `"}`,
		`{"language_id": 71, "source_code": "x", "command_line_arguments": "'a b' \"c\" d\\ e #"}`} {
		for mode := range byte(8) {
			f.Add(mode, body)
		}
	}
	for _, form := range []string{"source_code=x&language_id=71", "source_code=%7B%22&language_id=71&stdin=a+b",
		"language_id=1&language_id=71&source_code=x", "source_code=x;&language_id=71", "source_code=%ff&language_id=71",
		"%ff=x&source_code=x&language_id=71"} {
		f.Add(byte(4), form)
	}
	fix := newFixture(f, "")
	f.Fuzz(func(t *testing.T, mode byte, body string) {
		target, kind := "/submissions", "application/json"
		if mode&1 != 0 {
			target += "/batch"
		}
		if mode&2 != 0 {
			target += "?base64_encoded=true"
		}
		if mode&4 != 0 {
			kind = "application/x-www-form-urlencoded"
		}
		w := fix.send("POST", target, body, "Content-Type: "+kind)
		if !json.Valid(bytes.TrimSpace(w.Body.Bytes())) || w.Code >= 500 && w.Code != http.StatusServiceUnavailable {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		if mode&4 != 0 {
			checkForm(t, fix, target, body, w.Code)
		}
	})
}

// checkForm checks that a form has the answer of a JSON object with the same texts, the last one of each member.
func checkForm(t *testing.T, fix *fixture, target, body string, got int) {
	values, err := url.ParseQuery(body)
	members := map[string]string{}
	valid := err == nil
	for name, all := range values {
		members[name] = all[len(all)-1]
		valid = valid && utf8.ValidString(members[name])
		if !utf8.ValidString(name) {
			return // no member has that name, and no JSON
		}
	}
	want := http.StatusBadRequest
	if valid {
		text, err := json.Marshal(members)
		if err != nil {
			t.Fatal(err)
		}
		want = fix.send("POST", target, string(text)).Code
	}
	if got != want && got != http.StatusServiceUnavailable && want != http.StatusServiceUnavailable { // the queue is full
		t.Errorf("form %q: status %d; as JSON %d", body, got, want)
	}
}

// TestBase64 checks that encoded text has lines of 60 characters, as in Ruby, and can be decoded.
func TestBase64(t *testing.T) {
	for n, want := range map[int]string{0: "", 1: "eA==\n", 45: strings.Repeat("eHh4", 15) + "\n",
		46: strings.Repeat("eHh4", 15) + "\neA==\n"} {
		text := strings.Repeat("x", n)
		got := encode([]byte(text))
		back, err := decode(got)
		if got != want || err != nil || string(back) != text {
			t.Errorf("%d bytes: %q, want %q; back %q, %v", n, got, want, back, err)
		}
	}
}

// TestCallback checks the content of a callback, and that the job requests it.
func TestCallback(t *testing.T) {
	f := newFixture(t, "")
	token := f.create(t, "", strings.Replace(hello, "{", `{"callback_url": "https://site.example/done", `, 1))
	f.judgeNext(t, ranWell("hello"))
	rec, err := f.store.Get(t.Context(), idOf(token))
	if err != nil {
		t.Fatal(err)
	}
	want := &api.Callback{URL: "https://site.example/done", Format: CallbackFormat}
	if diff := cmp.Diff(want, rec.Job.Callback); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	format := Callback(nil)
	body, err := format.Body(rec)
	if err != nil {
		t.Fatal(err)
	}
	shown := canonical(t, f.send("GET", "/submissions/"+token+"?base64_encoded=true", "").Body.String())
	if diff := cmp.Diff(shown, canonical(t, string(body))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	tries := len(format.Pauses) + 1
	if format.Method != "PUT" || !format.AnyAnswer || tries != 3 || format.Limit != 5*time.Second {
		t.Errorf("%s, %d tries of %s", format.Method, tries, format.Limit)
	}
}

// TestFieldsAreReadOnce checks that a request cannot make judged read a file as often as it names its field.
func TestFieldsAreReadOnce(t *testing.T) {
	for _, tt := range []struct {
		parameter string
		want      int
	}{{"stdout,stderr,stdout", 2}, {"*,*,stdout", len(getters) - len(byName)}, {"*,host,*", len(getters) - len(byName)}} {
		if got, _ := fieldsOf(strings.Repeat(tt.parameter+",", 100)); len(got) != tt.want {
			t.Errorf("%s: %d fields, want %d", tt.parameter, len(got), tt.want)
		}
	}
}
