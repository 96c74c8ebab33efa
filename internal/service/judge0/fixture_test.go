package judge0

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/base/units"
	"judged/internal/jobs"
	"judged/internal/jobs/blobs"
	"judged/internal/jobs/intake"
	"judged/internal/service/httpapi"
	"judged/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Run(m)) }

// fixture is a server with a real store. The test acts as the judge.
type fixture struct {
	*httpapi.Server
	store     *countedJobs
	languages *someLanguages
	logged    *strings.Builder // warnings and errors
}

// countedJobs records how many jobs each transaction stores.
type countedJobs struct {
	*jobs.Store
	stored []int
	waits  error // of Wait, if not nil
	// waiting is called by Wait, if not nil.
	waiting func()
}

func (c *countedJobs) Wait(ctx context.Context, id string) (api.Report, error) {
	if c.waiting != nil {
		c.waiting()
	}
	if c.waits != nil {
		return api.Report{}, c.waits
	}
	return c.Store.Wait(ctx, id)
}

func (c *countedJobs) Put(ctx context.Context, n jobs.Submission) (jobs.Record, bool, error) {
	c.stored = append(c.stored, 1)
	return c.Store.Put(ctx, n)
}

func (c *countedJobs) PutWhole(ctx context.Context, list []jobs.Packed) ([]jobs.Stored, error) {
	c.stored = append(c.stored, len(list))
	return c.Store.PutWhole(ctx, list)
}

const maxWaiting = 100

func newFixture(t testing.TB, tokens string) *fixture {
	t.Helper()
	return newFixtureIn(t, t.TempDir(), tokens)
}

func newFixtureIn(t testing.TB, dir, tokens string) *fixture {
	return newFixtureWith(t, dir, tokens, nil)
}

func newFixtureWith(t testing.TB, dir, tokens string, nodes httpapi.Nodes) *fixture {
	database, err := jobs.Open(context.Background(), jobs.Options{File: filepath.Join(dir, "judged.db"),
		MaxWaiting: maxWaiting})
	if err != nil {
		t.Fatal(err)
	}
	store := &countedJobs{Store: database}
	t.Cleanup(func() { _ = store.Close() })
	files, err := blobs.Open(filepath.Join(dir, "blobs"), 16<<20)
	if err != nil {
		t.Fatal(err)
	}
	languages, logged := &someLanguages{}, &strings.Builder{}
	o := httpapi.Options{Config: config.Default(), Jobs: store, Blobs: files, Languages: languages, Nodes: nodes,
		Doors: []httpapi.Door{Door("test")}, Callbacks: publicOnly{},
		Accepts: func() error { return nil }, Ready: func() error { return nil }, Metrics: http.NotFoundHandler(),
		Log: slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelWarn})), Now: time.Now}
	o.Config.HTTP.MaxBody = 4 << 20
	if tokens != "" {
		if o.Tokens, err = httpapi.ParseTokens(strings.NewReader(tokens)); err != nil {
			t.Fatal(err)
		}
	}
	return &fixture{httpapi.New(o), store, languages, logged}
}

// publicOnly rejects callbacks to loopback addresses.
type publicOnly struct{}

func (publicOnly) Check(_ context.Context, _ string, c api.Callback) (intake.Errors, error) {
	if strings.Contains(c.URL, "127.0.0.1") {
		return intake.Errors{{Field: "callback.url", Detail: "is not public"}}, nil
	}
	return nil, nil
}

// someLanguages has C and Python, and lacks Kotlin.
type someLanguages struct {
	checked func() // called when a job with a language is checked
}

func (*someLanguages) CompileOptions(context.Context, string, string) (options []string, known bool, err error) {
	return nil, true, nil
}

func (s *someLanguages) CheckLanguage(_ context.Context, _, id string) error {
	if s.checked != nil {
		s.checked()
	}
	if id == "c" || id == "python" || id == "bash" || id == "project" {
		return nil
	}
	return &api.LanguageUnavailableError{Language: id, Reason: "not installed"}
}

func (*someLanguages) ListLanguages(context.Context) ([]api.LanguageStatus, error) {
	return []api.LanguageStatus{{ID: "c", Available: true, Version: "gcc (Debian 12.2.0-14) 12.2.0"},
		{ID: "python", Available: true, Version: "Python 3.11.2"},
		{ID: "bash", Available: true, Version: "GNU bash, version 5.2.15(1)-release"},
		{ID: "project", Available: true, Version: "Bash scripts 1 2"},
		{ID: "kotlin", Reason: "not installed"}}, nil
}

// send sends a request. Headers have the form "Name: value".
func (f *fixture) send(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://localhost/judge0"+target, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	return w
}

// create creates a submission and returns its token.
func (f *fixture) create(t testing.TB, query, body string) string {
	t.Helper()
	w := f.send("POST", "/submissions"+query, body)
	if w.Code != http.StatusCreated {
		t.Fatalf("create: %d %s", w.Code, w.Body)
	}
	return decoded[map[string]string](t, w)["token"]
}

func decoded[T any](t testing.TB, w *httptest.ResponseRecorder) (v T) {
	t.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Fatalf("body %q: %v", w.Body, err)
	}
	return v
}

// finish judges the next job.
func (f *fixture) finish(ctx context.Context, r api.Report) error {
	w, err := f.store.Take(ctx, api.Want{CPUs: "2-3"})
	if err != nil {
		return err
	}
	return f.store.Finish(ctx, w.Lease, r)
}

// judgeNext judges the next job with a report of one test.
func (f *fixture) judgeNext(t testing.TB, test api.TestReport) {
	t.Helper()
	f.judgeNextAs(t, reportOf(test))
}

func (f *fixture) judgeNextAs(t testing.TB, r api.Report) {
	t.Helper()
	if err := f.finish(context.WithoutCancel(t.Context()), r); err != nil {
		t.Error(err)
	}
}

func reportOf(test api.TestReport) api.Report {
	test.Name = testName
	return api.Report{Verdict: test.Verdict, Tests: []api.TestReport{test}, Host: &api.HostReport{Name: "host"},
		Compilation: &api.Compilation{Language: "c"}}
}

// ranWell returns the report of a run of 12 ms with an output.
func ranWell(stdout string) api.TestReport {
	return api.TestReport{Verdict: api.Accepted, CPUTime: new(12 * time.Millisecond), WallTime: new(15 * time.Millisecond),
		MemoryPeak: new(units.Bytes(376 * 1024)), Exit: &api.Exit{Code: new(0)}, StdoutHead: &stdout, StderrHead: new("")}
}

func hashText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// zipped returns a zip file in base64.
func zipped(t testing.TB, change func(*zip.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	if err := errors.Join(change(w), w.Close()); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// zipOf returns a zip file with some files in base64.
func zipOf(t testing.TB, namesAndTexts ...string) string {
	return zipped(t, func(w *zip.Writer) error {
		for i := 0; i < len(namesAndTexts); i += 2 {
			entry, err := w.Create(namesAndTexts[i])
			if err != nil {
				return err
			}
			if _, err := entry.Write([]byte(namesAndTexts[i+1])); err != nil {
				return err
			}
		}
		return nil
	})
}
