package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/host/slots"
)

// document is the part of OpenAPI that the tests use.
type document struct {
	Tags []struct {
		Name, Description string
	} `json:"tags"`
	Paths      map[string]map[string]operation `json:"paths"`
	Components struct {
		Schemas map[string]schema `json:"schemas"`
	} `json:"components"`
}

type operation struct {
	OperationID string                `json:"operationId"`
	Tags        []string              `json:"tags"`
	Description string                `json:"description"`
	Security    []map[string][]string `json:"security"`
	Parameters  []struct {
		Name, In, Description string
		Schema                schema
	} `json:"parameters"`
	RequestBody struct {
		Content map[string]media `json:"content"`
	} `json:"requestBody"`
	Responses map[string]struct {
		Content map[string]media `json:"content"`
	} `json:"responses"`
}

type media struct {
	Schema schema `json:"schema"`
}

type schema struct {
	Ref                  string            `json:"$ref"`
	Type                 string            `json:"type"`
	Format               string            `json:"format"`
	Description          string            `json:"description"`
	Properties           map[string]schema `json:"properties"`
	Items                *schema           `json:"items"`
	AdditionalProperties json.RawMessage   `json:"additionalProperties"`
	PropertyNames        *schema           `json:"propertyNames"`
	Not                  *schema           `json:"not"`
	AnyOf                []schema          `json:"anyOf"`
	Enum                 []string          `json:"enum"`
	Required             []string          `json:"required"`
	Pattern              string            `json:"pattern"`
	Minimum              *float64          `json:"minimum"`
	Maximum              *float64          `json:"maximum"`
	MinLength            *int              `json:"minLength"`
	MaxLength            *int              `json:"maxLength"`
	MinItems             *int              `json:"minItems"`
	MaxItems             *int              `json:"maxItems"`
	MinProperties        *int              `json:"minProperties"`
	MaxProperties        *int              `json:"maxProperties"`
	Setting              string            `json:"x-setting"`
	Examples             []any             `json:"examples"`
}

