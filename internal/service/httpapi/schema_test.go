package httpapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/jobs/intake"
)

// every calls f with every schema of the document and its position.
func (d document) every(f func(place string, s schema)) {
	for name, s := range d.Components.Schemas {
		s.every(name, f)
	}
	for path, operations := range d.Paths {
		for method, o := range operations {
			place := method + " " + path
			for _, p := range o.Parameters {
				p.Schema.every(place+" "+p.Name, f)
			}
			for kind, m := range o.RequestBody.Content {
				m.Schema.every(place+" "+kind, f)
			}
			for status, r := range o.Responses {
				for kind, m := range r.Content {
					m.Schema.every(place+" "+status+" "+kind, f)
				}
			}
		}
	}
}

func (s schema) every(place string, f func(string, schema)) {
	f(place, s)
	for name, p := range s.Properties {
		p.every(place+"."+name, f)
	}
	if s.Items != nil {
		s.Items.every(place+"[]", f)
	}
	if more := s.additional(); more != nil {
		more.every(place+"{}", f)
	}
}

// additional returns the schema of additional properties, or nil.
func (s schema) additional() *schema {
	var more schema
	if json.Unmarshal(s.AdditionalProperties, &more) != nil {
		return nil // absent, or false
	}
	return &more
}

// TestOpenAPIIntegers checks that no client uses 32 bits for nanoseconds or bytes anywhere.
func TestOpenAPIIntegers(t *testing.T) {
	wide := regexp.MustCompile(`_(ns|bytes|ms)(\[\])?$`)
	seen := 0
	readDocument(t).every(func(place string, s schema) {
		if s.Type != "integer" {
			return
		}
		if s.Format != "int64" && (s.Format != "int32" || wide.MatchString(place)) {
			t.Errorf("%s: format %q", place, s.Format)
		}
		if wide.MatchString(place) {
			seen++
		}
	})
	if seen < 30 {
		t.Errorf("only %d times and sizes", seen)
	}
}

// TestOpenAPIIsDescribed checks that generated clients and pages have a description for everything.
func TestOpenAPIIsDescribed(t *testing.T) {
	d := readDocument(t)
	var known []string
	for _, tag := range d.Tags {
		known = append(known, tag.Name)
		if tag.Description == "" {
			t.Errorf("tag %s has no description", tag.Name)
		}
	}
	for path, operations := range d.Paths {
		for method, o := range operations {
			if len(o.Tags) != 1 || !slices.Contains(known, o.Tags[0]) || o.Description == "" || o.OperationID == "" {
				t.Errorf("%s %s: tags %v, description %q, id %q", method, path, o.Tags, o.Description, o.OperationID)
			}
			for _, p := range o.Parameters {
				if p.Description == "" {
					t.Errorf("%s %s: parameter %s has no description", method, path, p.Name)
				}
			}
			for kind, m := range o.RequestBody.Content {
				if kind == "application/octet-stream" && m.Schema.Format != "binary" {
					t.Errorf("%s %s: the body has format %q", method, path, m.Schema.Format)
				}
			}
			for _, r := range o.Responses {
				if m, ok := r.Content["application/octet-stream"]; ok && m.Schema.Format != "binary" {
					t.Errorf("%s %s: the answer has format %q", method, path, m.Schema.Format)
				}
			}
		}
	}
	for name, s := range d.Components.Schemas {
		if s.Description == "" {
			t.Errorf("schema %s has no description", name)
		}
		for member, p := range s.Properties {
			if p.Description == "" && p.Ref == "" {
				t.Errorf("%s.%s has no description", name, member)
			}
		}
	}
}

// TestOpenAPIBounds checks that the document has the default limits, and that a daemon serves its own limits.
func TestOpenAPIBounds(t *testing.T) {
	bounds := func(document []byte) map[string]float64 {
		var d struct {
			Components struct{ Schemas map[string]schema }
		}
		if err := json.Unmarshal(document, &d); err != nil {
			t.Fatal(err)
		}
		found := map[string]float64{}
		for name, s := range d.Components.Schemas {
			s.every(name, func(_ string, s schema) {
				switch {
				case s.Setting == "":
				case s.Maximum != nil:
					found[s.Setting] = *s.Maximum
				case s.MaxItems != nil:
					found[s.Setting] = float64(*s.MaxItems)
				case s.MaxProperties != nil:
					found[s.Setting] = float64(*s.MaxProperties)
				}
			})
		}
		return found
	}
	want := func(c config.Config) map[string]float64 {
		all := map[string]float64{}
		for setting, bound := range schemaBounds(c) {
			all[setting] = float64(bound)
		}
		return all
	}
	if diff := cmp.Diff(want(config.Default()), bounds(openAPI)); diff != "" {
		t.Errorf("openapi.json (-config.Default +document):\n%s", diff)
	}
	own := config.Default()
	own.Limits.Max = config.MaxLimits{
		CPUTime:   3e9,
		WallTime:  4e9,
		Memory:    5,
		Output:    6,
		Head:      7,
		Processes: 8,
		Tests:     9,
		Files:     10,
		Repeats:   11,
	}
	own.Slots.Width = 12
	f := newFixture(t, func(o *Options) { o.Config = own })
	if diff := cmp.Diff(want(own), bounds(f.ask("GET", "/openapi.json", "").Body.Bytes())); diff != "" {
		t.Errorf("GET /openapi.json (-configuration +document):\n%s", diff)
	}
}

