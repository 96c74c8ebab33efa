package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
)

// TestResults checks which reports of earlier verifications are reused: complete ones of the same job with the same
// files on the same host.
func TestResults(t *testing.T) {
	dir := t.TempDir()
	input, program := filepath.Join(dir, "1.in"), filepath.Join(dir, "a.c")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(input, "1\n")
	write(program, "int main(void) {}\n")
	job := api.Job{Program: api.File{Part: program}, Tests: []api.Test{{Name: "1", Input: &api.File{Part: input}}},
		Limits: api.Limits{CPUTimeMS: 1000}}
	accepted := api.Report{State: api.Done, Verdict: api.Accepted,
		Tests: []api.TestReport{{Name: "1", Verdict: api.Accepted}}}
	folder := filepath.Join(dir, "results")
	open := func(fresh bool) *results {
		t.Helper()
		r, err := openResults(folder, fresh)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	key := func(r *results, j api.Job, more ...any) string {
		t.Helper()
		k, err := r.key(j, more...)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	first := open(false)
	if err := first.put(key(first, job, "host"), accepted); err != nil {
		t.Fatal(err)
	}
	if got, known := open(false).get(key(first, job, "host")); !known || !cmp.Equal(got, accepted) {
		t.Errorf("%t, %+v; want what was kept", known, got)
	}
	other := job
	other.Limits.CPUTimeMS = 2000
	for name, k := range map[string]string{"another host": key(first, job, "other"),
		"another limit": key(first, other, "host")} {
		if _, known := first.get(k); known {
			t.Errorf("%s has the same result", name)
		}
	}
	if _, known := open(true).get(key(first, job, "host")); known {
		t.Error("--fresh uses an earlier result")
	}
	write(input, "2\n")
	if second := open(false); key(second, job, "host") == key(first, job, "host") {
		t.Error("a changed input does not change the key")
	}
	if _, err := first.key(api.Job{Program: api.File{Part: filepath.Join(dir, "absent")}}); err == nil {
		t.Error("a file that is missing has a key")
	}
	for name, r := range map[string]api.Report{
		"noise":      {State: api.Done, Verdict: api.InternalError, Tests: accepted.Tests},
		"no verdict": {State: api.Done, Tests: accepted.Tests},
		"no test":    {State: api.Done, Verdict: api.Accepted},
		"unfinished": {Verdict: api.Accepted, Tests: accepted.Tests},
	} {
		if err := first.put("k", r); err != nil {
			t.Fatal(err)
		}
		if _, known := first.get("k"); known {
			t.Errorf("a report with %s is used again", name)
		}
	}
	for name, text := range map[string]string{"empty": "", "half": `{"state":"done","verd`, "other": `{}`} {
		write(filepath.Join(folder, name+".json"), text)
		if _, known := first.get(name); known {
			t.Errorf("a file with %q is a result", text)
		}
	}
	old := time.Now().Add(-2 * resultAge)
	write(filepath.Join(folder, "old.json"), "{}")
	if err := os.Chtimes(filepath.Join(folder, "old.json"), old, old); err != nil {
		t.Fatal(err)
	}
	open(false)
	if _, err := os.Stat(filepath.Join(folder, "old.json")); !os.IsNotExist(err) {
		t.Errorf("an old result stays: %v", err)
	}
	if nowhere, err := openResults("", false); err != nil || nowhere.put("k", accepted) != nil {
		t.Errorf("without a folder: %v", err)
	}
}
