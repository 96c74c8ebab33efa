package daemon

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"judged/internal/api"
	"judged/internal/service/render"
)

// shouting is a program that writes terminal control sequences, bidirectional overrides, invalid UTF-8 and the end of a
// script element to both streams.
const shouting = `#!/bin/sh
shout() { printf '\033[2J\033]0;pwned\007\302\23331m\342\200\256exe.gnp\377\376\000\r<script>pwned()</script>\302\205\177'; }
shout
shout >&2
`

// hostileText checks the output of a program in every place that shows it.
func hostileText(t *testing.T, d *instance) {
	j := api.Job{Program: *text(shouting), Tests: []api.Test{{Name: "<script>", Answer: text("</script>\x1b")}},
		Head: 1 << 10, Labels: map[string]string{"team": "<script>pwned()</script>"}}
	d.submit("hostile", j)
	r := d.finish("hostile")
	x := r.Tests[0]
	if x.Verdict != api.WrongAnswer || x.StdoutHead == nil || !strings.Contains(*x.StdoutHead, "\x1b[2J") ||
		*x.StdoutHead != *x.StderrHead {
		t.Fatalf("%s %q", x.Verdict, *x.StdoutHead)
	}
	for _, path := range []string{"/v1/jobs/hostile", "/v1/jobs", "/v1/jobs/hostile/events", "/metrics", "/",
		"/jobs", "/jobs/hostile"} {
		a := d.ask("GET", path, nil)
		if a.status != 200 || !utf8.Valid(a.body) ||
			bytes.ContainsFunc(a.body, func(r rune) bool { return r < ' ' && r != '\n' }) {
			t.Errorf("%s: status %d, %q", path, a.status, a.body)
		}
		if strings.Contains(a.header.Get("Content-Type"), "json") && !json.Valid(a.body) {
			t.Errorf("%s is no JSON: %q", path, a.body)
		}
		if bytes.Contains(a.body, []byte("pwned()</script>")) {
			t.Errorf("%s has markup of the program: %q", path, a.body)
		}
	}
	if a := d.ask("GET", "/metrics", nil); bytes.Contains(a.body, []byte("pwned")) ||
		bytes.Contains(a.body, []byte("hostile")) {
		t.Error("metrics tell of the job")
	}
	var shown bytes.Buffer
	if err := render.Report(&shown, r); err != nil {
		t.Fatal(err)
	}
	if bytes.ContainsFunc(shown.Bytes(), func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
		t.Errorf("shown as %q", shown.Bytes())
	}
	j.Labels["team"] = "\u202e"
	if a := d.ask("PUT", "/v1/jobs/hostile-2", d.encode(j), "Content-Type", jsonType); a.status != 400 ||
		!bytes.Contains(a.body, []byte(`labels[\"team\"]`)) {
		t.Errorf("status %d %s", a.status, a.body)
	}
}