// TestOpenAPIExamples checks that the examples match their schemas.
func TestOpenAPIExamples(t *testing.T) {
	d := readDocument(t)
	seen := 0
	d.every(func(place string, s schema) {
		for i, example := range s.Examples {
			seen++
			if faults := d.faults(s, example, place); len(faults) > 0 {
				t.Errorf("example %d of %s: %s", i, place, strings.Join(faults, "; "))
			}
		}
	})
	if seen < 5 {
		t.Errorf("only %d examples", seen)
	}
}

// TestOpenAPIIsAsStrict checks that the schema of a job and the server accept and refuse the same.
func TestOpenAPIIsAsStrict(t *testing.T) {
	d := readDocument(t)
	for _, tt := range []struct {
		job  string // members besides a program and a test
		fine bool
	}{
		{``, true},
		{`"x": 1`, false},
		{`"program": {}`, false},
		{`"program": {"text": "", "base64": ""}`, false},
		{`"program": {"blob": ""}`, false},
		{`"program": {"part": ""}`, false},
		{`"tests": [{"name": "1", "input": {"text": "", "part": ""}}]`, false},
		{`"tests": [{"name": "1", "input": {"text": "", "blob": ""}}]`, false},
		{`"program": {"blob": "ABC"}`, false},
		{`"program": {"base64": "QQ=="}`, true},
		{`"program": {"base64": "QUI="}`, true},
		{`"program": {"base64": "QR=="}`, false},
		{`"program": {"base64": "QQ"}`, false},
		{`"tests": []`, false},
		{`"tests": [{"name": ""}]`, false},
		{`"tests": [{"name": "a/ b\u00e9"}]`, true},
		{`"tests": [{"name": "a\nb"}]`, false},
		{`"tests": [{"name": "a\u202eb"}]`, false},
		{`"tests": [{"name": "\u00a0"}]`, false},
		{`"tests": [{"name": "1", "args": ["", "a"], "files": {"a b": {"text": ""}}}]`, true},
		{`"tests": [{"name": "1", "args": ["\u0000"]}]`, false},
		{`"tests": [{"name": "1", "files": {"a/b": {"text": ""}}}]`, true},
		{`"tests": [{"name": "1", "files": {"a/../b": {"text": ""}}}]`, false},
		{`"tests": [{"name": "1", "files": {"program": {"text": ""}}}]`, false},
		{`"tests": [{"name": "1", "checker_args": ["case_sensitive"]}], "checker": {"kind": "kattis"}`, true},
		{`"tests": [{"name": "1", "checker_args": ["\u0000"]}], "checker": {"kind": "icpc", "program": {"text": "x"}}, "program": {"text": "x"}`, false},
		{`"files": {"a b": {"text": ""}}`, true},
		{`"files": {"a/b": {"text": ""}}`, true}, {`"files": {"/a": {"text": ""}}`, false},
		{`"files": {"a/": {"text": ""}}`, false}, {`"files": {"a//b": {"text": ""}}`, false},
		{`"files": {"..a/.b": {"text": ""}}`, true}, {`"files": {"a/.": {"text": ""}}`, false},
		{`"files": {"": {"text": ""}}`, false},
		{`"files": {"program": {"text": ""}}`, false},
		{`"files": {"..": {"text": ""}}`, false},
		{`"files": {"": {"text": ""}}`, false},
		{`"command": ["{program}", "", "\u001b"]`, true},
		{`"command": ["{program}", "\u0000"]`, false},
		{`"checker": {"kind": "float:1e-6"}`, true},
		{`"checker": {"kind": "float:0.001", "args": []}`, true},
		{`"checker": {"kind": "float:0"}`, false},
		{`"checker": {"kind": "float:nan"}`, false},
		{`"checker": {"kind": "magic"}`, false},
		{`"checker": {"kind": "exact", "args": ["x"]}`, false},
		{`"checker": {"kind": "icpc", "program": {"text": "x"}, "args": ["x"]}, "program": {"text": "x"}`, true},
		{`"checker": {"kind": "testlib", "program": {"text": "x"}, "args": ["\u0000"]}, "program": {"text": "x"}`, false},
		{`"checker": {"kind": "cms"}`, false},
		{`"interactor": {"kind": "testlib", "program": {"text": "x"}, "args": ["x"]}, "program": {"text": "x"}`, true},
		{`"interactor": {"kind": "icpc"}`, false},
		{`"passes": 2, "program": {"text": "x"}, "checker": {"kind": "icpc", "program": {"text": "x"}}`, true},
		{`"passes": 101, "program": {"text": "x"}, "checker": {"kind": "icpc", "program": {"text": "x"}}`, false},
		{`"interactor": {"kind": "cms", "program": {"text": "x"}}, "program": {"text": "x"}`, true},
		{`"interactor": {"kind": "cms", "program": {"text": "x"}, "instances": 8}, "program": {"text": "x"}`, true},
		{`"interactor": {"kind": "cms", "program": {"text": "x"}, "instances": 9}, "program": {"text": "x"}`, false},
		{`"interactor": {"kind": "cms", "program": {"text": "x"}, "files": {"input.txt": {"text": ""}}}, "program": {"text": "x"}`, false},
		{`"interactor": {"kind": "icpc", "program": {"text": "x"}, "instances": 1}, "program": {"text": "x"}`, false},
		{`"interactor": {"kind": "icpc", "program": {"text": "x"}, "instances": 0}, "program": {"text": "x"}`, true},
		{`"checker": {"kind": "exact", "program": {"text": "x"}}, "program": {"text": "x"}`, false},
		{`"limits": {"cpu_time_ms": 1, "wall_time_ms": 180000, "memory_bytes": 1048576, "output_bytes": 1, "stack_bytes": 131072, "processes": 1024}`, true},
		{`"limits": {"cpu_time_ms": 0}`, false},
		{`"limits": {"cpu_time_ms": 60001}`, false},
		{`"limits": {"memory_bytes": 1048575}`, false},
		{`"limits": {"stack_bytes": 131071}`, false},
		{`"limits": {"processes": 1.5}`, false},
		{`"cpus": 1`, true},
		{`"cpus": 2`, false},
		{`"cpus": -1`, false},
		{`"repeats": {"min": 2, "max": 100, "policy": "single"}`, true},
		{`"repeats": {"max": 101}`, false},
		{`"repeats": {"policy": "best"}`, false},
		{`"stop": "never", "priority": "contest", "head_bytes": 65536`, true},
		{`"stop": "later"`, false},
		{`"stop": ""`, false},
		{`"priority": ""`, false},
		{`"repeats": {"policy": ""}`, false},
		{`"pool": ""`, false},
		{`"language": ""`, false},
		{`"problem": ""`, false},
		{`"problem_version": ""`, false},
		{`"input_file": ""`, false},
		{`"output_file": ""`, false},
		{`"checker": {"kind": "icpc", "program": {"text": "x"}, "language": "", "name": ""}, "program": {"text": "x"}`, false},
		{`"env": {"id": "", "pool": ""}, "labels": {"pool": ""}`, true},
		{`"priority": "urgent"`, false},
		{`"head_bytes": 65537`, false},
		{`"pool": "a.b"`, false},
		{`"pool": null`, false},
		{`"labels": {"a/b": "", "c": "\u00e9"}`, true},
		{`"labels": {"a b": ""}`, false},
		{`"callback": {"url": "https://platform.example:8443/hook?key=1"}`, true},
		{`"callback": {"url": "http://127.0.0.1"}`, true},
		{`"callback": {"url": "http://[::1]:80"}`, true},
		{`"callback": {}`, false},
		{`"callback": {"url": ""}`, false},
		{`"callback": {"url": "ftp://platform.example/"}`, false},
		{`"callback": {"url": "https:///hook"}`, false},
		{`"callback": {"url": "https://user:password@platform.example/"}`, false},
		{`"callback": {"url": "https://platform.example/#a"}`, false},
		{`"callback": {"url": "https://platform.example/a b"}`, false},
		{`"callback": {"url": "https://platform.example", "format": "judge0"}`, false},
		{`"labels": {"a": "\n"}`, false},
	} {
		text := `{` + tt.job
		for member, value := range map[string]string{"program": `{"text": "x"}`, "tests": `[{"name": "1"}]`} {
			if !strings.Contains(tt.job, `"`+member+`": `) ||
				strings.Contains(tt.job, `{"program": {"text"`) && member == "program" {
				text += map[bool]string{true: "", false: ", "}[text == "{"] + fmt.Sprintf("%q: %s", member, value)
			}
		}
		text += "}"
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if faults := d.faults(d.Components.Schemas["Job"], value, ""); (len(faults) == 0) != tt.fine {
			t.Errorf("%s: the schema finds %v, want valid %t", text, faults, tt.fine)
		}
		j, unfit, err := intake.Decode[api.Job](strings.NewReader(text))
		if err == nil {
			_, err = intake.Complete(config.Default(), j)
		}
		if (err == nil && unfit == nil) != tt.fine {
			t.Errorf("%s: the server finds %v %v, want valid %t", text, unfit, err, tt.fine)
		}
	}
}

