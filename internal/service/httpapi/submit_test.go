package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/jobs"
	"judged/internal/testkit"
)

const small = `{"program": {"text": "#!/bin/sh\n"}, "tests": [{"name": "1"}]}`

func TestSubmitStores(t *testing.T) {
	f := newFixture(t)
	w := f.submit("PUT", "/v1/jobs/a-1", `{"program": {"base64": "aGk="}, "files": {"x": {"text": "hi"}},
		"tests": [{"name": "1", "input": {"text": "in"}, "answer": {"blob": "`+digestText("hi")+`"}}],
		"labels": {"team": "7"}, "priority": "contest"}`)
	if w.Code != http.StatusAccepted || w.Header().Get("Location") != "/v1/jobs/a-1" {
		t.Fatalf("status %d, header %v, body %s", w.Code, w.Header(), w.Body)
	}
	wantReport := api.Report{
		ID:        "a-1",
		State:     api.Queued,
		Priority:  api.Contest,
		Labels:    map[string]string{"team": "7"},
		CreatedAt: noon,
	}
	if diff := cmp.Diff(wantReport, answer[api.Report](t, w)); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	rec, err := f.jobs.Get(t.Context(), "a-1")
	if err != nil {
		t.Fatal(err)
	}
	hi := api.File{Blob: digestText("hi")}
	in := api.File{Blob: digestText("in")}
	wantJob := api.Job{
		Program: hi, Command: []string{"{program}"}, Files: map[string]api.File{"x": hi},
		Tests: []api.Test{{Name: "1", Input: &in, Answer: &hi}}, Checker: &api.Checker{Kind: "tokens"},
		Limits: api.Limits{
			CPUTimeMS:  2000,
			WallTimeMS: 5000,
			Memory:     256 << 20,
			Output:     64 << 20,
			Stack:      256 << 20,
			Processes:  64,
		},
		CPUs: 1, Repeats: api.Repeats{Policy: api.Confirm}, Stop: api.StopFirstFailure, Priority: api.Contest,
		Pool: "default", Labels: map[string]string{"team": "7"},
	}
	if diff := cmp.Diff(wantJob, rec.Job); diff != "" {
		t.Errorf("job (-want +got):\n%s", diff)
	}
	for _, content := range []string{"hi", "in"} {
		path, _ := f.blobs.Path(digestText(content))
		if got, err := os.ReadFile(path); err != nil || string(got) != content {
			t.Errorf("blob of %q: %q, %v", content, got, err)
		}
	}
}

// TestIdempotencyKeyIsOne checks that a header without a key is not a request without the header: its repetition would
// be another job.
func TestIdempotencyKeyIsOne(t *testing.T) {
	f := newFixture(t)
	for _, keys := range [][]string{{""}, {"a", "b"}} {
		r := httptest.NewRequest("POST", "http://localhost/v1/jobs", strings.NewReader(small))
		r.Header = http.Header{"Content-Type": {mediaJSON}, "Idempotency-Key": keys}
		w := httptest.NewRecorder()
		f.ServeHTTP(w, r)
		wantProblem(t, w, "bad-request")
	}
}

func TestSubmitIsIdempotent(t *testing.T) {
	other := strings.Replace(small, `"1"`, `"2"`, 1)
	spelt := ` {"tests":[{"name":"\u0031"}], "program":{"blob":"` + digestText("#!/bin/sh\n") + `"}}`
	tests := []struct {
		name           string
		method, target string
		first, second  string
		headers        []string
		want, wantJobs int
	}{
		{"same id, same body", "PUT", "/v1/jobs/a", small, small, nil, 200, 1},
		{"same id, other spelling", "PUT", "/v1/jobs/a", small, spelt, nil, 200, 1},
		{"same id, other body", "PUT", "/v1/jobs/a", small, other, nil, 409, 1},
		{"same key, same body", "POST", "/v1/jobs", small, small, []string{"Idempotency-Key: k 1"}, 200, 1},
		{"same key, other body", "POST", "/v1/jobs", small, other, []string{"Idempotency-Key: k 1"}, 409, 1},
		{"no key", "POST", "/v1/jobs", small, small, nil, 202, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			first := f.submit(tt.method, tt.target, tt.first, tt.headers...)
			second := f.submit(tt.method, tt.target, tt.second, tt.headers...)
			if first.Code != 202 || second.Code != tt.want {
				t.Fatalf("status %d then %d, want 202 then %d: %s", first.Code, second.Code, tt.want, second.Body)
			}
			if len(f.jobs.records) != tt.wantJobs {
				t.Errorf("%d jobs are stored, want %d", len(f.jobs.records), tt.wantJobs)
			}
			if tt.want == 409 {
				if p := wantProblem(t, second, "conflict"); p.Instance != first.Header().Get("Location") {
					t.Errorf("instance %q, want %q", p.Instance, first.Header().Get("Location"))
				}
			}
		})
	}
}

