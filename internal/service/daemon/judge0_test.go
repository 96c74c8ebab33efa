package daemon

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/testkit"
)

// TestJudge0Client runs the examples of Judge0's Python client, which is not changed, against a daemon.
func TestJudge0Client(t *testing.T) {
	t.Parallel() // measures nothing
	testkit.Need(t, testkit.Judge0Client, testkit.Python, testkit.StaticGCC)
	c := settings(t)
	c.Judge0.Enabled, c.Judge0.Listen = true, freePort(t)
	d := serving(t, c)
	d.ask("GET", "/judge0/languages", nil) // the first answer waits for every compiler, longer than the client does
	venv, err := testkit.Judge0ClientPath()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(venv, "bin", "python"), "../../../testdata/judge0/examples.py")
	cmd.Env = append(os.Environ(), "JUDGE0_CE_ENDPOINT=http://"+c.Judge0.Listen, "JUDGE0_CE_AUTH_HEADERS={}")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	languages, _ := got["languages"].(map[string]any)
	for name, seen := range languages {
		if text, _ := json.Marshal(seen); !strings.HasPrefix(string(text), `["ACCEPTED","hello, world\n",`) {
			t.Errorf("%s: %s", name, text)
		}
	}
	if n := len(languages); n < 12 {
		t.Errorf("%d languages, want at least 12", n)
	}
	delete(got, "languages")
	want, err := os.ReadFile("../../../testdata/judge0/examples.json")
	if err != nil {
		t.Fatal(err)
	}
	var expected map[string]any
	if err := json.Unmarshal(want, &expected); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(expected, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	d.drain()
}

// BenchmarkJudge0 measures, in every round, one job by POST /v1/jobs?wait= and the same as a submission of Judge0 with
// wait=true, whose program and input come with the request.
func BenchmarkJudge0(b *testing.B) {
	c := settings(b)
	c.Judge0.Enabled = true
	d := serving(b, c)
	program, err := os.ReadFile(emptyProgram(b))
	if err != nil {
		b.Fatal(err)
	}
	text := base64.StdEncoding.EncodeToString(program)
	own := fmt.Appendf(nil, `{"program": {"base64": %q}, "tests": [{"name": "1", "input": {"text": "x"}}]}`, text)
	submission := fmt.Appendf(nil, `{"source_code": %q, "language_id": 44, "stdin": "eA=="}`, text)
	send := func(path, want string, body []byte) time.Duration {
		begin := time.Now()
		a := d.ask("POST", path, body, "Content-Type", jsonType)
		if !bytes.Contains(a.body, []byte(want)) {
			b.Fatalf("%s: %d %s", path, a.status, a.body)
		}
		return time.Since(begin)
	}
	var direct, door []time.Duration
	for b.Loop() {
		direct = append(direct, send("/v1/jobs?wait=60s", `"verdict":"AC"`, own))
		door = append(door, send("/judge0/submissions?base64_encoded=true&wait=true", `"Accepted"`, submission))
	}
	b.ReportMetric(p50(direct), "own-p50-us")
	b.ReportMetric(p50(door), "judge0-p50-us")
	b.ReportMetric(p50(door)/p50(direct), "judge0/own")
	d.drain()
}

// TestJudge0Callback checks what a site gets when its submission has ended.
func TestJudge0Callback(t *testing.T) {
	got := make(chan string, 1)
	site := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got <- r.Method + " " + string(body)
	}))
	defer site.Close()
	c := settings(t)
	c.Judge0.Enabled, c.Callbacks.Allow = true, []string{"127.0.0.1"}
	d := serving(t, c)
	a := d.ask("POST", "/judge0/submissions", fmt.Appendf(nil, `{"source_code": "echo hello", "language_id": 46,
		"callback_url": %q}`, site.URL), "Content-Type", jsonType)
	if a.status != http.StatusCreated {
		t.Fatalf("%d %s", a.status, a.body)
	}
	select {
	case call := <-got:
		if !strings.HasPrefix(call, "PUT {") || !strings.Contains(call, `"stdout":"aGVsbG8K\n"`) ||
			!strings.Contains(call, `"status":{"id":3,`) {
			t.Error(call)
		}
	case <-time.After(patience):
		t.Error("no callback")
	}
	d.drain()
}
