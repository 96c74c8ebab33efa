package httpapi

import (
	"archive/tar"
	"bytes"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/jobs/blobs"
)

// packageOf returns a tar archive of files by path.
func packageOf(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := fstest.MapFS{}
	for name, content := range files {
		folder[name] = &fstest.MapFile{Data: []byte(content), Mode: 0o644}
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.AddFS(folder); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// doubling returns a package in the legacy format with one test. change replaces files.
func doubling(change ...string) map[string]string {
	files := map[string]string{"problem.yaml": "name: Double\nvalidator_flags: case_sensitive\nlimits:\n  memory: 64\n",
		".timelimit": "3\n", "data/secret/1.in": "2\n", "data/secret/1.ans": "4\n"}
	for i := 0; i < len(change); i += 2 {
		files[change[i]] = change[i+1]
	}
	return files
}

// TestProblems stores a package, replaces it, and submits jobs that name it.
func TestProblems(t *testing.T) {
	store := openStore(t)
	files, err := blobs.Open(filepath.Join(t.TempDir(), "blobs"), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, func(o *Options) { o.Jobs, o.Blobs, o.Config.HTTP.MaxBlob = store, files, 1<<20 })
	archive := packageOf(t, doubling())

	wantProblem(t, f.ask("GET", "/v1/problems/double", ""), "not-found")
	w := f.ask("PUT", "/v1/problems/double", archive)
	if w.Code != 201 || w.Header().Get("Location") != "/v1/problems/double" {
		t.Fatalf("status %d %s", w.Code, w.Body)
	}
	stored := answer[api.Problem](t, w)
	want := api.Problem{ID: "double", Version: stored.Version, Name: "Double", Format: "legacy",
		Archive: digestText(archive), Tests: []api.Test{{Name: "secret/1", Input: &api.File{Blob: digestText("2\n")},
			Answer: &api.File{Blob: digestText("4\n")}}},
		Groups:  []api.GroupTests{{Name: "secret", Tests: []string{"secret/1"}}},
		Checker: &api.Checker{Kind: "kattis", Args: []string{"case_sensitive"}},
		Limits:  api.Limits{CPUTimeMS: 3000, Memory: 64 << 20}, Findings: []string{}}
	if diff := cmp.Diff(want, stored); diff != "" || !blobs.ValidDigest(stored.Version) {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	if w := f.ask("GET", "/v1/problems/double", ""); w.Code != 200 {
		t.Errorf("status %d %s", w.Code, w.Body)
	} else if diff := cmp.Diff(want, answer[api.Problem](t, w)); diff != "" {
		t.Errorf("read again (-want +got):\n%s", diff)
	}
	if w := f.ask("PUT", "/v1/problems/double", archive); w.Code != 200 {
		t.Errorf("the same version: status %d %s", w.Code, w.Body)
	}
	named, err := store.Blobs(t.Context())
	if diff := cmp.Diff(map[string]bool{digestText(archive): true, digestText("2\n"): true, digestText("4\n"): true},
		named); err != nil || diff != "" {
		t.Errorf("blobs that stay: %v (-want +got)\n%s", err, diff)
	}

	const body = `{"program": {"text": "x"}, "problem": "double", "limits": {"memory_bytes": 33554432}}`
	if w := f.submit("PUT", "/v1/jobs/a", body); w.Code != 202 {
		t.Fatalf("status %d %s", w.Code, w.Body)
	}
	rec, err := store.Get(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	got := api.Job{Problem: rec.Job.Problem, ProblemVersion: rec.Job.ProblemVersion, Tests: rec.Job.Tests,
		Checker: rec.Job.Checker, Limits: api.Limits{CPUTimeMS: rec.Job.Limits.CPUTimeMS, Memory: rec.Job.Limits.Memory}}
	if diff := cmp.Diff(api.Job{Problem: "double", ProblemVersion: want.Version, Tests: want.Tests, Checker: want.Checker,
		Limits: api.Limits{CPUTimeMS: 3000, Memory: 32 << 20}}, got); diff != "" {
		t.Errorf("job (-want +got):\n%s", diff)
	}

	next := answer[api.Problem](t, f.ask("PUT", "/v1/problems/double",
		packageOf(t, doubling("data/secret/2.in", "0\n", "data/secret/2.ans", "0\n"))))
	if next.Version == want.Version || len(next.Tests) != 2 {
		t.Errorf("replaced by %+v", next)
	}
	if w := f.submit("PUT", "/v1/jobs/a", body); w.Code != 200 {
		t.Errorf("the same job after the problem has changed: status %d %s", w.Code, w.Body)
	}
	pinned := `{"program": {"text": "x"}, "problem": "double", "problem_version": "` + want.Version + `"}`
	wantProblem(t, f.submit("PUT", "/v1/jobs/b", pinned), "missing-problem")
	if w := f.submit("PUT", "/v1/jobs/b", strings.Replace(pinned, want.Version, next.Version, 1)); w.Code != 202 {
		t.Errorf("the stored version: status %d %s", w.Code, w.Body)
	}
}

// TestDeletedProblems checks that accepted jobs keep what they have of a deleted problem, and can be submitted again.
func TestDeletedProblems(t *testing.T) {
	store := openStore(t)
	files, err := blobs.Open(filepath.Join(t.TempDir(), "blobs"), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, func(o *Options) { o.Jobs, o.Blobs, o.Config.HTTP.MaxBlob = store, files, 1<<20 })
	stored := answer[api.Problem](t, f.ask("PUT", "/v1/problems/double", packageOf(t, doubling())))
	const body = `{"program": {"text": "x"}, "problem": "double"}`
	pinned := strings.Replace(body, `}, "p`, `}, "problem_version": "`+stored.Version+`", "p`, 1)
	for id, job := range map[string]string{"a": body, "b": pinned} {
		if w := f.submit("PUT", "/v1/jobs/"+id, job); w.Code != 202 {
			t.Fatalf("status %d %s", w.Code, w.Body)
		}
	}
	if w := f.ask("PUT", "/v1/problems/double", packageOf(t, doubling(".timelimit", "2\n"))); w.Code != 201 {
		t.Fatalf("status %d %s", w.Code, w.Body)
	}
	if w := f.submit("PUT", "/v1/jobs/b", pinned); w.Code != 200 {
		t.Errorf("a job with an old version again: status %d %s", w.Code, w.Body)
	}

	if w := f.ask("DELETE", "/v1/problems/double", ""); w.Code != 204 || w.Body.Len() > 0 {
		t.Errorf("status %d %s", w.Code, w.Body)
	}
	wantProblem(t, f.ask("DELETE", "/v1/problems/double", ""), "not-found")
	wantProblem(t, f.ask("GET", "/v1/problems/double", ""), "not-found")
	for id, job := range map[string]string{"a": body, "b": pinned} {
		if w := f.submit("PUT", "/v1/jobs/"+id, job); w.Code != 200 {
			t.Errorf("job %s again: status %d %s", id, w.Code, w.Body)
		}
		wantProblem(t, f.submit("PUT", "/v1/jobs/new-"+id, job), "missing-problem")
	}
	wantProblem(t, f.submit("PUT", "/v1/jobs/a", strings.Replace(body, `"x"`, `"y"`, 1)), "conflict")
	wantProblem(t, f.submit("PUT", "/v1/jobs/a", strings.Replace(body, "double", "other", 1)), "missing-problem")
	named, err := store.Blobs(t.Context())
	if err != nil || !named[digestText("2\n")] {
		t.Errorf("the tests of accepted jobs do not stay: %v %v", named, err)
	}
}

// TestProblemOwners checks that a token can change only the problems that it stored, and that an admin can change all.
func TestProblemOwners(t *testing.T) {
	store := openStore(t)
	files, err := blobs.Open(filepath.Join(t.TempDir(), "blobs"), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for _, line := range []string{"alice submit,read", "bob submit", "ops admin", "guest read"} {
		name, _, _ := strings.Cut(line, " ")
		lines.WriteString(line + " " + digestText(name+"-token") + "\n")
	}
	tokens, err := ParseTokens(strings.NewReader(lines.String()))
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, func(o *Options) {
		o.Jobs, o.Blobs, o.Config.HTTP.MaxBlob, o.Tokens = store, files, 1<<20, tokens
	})
	first, second := packageOf(t, doubling()), packageOf(t, doubling(".timelimit", "2\n"))
	for _, tt := range []struct {
		token, method, path, body string
		want                      int
	}{
		{"guest", "PUT", "/v1/problems/sum", first, 403},
		{"alice", "PUT", "/v1/problems/sum", first, 201},
		{"bob", "PUT", "/v1/problems/sum", first, 403},
		{"bob", "PUT", "/v1/problems/sum", second, 403},
		{"bob", "PUT", "/v1/problems/sum", "no package", 403},
		{"bob", "DELETE", "/v1/problems/sum", "", 403},
		{"guest", "DELETE", "/v1/problems/sum", "", 403},
		{"bob", "PUT", "/v1/problems/mine", first, 201},
		{"ops", "PUT", "/v1/problems/sum", second, 201},
		{"alice", "PUT", "/v1/problems/sum", first, 201},
		{"bob", "GET", "/v1/problems", "", 403},
		{"ops", "GET", "/v1/problems", "", 403},
		{"ops", "DELETE", "/v1/problems/mine", "", 204},
		{"alice", "PUT", "/v1/problems/mine", first, 201},
		{"bob", "PUT", "/v1/problems/other", second, 201},
	} {
		if w := f.ask(tt.method, tt.path, tt.body, "Authorization: Bearer "+tt.token+"-token"); w.Code != tt.want {
			t.Errorf("%s: %s %s: status %d, want %d: %s", tt.token, tt.method, tt.path, w.Code, tt.want, w.Body)
		}
	}
	if _, err := files.Stat(digestText("no package")); !errors.Is(err, blobs.ErrNotFound) {
		t.Errorf("a package that was refused is stored: %v", err)
	}
	var pages []problemList
	for path := "/v1/problems?limit=2"; path != ""; {
		page := answer[problemList](t, f.ask("GET", path, "", "Authorization: Bearer guest-token"))
		for i := range page.Problems {
			page.Problems[i].Version = ""
		}
		pages = append(pages, page)
		if path = ""; page.Next != "" {
			path = "/v1/problems?limit=2&after=" + page.Next
		}
	}
	summary := func(id, owner string) api.ProblemSummary {
		return api.ProblemSummary{ID: id, Name: "Double", Format: "legacy", Owner: owner}
	}
	want := []problemList{
		{Problems: []api.ProblemSummary{summary("mine", "alice"), summary("other", "bob")}, Next: "other"},
		{Problems: []api.ProblemSummary{summary("sum", "alice")}}}
	if diff := cmp.Diff(want, pages); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
	for _, bad := range []string{"limit=0", "limit=501", "after=%20", "state=queued"} {
		wantProblem(t, f.ask("GET", "/v1/problems?"+bad, "", "Authorization: Bearer guest-token"), "bad-request")
	}
}

func TestPackagesThatNoJobCanUse(t *testing.T) {
	f := newFixture(t, func(o *Options) {
		o.Config.HTTP.MaxBlob = 1 << 20
		o.Blobs = openBlobs(t.TempDir(), 1<<20)
	})
	tests := []struct {
		name, body, detail string
		findings           []api.FieldError
	}{
		{"no archive", "hello", "(body)", nil},
		{"checker with folders", packageOf(t, doubling("problem.yaml", "name: Double\nvalidation: custom\n",
			"output_validators/check/check.cpp", "int main() { return 42; }\n",
			"output_validators/check/lib/check.h", "")), "has files in subfolders, such as lib/check.h", nil},
		{"findings before the error", packageOf(t, doubling("problem.yaml", "name: Double\nfrob: 1\n",
			"data/secret/9.in", "")),
			"has no answer", []api.FieldError{{Detail: `unknown key "frob" in problem.yaml`}}},
		{"tests that must be made", packageOf(t, map[string]string{"problem.xml": `<problem><judging><testset name="tests">
<test-count>1</test-count><input-path-pattern>%d</input-path-pattern><answer-path-pattern>%d.a</answer-path-pattern>
</testset></judging><assets><checker><source path="c.py"/></checker><solutions><solution tag="main"><source path="c.py"/>
</solution></solutions></assets></problem>`, "c.py": "", "1": ""}), `programs of the package: 1, `, nil},
		{"time limit", packageOf(t, doubling(".timelimit", "3000\n")), "limits.max.cpu_time",
			[]api.FieldError{{Field: "limits.cpu_time_ms", Detail: "3000000 is out of range; send 1 to 60000, " +
				"the bound of limits.max.cpu_time"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := wantProblem(t, f.ask("PUT", "/v1/problems/double", tt.body), "invalid-problem")
			if !strings.Contains(p.Detail, tt.detail) || strings.Contains(p.Detail, os.TempDir()) {
				t.Errorf("detail %q, want %q in it", p.Detail, tt.detail)
			}
			if diff := cmp.Diff(tt.findings, p.Errors); diff != "" {
				t.Errorf("errors (-want +got)\n%s", diff)
			}
		})
	}
	wantProblem(t, f.ask("PUT", "/v1/problems/..x", packageOf(t, doubling())), "bad-request")
	wantProblem(t, f.ask("PUT", "/v1/problems/x", strings.Repeat("x", 1<<20+1)), "too-large")
	if w := f.ask("GET", "/v1/problems/double", ""); w.Code != 404 {
		t.Errorf("a refused package is stored: %d %s", w.Code, w.Body)
	}
}

func TestJobsWithProblems(t *testing.T) {
	f := newFixture(t)
	f.jobs.problems["timeless"] = api.Problem{ID: "timeless", Version: "v", Tests: []api.Test{{Name: "1"}}}
	f.jobs.problems["in-c"] = api.Problem{ID: "in-c", Version: "v", Tests: []api.Test{{Name: "1"}},
		Languages: []string{"c"}}
	tests := []struct {
		name, members, kind, field string
	}{
		{"unknown", `"problem": "nothing"`, "missing-problem", ""},
		{"with tests", `"problem": "timeless", "tests": [{"name": "1"}], "limits": {"cpu_time_ms": 1}`, "invalid-job",
			"tests"},
		{"with a checker", `"problem": "timeless", "checker": {"kind": "tokens"}, "limits": {"cpu_time_ms": 1}`,
			"invalid-job", "checker"},
		{"without a time limit", `"problem": "timeless"`, "invalid-job", "limits.cpu_time_ms"},
		{"another language", `"problem": "in-c", "language": "cpp", "limits": {"cpu_time_ms": 1}`, "invalid-job",
			"language"},
		{"only a version", `"problem_version": "v", "tests": [{"name": "1"}]`, "invalid-job", "problem_version"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := wantProblem(t, f.submit("POST", "/v1/jobs", `{"program": {"text": "x"}, `+tt.members+`}`), tt.kind)
			if tt.field != "" && (len(p.Errors) != 1 || p.Errors[0].Field != tt.field) {
				t.Errorf("findings %+v, want one about %s", p.Errors, tt.field)
			}
		})
	}
}

// TestProblemsWithPoints checks that a job gets the groups and points of its problem, and the code for its language.
func TestProblemsWithPoints(t *testing.T) {
	store := openStore(t)
	files, err := blobs.Open(filepath.Join(t.TempDir(), "blobs"), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, func(o *Options) { o.Jobs, o.Blobs, o.Config.HTTP.MaxBlob = store, files, 1<<20 })
	archive := packageOf(t, map[string]string{
		"problem.yaml":      "problem_format_version: 2025-09\nname: P\nuuid: u\ntype: scoring\nlimits: {time_limit: 1}\n",
		"data/secret/1.in":  "2\n",
		"data/secret/1.ans": "4\n",
		"include/c/grade.h": "int grade(void);\n",
		"include/cpp/x.h":   "",
	})
	w := f.ask("PUT", "/v1/problems/p", archive)
	if w.Code != 201 {
		t.Fatalf("status %d %s", w.Code, w.Body)
	}
	if stored := answer[api.Problem](t, w); stored.Scheme != nil || stored.Includes != nil {
		t.Errorf("shown: %+v", stored)
	}
	const body = `{"program": {"text": "x"}, "language": "c", "problem": "p", "files": {"a.h": {"text": "a"}}}`
	for _, status := range []int{202, 200} {
		if w := f.submit("PUT", "/v1/jobs/a", body); w.Code != status {
			t.Fatalf("status %d %s", w.Code, w.Body)
		}
	}
	rec, err := store.Get(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	type part struct {
		Files  map[string]api.File
		Scheme *api.Scheme
	}
	hundred := 100.0
	want := part{Files: map[string]api.File{"a.h": {Blob: digestText("a")},
		"grade.h": {Blob: digestText("int grade(void);\n")}},
		Scheme: &api.Scheme{Scoring: true, Root: &api.Group{Aggregation: api.Sum, Verdict: api.ByScore, Continue: true,
			Members: []api.Member{{Group: &api.Group{Name: "secret", Aggregation: api.Sum, Verdict: api.ByScore,
				MaxScore: &hundred, Continue: true,
				Members: []api.Member{{Test: "secret/1", Accept: 100, MaxScore: &hundred}}}}}}}}
	if diff := cmp.Diff(want, part{rec.Job.Files, rec.Job.Scheme}); diff != "" {
		t.Errorf("job (-want +got):\n%s", diff)
	}
	named, err := store.Blobs(t.Context())
	if err != nil || !named[digestText("int grade(void);\n")] || !named[digestText("")] {
		t.Errorf("blobs that stay: %v %v", named, err)
	}
	wantProblem(t, f.submit("PUT", "/v1/jobs/b", strings.Replace(body, "{", `{"scheme": {}, `, 1)), "invalid-job")
}

// TestFactors checks that an accepted job has the factors of the job, of its problem and of the operator, in this order,
// and that a repeated submission is the same job.
func TestFactors(t *testing.T) {
	store := openStore(t)
	files, err := blobs.Open(filepath.Join(t.TempDir(), "blobs"), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, func(o *Options) {
		o.Jobs, o.Blobs, o.Config.HTTP.MaxBlob = store, files, 1<<20
		o.Factors = map[string]api.Factors{"c": {Time: 2, Memory: 4}}
	})
	put := func(factors string) *httptest.ResponseRecorder {
		return f.ask("PUT", "/v1/problems/p", packageOf(t, map[string]string{"problem.yaml": "name: P\n", ".timelimit": "1",
			"data/secret/1.in": "", "data/secret/1.ans": "", "judged-problem.toml": factors}))
	}
	w := put("[factors.c]\ntime_ratio = 3\n[factors.kotlin]\ntime_ratio = 2\n")
	if w.Code != 201 {
		t.Fatalf("status %d %s", w.Code, w.Body)
	}
	const absent = `judged-problem.toml: factors of a language that this host does not support: language "kotlin": kotlinc is ` +
		`not installed; install it below /usr`
	if p := answer[api.Problem](t, w); p.Factors["c"].Time != 3 || !slices.Contains(p.Findings, absent) {
		t.Errorf("factors %v, findings %q", p.Factors, p.Findings)
	}
	most := api.Limits{CPUTimeMS: 60000, WallTimeMS: 180000, Memory: 4 << 30}
	for _, tt := range []struct {
		id, members string
		want        *api.Scaling
	}{
		{"plain", ``, nil},
		{"language", `, "language": "c"`, &api.Scaling{Factors: api.Factors{Time: 3, Memory: 4},
			TimeFrom: api.FactorOfProblem, MemoryFrom: api.FactorOfOperator, Most: most}},
		{"own", `, "language": "c", "factors": {"time_ratio": 1, "memory_ratio": 1.5}`, &api.Scaling{
			Factors: api.Factors{Time: 1, Memory: 1.5}, TimeFrom: api.FactorOfJob, MemoryFrom: api.FactorOfJob, Most: most}},
	} {
		for _, status := range []int{202, 200} {
			body := `{"program": {"text": "x"}, "problem": "p"` + tt.members + `}`
			if w := f.submit("PUT", "/v1/jobs/"+tt.id, body); w.Code != status {
				t.Fatalf("%s: status %d %s", tt.id, w.Code, w.Body)
			}
		}
		rec, err := store.Get(t.Context(), tt.id)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, rec.Job.Scaling); diff != "" || rec.Job.Limits.CPUTimeMS != 1000 {
			t.Errorf("%s: CPU time %d ms, scaling (-want +got):\n%s", tt.id, rec.Job.Limits.CPUTimeMS, diff)
		}
	}
	if w := put("[factors.c]\ntime_ratio = 9\n"); w.Code != 201 {
		t.Fatalf("status %d %s", w.Code, w.Body)
	}
	w = f.submit("PUT", "/v1/jobs/language", `{"program": {"text": "x"}, "problem": "p", "language": "c"}`)
	if w.Code != 200 {
		t.Errorf("the same submission after the problem changed: status %d %s", w.Code, w.Body)
	}
	for _, tt := range []struct{ members, field string }{
		{`"language": "c", "factors": {"time_ratio": 1000}`, "factors.time_ratio"},
		{`"language": "c", "factors": {"time_ratio": 1e999}`, "factors.time_ratio"},
		{`"language": "c", "factors": {"time_ratio": -0.0}`, "factors.time_ratio"},
		{`"language": "c", "factors": {"time_ratio": "2"}`, "factors.time_ratio"},
		{`"language": "c", "factors": {"time": 1}`, "factors.time"},
		{`"factors": {"time_ratio": 1}`, "factors"},
		{`"language": "c", "problem_factors": {"time_ratio": 1}`, "problem_factors"},
		{`"language": "c", "scaling": {}`, "scaling"},
	} {
		p := wantProblem(t, f.submit("POST", "/v1/jobs", `{"program": {"text": "x"}, "problem": "p", `+tt.members+`}`),
			"invalid-job")
		if len(p.Errors) != 1 || p.Errors[0].Field != tt.field {
			t.Errorf("%s: findings %+v, want one about %s", tt.members, p.Errors, tt.field)
		}
	}
}

// TestTestsToMakeSayHow: a package without files of tests, which the daemon does not make, has the next step in the words of
// its format.
func TestTestsToMakeSayHow(t *testing.T) {
	f := newFixture(t, func(o *Options) {
		o.Config.HTTP.MaxBlob = 1 << 20
		o.Blobs = openBlobs(t.TempDir(), 1<<20)
	})
	for name, tt := range map[string]struct {
		files map[string]string
		want  string
	}{
		"Polygon": {map[string]string{"problem.xml": `<problem><judging><testset name="tests"><time-limit>1000</time-limit>
<test-count>1</test-count><input-path-pattern>%d</input-path-pattern><answer-path-pattern>%d.a</answer-path-pattern>
</testset></judging><assets><checker><source path="c.py"/></checker><solutions><solution tag="main"><source path="c.py"/>
</solution></solutions></assets></problem>`, "c.py": "", "1": ""}, "download the full package from Polygon"},
		"CMS": {map[string]string{"task.yaml": "name: sum\nn_input: 1\ntime_limit: 1\n", "input/input0.txt": "",
			"sol/sum.cpp": ""}, "add the missing files to input/ and output/"},
		"sinol-make": {map[string]string{"config.yml": "time_limit: 1000\nscores: {1: 100}\n", "in/sum1a.in": "",
			"prog/sum.cpp": ""}, "run sinol-make gen"},
	} {
		p := wantProblem(t, f.ask("PUT", "/v1/problems/x", packageOf(t, tt.files)), "invalid-problem")
		if !strings.Contains(p.NextStep, tt.want) {
			t.Errorf("%s: %s: next %q, want %q", name, p.Detail, p.NextStep, tt.want)
		}
	}
}