func TestIdempotencyKeysOfTwoCallersDiffer(t *testing.T) {
	if keyedID("a", "k") == keyedID("b", "k") || keyedID("a", "k") != keyedID("a", "k") {
		t.Error("ids do not follow caller and key")
	}
	for _, id := range []string{keyedID("", "k"), newID(noon)} {
		if !jobs.ValidStoredID(id) {
			t.Errorf("%q is no id", id)
		}
	}
}

// TestSubmitWhileTheDatabaseIsAway checks that jobs are refused while the database is down, with the cause only in the
// log, and then accepted under the same ID.
func TestSubmitWhileTheDatabaseIsAway(t *testing.T) {
	f := newFixture(t)
	f.jobs.fail = fmt.Errorf("put job: %w: no space left on device", api.ErrUnavailable)
	w := f.submit("PUT", "/v1/jobs/a", small)
	wantProblem(t, w, "temporary-failure")
	if w.Header().Get("Retry-After") == "" || strings.Contains(w.Body.String(), "device") {
		t.Errorf("header %v, body %s", w.Header(), w.Body)
	}
	if !strings.Contains(f.logged.String(), "no space left") {
		t.Errorf("log %s lacks the cause", f.logged)
	}
	f.jobs.fail = nil
	for _, want := range []int{202, 200} {
		if w := f.submit("PUT", "/v1/jobs/a", small); w.Code != want {
			t.Errorf("status %d %s, want %d", w.Code, w.Body, want)
		}
	}
}

