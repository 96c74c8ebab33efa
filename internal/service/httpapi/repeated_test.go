package httpapi

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/jobs/intake"
)

// noPools has none of the pools that a job may name.
type noPools struct{}

func (noPools) CheckPool(context.Context, string) error              { return api.ErrUnknownPool }
func (noPools) CheckCPUs(context.Context, string, int) (int, error)  { return 1, nil }
func (allPools) CheckPool(context.Context, string) error             { return nil }
func (allPools) CheckCPUs(context.Context, string, int) (int, error) { return 0, nil }
func (noLanguage) CheckLanguage(_ context.Context, _, id string) error {
	return &api.LanguageUnavailableError{Language: id, Reason: "gcc was removed"}
}
func (noOptions) CompileOptions(context.Context, string, string) ([]string, bool, error) {
	return nil, true, nil
}

type (
	allPools   struct{}
	noLanguage struct{ oneLanguage }
	noOptions  struct{ oneLanguage }
)

// TestRepeatedSubmission checks that the repetition of a stored job returns the job, although it could not be accepted
// any more, and that other submissions are refused.
func TestRepeatedSubmission(t *testing.T) {
	inline := strings.Replace(callbackJob, `"tests"`,
		`"language": "c", "compile_options": ["-g"], "limits": {"cpu_time_ms": 2000}, "pool": "fast", "files": {
			"a.h": {"base64": "aGk="}}, "tests"`, 1)
	blob := `{"program": {"blob": "` + digestText("hi") + `"}, "tests": [{"name": "1"}]}`
	ofProblem := `{"program": {"text": "x"}, "language": "c", "problem": "sum"}`
	for _, tt := range []struct {
		name, body, refused string
		change              func(*testing.T, *fixture)
	}{
		{"pool", inline, "invalid-job", func(_ *testing.T, f *fixture) { f.intake.Pools = noPools{} }},
		{"language", inline, "missing-language", func(_ *testing.T, f *fixture) { f.intake.Languages = noLanguage{} }},
		{"options", inline, "invalid-job", func(_ *testing.T, f *fixture) { f.intake.Languages = noOptions{} }},
		{"limits", inline, "invalid-job", func(_ *testing.T, f *fixture) {
			f.intake.Config.Limits.Max.CPUTime = time.Second
		}},
		{"callback", inline, "invalid-job", func(_ *testing.T, f *fixture) {
			f.intake.Callbacks = &fakeCallbacks{intake.Errors{{Field: "callback.url", Detail: "disabled"}}}
		}},
		{"blob", blob, "missing-blob", func(t *testing.T, f *fixture) {
			path, err := f.blobs.Path(digestText("hi"))
			if err == nil {
				err = os.Remove(path)
			}
			if err != nil {
				t.Fatal(err)
			}
		}},
		{"languages of the problem", ofProblem, "invalid-job", func(t *testing.T, f *fixture) {
			putProblem(t, f, "problem_format_version: 2025-09\n"+
				"uuid: 5ca6ba5b-36d5-4eff-8aa7-d967cbc4375e\nlanguages: [cpp]\n")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			store := openStore(t)
			files := openBlobs(filepath.Join(t.TempDir(), "blobs"), 1<<20)
			f := newFixture(t, func(o *Options) {
				o.Jobs, o.Callbacks, o.Blobs, o.Config.HTTP.MaxBlob = store, &fakeCallbacks{}, files, 1<<20
			})
			f.blobs = files
			f.intake.Pools = allPools{}
			if w := f.ask("PUT", "/v1/blobs/"+digestText("hi"), "hi"); w.Code != http.StatusCreated {
				t.Fatalf("blob: status %d %s", w.Code, w.Body)
			}
			putProblem(t, f, "")
			if w := f.submit("PUT", "/v1/jobs/a", tt.body); w.Code != http.StatusAccepted {
				t.Fatalf("status %d %s", w.Code, w.Body)
			}
			tt.change(t, f)
			if w := f.submit("PUT", "/v1/jobs/a", tt.body); w.Code != http.StatusOK {
				t.Errorf("repeated: status %d %s", w.Code, w.Body)
			}
			wantProblem(t, f.submit("PUT", "/v1/jobs/b", tt.body), tt.refused)
			labeled := strings.Replace(tt.body, "{", `{"labels": {"a": "b"}, `, 1)
			wantProblem(t, f.submit("PUT", "/v1/jobs/a", labeled), tt.refused)
			for _, other := range []string{`"cpus": "x", `, `"tests": [{"name": "2"}], `, `"unknown": 1, `} {
				if w := f.submit("PUT", "/v1/jobs/a", strings.Replace(tt.body, "{", "{"+other, 1)); w.Code < 400 {
					t.Errorf("with %s: status %d %s", other, w.Code, w.Body)
				}
			}
		})
	}
}

// putProblem stores the problem "sum" with further lines in problem.yaml.
func putProblem(t *testing.T, f *fixture, lines string) {
	t.Helper()
	w := f.ask("PUT", "/v1/problems/sum", packageOf(t, map[string]string{"problem.yaml": "name: Sum\n" + lines,
		".timelimit": "1", "data/secret/1.in": "", "data/secret/1.ans": ""}))
	if w.Code >= 300 {
		t.Fatalf("problem: status %d %s", w.Code, w.Body)
	}
}
