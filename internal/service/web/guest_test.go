package web

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
)

// fill gives every member below v a value.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("text")
	}
}

// texts adds the paths of all texts in a JSON value.
func texts(paths map[string]bool, path string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			texts(paths, path+"."+name, member)
		}
	case []any:
		for _, item := range value {
			texts(paths, path+"[]", item)
		}
	case string:
		if value != "" {
			paths[path] = true
		}
	}
}

// TestGuestsSeeOnlyTheseTexts lists all texts of a report that a guest may see. Someone who adds a member to reports
// decides here whether it is for contestants.
func TestGuestsSeeOnlyTheseTexts(t *testing.T) {
	var r api.Report
	fill(reflect.ValueOf(&r).Elem())
	r.State = api.Done
	encoded, err := json.Marshal(forGuest(r))
	if err != nil {
		t.Fatal(err)
	}
	var decoded any
	if err := json.Unmarshal(encoded, &decoded); err != nil {
		t.Fatal(err)
	}
	paths := map[string]bool{}
	texts(paths, "", decoded)
	want := []string{
		".cross_check.decision", ".cross_check.hosts[].node", ".cross_check.hosts[].verdict", ".fault",
		".groups[].name", ".groups[].verdict", ".host.cpu_model", ".host.doctor.failed[]", ".host.fingerprint",
		".host.isolation", ".host.kernel", ".host.name", ".host.pool", ".host.turbo", ".id", ".judgement_type",
		".language.findings[]", ".language.id", ".language.memory_from", ".language.time_from", ".message",
		".priority", ".problem.id", ".problem.version", ".state", ".tests[].checker.first_exit",
		".tests[].checker.team_message", ".tests[].checker.verdict", ".tests[].exit.signal", ".tests[].fault",
		".tests[].instances[].exit.signal", ".tests[].message", ".tests[].name", ".tests[].passes[].runs[].cpus",
		".tests[].passes[].runs[].disturbed[]", ".tests[].passes[].runs[].explained.causes[].cause",
		".tests[].passes[].runs[].instances[].exit.signal", ".tests[].passes[].timing.confidence",
		".tests[].passes[].timing.decided_by", ".tests[].passes[].timing.policy",
		".tests[].passes[].timing.statistic", ".tests[].passes[].verdict", ".tests[].runs[].cpus",
		".tests[].runs[].disturbed[]", ".tests[].runs[].explained.causes[].cause",
		".tests[].runs[].instances[].exit.signal", ".tests[].timing.confidence", ".tests[].timing.decided_by",
		".tests[].timing.policy", ".tests[].timing.statistic", ".tests[].verdict", ".verdict",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(paths))); diff != "" {
		t.Errorf("texts for a guest (-want +got):\n%s", diff)
	}
}