// TestSubmitOfACallerWhoHangsUp checks that nothing is done for a caller that disconnects before the job is stored, and
// that storing it is not interrupted.
func TestSubmitOfACallerWhoHangsUp(t *testing.T) {
	for _, late := range []bool{false, true} {
		f := newFixture(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		body := io.MultiReader(strings.NewReader(small), readerFunc(func([]byte) (int, error) {
			if !late {
				cancel()
			}
			return 0, io.EOF
		}))
		f.jobs.putting = cancel
		r, _ := http.NewRequestWithContext(ctx, "PUT", "http://localhost/v1/jobs/a", body)
		r.Header.Set("Content-Type", "application/json")
		f.ServeHTTP(discard{http.Header{}}, r)
		if got := len(f.jobs.records) == 1; got != late {
			t.Errorf("the job is stored: %t, want %t", got, late)
		}
	}
}

type discard struct{ h http.Header }

func (d discard) Header() http.Header         { return d.h }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

func TestSubmitRefusals(t *testing.T) {
	nobody := strings.Repeat("0", 64)
	tests := []struct {
		name, target, body, kind string
		headers                  []string
		fields                   []string // of errors
	}{
		{"no JSON", "/v1/jobs/a", "{", "invalid-job", nil, []string{""}},
		{"unknown key", "/v1/jobs/a", `{"exercise": "x"}`, "invalid-job", nil, []string{"exercise"}},
		{
			"zero limit",
			"/v1/jobs/a",
			`{"limits": {"cpu_time_ms": 0}}`,
			"invalid-job",
			nil,
			[]string{"limits.cpu_time_ms", "program", "tests"},
		},
		{
			"every finding of every kind",
			"/v1/jobs/a",
			`{"program": {"base64": "a"}, "cpus": "1", "head_bytes": -1, "files": {"a": {"part": "p"}},
			"tests": [{"name": 1, "input": {"blob": "` + nobody + `"}}, {"name": "1"}, {"name": "1"}]}`,
			"invalid-job",
			nil,
			[]string{
				"cpus",
				"tests[0].name",
				"program.base64",
				"tests[2].name",
				"head_bytes",
				"tests[0].input",
				`files["a"].part`,
			},
		},
		{"every finding", "/v1/jobs/a", `{"tests": [{"name": ""}], "checker": {"kind": "magic"}}`, "invalid-job", nil,
			[]string{"program", "tests[0].name", "checker.kind"}},
		{
			"missing blobs",
			"/v1/jobs/a",
			`{"program": {"blob": "` + nobody + `"}, "tests": [{"name": "1", "input": {"blob": "` + nobody + `"}}]}`,
			"missing-blob",
			nil,
			[]string{"program", "tests[0].input"},
		},
		{"missing language", "/v1/jobs/a",
			`{"program": {"text": "x"}, "language": "kotlin", "tests": [{"name": "1"}]}`, "missing-language", nil, nil},
		{"build script", "/v1/jobs/a",
			`{"program": {"text": "x"}, "language": "build", "tests": [{"name": "1"}]}`, "missing-language", nil, nil},
		{"compile option", "/v1/jobs/a",
			`{"program": {"text": "x"}, "language": "c", "compile_options": ["-O0", "-O9"], "tests": [{"name": "1"}]}`,
			"invalid-job", nil, []string{"compile_options[1]"}},
		{"command of a source", "/v1/jobs/a",
			`{"program": {"text": "x"}, "language": "c", "command": ["x"], "tests": [{"name": "1"}]}`, "invalid-job", nil,
			[]string{"command"}},
		{
			"base64",
			"/v1/jobs/a",
			`{"program": {"base64": "a"}, "tests": [{"name": "1"}]}`,
			"invalid-job",
			nil,
			[]string{"program.base64"},
		},
		{
			"part without multipart",
			"/v1/jobs/a",
			`{"program": {"part": "p"}, "tests": [{"name": "1"}]}`,
			"invalid-job",
			nil,
			[]string{"program.part"},
		},
		{
			"long body",
			"/v1/jobs/a",
			`{"program": {"text": "` + strings.Repeat("x", 9<<10) + `"}}`,
			"too-large",
			nil,
			nil,
		},
		{
			"long blob",
			"/v1/jobs/a",
			`{"program": {"text": "` + strings.Repeat("x", 5<<10) + `"}, "tests": [{"name": "1"}]}`,
			"too-large",
			nil,
			nil,
		},
		{"id", "/v1/jobs/.a", small, "bad-request", nil, nil},
		{"id with a slash", "/v1/jobs/a%2Fb", small, "bad-request", nil, nil},
		{"long id", "/v1/jobs/" + strings.Repeat("a", 65), small, "bad-request", nil, nil},
		{"form", "/v1/jobs/a", "a=b", "media-type", []string{"Content-Type: application/x-www-form-urlencoded"}, nil},
		{"no type", "/v1/jobs/a", small, "media-type", []string{"Content-Type: "}, nil},
		{"compressed", "/v1/jobs/a", small, "media-type",
			[]string{"Content-Type: application/json", "Content-Encoding: br"}, nil},
		{"multipart without boundary", "/v1/jobs/a", small, "bad-request",
			[]string{"Content-Type: multipart/form-data"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			headers := tt.headers
			if headers == nil {
				headers = []string{"Content-Type: application/json"}
			}
			p := wantProblem(t, f.ask("PUT", tt.target, tt.body, headers...), tt.kind)
			var fields []string
			for _, e := range p.Errors {
				fields = append(fields, e.Field)
			}
			if diff := cmp.Diff(tt.fields, fields); diff != "" {
				t.Errorf("fields (-want +got):\n%s\n%+v", diff, p)
			}
			if len(f.jobs.records) != 0 {
				t.Errorf("stored %v", f.jobs.records)
			}
		})
	}
}

// TestFilesThatDoNotFit checks that files that do not fit into a working directory are refused: in the sandbox they
// would cause an internal error.
func TestFilesThatDoNotFit(t *testing.T) {
	page := strings.Repeat("x", 4<<10)
	for _, tt := range []struct {
		name, files, kind string
	}{
		{"to the last page", `"a": {"text": "1"}, "b": {"text": "2"}, "c": {"text": ""}`, ""},
		{"a page too many", `"a": {"text": "1"}, "b": {"text": "2"}, "c": {"text": "3"}`, "invalid-job"},
		{"too many files", `"1": {"text": ""}, "2": {"text": ""}, "3": {"text": ""}, "4": {"text": ""}`, "invalid-job"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t, func(o *Options) { o.Config.Sandbox.WorkSize, o.Config.Sandbox.WorkInodes = 12<<10, 8 })
			w := f.submit(
				"PUT", "/v1/jobs/a",
				`{"program": {"text": "`+page+`"}, "files": {`+tt.files+`}, "tests": [{"name": "1"}]}`,
			)
			if tt.kind == "" {
				if w.Code != 202 {
					t.Errorf("status %d %s", w.Code, w.Body)
				}
				return
			}
			if p := wantProblem(t, w, tt.kind); len(p.Errors) != 1 || p.Errors[0].Field != "files" ||
				len(f.jobs.records) > 0 {
				t.Errorf("%+v, recorded %v", p, f.jobs.records)
			}
		})
	}
}

