package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/units"
)

// inProcess runs judged within the test process.
func inProcess(t *testing.T, args ...string) ended {
	t.Helper()
	var out, errOut bytes.Buffer
	code := (&app{in: strings.NewReader(""), out: &out, err: &errOut}).run(context.Background(), args)
	return ended{code, out.String(), errOut.String()}
}

// TestSubmitHead: if the reports of a daemon quote less than submit requests, the job is submitted without that
// request.
func TestSubmitHead(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		want []units.Bytes
		code int
	}{
		{"not given", nil, []units.Bytes{4096, 0}, exitYes},
		{"given", []string{"--head", "5KiB"}, []units.Bytes{5120}, exitUsage},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []units.Bytes
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var j api.Job
				if r.Method != http.MethodPut || json.NewDecoder(r.Body).Decode(&j) != nil {
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprint(w, `{"id": "x", "state": "done", "verdict": "AC"}`)
					return
				}
				if got = append(got, j.Head); j.Head > 0 {
					w.Header().Set("Content-Type", "application/problem+json")
					w.WriteHeader(http.StatusBadRequest)
					fmt.Fprint(w, `{"errors": [{"field": "head_bytes", "detail": "too much"}]}`)
					return
				}
				w.WriteHeader(http.StatusAccepted)
				fmt.Fprint(w, `{"id": "x", "state": "queued"}`)
			}))
			defer server.Close()
			args := append([]string{"submit", "--url", server.URL, "--id", "x", "--detach"}, tt.args...)
			if end := inProcess(t, append(args, "true")...); end.code != tt.code {
				t.Errorf("got %+v, want %d", end, tt.code)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("head_bytes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDaemonAnswers uses a daemon that sends the same response to every request.
func TestDaemonAnswers(t *testing.T) {
	const problem = "application/problem+json"
	for _, tt := range []struct {
		name              string
		status            int
		contentType, body string
		args              []string
		code              int
		stderr            string
	}{
		// Waiting silently would look like a long job.
		{"not ready", 503, problem, `{"detail": "turbo is on", "next_step": "switch it off"}`,
			[]string{"submit", "./remote_test.go"},
			exitFault, "judged: submit job: judged answered 503: turbo is on; switch it off\n"},
		{"no token", 401, problem, `{"detail": "no token", "next_step": "send one"}`, []string{"status", "j"},
			exitUsage, "judged: read job \"j\": judged answered 401: no token; send one\n"},
		{"something else", 404, "text/html", `<html>`, []string{"status", "j"},
			exitUsage, "judged: read job \"j\": judged answered 404: Not Found; check that the address is that of " +
				"judged\n"},
		{"broken", 500, problem, `{"detail": "disk on fire", "next_step": "see the log"}`, []string{"cancel", "j"},
			exitFault, "judged: cancel job \"j\": judged answered 500: disk on fire; see the log\n"},
		{"in use", 409, problem, `{"detail": "it is queued, cancel it first"}`, []string{"delete", "j"},
			exitUsage, "judged: delete job \"j\": judged answered 409: it is queued, cancel it first\n"},
		{"no deletion", 200, "application/json", `{}`, []string{"delete", "j"}, exitFault,
			"its status is 200; check that the address is that of a judged of this version\n"},
		{"no secret", 400, problem, `{"errors": [{"field": "callback", "detail": "no secret"}]}`,
			[]string{"submit", "--callback", "https://platform.example/hook", "./remote_test.go"},
			exitUsage, "judged: --callback: no secret\n"},
		{"a page", 200, "text/html", `<html>`, []string{"status", "j"}, exitFault,
			"check that the address is that of a judged of this version\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.contentType)
				w.WriteHeader(tt.status)
				fmt.Fprint(w, tt.body)
			}))
			defer server.Close()
			got := inProcess(t, append([]string{tt.args[0], "--url", server.URL}, tt.args[1:]...)...)
			if got.code != tt.code || got.stdout != "" || !strings.HasSuffix(got.stderr, tt.stderr) ||
				strings.Count(got.stderr, "\n") != 1 {
				t.Errorf("exit code %d, stdout %q, stderr %q; want %d, nothing and one line that ends with %q",
					got.code, got.stdout, got.stderr, tt.code, tt.stderr)
			}
		})
	}
}