func readDocument(t *testing.T) document {
	t.Helper()
	var d document
	if err := json.Unmarshal(openAPI, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestOpenAPIHasTheRoutes(t *testing.T) {
	want := map[string][]Scope{}
	doctor := func(context.Context) (api.DoctorReport, error) { return api.DoctorReport{}, nil }
	s := &Server{jobs: struct{ Jobs }{}, slots: struct{ Slots }{}, work: struct{ Work }{}, doctor: doctor}
	for _, r := range s.routes() {
		if strings.HasPrefix(r.pattern, "/v1/work/") {
			continue // internal interface between judge nodes and fronts
		}
		want[r.method+" "+r.path()] = r.scopes
	}
	got := map[string][]Scope{}
	for path, operations := range readDocument(t).Paths {
		for method, o := range operations {
			var scopes []Scope
			for _, alternative := range o.Security {
				for _, s := range alternative["token"] {
					scopes = append(scopes, Scope(s))
				}
			}
			got[strings.ToUpper(method)+" "+path] = scopes
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("routes (-table +openapi.json):\n%s", diff)
	}
}

func TestOpenAPIDeclaresPathParameters(t *testing.T) {
	wildcard := regexp.MustCompile(`\{(\w+)\}`)
	for path, operations := range readDocument(t).Paths {
		for method, o := range operations {
			var want, got []string
			for _, m := range wildcard.FindAllStringSubmatch(path, -1) {
				want = append(want, m[1])
			}
			for _, p := range o.Parameters {
				if p.In == "path" {
					got = append(got, p.Name)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s %s: path parameters (-path +declared):\n%s", method, path, diff)
			}
		}
	}
}

// TestParameters checks that the table of routes has the query parameters of the document, and that each route refuses
// others.
func TestParameters(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Work, o.Nodes = noWork{}, noNodes{} })
	paths := readDocument(t).Paths
	wildcard := regexp.MustCompile(`\{\w+\}`)
	for _, r := range f.routes() {
		if !strings.HasPrefix(r.path(), "/v1/") || strings.HasPrefix(r.path(), "/v1/work/") {
			continue
		}
		want := []string{}
		documented := paths[r.path()][strings.ToLower(r.method)]
		if _, ok := documented.Responses["400"]; !ok {
			t.Errorf("%s %s lacks the status 400", r.method, r.path())
		}
		for _, p := range documented.Parameters {
			if p.In == "query" && p.Schema.Type == "array" {
				p.Name += "*"
			}
			if p.In == "query" {
				want = append(want, p.Name)
			}
		}
		got := r.parameters()
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s %s: parameters (-openapi.json +table):\n%s", r.method, r.path(), diff)
		}
		w := f.ask(r.method, wildcard.ReplaceAllString(r.path(), "a")+"?unheard_of=1", "")
		if p := answer[Problem](t, w); p.Status != http.StatusBadRequest || p.Detail != `unknown parameter "unheard_of"` {
			t.Errorf("%s %s: %+v", r.method, r.path(), p)
		}
		for _, name := range got {
			name = strings.TrimSuffix(name, "*")
			if slices.Contains([]string{"after", "reason", "wait"}, name) {
				continue
			}
			w := f.ask(r.method, wildcard.ReplaceAllString(r.path(), "a")+"?"+name+"=", "")
			if p := answer[Problem](t, w); p.Status != http.StatusBadRequest || p.Detail != "parameter "+name+" is empty" {
				t.Errorf("%s %s without a value of %s: %+v", r.method, r.path(), name, p)
			}
		}
	}
}

// TestMediaTypes checks that a route that takes JSON refuses a body without that media type, and the document says so.
func TestMediaTypes(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Work, o.Nodes = noWork{}, noNodes{} })
	for path, operations := range readDocument(t).Paths {
		for method, o := range operations {
			if _, isJSON := o.RequestBody.Content[mediaJSON]; !isJSON {
				continue
			}
			if _, documented := o.Responses["415"]; !documented {
				t.Errorf("%s %s lacks the status 415", method, path)
			}
			for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "application/json;;"} {
				w := f.ask(strings.ToUpper(method), strings.NewReplacer("{id}", "a", "{pool}", "a").Replace(path), "{}",
					"Content-Type: "+kind)
				if p := answer[Problem](t, w); p.Type != problemType+"media-type" {
					t.Errorf("%s %s with %q: %+v", method, path, kind, p)
				}
			}
		}
	}
}

func TestOpenAPIHasTheModel(t *testing.T) {
	tests := []struct {
		name  string
		value any
	}{
		{
			"Job",
			api.Job{},
		}, {"Report", api.Report{}}, {"Event", api.Event{}}, {"Slot", api.SlotStatus{}}, {"SlotList", slotList{}},
		{"NodeList", api.NodeList{}}, {"Node", api.Node{}}, {"PoolList", api.PoolList{}}, {"Pool", api.Pool{}},
		{"PrefetchRequest", api.PrefetchRequest{}}, {"PrefetchStatus", api.PrefetchStatus{}},
		{"Link", api.Link{}},
		{"Problem", Problem{}}, {"JobList", jobList{}}, {"Blob", blobInfo{}}, {"Queue", queueDepth{}},
		{"LanguageList", languageList{}}, {"StoredProblem", api.Problem{}},
		{"ProblemList", problemList{}}, {"ProblemSummary", api.ProblemSummary{}},
		{"Batch", batchRequest{}}, {"BatchAnswer", batchAnswer{}},
		{"HaveRequest", haveRequest{}}, {"HaveAnswer", haveAnswer{}},
		{"CallbackEvent", api.CallbackEvent{}}, {"CallbackList", callbackList{}}, {"ReceiverList", api.ReceiverList{}},
		{"Doctor", api.DoctorReport{}}, {"Rejudging", api.Rejudging{}}, {"RejudgingRequest", api.RejudgingRequest{}},
	}
	d := readDocument(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			matches(t, d, tt.name, schema{Ref: "#/components/schemas/" + tt.name}, reflect.TypeOf(tt.value))
		})
	}
}

