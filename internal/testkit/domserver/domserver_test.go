package domserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
)

// send sends a form like DOMjudge's judgedaemon: as multipart with POST, and as a URL query with PUT.
func send(t *testing.T, s *Server, method, path, kind string, body io.Reader) (status int, answer []byte) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, s.Base()+"/"+path, body)
	if err != nil {
		t.Fatal(err)
	}
	q.SetBasicAuth(User, Password)
	q.Header.Set("Content-Type", kind)
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	answer, err = io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, answer
}

func parts(t *testing.T, name, value string) (kind string, body io.Reader) {
	t.Helper()
	b := new(bytes.Buffer)
	w := multipart.NewWriter(b)
	if err := w.WriteField(name, value); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.FormDataContentType(), b
}

// TestForms: POST accepts multipart or a query, and PUT a query, because PHP does not parse multipart for PUT.
func TestForms(t *testing.T) {
	const query, partly = "application/x-www-form-urlencoded", "multipart/form-data"
	for _, tt := range []struct {
		method, path, kind string
		status             int
	}{
		{"POST", "judgehosts", partly, 200},
		{"POST", "judgehosts", query, 200},
		{"POST", "judgehosts", "application/json", 400},
		{"PUT", "judgehosts/check_versions/%d", query, 200},
		{"PUT", "judgehosts/check_versions/%d", partly, 400},
	} {
		s := New(t)
		s.Submit(Submission{Problem: Problem{Tests: []Testcase{s.AddTestcase("1", "2")}}})
		kind, body := tt.kind, io.Reader(strings.NewReader("hostname=h"))
		if kind == partly {
			kind, body = parts(t, "hostname", "h")
		}
		path, number := tt.path, 0
		if strings.Contains(path, "%d") {
			s.Enable("h", true)
			number = taskFor(t, s, "h")
			path = fmt.Sprintf(path, number)
		}
		status, answer := send(t, s, tt.method, path, kind, body)
		if status != tt.status || (len(s.Complaints()) > 0) != (status != 200) {
			t.Errorf("%s %s with %s: %d %s, complaints %q", tt.method, tt.path, tt.kind, status, answer, s.Complaints())
		}
	}
}

// taskFor fetches a task and returns its number.
func taskFor(t *testing.T, s *Server, host string) int {
	t.Helper()
	kind, body := parts(t, "hostname", host)
	_, answer := send(t, s, "POST", "judgehosts/fetch-work", kind, body)
	var tasks []map[string]any
	if err := json.Unmarshal(answer, &tasks); err != nil || len(tasks) != 1 {
		t.Fatalf("%v: %s", err, answer)
	}
	// The judgedaemon exits if one of these is a number.
	for name, v := range tasks[0] {
		if _, is := v.(string); is == (name == "judgetaskid" || name == "priority") {
			t.Errorf("%s is %v", name, v)
		}
	}
	return int(tasks[0]["judgetaskid"].(float64))
}

// TestStored: a long value is truncated like in the judgedaemon.
func TestStored(t *testing.T) {
	for v, ok := range map[string]bool{"": true, "abc": true, "abcd": false,
		"abc\n[output storage truncated after 9 B]\n": false,
		"abc\n[output storage truncated after 3 B]\n": true, "abcd\n[output storage truncated after 3 B]\n": false} {
		if err := checkStored(v, 3); (err == nil) != ok {
			t.Errorf("%q: %v", v, err)
		}
	}
	if err := checkStored("abcd", -1); err != nil {
		t.Error(err)
	}
}
