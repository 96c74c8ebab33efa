package intake

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
)

// full is a job that uses every member.
const full = `{
  "program": {"base64": "aGk="}, "command": ["{program}", "-v"],
  "files": {"a.txt": {"part": "a"}},
  "tests": [{"name": "secret/01", "input": {"text": ""}, "answer": {"blob": "` + emptyDigest + `"}}],
  "checker": {"kind": "float:1e-6", "args": []},
  "limits": {"cpu_time_ms": 1500, "wall_time_ms": 4000, "memory_bytes": 1048576, "output_bytes": 1, "stack_bytes": 131072, "processes": 3},
  "cpus": 1, "repeats": {"min": 2, "max": 5, "policy": "min"}, "stop": "never", "head_bytes": 10,
  "priority": "contest", "pool": "default", "labels": {"team": "7"}
}`

const emptyDigest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func TestDecode(t *testing.T) {
	text, empty := "aGk=", ""
	want := api.Job{
		Program: api.File{Base64: &text}, Command: []string{"{program}", "-v"},
		Files:   map[string]api.File{"a.txt": {Part: "a"}},
		Tests:   []api.Test{{Name: "secret/01", Input: &api.File{Text: &empty}, Answer: &api.File{Blob: emptyDigest}}},
		Checker: &api.Checker{Kind: "float:1e-6", Args: []string{}},
		Limits: api.Limits{CPUTimeMS: 1500, WallTimeMS: 4000, Memory: 1 << 20, Output: 1, Stack: 128 << 10,
			Processes: 3},
		CPUs: 1, Repeats: api.Repeats{Min: 2, Max: 5, Policy: api.Minimum}, Stop: api.StopNever, Head: 10,
		Priority: api.Contest, Pool: "default", Labels: map[string]string{"team": "7"},
	}
	got, err := decodeAll([]byte(full))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDecodeIntegers checks that numbers with a zero fraction or an exponent are integers, as in JSON Schema.
func TestDecodeIntegers(t *testing.T) {
	got, err := decodeAll([]byte(`{"limits": {"cpu_time_ms": 1e3, "wall_time_ms" : 4000.00 , "memory_bytes":1.048576E+6,
"processes": 300e-2}, "cpus": 1.0, "head_bytes": 9223372036854775807.0, "repeats": {"min": 0.0, "max": 0.05e2},
"stop": "never"}`))
	want := api.Job{Limits: api.Limits{CPUTimeMS: 1000, WallTimeMS: 4000, Memory: 1 << 20, Processes: 3}, CPUs: 1,
		Head: 1<<63 - 1, Repeats: api.Repeats{Max: 5}, Stop: api.StopNever}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestDecodeRaw checks that a raw member keeps any value as it is, next to members that are checked.
func TestDecodeRaw(t *testing.T) {
	type document struct {
		List []struct {
			ID  string          `json:"id"`
			Raw json.RawMessage `json:"raw"`
		} `json:"list"`
	}
	const raw = `{"a": [1.50, null, "\ud800", "` + "\xff" + `"], "a": {}}`
	got, unfit, err := Decode[document](strings.NewReader(`{"list": [{"id": "x", "raw": ` + raw + `}, {"raw": 7}]}`))
	var want document
	want.List = append(want.List, struct {
		ID  string          `json:"id"`
		Raw json.RawMessage `json:"raw"`
	}{"x", json.RawMessage(raw)}, struct {
		ID  string          `json:"id"`
		Raw json.RawMessage `json:"raw"`
	}{"", json.RawMessage("7")})
	if diff := cmp.Diff(want, got); diff != "" || err != nil || unfit != nil {
		t.Errorf("%v %v (-want +got):\n%s", err, unfit, diff)
	}
	for body, field := range map[string]string{
		`{"list": [{"raw": {}, "rw": {}}]}`:         "list[0].rw",
		`{"list": [{"raw": {}}, {"raw": {"a": }}]}`: "",
		`{"list": [{"raw": {`:                       "",
	} {
		_, _, err := Decode[document](strings.NewReader(body))
		var found Errors
		if !errors.As(err, &found) || found[0].Field != field {
			t.Errorf("%s: got %v, want an error at %q", body, err, field)
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	deep := strings.Repeat("[", 100_000)
	tests := []struct {
		name, body string
		want       []api.FieldError // Detail is a substring
	}{
		{"empty", "", []api.FieldError{{Field: "", Detail: "ends before"}}},
		{"cut off", `{"program": {"text": "x"`, []api.FieldError{{Field: "", Detail: "ends before"}}},
		{"no JSON", "{\n  program}", []api.FieldError{{Field: "", Detail: "line 2, column"}}},
		{"text for a truth value", `{"transcript": "yes"}`,
			[]api.FieldError{{Field: "transcript", Detail: "text found; send true or false"}}},
		{"array", `[]`, []api.FieldError{{Field: "", Detail: "an array found; send an object"}}},
		{"two jobs", `{} {}`, []api.FieldError{{Field: "", Detail: "text behind the end"}}},
		{"unknown key", `{"programm": {"text": "x"}}`, []api.FieldError{{Field: "programm", Detail: "unknown key"}}},
		{"other case", `{"Program": {"text": "x"}}`, []api.FieldError{{Field: "Program", Detail: "unknown key"}}},
		{"nested unknown key", `{"tests": [{}, {"nme": [{"a": null}]}]}`,
			[]api.FieldError{{Field: "tests[1].nme", Detail: "unknown key"}}},
		{"only the first unknown key", `{"a": 1, "limits": {"b": 2}}`, []api.FieldError{{Field: "a", Detail: "unknown"}}},
		{"strange key", "{\"a\\u0000\": 1}", []api.FieldError{{Field: `"a\x00"`, Detail: "unknown"}}},
		{"duplicate", `{"cpus": 1, "cpus": 2}`, []api.FieldError{{Field: "cpus", Detail: "given twice"}}},
		{"duplicate by escape", `{"cpus": 1, "\u0063pus": 2}`, []api.FieldError{{Field: "cpus", Detail: "given twice"}}},
		{"duplicate file", `{"files": {"a": {"text": ""}, "a": {"text": ""}}}`,
			[]api.FieldError{{Field: `files["a"]`, Detail: "given twice"}}},
		{"null", `{"tests": null}`, []api.FieldError{{Field: "tests", Detail: "null is no value"}}},
		{"text for number", `{"cpus": "1"}`, []api.FieldError{{Field: "cpus",
			Detail: "text found; send a whole number"}}},
		{"two wrong types", `{"stop": 1, "cpus": true}`,
			[]api.FieldError{{Field: "stop", Detail: "a number found; send text"}, {Field: "cpus",
				Detail: "true found"}}},
		{"object for text", `{"cpus": true, "stop": {"x": 1}, "head_bytes": true}`,
			[]api.FieldError{{Field: "cpus", Detail: "true found"}, {Field: "stop",
				Detail: "an object found; send text"}}},
		{"fraction", `{"limits": {"cpu_time_ms": 1.5}}`,
			[]api.FieldError{{Field: "limits.cpu_time_ms", Detail: "1.5 is not a whole number"}}},
		{"fraction behind zeros", `{"cpus": 10.00010}`, []api.FieldError{{Field: "cpus",
			Detail: "10.00010 is not a whole number"}}},
		{"negative exponent", `{"cpus": 15e-1}`, []api.FieldError{{Field: "cpus",
			Detail: "15e-1 is not a whole number"}}},
		{"more than 64 bits", `{"head_bytes": 9223372036854775808.0}`,
			[]api.FieldError{{Field: "head_bytes", Detail: "9223372036854775808 is not a whole number"}}},
		{"more than 32 bits", `{"cpus": 1e19}`, []api.FieldError{{Field: "cpus", Detail: "1e19 is not a whole number"}}},
		{"largest exponent", `{"cpus": 10e9223372036854775807}`, []api.FieldError{{Field: "cpus",
			Detail: "is not a whole number"}}},
		{"smallest exponent", `{"cpus": 1.5e-9223372036854775808}`, []api.FieldError{{Field: "cpus",
			Detail: "is not a whole number"}}},
		{"exponent of 30 digits", `{"cpus": 1e` + strings.Repeat("9", 30) + `}`,
			[]api.FieldError{{Field: "cpus", Detail: "is not a whole number"}}},
		{"zero limit with a fraction", `{"limits": {"processes": -0.0e5}}`,
			[]api.FieldError{{Field: "limits.processes", Detail: "0 allows nothing"}}},
		{"huge number", `{"head_bytes": 1` + strings.Repeat("0", 500) + `}`,
			[]api.FieldError{{Field: "head_bytes", Detail: "… is not a whole number"}}},
		{"exponent", `{"head_bytes": 1e400}`, []api.FieldError{{Field: "head_bytes",
			Detail: "1e400 is not a whole number"}}},
		{"zero limit of a test", `{"tests": [{"name": "1"}, {"limits": {"processes": 0}}]}`,
			[]api.FieldError{{Field: "tests[1].limits.processes", Detail: "0 allows nothing"}}},
		{"zero limit", `{"limits": {"processes": 0}}`, []api.FieldError{{Field: "limits.processes",
			Detail: "0 allows nothing"}}},
		{"deep", `{"x": ` + deep, []api.FieldError{{Field: "x", Detail: "unknown"}}},
		{"deep in place", `{"tests": ` + deep, []api.FieldError{{Field: "tests[0]", Detail: "an array found"}}},
		{"many tests", `{"tests": [` + strings.Repeat("{},", maxMembers+1) + `{}]}`,
			[]api.FieldError{{Field: "tests", Detail: "more than 100000 members"}}},
		{"half a pair", `{"tests": [{"name": "a\ud83db"}]}`,
			[]api.FieldError{{Field: "", Detail: "half of a surrogate pair at line 1, column 23"}}},
		{"the other half", "{\n\"tests\": [{\"name\": \"\\uDE00\"}]}",
			[]api.FieldError{{Field: "", Detail: "half of a surrogate pair at line 2, column 21"}}},
		{"halves in the wrong order", `{"tests": [{"name": "\ude00\ud83d"}]}`,
			[]api.FieldError{{Field: "", Detail: "half of a surrogate pair"}}},
		{"a pair and a half", `{"tests": [{"name": "\ud83d\ude00\ud83d"}]}`,
			[]api.FieldError{{Field: "", Detail: "half of a surrogate pair at line 1, column 34"}}},
		{"half a pair at the end", `{"tests": [{"name": "1", "input": {"text": "\\\ud83d"}}]}`,
			[]api.FieldError{{Field: "", Detail: "half of a surrogate pair"}}},
		{"half a pair in a key", `{"labels": {"\ud83d": "x"}, "tests": []}`, []api.FieldError{{Field: "",
			Detail: "half of a surrogate pair"}}},
		{"invalid UTF-8", "{\"tests\": [{\"name\": \"\xff\"}]}", []api.FieldError{{Field: "",
			Detail: "not valid UTF-8"}}},
		{"raw control character", "{\"stop\": \"a\x01\"}", []api.FieldError{{Field: "",
			Detail: "not JSON at line 1, column"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := decodeAll([]byte(tt.body))
			compare(t, err, tt.want)
		})
	}
}

// TestWholePairs checks that characters beyond 16 bits are preserved, and so is text that only looks like a surrogate.
func TestWholePairs(t *testing.T) {
	j, err := decodeAll([]byte(`{"tests": [{"name": "1", "input": {"text": "\ud83d\uDE00 \\ud83d \u00e9\n\\"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := *j.Tests[0].Input.Text, "\U0001F600 \\ud83d é\n\\"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestManyErrorsAreCut(t *testing.T) {
	_, err := decodeAll([]byte(`{"tests": [` + strings.Repeat("1,", 1000) + `1]}`))
	var errs Errors
	if !errors.As(err, &errs) || len(errs) != maxErrors+1 {
		t.Errorf("%d findings, want %d: %v", len(errs), maxErrors+1, err)
	}
}

// decodeAll decodes a body and treats unfit values as an error.
func decodeAll(body []byte) (api.Job, error) {
	j, unfit, err := Decode[api.Job](bytes.NewReader(body))
	if err == nil {
		err = unfit.err()
	}
	return j, err
}

// TestUnfitValues checks that Decode returns the job without the unfit values, so that other errors are reported too.
func TestUnfitValues(t *testing.T) {
	j, unfit, err := Decode[api.Job](strings.NewReader(
		`{"cpus": "1", "limits": {"cpu_time_ms": 1.5, "processes": 9}, "pool": null, "stop": "later", "tests": []}`))
	if err != nil {
		t.Fatal(err)
	}
	compare(t, unfit, []api.FieldError{{Field: "cpus", Detail: "text found"}, {Field: "limits.cpu_time_ms",
		Detail: "whole number"}, {Field: "pool", Detail: "null"}})
	if diff := cmp.Diff(api.Job{Limits: api.Limits{Processes: 9}, Stop: "later", Tests: []api.Test{}}, j); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err = Complete(defaults(), j)
	var rest Errors
	if !errors.As(err, &rest) {
		t.Fatal(err)
	}
	compare(t, unfit.With(rest), []api.FieldError{{Field: "cpus", Detail: ""}, {Field: "limits.cpu_time_ms",
		Detail: ""}, {Field: "pool", Detail: ""},
		{Field: "program", Detail: "no content"}, {Field: "tests", Detail: "none"}, {Field: "stop", Detail: "later"}})
}

// TestUnfitTimes checks that an invalid time is reported with its member, although encoding/json ends there.
func TestUnfitTimes(t *testing.T) {
	_, _, err := Decode[api.RejudgingRequest](strings.NewReader(
		`{"filter": {"created_from": "yesterday", "created_to": 1}, "same_problem": 1}`))
	var found Errors
	errors.As(err, &found)
	compare(t, found, []api.FieldError{{Field: "filter.created_from", Detail: "text is not a time"},
		{Field: "filter.created_to", Detail: "a number is not a time"}, {Field: "same_problem", Detail: "a number found"}})
	for value, want := range map[string]string{`{}`: "an object is not a time", `{"a": 1}`: "an object is not a time",
		`[]`: "an array is not a time", `null`: "null is no value"} {
		_, found, err := Decode[api.RejudgingRequest](strings.NewReader(`{"filter": {"created_to": ` + value + `}}`))
		errors.As(err, &found)
		compare(t, found, []api.FieldError{{Field: "filter.created_to", Detail: want}})
	}
}

func TestErrorsWith(t *testing.T) {
	list := func(fields ...string) (e Errors) {
		for _, f := range fields {
			e = append(e, api.FieldError{Field: f})
		}
		return e
	}
	many := make([]string, maxErrors+5)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for _, tt := range []struct {
		name              string
		first, more, want Errors
	}{
		{"others", list("a"), list("b", "aa", "tests[1]"), list("a", "b", "aa", "tests[1]")},
		{"the same", list("a.b"), list("a.b", "c"), list("a.b", "c")},
		{"a part", list("tests[1]"), list("tests[1].name", "tests[10]"), list("tests[1]", "tests[10]")},
		{"the whole", list("tests[1].name"), list("tests", "test"), list("tests[1].name", "test")},
		{"two of one member", nil, list("a", "a"), list("a", "a")},
		{"too many", list("a"), list(many...), append(list("a"),
			append(list(many[:maxErrors-1]...), api.FieldError{Detail: "further findings are left out"})...)},
	} {
		if diff := cmp.Diff(tt.want, tt.first.With(tt.more)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestReadErrors checks that an error while reading the body is not reported as an error in the body.
func TestReadErrors(t *testing.T) {
	gone := errors.New("gone")
	for _, text := range []string{"", `{"cpus": `, `{"cpus": true, "pool": "x`} {
		if _, unfit, err := Decode[api.Job](io.MultiReader(strings.NewReader(text),
			iotest.ErrReader(gone))); !errors.Is(err,
			gone) || unfit != nil {
			t.Errorf("%q: %v, %v", text, unfit, err)
		}
	}
}

// compare compares fields and the start of the details with want.
func compare(t *testing.T, err error, want []api.FieldError) {
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
		{"1000 tests", `{"tests": [` + strings.TrimSuffix(strings.Repeat(`{"name": "a", "input": {"text": "1 2"}},`,
			1000), ",") + `]}`},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := decodeAll([]byte(bb.body)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestReadsFillBuffers checks that a body in small pieces does not cost more than one in large pieces.
func TestReadsFillBuffers(t *testing.T) {
	cut := errors.New("connection reset")
	for _, tt := range []struct {
		name  string
		body  io.Reader
		reads []string
		err   error
	}{
		{"whole", strings.NewReader("abcdef"), []string{"abcd", "ef"}, nil},
		{"in pieces", iotest.OneByteReader(strings.NewReader("abcdef")), []string{"abcd", "ef"}, nil},
		{"cut", io.MultiReader(iotest.OneByteReader(strings.NewReader("abcdef")), iotest.ErrReader(cut)),
			[]string{"abcd", "ef"}, cut},
	} {
		k := &kept{Reader: tt.body}
		var got []string
		for len(got) < len(tt.reads) {
			b := make([]byte, 4)
			n, _ := k.Read(b)
			got = append(got, string(b[:n]))
		}
		if diff := cmp.Diff(tt.reads, got); diff != "" || k.data.String() != "abcdef" || !errors.Is(k.err, tt.err) {
			t.Errorf("%s: kept %q, error %v, want %v; reads -want +got:\n%s", tt.name, &k.data, k.err, tt.err, diff)
		}
	}
}
