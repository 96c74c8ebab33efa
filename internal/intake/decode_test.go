package intake

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/job"
)

// full is a job that uses every member.
const full = `{
  "program": {"base64": "aGk="}, "command": ["{program}", "-v"],
  "files": {"a.txt": {"part": "a"}},
  "tests": [{"name": "secret/01", "input": {"text": ""}, "answer": {"blob": "` + digest + `"}}],
  "checker": {"kind": "float:1e-6", "args": []},
  "limits": {"cpu_time_ms": 1500, "wall_time_ms": 4000, "memory_bytes": 1048576, "output_bytes": 1, "stack_bytes": 131072, "processes": 3},
  "cpus": 1, "repeats": {"min": 2, "max": 5, "policy": "min"}, "stop": "never", "head_bytes": 10,
  "priority": "contest", "pool": "default", "labels": {"team": "7"}
}`

const digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func TestDecode(t *testing.T) {
	text, empty := "aGk=", ""
	want := job.Job{
		Program: job.File{Base64: &text}, Command: []string{"{program}", "-v"},
		Files:   map[string]job.File{"a.txt": {Part: "a"}},
		Tests:   []job.Test{{Name: "secret/01", Input: &job.File{Text: &empty}, Answer: &job.File{Blob: digest}}},
		Checker: &job.Checker{Kind: "float:1e-6", Args: []string{}},
		Limits:  job.Limits{CPUTimeMS: 1500, WallTimeMS: 4000, Memory: 1 << 20, Output: 1, Stack: 128 << 10, Processes: 3},
		CPUs:    1, Repeats: job.Repeats{Min: 2, Max: 5, Policy: job.Minimum}, Stop: job.StopNever, Head: 10,
		Priority: job.Contest, Pool: "default", Labels: map[string]string{"team": "7"},
	}
	got, err := Decode([]byte(full))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDecodeErrors(t *testing.T) {
	deep := strings.Repeat("[", 100_000)
	tests := []struct {
		name, body string
		want       []FieldError // Detail is a part of it
	}{
		{"empty", "", []FieldError{{"", "ends before"}}},
		{"cut off", `{"program": {"text": "x"`, []FieldError{{"", "ends before"}}},
		{"no JSON", "{\n  program}", []FieldError{{"", "line 2, column"}}},
		{"array", `[]`, []FieldError{{"", "an array found; send an object"}}},
		{"two jobs", `{} {}`, []FieldError{{"", "text behind the end"}}},
		{"unknown key", `{"programm": {"text": "x"}}`, []FieldError{{"programm", "unknown key"}}},
		{"other case", `{"Program": {"text": "x"}}`, []FieldError{{"Program", "unknown key"}}},
		{"nested unknown key", `{"tests": [{}, {"nme": [{"a": null}]}]}`, []FieldError{{"tests[1].nme", "unknown key"}}},
		{"two unknown keys", `{"a": 1, "limits": {"b": 2}}`, []FieldError{{"a", "unknown"}, {"limits.b", "unknown"}}},
		{"strange key", "{\"a\\u0000\": 1}", []FieldError{{`"a\x00"`, "unknown"}}},
		{"duplicate", `{"cpus": 1, "cpus": 2}`, []FieldError{{"cpus", "given twice"}}},
		{"duplicate by escape", `{"cpus": 1, "\u0063pus": 2}`, []FieldError{{"cpus", "given twice"}}},
		{"duplicate file", `{"files": {"a": {"text": ""}, "a": {"text": ""}}}`, []FieldError{{`files["a"]`, "given twice"}}},
		{"null", `{"tests": null}`, []FieldError{{"tests", "null is no value"}}},
		{"text for number", `{"cpus": "1"}`, []FieldError{{"cpus", "text found; send a whole number"}}},
		{"object for text", `{"stop": {"x": 1}, "cpus": true}`, []FieldError{{"stop", "an object found; send text"}, {"cpus", "true found"}}},
		{"fraction", `{"limits": {"cpu_time_ms": 1.5}}`, []FieldError{{"limits.cpu_time_ms", "1.5 is not a whole number"}}},
		{"huge number", `{"head_bytes": 1` + strings.Repeat("0", 500) + `}`, []FieldError{{"head_bytes", "… is not a whole number"}}},
		{"exponent", `{"head_bytes": 1e400}`, []FieldError{{"head_bytes", "1e400 is not a whole number"}}},
		{"zero limit", `{"limits": {"processes": 0}}`, []FieldError{{"limits.processes", "0 allows nothing"}}},
		{"deep", `{"x": ` + deep, []FieldError{{"x", "unknown"}, {"", "nested deeper than 32"}}},
		{"deep in place", `{"tests": ` + deep, []FieldError{{"tests[0]", "an array found"}, {"", "nested deeper than 32"}}},
		{"many tests", `{"tests": [` + strings.Repeat("{},", maxMembers+1) + `{}]}`, []FieldError{{"tests", "more than 100000 members"}}},
		{"invalid UTF-8", "{\"tests\": [{\"name\": \"\xff\"}]}", []FieldError{{"", "not valid UTF-8"}}},
		{"raw control character", "{\"stop\": \"a\x01\"}", []FieldError{{"", "not JSON at line 1, column"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Decode([]byte(tt.body))
			compare(t, err, tt.want)
		})
	}
}

func TestManyErrorsAreCut(t *testing.T) {
	_, err := Decode([]byte(`{"tests": [` + strings.Repeat("1,", 1000) + `1]}`))
	var errs Errors
	if !errors.As(err, &errs) || len(errs) != maxErrors+1 {
		t.Errorf("%d findings, want %d: %v", len(errs), maxErrors+1, err)
	}
}

// compare holds fields and the beginning of sense of details against want.
func compare(t *testing.T, err error, want []FieldError) {
	t.Helper()
	var errs Errors
	if !errors.As(err, &errs) || len(errs) != len(want) {
		t.Fatalf("error %v, want %d findings %v", err, len(want), want)
	}
	for i, w := range want {
		if errs[i].Field != w.Field || !strings.Contains(errs[i].Detail, w.Detail) {
			t.Errorf("finding %d is %q, want %q", i, errs[i], w)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, bb := range []struct{ name, body string }{
		{"small", full},
		{"1 MiB of text", `{"program": {"text": "` + strings.Repeat("x", 1<<20) + `"}}`},
		{"1000 tests", `{"tests": [` + strings.TrimSuffix(strings.Repeat(`{"name": "a", "input": {"text": "1 2"}},`, 1000), ",") + `]}`},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Decode([]byte(bb.body)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
