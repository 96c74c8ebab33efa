package judge0

import (
	"context"
	"encoding/json"
	"maps"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
)

// uuidText matches a token; times matches a time.
var (
	uuidText  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`)
	timesText = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
)

// canonical returns JSON with sorted keys, without values that differ between runs.
func canonical(t *testing.T, text string) string {
	t.Helper()
	if strings.TrimSpace(text) == "" {
		return ""
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return text
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return timesText.ReplaceAllString(uuidText.ReplaceAllString(string(out), "TOKEN"), "TIME")
}

const hello = `{"source_code": "print('hello, world')", "language_id": 71}`

// TestDocumented sends the requests in Judge0's documentation. DONE and WAITING in a URL are replaced by the tokens of
// a finished and a waiting submission.
func TestDocumented(t *testing.T) {
	f := newFixture(t, "")
	done := f.create(t, "", `{"source_code": "x", "language_id": 50, "stdin": "Judge0", "expected_output": "hello"}`)
	f.judgeNext(t, ranWell("hello, Judge0\n"))
	binary := f.create(t, "?base64_encoded=true", `{"source_code": "eA", "language_id": 71, "stdin": "/g"}`)
	waiting := f.create(t, "", hello)
	names := strings.NewReplacer("DONE", done, "WAITING", waiting, "BINARY", binary)

	accepted := `{"compile_output": null, "memory": 376, "message": null, "status": {"id": 3, "description": "Accepted"},
		"stderr": null, "stdout": "hello, Judge0\n", "time": "0.012", "token": "TOKEN"}`
	in64 := strings.Replace(accepted, `hello, Judge0\n`, `aGVsbG8sIEp1ZGdlMAo=\n`, 1)
	queued := `{"compile_output": null, "memory": null, "message": null, "status": {"id": 1, "description": "In Queue"},
		"stderr": null, "stdout": null, "time": null, "token": "TOKEN"}`
	notFound := `{"error": "Not Found"}`
	tests := []struct {
		name, method, target, body string
		status                     int
		want                       string
	}{
		{"create", "POST", "/submissions", hello, 201, `{"token": "TOKEN"}`},
		{"slash at the end", "POST", "/submissions/?base64_encoded=false&wait=false", hello, 201, `{"token": "TOKEN"}`},
		{"get with a slash", "GET", "/submissions/DONE/?fields=status_id", "", 200, `{"status_id": 3}`},
		{"numbers as texts", "POST", "/submissions", `{"source_code": "x", "language_id": "71", "cpu_time_limit": "2.5"}`,
			201, `{"token": "TOKEN"}`},
		{"unknown members", "POST", "/submissions", `{"source_code": "x", "language_id": 71, "input": "y"}`, 201,
			`{"token": "TOKEN"}`},
		{"base64", "POST", "/submissions?base64_encoded=true&wait=false",
			`{"source_code": "cHJpbnQoMSk=", "language_id": 71, "stdin": "SnVk\nZ2Uw\n"}`, 201, `{"token": "TOKEN"}`},
		{"no language", "POST", "/submissions", `{"source_code": "x"}`, 422, `{"language_id": ["can't be blank"]}`},
		{"unknown language", "POST", "/submissions", `{"source_code": "x", "language_id": 150000}`, 422,
			`{"language_id": ["language with id 150000 doesn't exist"]}`},
		{"missing language", "POST", "/submissions", `{"source_code": "x", "language_id": 78}`, 422,
			`{"language_id": ["language with id 78 is archived and cannot be used anymore"]}`},
		{"no source", "POST", "/submissions", `{"source_code": "", "language_id": 71}`, 422,
			`{"source_code": ["can't be blank"]}`},
		{"nothing", "POST", "/submissions", `{}`, 422,
			`{"language_id": ["can't be blank"], "source_code": ["can't be blank"]}`},
		{"wall time", "POST", "/submissions", `{"source_code": "x", "language_id": 71, "wall_time_limit": 100000}`, 422,
			`{"wall_time_limit": ["must be less than or equal to 180"]}`},
		{"numbers", "POST", "/submissions", `{"source_code": "x", "language_id": 71, "cpu_time_limit": "soon",
			"memory_limit": 1, "number_of_runs": 21, "stack_limit": -1, "max_processes_and_or_threads": 0}`, 422,
			`{"cpu_time_limit": ["is not a number"], "memory_limit": ["must be greater than or equal to 2048"],
			"number_of_runs": ["must be less than or equal to 20"], "stack_limit": ["must be greater than or equal to 0"],
			"max_processes_and_or_threads": ["must be greater than or equal to 1"]}`},
		{"long arguments", "POST", "/submissions", `{"source_code": "x", "language_id": 71, "command_line_arguments": "` +
			strings.Repeat("a", 513) + `"}`, 422,
			`{"command_line_arguments": ["is too long (maximum is 512 characters)"]}`},
		{"network", "POST", "/submissions", `{"source_code": "x", "language_id": 71, "enable_network": true}`, 422,
			`{"enable_network": ["enabling network is not allowed"]}`},
		{"per process", "POST", "/submissions",
			`{"source_code": "x", "language_id": 71, "enable_per_process_and_thread_time_limit": true}`, 422,
			`{"enable_per_process_and_thread_time_limit": ["this option cannot be enabled"]}`},
		{"project with a source", "POST", "/submissions", `{"source_code": "x", "language_id": 89}`, 422,
			`{"source_code": ["must be blank"], "additional_files": ["can't be blank"]}`},
		{"fields of a new one", "POST", "/submissions?fields=colour", hello, 400, `{"error": "invalid fields: [colour]"}`},
		{"not JSON", "POST", "/submissions", `{`, 400,
			`{"error": "the body is not a JSON object: unexpected end of JSON input"}`},
		{"half a character", "POST", "/submissions", `{"source_code": "\ud83d", "language_id": 71}`, 400, `{"error":
			"the body has half of a surrogate pair at byte 17, which is no character; use base64_encoded=true"}`},
		{"a whole character", "POST", "/submissions", `{"source_code": "\ud83d\ude00", "language_id": 71}`, 201,
			`{"token": "TOKEN"}`},
		{"get", "GET", "/submissions/DONE", "", 200, accepted},
		{"get in base64", "GET", "/submissions/DONE?base64_encoded=true", "", 200, in64},
		{"get one that waits", "GET", "/submissions/WAITING", "", 200, queued},
		{"some fields", "GET", "/submissions/DONE?fields=stdout,stderr,status_id,language_id", "", 200,
			`{"language_id": 50, "status_id": 3, "stderr": null, "stdout": "hello, Judge0\n"}`},
		{"asked", "GET", "/submissions/DONE?fields=source_code,stdin,expected_output,language,cpu_time_limit,exit_code", "",
			200, `{"cpu_time_limit": "5.0", "exit_code": 0, "expected_output": "hello", "language": {"id": 50, "name":
			"C (GCC 12.2.0)"}, "source_code": "x", "stdin": "Judge0"}`},
		{"all fields", "GET", "/submissions/WAITING?fields=*", "", 200, `{"additional_files": null, "callback_url": null,
			"command_line_arguments": null, "compile_output": null, "compiler_options": null, "cpu_extra_time": "1.0",
			"cpu_time_limit": "5.0", "created_at": "TIME", "enable_network": false,
			"enable_per_process_and_thread_memory_limit": false, "enable_per_process_and_thread_time_limit": false,
			"exit_code": null, "exit_signal": null, "expected_output": null, "finished_at": null,
			"language": {"id": 71, "name": "Python (3.11.2)"}, "language_id": 71, "max_file_size": 1024,
			"max_processes_and_or_threads": 60, "memory": null, "memory_limit": 128000, "message": null,
			"number_of_runs": 1, "redirect_stderr_to_stdout": false,
			"source_code": "print('hello, world')", "stack_limit": 64000,
			"status": {"id": 1, "description": "In Queue"}, "status_id": 1, "stderr": null, "stdin": null, "stdout": null,
			"time": null, "token": "TOKEN", "wall_time": null, "wall_time_limit": "10.0"}`},
		{"further fields", "GET", "/submissions/WAITING?fields=execution_host,queue_host,queued_at,started_at,updated_at",
			"", 200, `{"execution_host": null, "queue_host": null, "queued_at": "TIME", "started_at": null,
			"updated_at": "TIME"}`},
		{"unknown fields", "GET", "/submissions/DONE?fields=stdout,a,b", "", 400, `{"error": "invalid fields: [a, b]"}`},
		{"unknown token", "GET", "/submissions/11111111-2222-4333-8444-555555555555", "", 404, notFound},
		{"no token", "GET", "/submissions/x", "", 404, notFound},
		{"not UTF-8", "GET", "/submissions/BINARY?fields=stdin", "", 400, `{"error": "` + notText + `"}`},
		{"not UTF-8 in base64", "GET", "/submissions/BINARY?base64_encoded=true&fields=stdin", "", 200,
			`{"stdin": "/g==\n"}`},
		{"delete", "DELETE", "/submissions/DONE", "", 400, `{"error": "delete not allowed"}`},
		{"batch", "POST", "/submissions/batch", `{"submissions": [{"language_id": 46, "source_code": "echo hello"},
			{"language_id": 123456789, "source_code": "x"}, {"language_id": 71, "source_code": ""}]}`, 201,
			`[{"token": "TOKEN"}, {"language_id": ["language with id 123456789 doesn't exist"]},
			{"source_code": ["can't be blank"]}]`},
		{"batch of invalid ones", "POST", "/submissions/batch", `{"submissions": [{"language_id": 71}]}`, 422,
			`[{"source_code": ["can't be blank"]}]`},
		{"empty batch", "POST", "/submissions/batch", `{"submissions": []}`, 400,
			`{"error": "there should be at least one submission in a batch"}`},
		{"batch of nothing", "POST", "/submissions/batch", ``, 400,
			`{"error": "there should be at least one submission in a batch"}`},
		{"large batch", "POST", "/submissions/batch", `{"submissions": [` + strings.Repeat(hello+",", 20) + hello + `]}`, 400,
			`{"error": "number of submissions in a batch should be less than or equal to 20"}`},
		{"get batch", "GET", "/submissions/batch?tokens=DONE,WAITING,x&fields=status_id,token", "", 200,
			`{"submissions": [{"status_id": 3, "token": "TOKEN"}, {"status_id": 1, "token": "TOKEN"}, null]}`},
		{"get batch with gaps", "GET", "/submissions/batch?tokens=,DONE,,%20WAITING,,&fields=status_id", "", 200,
			`{"submissions": [null, {"status_id": 3}, null, {"status_id": 1}]}`},
		{"get batch of gaps", "GET", "/submissions/batch?tokens=,%20,", "", 400,
			`{"error": "there should be at least one submission in a batch"}`},
		{"get empty batch", "GET", "/submissions/batch", "", 400,
			`{"error": "there should be at least one submission in a batch"}`},
		{"languages", "GET", "/languages", "", 200, `[{"id": 46, "name": "Bash (5.2.15)"},
			{"id": 48, "name": "C (GCC 12.2.0)"},
			{"id": 49, "name": "C (GCC 12.2.0)"}, {"id": 50, "name": "C (GCC 12.2.0)"}, {"id": 44, "name": "Executable"},
			{"id": 89, "name": "Multi-file program"}, {"id": 43, "name": "Plain Text"}, {"id": 71, "name": "Python (3.11.2)"}]`},
		{"language", "GET", "/languages/50", "", 200, `{"id": 50, "name": "C (GCC 12.2.0)", "is_archived": false,
			"source_file": "main.c", "compile_cmd": null, "run_cmd": null}`},
		{"archived language", "GET", "/languages/78", "", 200, `{"id": 78, "name": "Kotlin", "is_archived": true,
			"source_file": "Main.kt", "compile_cmd": null, "run_cmd": null}`},
		{"no such language", "GET", "/languages/1", "", 404, notFound},
		{"statuses", "GET", "/statuses", "", 200, `[{"id": 1, "description": "In Queue"},
			{"id": 2, "description": "Processing"}, {"id": 3, "description": "Accepted"},
			{"id": 4, "description": "Wrong Answer"}, {"id": 5, "description": "Time Limit Exceeded"},
			{"id": 6, "description": "Compilation Error"}, {"id": 7, "description": "Runtime Error (SIGSEGV)"},
			{"id": 8, "description": "Runtime Error (SIGXFSZ)"}, {"id": 9, "description": "Runtime Error (SIGFPE)"},
			{"id": 10, "description": "Runtime Error (SIGABRT)"}, {"id": 11, "description": "Runtime Error (NZEC)"},
			{"id": 12, "description": "Runtime Error (Other)"}, {"id": 13, "description": "Internal Error"},
			{"id": 14, "description": "Exec Format Error"}]`},
		{"about", "GET", "/about", "", 200,
			`{"version": "1.13.1", "homepage": "", "source_code": "", "maintainer": "judged test"}`},
		{"version", "GET", "/version", "", 200, "1.13.1"},
		{"statistics", "GET", "/statistics", "", 404, notFound},
		{"authenticate", "POST", "/authenticate", "", 200, ""},
		{"authorize", "POST", "/authorize", "", 200, ""},
	}
	if len(tests) < 40 {
		t.Errorf("%d requests", len(tests))
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := f.send(tt.method, names.Replace(tt.target), tt.body)
			if w.Code != tt.status {
				t.Errorf("status %d, want %d", w.Code, tt.status)
			}
			if diff := cmp.Diff(canonical(t, tt.want), canonical(t, w.Body.String())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestWait checks that a caller that waits gets the result with the status code of a new submission.
func TestWait(t *testing.T) {
	f := newFixture(t, "")
	for _, tt := range []struct{ query, stdout, want string }{
		{"", "hello\n", `{"stdout": "hello\n", "status_id": 3}`},
		{"&base64_encoded=true", "hello\n", `{"stdout": "aGVsbG8K\n", "status_id": 3}`},
	} {
		judged := make(chan struct{})
		go func() { defer close(judged); f.judgeNext(t, ranWell(tt.stdout)) }()
		w := f.send("POST", "/submissions?wait=true&fields=stdout,status_id"+tt.query, strings.Replace(hello,
			"print('hello, world')", "cHJp", 1))
		<-judged
		if diff := cmp.Diff(canonical(t, tt.want), canonical(t, w.Body.String())); w.Code != 201 || diff != "" {
			t.Errorf("%d (-want +got):\n%s", w.Code, diff)
		}
	}
}

// TestInterruptedWait checks that a caller whose wait ends early gets the token of the stored submission in any case:
// without it, the result is lost.
func TestInterruptedWait(t *testing.T) {
	for name, tt := range map[string]struct {
		interrupt func(*fixture)
		status    int
		want      string
	}{
		"database away": {func(f *fixture) { f.store.waits = api.ErrUnavailable }, 503, `{"token": "TOKEN",
			"error": "the database is unavailable"}`},
		"judged stops": {func(f *fixture) { f.EndStreams() }, 201, `{"token": "TOKEN", "stdout": null}`},
	} {
		f := newFixture(t, "")
		tt.interrupt(f)
		w := f.send("POST", "/submissions?wait=true&fields=stdout", hello)
		if diff := cmp.Diff(canonical(t, tt.want), canonical(t, w.Body.String())); w.Code != tt.status || diff != "" {
			t.Errorf("%s: %d (-want +got):\n%s", name, w.Code, diff)
		}
	}
}

// TestQueueFull checks the response to a submission when the queue is full.
func TestQueueFull(t *testing.T) {
	f := newFixture(t, "")
	for range maxWaiting {
		f.create(t, "", hello)
	}
	for _, target := range []string{"/submissions", "/submissions/batch"} {
		w := f.send("POST", target, `{"submissions": [`+hello+`]}`)
		if got := canonical(t, w.Body.String()); w.Code != 503 || got != `{"error":"queue is full"}` {
			t.Errorf("%s: %d %s", target, w.Code, got)
		}
	}
}

// TestBatch checks that a batch is stored in one transaction, or not at all if there is no room for all of it, as in
// Judge0, whose clients send it again then.
func TestBatch(t *testing.T) {
	f := newFixture(t, "")
	const good, bad = `{"language_id": 46, "source_code": "echo hello", "stdin": "x"}`, `{"language_id": 46}`
	batch := func(all ...string) (int, []map[string]any) {
		w := f.send("POST", "/submissions/batch", `{"submissions": [`+strings.Join(all, ",")+`]}`)
		return w.Code, decoded[[]map[string]any](t, w)
	}
	kinds := func(all []map[string]any) (kinds []string) {
		for _, a := range all {
			kinds = append(kinds, strings.Join(slices.Sorted(maps.Keys(a)), " "))
		}
		return kinds
	}
	code, all := batch(good, bad, good, good)
	want := []string{"token", "source_code", "token", "token"}
	if diff := cmp.Diff(want, kinds(all)); code != 201 || diff != "" {
		t.Errorf("status %d, answers (-want +got):\n%s", code, diff)
	}
	if diff := cmp.Diff([]int{3}, f.store.stored); diff != "" {
		t.Errorf("jobs of each transaction (-want +got):\n%s", diff)
	}
	for _, i := range []int{0, 2, 3} {
		w := f.send("GET", "/submissions/"+all[i]["token"].(string)+"?fields=source_code,stdin", "")
		got := decoded[map[string]any](t, w)
		if diff := cmp.Diff(map[string]any{"source_code": "echo hello", "stdin": "x"}, got); diff != "" {
			t.Errorf("submission %d (-want +got):\n%s", i, diff)
		}
	}
	for range maxWaiting - 3 - 2 {
		f.create(t, "", good)
	}
	w := f.send("POST", "/submissions/batch", `{"submissions": [`+strings.Join([]string{good, bad, good, good}, ",")+`]}`)
	if got := canonical(t, w.Body.String()); w.Code != 503 || got != `{"error":"queue is full"}` {
		t.Errorf("room for two: %d %s", w.Code, got)
	}
	if code, all = batch(good, good); code != 201 || f.depth(t) != maxWaiting {
		t.Errorf("two: status %d, answers %v, %d jobs wait", code, all, f.depth(t))
	}
}

// TestLostOutput checks that the head of an output that could not be stored is not shown as the whole output.
func TestLostOutput(t *testing.T) {
	f := newFixture(t, "")
	token := f.create(t, "", hello)
	r := reportOf(ranWell("the head"))
	r.Outputs = []api.Output{{Test: testName, Stream: api.StdoutStream, Bytes: 70_000, Truncated: true}}
	f.judgeNextAs(t, r)
	got := decoded[map[string]any](t, f.send("GET", "/submissions/"+token+"?fields=stdout,message,status_id", ""))
	want := map[string]any{"stdout": nil, "message": "70000 bytes of stdout could not be stored", "status_id": 3.0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestList checks pages of submissions, which have only submissions of this interface.
func TestList(t *testing.T) {
	f := newFixture(t, "")
	var tokens []string
	for range 5 {
		tokens = append(tokens, f.create(t, "", hello))
	}
	type list struct {
		Submissions []map[string]string
		Meta        map[string]any
	}
	got := decoded[list](t, f.send("GET", "/submissions?page=2&per_page=2&fields=token", ""))
	want := list{[]map[string]string{{"token": tokens[2]}, {"token": tokens[1]}}, map[string]any{"current_page": 2.0,
		"next_page": 3.0, "prev_page": 1.0, "total_pages": 3.0, "total_count": 5.0}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for parameter, want := range map[string]string{"page=-4": "invalid page: -4", "per_page=-2": "invalid per_page: -2"} {
		w := f.send("GET", "/submissions?"+parameter, "")
		if got := decoded[map[string]string](t, w)["error"]; w.Code != 400 || got != want {
			t.Errorf("%s: %d %s", parameter, w.Code, got)
		}
	}
}

// TestTokens checks what each token permits.
func TestTokens(t *testing.T) {
	f := newFixture(t, "site submit,read "+hashText("site")+"\nreader read "+hashText("reader")+"\nboss admin "+
		hashText("boss")+"\nother submit,read "+hashText("other")+" tenant")
	w := f.send("POST", "/submissions", hello, "X-Auth-Token: site")
	token := decoded[map[string]string](t, w)["token"]
	for _, tt := range []struct {
		method, target, token, user string
		want                        int
	}{
		{"GET", "/languages", "", "", 401}, {"GET", "/languages", "nobody", "", 401},
		{"GET", "/languages", "reader", "", 200},
		{"POST", "/submissions", "", "", 401}, {"POST", "/submissions", "reader", "", 403},
		{"GET", "/submissions/" + token, "reader", "", 200}, {"GET", "/submissions/" + token, "other", "", 404},
		{"GET", "/submissions", "site", "", 403}, {"GET", "/submissions", "site", "site", 403},
		{"GET", "/submissions", "site", "boss", 200}, {"GET", "/submissions", "", "boss", 401},
		{"POST", "/authenticate", "site", "", 200}, {"POST", "/authenticate", "boss", "", 403},
		{"POST", "/authorize", "site", "boss", 200}, {"POST", "/authorize", "site", "", 403},
	} {
		w := f.send(tt.method, tt.target, hello, "X-Auth-Token: "+tt.token, "X-Auth-User: "+tt.user)
		if w.Code != tt.want {
			t.Errorf("%s %s as %q and %q: %d, want %d: %s", tt.method, tt.target, tt.token, tt.user, w.Code, tt.want, w.Body)
		}
	}
}

// TestStatusOfVerdicts checks the status of every verdict and signal.
func TestStatusOfVerdicts(t *testing.T) {
	want := map[api.Verdict]int{api.Accepted: 3, api.Partial: 4, api.WrongAnswer: 4, api.PresentationError: 4,
		api.OutputLimit: 8, api.TimeLimit: 5, api.WallTimeLimit: 5, api.IdlenessLimit: 5, api.MemoryLimit: 12,
		api.RuntimeError: 11, api.SecurityViolation: 12, api.NotExecutable: 14, api.CompileError: 6, api.Skipped: 13,
		api.Cancelled: 13, api.InternalError: 13}
	for _, v := range api.Verdicts() {
		r := api.Report{State: api.Done, Verdict: api.Verdict(v.Word),
			Tests: []api.TestReport{{Exit: &api.Exit{Code: new(1)}}}}
		if got := statusOf(r).ID; got != want[r.Verdict] {
			t.Errorf("%s: %d, want %d", v.Word, got, want[r.Verdict])
		}
	}
	for _, tt := range []struct {
		signal         string
		status, number int
	}{{"SIGSEGV", 7, 11}, {"SIGXFSZ", 8, 25}, {"SIGFPE", 9, 8}, {"SIGABRT", 10, 6}, {"SIGKILL", 12, 9}, {"SIGILL", 12, 4},
		{"SIGRT+8", 12, 40}} {
		r := api.Report{State: api.Done, Verdict: api.RuntimeError,
			Tests: []api.TestReport{{Exit: &api.Exit{Signal: tt.signal}}}}
		number := signalNumber(r.Tests[0].Exit)
		if got := statusOf(r).ID; got != tt.status || number == nil || *number != tt.number {
			t.Errorf("%s: status %d, signal %v", tt.signal, got, number)
		}
	}
	for _, tt := range []struct {
		exit *api.Exit
		want any
	}{{nil, nil}, {&api.Exit{}, nil}, {&api.Exit{Code: new(3)}, 3}, {&api.Exit{Signal: "SIGSEGV"}, 0}} {
		s := submission{decided: true}
		s.Report.Tests = []api.TestReport{{CPUTime: new(time.Second), Exit: tt.exit}}
		if got := s.exitCode(); got != tt.want {
			t.Errorf("exit code of %+v: %v, want %v", tt.exit, got, tt.want)
		}
	}
	for state, want := range map[api.State]int{api.Queued: 1, api.Running: 2, api.CancelledState: 13} {
		if got := statusOf(api.Report{State: state}).ID; got != want {
			t.Errorf("%s: %d, want %d", state, got, want)
		}
	}
}

// TestGoneCaller checks that a caller who disconnects while it waits is no error of judged in the log.
func TestGoneCaller(t *testing.T) {
	f := newFixture(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, "POST", "http://localhost/judge0/submissions?wait=true",
		strings.NewReader(hello))
	f.store.waiting = cancel
	f.ServeHTTP(httptest.NewRecorder(), r)
	if said := f.logged.String(); said != "" {
		t.Errorf("log: %s", said)
	}
}