// matches compares a schema with the Go type whose JSON it describes.
func matches(t *testing.T, d document, path string, s schema, goType reflect.Type) {
	t.Helper()
	for goType.Kind() == reflect.Pointer {
		goType = goType.Elem()
	}
	if goType == reflect.TypeFor[json.RawMessage]() {
		return // decoded later
	}
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		if s, ok = d.Components.Schemas[name]; !ok {
			t.Errorf("%s: schema %s is missing", path, name)
			return
		}
	}
	if want := jsonType(goType); s.Type != want {
		t.Errorf("%s: type %q, want %q for %s", path, s.Type, want, goType)
		return
	}
	switch {
	case goType == reflect.TypeFor[time.Time]():
	case s.Type == "integer":
		// Without a format, generated clients use 32 bits, which nanoseconds overflow after 2.1 s. Where Go has int,
		// the values are small.
		if want := map[bool]string{true: "int32", false: "int64"}[goType.Kind() == reflect.Int]; s.Format != want {
			t.Errorf("%s: format %q, want %q for %s", path, s.Format, want, goType)
		}
	case goType.Kind() == reflect.Slice, goType.Kind() == reflect.Array:
		matches(t, d, path+"[]", *s.Items, goType.Elem())
	case goType.Kind() == reflect.Map:
		var element schema
		if err := json.Unmarshal(s.AdditionalProperties, &element); err != nil {
			t.Errorf("%s: additionalProperties: %v", path, err)
			return
		}
		matches(t, d, path+"{}", element, goType.Elem())
	case goType.Kind() == reflect.Struct:
		matchMembers(t, d, path, s, goType)
	}
}

func matchMembers(t *testing.T, d document, path string, s schema, goType reflect.Type) {
	t.Helper()
	seen := map[string]bool{}
	for i := range goType.NumField() {
		f := goType.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() || f.Tag.Get("from") != "" {
			continue
		}
		seen[name] = true
		member, ok := s.Properties[name]
		if !ok {
			t.Errorf("%s.%s is missing", path, name)
			continue
		}
		matches(t, d, path+"."+name, member, f.Type)
		// Optional members must not be required; inputs decide themselves.
		if strings.Contains(options, "omit") && slices.Contains(s.Required, name) && name != "tests" {
			t.Errorf("%s.%s may be absent, yet is required", path, name)
		}
	}
	for name := range s.Properties {
		if !seen[name] {
			t.Errorf("%s.%s is described, yet does not exist", path, name)
		}
	}
}

func jsonType(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Time]() || t.Kind() == reflect.String:
		return "string"
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64 || t.Kind() == reflect.Uint64:
		return "integer"
	case t.Kind() == reflect.Float64:
		return "number"
	case t.Kind() == reflect.Bool:
		return "boolean"
	case t.Kind() == reflect.Slice, t.Kind() == reflect.Array:
		return "array"
	}
	return "object"
}

func TestOpenAPIRefusesUnknownMembers(t *testing.T) {
	d := readDocument(t)
	for _, name := range []string{"Job", "File", "Test", "Checker", "Limits", "Repeats", "Batch",
		"BatchItem", "HaveRequest", "Callback"} {
		if got := string(d.Components.Schemas[name].AdditionalProperties); got != "false" {
			t.Errorf("%s: additionalProperties %q, want false", name, got)
		}
	}
}

func TestOpenAPIEnums(t *testing.T) {
	d := readDocument(t)
	var causes, priorities []string
	for _, c := range api.Causes() {
		causes = append(causes, string(c))
	}
	for _, p := range api.Priorities() {
		priorities = append(priorities, string(p))
	}
	tests := []struct {
		name      string
		got, want []string
	}{
		{"causes", d.Components.Schemas["Run"].Properties["disturbed"].Items.Enum, causes},
		{"priorities", d.Components.Schemas["Job"].Properties["priority"].Enum, priorities},
		{"slot states", d.Components.Schemas["Slot"].Properties["state"].Enum, slots.States()},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestProblemKindsAreConsistent(t *testing.T) {
	for kind, k := range kinds {
		if k.status < 400 || k.status > 599 || k.title == "" {
			t.Errorf("%s: status %d, title %q", kind, k.status, k.title)
		}
	}
}
