package intake

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/big"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
)

// FuzzDecode compares the strict decoder with encoding/json, and checks the job that it returns.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte(`{"tests":[{"name":"\ud800"}],"labels":{"a":"b","a":"c"}}`))
	f.Add([]byte(`{"limits":{"cpu_time_ms":-9223372036854775809}}`))
	f.Add([]byte(`{"limits":{"cpu_time_ms":1e3,"processes":20.0},"cpus":0e9}`))
	f.Add([]byte(strings.Repeat(`{"files":`, 50)))
	f.Add([]byte(`{"program":{"text":"x"},"tests":[{"name":"1"}],"files":{"../a":{"text":""},"b\u202e":{"part":"p"}}}`))
	f.Add([]byte(`{"program":{"text":"x"},"tests":[{"name":"1"}],"head_bytes":65536,"command":["{program}","\u0000"]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		j, err := decodeAll(data)
		if err != nil {
			holdFindings(t, err)
			return
		}
		// An accepted body is valid for encoding/json too, has the same meaning there, and survives a round trip.
		var plain api.Job
		if err := json.Unmarshal(plainIntegers(t, data), &plain); err != nil {
			t.Fatalf("accepted, yet json says %v", err)
		}
		if diff := cmp.Diff(plain, j); diff != "" {
			t.Fatal(diff)
		}
		holdDigest(t, j)
		complete, err := Complete(defaults(), j)
		if err != nil {
			holdFindings(t, err)
			return
		}
		holdComplete(t, complete)
	})
}

// plainIntegers rewrites the numbers of an accepted body without fraction and exponent.
func plainIntegers(t *testing.T, body []byte) []byte {
	t.Helper()
	var document any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(&document); err != nil {
		t.Fatalf("accepted, yet json says %v", err)
	}
	text, err := json.Marshal(plainNumbers(document))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func plainNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = plainNumbers(v[key])
		}
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	case json.Number:
		if f, _ := v.Float64(); f == 0 {
			return 0 // also with an exponent that big.Rat would expand
		}
		if exact, ok := new(big.Rat).SetString(v.String()); ok {
			return json.Number(exact.RatString())
		}
	}
	return v
}

// holdFindings checks that errors are safe to print, and not too many.
func holdFindings(t *testing.T, err error) {
	t.Helper()
	var errs Errors
	if !errors.As(err, &errs) || len(errs) == 0 || len(errs) > maxErrors+1 {
		t.Fatalf("error %v has %d findings", err, len(errs))
	}
	for _, e := range errs {
		if e.Detail == "" || len(e.Field) > 1000 || !utf8.ValidString(e.Field) ||
			strings.ContainsFunc(e.Field, unicode.IsControl) {
			t.Errorf("finding %q", e)
		}
	}
}

func holdDigest(t *testing.T, j api.Job) {
	t.Helper()
	first, err := digestOf(j)
	if err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	k, err := decodeAll(again)
	if err != nil {
		t.Fatalf("written as %s: %v", again, err)
	}
	if second, _ := digestOf(k); first != second {
		t.Fatalf("digest %s, written and read again %s", first, second)
	}
}

// holdComplete checks the guarantees that other packages rely on.
func holdComplete(t *testing.T, j api.Job) {
	t.Helper()
	again, err := Complete(defaults(), j)
	if diff := cmp.Diff(j, again); err != nil || diff != "" {
		t.Errorf("completed twice: %v (-once +twice):\n%s", err, diff)
	}
	for name := range j.Files {
		if strings.ContainsAny(name, "/\x00") || name == "" || name == "." || name == ".." || name == api.ProgramName ||
			len(name) > 255 || !printable(name) {
			t.Errorf("file %q", name)
		}
	}
	for _, x := range j.Tests {
		if x.Name == "" || len(x.Name) > 255 || !printable(x.Name) {
			t.Errorf("test %q", x.Name)
		}
	}
	for _, arg := range j.Command {
		if strings.Contains(arg, "\x00") {
			t.Errorf("argument %q", arg)
		}
	}
	l := j.Limits
	if min(l.CPUTimeMS, l.WallTimeMS, int64(l.Memory), int64(l.Output), int64(l.Stack), int64(l.Processes),
		int64(j.CPUs)) <= 0 {
		t.Errorf("limits %+v, %d CPUs", l, j.CPUs)
	}
}

func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}