func TestFullQueue(t *testing.T) {
	f := newFixture(t)
	for i := range 3 {
		if w := f.submit("PUT", fmt.Sprintf("/v1/jobs/%d", i), small); w.Code != 202 {
			t.Fatalf("job %d: status %d %s", i, w.Code, w.Body)
		}
	}
	w := f.submit("PUT", "/v1/jobs/3", small)
	wantProblem(t, w, "queue-full")
	if w.Header().Get("Retry-After") != "5" {
		t.Errorf("Retry-After %q", w.Header().Get("Retry-After"))
	}
	if w := f.submit("PUT", "/v1/jobs/0", small); w.Code != 200 {
		t.Errorf("a job that is there: status %d", w.Code)
	}
	f.jobs.tell("1", api.Running, api.Event{Type: api.EventRunning})
	if w := f.submit("PUT", "/v1/jobs/3", small); w.Code != 202 {
		t.Errorf("with room again: status %d %s", w.Code, w.Body)
	}
}

func TestNotReady(t *testing.T) {
	f := newFixture(t)
	f.unfit = errors.New("draining")
	for _, w := range []string{"/v1/jobs/a", "/v1/jobs"} {
		method := map[bool]string{true: "POST", false: "PUT"}[w == "/v1/jobs"]
		got := f.submit(method, w, small)
		if p := wantProblem(t, got, "not-ready"); p.Detail != "draining" || got.Header().Get("Retry-After") == "" {
			t.Errorf("%+v %v", p, got.Header())
		}
	}
	wantProblem(t, f.ask("GET", "/readyz", ""), "not-ready")
	if w := f.ask("GET", "/healthz", ""); w.Code != 200 {
		t.Errorf("healthz %d", w.Code)
	}
	f.unfit = nil
	if w := f.ask("GET", "/readyz", ""); w.Code != 200 || strings.TrimSpace(w.Body.String()) != `{"ready":true}` {
		t.Errorf("readyz %d %s", w.Code, w.Body)
	}
}

func TestMultipart(t *testing.T) {
	const asks = `{"program": {"part": "prog"}, "tests": [{"name": "1", "input": {"part": "in"}, "answer": {"part": "in"}}]}`
	type part struct{ name, content string }
	tests := []struct {
		name  string
		parts []part
		kind  string // "" means accepted
	}{
		{"job first", []part{{"job", asks}, {"prog", "\x7fELF"}, {"in", "5\n"}}, ""},
		{"job last", []part{{"prog", "\x7fELF"}, {"in", "5\n"}, {"job", asks}}, ""},
		{"no job", []part{{"prog", "x"}}, "bad-request"},
		{"absent part", []part{{"job", asks}, {"prog", "x"}}, "invalid-job"},
		{"spare part", []part{{"job", asks}, {"prog", "x"}, {"in", "y"}, {"out", "z"}}, "invalid-job"},
		{"part twice", []part{{"job", asks}, {"prog", "x"}, {"prog", "y"}}, "bad-request"},
		{"job twice", []part{{"job", asks}, {"job", asks}}, "bad-request"},
		{"no name", []part{{"", "x"}}, "bad-request"},
		{"long part", []part{{"job", asks}, {"prog", strings.Repeat("x", 5<<10)}}, "too-large"},
		{"long job", []part{{"job", asks + strings.Repeat(" ", 9<<10)}}, "too-large"},
		{"broken job", []part{{"job", "{"}}, "invalid-job"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			var body bytes.Buffer
			form := multipart.NewWriter(&body)
			for _, p := range tt.parts {
				w, _ := form.CreateFormFile(p.name, "file")
				_, _ = w.Write([]byte(p.content))
			}
			_ = form.Close()
			w := f.ask("PUT", "/v1/jobs/a", body.String(), "Content-Type: "+form.FormDataContentType())
			if tt.kind != "" {
				wantProblem(t, w, tt.kind)
				return
			}
			if w.Code != 202 {
				t.Fatalf("status %d %s", w.Code, w.Body)
			}
			rec, _ := f.jobs.Get(t.Context(), "a")
			if rec.Job.Program.Blob != digestText("\x7fELF") || rec.Job.Tests[0].Answer.Blob != digestText("5\n") {
				t.Errorf("job %+v", rec.Job)
			}
			cut := f.ask("PUT", "/v1/jobs/b", body.String()[:body.Len()-20],
				"Content-Type: "+form.FormDataContentType())
			wantProblem(t, cut, "bad-request")
		})
	}
}