// TestOpenAPIPatterns compares the patterns of parameters with those that the handlers use.
func TestOpenAPIPatterns(t *testing.T) {
	want := map[string]string{
		"wait":   waitText().String(),
		"sha256": `^[0-9a-f]{64}$`,
		"id":     `^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`,
	}
	const stored = `^@?[A-Za-z0-9][A-Za-z0-9._-]{0,63}$` // includes judged's own jobs
	for path, operations := range readDocument(t).Paths {
		for method, o := range operations {
			for _, p := range o.Parameters {
				pattern, ok := want[p.Name]
				if p.Name == "id" && strings.HasPrefix(path, "/v1/jobs/") && method != "put" {
					pattern = stored
				}
				if ok && p.Schema.Pattern != pattern {
					t.Errorf("%s %s: pattern %q of %s, want %q", method, path, p.Schema.Pattern, p.Name, pattern)
				}
			}
		}
	}
	f := newFixture(t)
	for text, fine := range map[string]bool{"0": true, "30s": true, "1m30s": true, "0.5s": true, "": true,
		"1": false, "-1s": false, "+1s": false, "99999999h": false, "1us": false} {
		if w := f.ask("GET", "/v1/jobs/a?wait="+strings.ReplaceAll(text, "+", "%2B"), ""); (w.Code == 404) != fine ||
			waitText().MatchString(text) != fine {
			t.Errorf("wait=%s: status %d, want it taken %t", text, w.Code, fine)
		}
	}
}