// TestSubmitNamesProblem checks the request for a job whose tests the daemon has.
func TestSubmitNamesProblem(t *testing.T) {
	var sent api.Job
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && strings.HasPrefix(r.URL.Path, "/v1/jobs/") {
			if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
				t.Error(err)
			}
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id": "j", "state": "done", "verdict": "AC"}`)
	}))
	defer server.Close()
	got := inProcess(t, "submit", "--url", server.URL, "--problem", "sum", "--problem-version", "v1", "--label", "team=7",
		"--callback", "https://platform.example/hook", "./remote_test.go")
	want := api.Job{Callback: &api.Callback{URL: "https://platform.example/hook"},
		Program: sent.Program, Language: "go", Problem: "sum", ProblemVersion: "v1", CPUs: 1,
		Stop: api.StopFirstFailure, Head: 4 << 10, Priority: api.Practice, Labels: map[string]string{"team": "7"}}
	if diff := cmp.Diff(want, sent); got.code != exitYes || diff != "" || sent.Program.Blob == "" {
		t.Errorf("exit code %d, stderr %q; sent (-want +got):\n%s", got.code, got.stderr, diff)
	}
}

// TestTokens checks that the token of the file takes precedence over that of the environment.
func TestTokens(t *testing.T) {
	path := t.TempDir() + "/token"
	put(t, path, "of-the-file\n", 0o600)
	t.Setenv("JUDGED_TOKEN", "of-the-environment")
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Authorization")
		fmt.Fprint(w, `{"id": "j", "state": "queued"}`)
	}))
	defer server.Close()
	for want, flags := range map[string][]string{
		"Bearer of-the-environment": nil,
		"Bearer of-the-file":        {"--token-from", path},
	} {
		end := inProcess(t, append(append([]string{"status", "--url", server.URL}, flags...), "j")...)
		if end.code != exitYes || got != want {
			t.Errorf("%q: sent %q, exit code %d (%s); want %q and 0", flags, got, end.code, end.stderr, want)
		}
	}
}

// TestVerdictCodes compares the exit codes of judging a job and of reading its report.
func TestVerdictCodes(t *testing.T) {
	for _, tt := range []struct {
		report         api.Report
		judged, status int
	}{
		{api.Report{State: api.Done, Verdict: api.Accepted}, exitYes, exitYes},
		{api.Report{State: api.Done, Verdict: api.WrongAnswer}, exitNo, exitNo},
		{api.Report{State: api.Done, Verdict: api.Partial}, exitNo, exitNo},
		{api.Report{State: api.Done, Verdict: api.NotExecutable}, exitNo, exitNo},
		{api.Report{State: api.CancelledState, Verdict: api.Cancelled}, exitNo, exitNo},
		{api.Report{State: api.Done, Verdict: api.InternalError, Message: "disk on fire"}, exitFault, exitFault},
		{api.Report{State: api.Queued}, exitNo, exitYes},
		{api.Report{State: api.Running}, exitNo, exitYes},
	} {
		t.Run(string(tt.report.State)+" "+string(tt.report.Verdict), func(t *testing.T) {
			for _, asJSON := range []bool{false, true} {
				a := &app{out: &bytes.Buffer{}, err: &bytes.Buffer{}}
				if got := exitCode(a.printReport(tt.report, asJSON)); got != tt.judged {
					t.Errorf("json %t: judged with exit code %d, want %d", asJSON, got, tt.judged)
				}
				if got := exitCode(a.printStatus(tt.report, asJSON)); got != tt.status {
					t.Errorf("json %t: status with exit code %d, want %d", asJSON, got, tt.status)
				}
			}
		})
	}
}

func TestExitCode(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want int
	}{
		{nil, exitYes},
		{errNo, exitNo},
		{errors.Join(errNo, nil), exitNo},
		{usagef("x"), exitUsage},
		{fmt.Errorf("wrapped: %w", usagef("x")), exitUsage},
		{errors.New("x"), exitFault},
		// An error takes precedence over a negative answer.
		{errors.Join(errNo, errors.New("x")), exitFault},
	} {
		if got := exitCode(tt.err); got != tt.want {
			t.Errorf("%v: got %d, want %d", tt.err, got, tt.want)
		}
	}
}

// TestSlotsOfJudgehosts: slots that judge for a DOMjudge server show their judgehost, and whether it is enabled there.
func TestSlotsOfJudgehosts(t *testing.T) {
	list := []map[string]any{
		{"cpus": "1", "numa_node": 0, "state": "idle", "judgehost": "room-0", "judgehost_enabled": true},
		{"cpus": "2", "numa_node": 0, "state": "idle", "judgehost": "room-1", "judgehost_enabled": false},
		{"cpus": "3", "numa_node": 0, "state": "idle", "judgehost": "room-2"},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for _, s := range list {
			s["since"] = "2026-11-20T12:00:00Z"
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"slots": list})
	}))
	defer server.Close()
	got := inProcess(t, "slots", "--url", server.URL)
	want := ended{exitYes, `CPUS  NODE  STATE  CAUSE  SINCE                 JUDGEHOST  SERVER
1     0     idle   -      2026-11-20T12:00:00Z  room-0     enabled
2     0     idle   -      2026-11-20T12:00:00Z  room-1     disabled
3     0     idle   -      2026-11-20T12:00:00Z  room-2     unknown
`, ""}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(ended{})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