// TestEncodedParts checks that a part that says that it is encoded is refused, because its content is not decoded.
func TestEncodedParts(t *testing.T) {
	for header, accepted := range map[string]bool{
		"Content-Transfer-Encoding: binary":           true,
		"Content-Transfer-Encoding: 8BIT":             true,
		"Content-Transfer-Encoding: 7bit":             true,
		"Content-Encoding: identity":                  true,
		"Content-Transfer-Encoding: base64":           false,
		"Content-Transfer-Encoding: Quoted-Printable": false,
		"Content-Encoding: gzip":                      false,
	} {
		f := newFixture(t)
		w := f.ask("PUT", "/v1/jobs/a", "--b\r\nContent-Disposition: form-data; name=\"job\"\r\n\r\n"+
			`{"program": {"part": "prog"}, "tests": [{"name": "1"}]}`+
			"\r\n--b\r\nContent-Disposition: form-data; name=\"prog\"\r\n"+header+"\r\n\r\nf0VMRg==\r\n--b--\r\n",
			"Content-Type: multipart/form-data; boundary=b")
		if accepted {
			if w.Code != 202 {
				t.Errorf("%s: status %d %s", header, w.Code, w.Body)
			}
			continue
		}
		if p := wantProblem(t, w, "media-type"); p.Detail != "part 2 has the header "+header {
			t.Errorf("%s: %s", header, p.Detail)
		}
	}
}

// TestSubmitWaits submits jobs whose report is the response. While a request waits, it holds no memory for bodies.
func TestSubmitWaits(t *testing.T) {
	f := newFixture(t)
	for _, query := range []string{"wait=1", "wait=-1s", "wait=1s&wait=2s", "wiat=1s"} {
		wantProblem(t, f.submit("PUT", "/v1/jobs/a?"+query, small), "bad-request")
	}
	if len(f.jobs.records) > 0 {
		t.Errorf("stored %v", f.jobs.records)
	}
	w := f.submit("PUT", "/v1/jobs/a?wait=1ms", small)
	f.jobs.waiting("a")
	if w.Code != 202 || w.Header().Get("Location") != "/v1/jobs/a" || answer[api.Report](t, w).State != api.Queued {
		t.Errorf("after the time: status %d, header %v, %s", w.Code, w.Header(), w.Body)
	}
	for _, submit := range [][2]string{{"PUT", "/v1/jobs/a?wait=60s"}, {"POST", "/v1/jobs?wait=60s"}} {
		got := make(chan *httptest.ResponseRecorder, 1)
		go func() { got <- f.submit(submit[0], submit[1], small, "Idempotency-Key: k") }()
		id := "a"
		if submit[0] == "POST" {
			id = keyedID("", "k")
		}
		testkit.WaitFor(t, patience, "the request to wait", func() bool { return f.jobs.waiting(id) })
		all := int64(bodiesAtOnce) * int64(f.config.HTTP.MaxBody)
		if !f.memory.TryAcquire(all) {
			t.Error("a request that waits holds room for bodies")
		} else {
			f.memory.Release(all)
		}
		f.jobs.tell(id, api.Done, api.Event{Type: api.EventDone})
		w := <-got
		if w.Code != 200 || w.Header().Get("ETag") == "" || w.Header().Get("Location") != "/v1/jobs/"+id ||
			answer[api.Report](t, w).State != api.Done {
			t.Errorf("%s: status %d, header %v, %s", submit[1], w.Code, w.Header(), w.Body)
		}
	}
}