// faults returns the differences between a value and its schema, for the keywords that the document uses.
func (d document) faults(s schema, value any, place string) (all []string) {
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		return d.faults(d.Components.Schemas[name], value, place)
	}
	check := func(ok bool, format string, args ...any) {
		if !ok {
			all = append(all, place+": "+fmt.Sprintf(format, args...))
		}
	}
	for _, forbidden := range s.Not.any() {
		check(len(d.faults(forbidden, value, place)) > 0, "%v is ruled out", value)
	}
	switch v := value.(type) {
	case string:
		check(s.Type == "" || s.Type == "string", "%q, want %s", v, s.Type)
		check(s.Enum == nil || slices.Contains(s.Enum, v), "%q, want one of %v", v, s.Enum)
		check(s.Pattern == "" || regexp.MustCompile(s.Pattern).MatchString(v), "%q does not match %s", v, s.Pattern)
		n := utf8.RuneCountInString(v)
		check(s.MinLength == nil || n >= *s.MinLength, "%d characters", n)
		check(s.MaxLength == nil || n <= *s.MaxLength, "%d characters", n)
	case float64:
		check(s.Type == "number" || s.Type == "integer" && v == math.Trunc(v), "%v, want %s", v, s.Type)
		check(s.Minimum == nil || v >= *s.Minimum, "%v is below %v", v, s.Minimum)
		check(s.Maximum == nil || v <= *s.Maximum, "%v is above %v", v, s.Maximum)
	case bool:
		check(s.Type == "boolean", "%v, want %s", v, s.Type)
	case nil:
		check(false, "null")
	case []any:
		check(s.Type == "array", "an array, want %s", s.Type)
		check(s.MinItems == nil || len(v) >= *s.MinItems, "%d items", len(v))
		check(s.MaxItems == nil || len(v) <= *s.MaxItems, "%d items", len(v))
		for i, item := range v {
			if s.Items != nil {
				all = append(all, d.faults(*s.Items, item, fmt.Sprintf("%s[%d]", place, i))...)
			}
		}
	case map[string]any:
		check(s.Type == "object", "an object, want %s", s.Type)
		check(s.MinProperties == nil || len(v) >= *s.MinProperties, "%d members", len(v))
		check(s.MaxProperties == nil || len(v) <= *s.MaxProperties, "%d members", len(v))
		for _, name := range s.Required {
			_, ok := v[name]
			check(ok, "%s is missing", name)
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			at := place + "." + name
			if s.PropertyNames != nil {
				all = append(all, d.faults(*s.PropertyNames, name, at)...)
			}
			if member, ok := s.Properties[name]; ok {
				all = append(all, d.faults(member, v[name], at)...)
			} else if more := s.additional(); more != nil {
				all = append(all, d.faults(*more, v[name], at)...)
			} else {
				check(string(s.AdditionalProperties) != "false", "%s is unknown", name)
			}
		}
	}
	return all
}

// any returns the alternatives of a schema, or the schema alone.
func (s *schema) any() []schema {
	switch {
	case s == nil:
		return nil
	case s.AnyOf != nil:
		return s.AnyOf
	}
	return []schema{*s}
}
