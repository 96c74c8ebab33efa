package judgehost

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestOvershoot(t *testing.T) {
	for setting, want := range map[string]time.Duration{
		"1s": time.Second, "10%": 200 * time.Millisecond, "1s|10%": time.Second, "1s&10%": 200 * time.Millisecond,
		"1s+10%": 1200 * time.Millisecond, "10%+10%": 400 * time.Millisecond, "0s": 0,
		"": -1, "s": -1, "1": -1, "-1s": -1, "1s|": -1, "|1s": -1, "1s|1s|1s": -1, "1.5s": -1, "1m": -1, "9999999s": -1,
	} {
		got, err := overshoot(2*time.Second, setting)
		if (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%q: %v, %v, want %v", setting, got, err, want)
		}
	}
}

func TestOnlyRedirects(t *testing.T) {
	for script, want := range map[string]bool{
		redirectScript: true,
		"#!/bin/sh\nTESTIN=\"$1\";  shift\nPROGOUT=\"$1\"; shift\n\n\"$@\" < \"$TESTIN\" > \"$PROGOUT\"\n": true,
		"A=\"$1\"; shift\nB=\"$1\"; shift\nexec \"$@\" < \"$B\" > \"$A\"\n":                                false,
		"A=\"$1\"; shift\nB=\"$1\"; shift\nexec timeout 1 \"$@\" < \"$A\" > \"$B\"\n":                      false,
		"A=\"$1\"; shift\nB=\"$1\"; shift\nexec \"$@\" < \"$A\" > \"$B\"\nrm x\n":                          false,
		"A=\"$1\"; shift\nexec \"$@\" < \"$A\"\n":                                                          false,
		"A=\"$1\"; shift\nB=\"$1\"; shift\nexec \"$@\" < \"$B\" > \"$B\"\n":                                false,
		"": false,
	} {
		if got := onlyRedirects([]byte(script)); got != want {
			t.Errorf("%q: %t", script, got)
		}
	}
}

func TestExecutableHash(t *testing.T) {
	files := map[string]written{"run": {file{"run", true}, "aa"}, "build": {file{"build", false}, "bb"}}
	// md5 of "bbbuildaarun1"
	if got, want := executableHash(files), "cdc3fa21e04ac735e820cd395c0c8ebe"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// all collects the files of a response.
func all(text string) (map[string]string, error) {
	got := map[string]string{}
	var content *buffer
	err := readFiles(strings.NewReader(text), func(int) (io.WriteCloser, error) {
		content = &buffer{}
		return content, nil
	}, func(_ int, f file) error {
		name := f.Name
		if f.Exec {
			name += "*"
		}
		got[name] = content.String()
		return nil
	})
	return got, err
}

type buffer struct{ bytes.Buffer }

func (*buffer) Close() error { return nil }

func TestReadFiles(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       map[string]string // nil is an error
	}{
		{"none", "[]", map[string]string{}},
		{"one", `[{"filename":"a","content":"aGk=","is_executable":true}]`, map[string]string{"a*": "hi"}},
		{"white space", " [ {\n\"filename\" : \"a\" , \"content\" : \"aGk=\" , \"is_executable\" : null } ] \n",
			map[string]string{"a": "hi"}},
		{"another order", `[{"is_executable":false,"content":"aGk=","filename":"a"},{"content":"","filename":"b"}]`,
			map[string]string{"a": "hi", "b": ""}},
		{"escaped slashes", `[{"filename":"a\/b\u00e9","content":"Pz8\/Pz8\/","new":12}]`, map[string]string{"a/bé": "??????"}},
		{"no name", `[{"content":"aGk="}]`, nil},
		{"no content", `[{"filename":"a"}]`, nil},
		{"empty object", `[{}]`, nil},
		{"two contents", `[{"filename":"a","content":"","content":""}]`, nil},
		{"not base64", `[{"filename":"a","content":"aG!="}]`, nil},
		{"half of base64", `[{"filename":"a","content":"aGk"}]`, nil},
		{"more after the end of base64", `[{"filename":"a","content":"aGk=` + strings.Repeat("A", 1<<13) + `"}]`, nil},
		{"another escape", `[{"filename":"a","content":"a\nGk="}]`, nil},
		{"cut in the content", `[{"filename":"a","content":"aGk`, nil},
		{"cut after the content", `[{"filename":"a","content":"aGk="`, nil},
		{"cut before the end", `[{"filename":"a","content":"aGk="}`, nil},
		{"more", `[] []`, nil},
		{"no array", `{"code":500}`, nil},
		{"nested value", `[{"filename":"a","content":"","x":{"y":1}}]`, nil},
		{"long name", `[{"content":"","filename":"` + strings.Repeat("a", 1<<13) + `"}]`, nil},
		{"nothing", "", nil},
	} {
		got, err := all(tt.text)
		if (err != nil) != (tt.want == nil) {
			t.Errorf("%s: error %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, got); err == nil && diff != "" {
			t.Errorf("%s: -want +got\n%s", tt.name, diff)
		}
	}
}

// FuzzReadFiles compares the result with that of the JSON and base64 packages.
func FuzzReadFiles(f *testing.F) {
	f.Add(`[{"filename":"a","content":"aGk=","is_executable":true},{"filename":"b","content":"Pz8\/","x":null}]`)
	f.Add(`[{"filename":"","content":"aGk=","Is_executable":true},{"filename":"","content":"Pz8/","is_executable":1.0}]`)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := all(text)
		if err != nil {
			return
		}
		// Names of fields are case-sensitive, so files are maps here: a struct of encoding/json accepts any case.
		var files []map[string]json.RawMessage
		if json.Unmarshal([]byte(text), &files) != nil {
			return // values that are not read may be wrong
		}
		want := map[string]string{}
		for _, f := range files {
			var name, exec string
			var content []byte
			if err := errors.Join(json.Unmarshal(f["filename"], &name), json.Unmarshal(f["content"], &content)); err != nil {
				t.Fatal(err)
			}
			if json.Unmarshal(f["is_executable"], &exec) != nil {
				exec = string(f["is_executable"])
			}
			if exec == "true" || exec == "1" {
				name += "*"
			}
			want[name] = string(content)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
}

// FuzzTask: any task from a server is decoded or refused.
func FuzzTask(f *testing.F) {
	f.Add(`{"judgetaskid":1,"type":"judging_run","jobid":"2","run_config":"{\"time_limit\":\"1.5\",\"entry_point\":null}"}`)
	f.Add(strings.NewReplacer("'", `\"`, "\n", "", "\t", "").Replace(usableTask))
	f.Fuzz(func(t *testing.T, text string) {
		var x task
		if json.Unmarshal([]byte(text), &x) == nil && x.decode() == nil && x.checkRun() == nil {
			l, err := limitsOf(x, "1000000s+1000000%")
			if err != nil || x.Submission == ".." || l.CPUTimeMS < 1 || l.WallTimeMS < l.CPUTimeMS || l.Memory < 1 ||
				l.Output < 1 || l.Processes < 1 {
				t.Errorf("%+v: %+v, %v", x, l, err)
			}
		}
	})
}
