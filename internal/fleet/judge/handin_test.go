package judge

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/client"
)

// strict is a front that refuses some requests because of their content. It stores the first report of each job, like
// jobs.Store.
type strict struct {
	*testing.T
	server *httptest.Server
	// refuse returns the response to a request; status 0 means that the request is accepted.
	refuse func(verb string, size int, q api.FinishRequest) (status int, kind string)

	mu     sync.Mutex // guards the fields below
	stored map[string]api.Report
	asked  map[string]int // number of requests by verb and job

	replaced atomic.Int64 // number of calls of Options.Replaced
}

func newStrict(t *testing.T, refuse func(verb string, size int, q api.FinishRequest) (status int, kind string)) *strict {
	f := &strict{T: t, refuse: refuse, stored: map[string]api.Report{}, asked: map[string]int{}}
	f.server = httptest.NewServer(f)
	t.Cleanup(f.server.Close)
	return f
}

func (f *strict) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	verb := strings.TrimPrefix(r.URL.Path, "/v1/work/")
	body, err := io.ReadAll(r.Body)
	var q api.FinishRequest
	if err = errors.Join(err, json.Unmarshal(body, &q)); err != nil {
		f.Errorf("%s: %v", verb, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked[strings.TrimSpace(verb+" "+q.ID)]++
	status, kind := f.refuse(verb, len(body), q)
	switch {
	case status == hangUp:
		panic(http.ErrAbortHandler)
	case status != 0:
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(status)
		if kind != proxy {
			kind = "urn:judged:" + kind
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"type": kind, "status": status, "detail": "because"})
		return
	case verb == "finish":
		if _, again := f.stored[q.ID]; again {
			f.Errorf("job %q ends twice", q.ID)
		}
		f.stored[q.ID] = q.Report
	}
	_, _ = w.Write([]byte("{}"))
}

const (
	hangUp = -1            // closes the connection without a response
	proxy  = "about:blank" // type of a response that does not come from judged
)

func (f *strict) source(spool string) *Source {
	s, err := NewSource(Options{Front: client.Client{Base: f.server.URL}, Node: "n", Spool: spool,
		Log: slog.New(slog.DiscardHandler), Replaced: func() { f.replaced.Add(1) }})
	if err != nil {
		f.Fatal(err)
	}
	return s
}

// bulky returns a report that consists mostly of the program's output, and then of its runs.
func bulky(id string) api.FinishRequest {
	head := strings.Repeat("\x01", 4000)
	rep := api.Report{Verdict: api.Accepted, Message: strings.Repeat("é", 3000), Host: &api.HostReport{Name: "h"},
		Compilation: &api.Compilation{Language: "c", Output: head}}
	for i := range 3 {
		rep.Tests = append(rep.Tests, api.TestReport{Name: fmt.Sprint(i), Verdict: api.Accepted, Message: head,
			StdoutHead: &head, StderrHead: &head, Transcript: &api.Transcript{Note: head},
			Checker: &api.CheckReport{Verdict: api.Accepted, Message: head, Stderr: head, TeamMessage: head},
			Runs:    make([]api.Run, 200)})
	}
	return api.FinishRequest{Hold: api.Hold{ID: id, Attempt: 1}, Report: rep}
}

// TestReportOfEveryJobEnds checks that, however a front treats a report, the job ends once with as much of the report
// as the front accepts, and that other jobs of the node end too. The report is sent immediately, or from the spool
// after a restart.
func TestReportOfEveryJobEnds(t *testing.T) {
	within := func(limit int) func(string, int, api.FinishRequest) (int, string) {
		return func(_ string, size int, _ api.FinishRequest) (int, string) {
			if size > limit {
				return http.StatusRequestEntityTooLarge, "too-large"
			}
			return 0, ""
		}
	}
	for name, tt := range map[string]struct {
		refuse  func(verb string, size int, q api.FinishRequest) (int, string)
		verdict api.Verdict
		heads   bool
		runs    int
	}{
		"taken":             {within(1 << 30), api.Accepted, true, 200},
		"without heads":     {within(300_000), api.Accepted, false, 200},
		"without runs":      {within(100_000), api.Accepted, false, 0},
		"nothing but an IE": {within(3_000), api.InternalError, false, 0},
		"refused for its content": {func(_ string, _ int, q api.FinishRequest) (int, string) {
			if q.Report.Verdict != api.InternalError && q.ID == "bulky" {
				return http.StatusUnprocessableEntity, "invalid-report"
			}
			return 0, ""
		}, api.InternalError, false, 0},
		"cannot be read": {func(_ string, _ int, q api.FinishRequest) (int, string) {
			if q.Report.Verdict != api.InternalError && q.ID == "bulky" {
				return http.StatusBadRequest, "bad-request"
			}
			return 0, ""
		}, api.InternalError, false, 0},
		"a proxy's limit": {func(_ string, size int, _ api.FinishRequest) (int, string) {
			if size > 300_000 {
				return http.StatusRequestEntityTooLarge, proxy
			}
			return 0, ""
		}, api.Accepted, false, 200},
		"a proxy hangs up": {func(_ string, size int, _ api.FinishRequest) (int, string) {
			if size > 300_000 {
				return hangUp, ""
			}
			return 0, ""
		}, api.Accepted, false, 200},
		"fails for its content": {func(_ string, _ int, q api.FinishRequest) (int, string) {
			if len(q.Report.Tests) > 0 && q.ID == "bulky" {
				return http.StatusInternalServerError, "internal"
			}
			return 0, ""
		}, api.InternalError, false, 0},
	} {
		for _, spooled := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, spooled %v", name, spooled), func(t *testing.T) {
				t.Parallel()
				f := newStrict(t, tt.refuse)
				s := f.source(filepath.Join(t.TempDir(), "spool"))
				q, small := bulky("bulky"), api.FinishRequest{Hold: api.Hold{ID: "small", Attempt: 1},
					Report: api.Report{Verdict: api.WrongAnswer}}
				before, err := json.Marshal(q.Report)
				if err != nil {
					t.Fatal(err)
				}
				if spooled {
					if err := errors.Join(s.spool.store(q), s.spool.store(small)); err != nil {
						t.Fatal(err)
					}
				} else {
					if err := s.Finish(t.Context(), small.Lease(), small.Report); err != nil {
						t.Fatal(err)
					}
					err := s.Finish(t.Context(), q.Lease(), q.Report)
					if err != nil && !errors.Is(err, api.ErrUnavailable) {
						t.Fatal(err)
					}
				}
				for range 2 * maxTrouble {
					if err := s.HandIn(t.Context()); err != nil {
						t.Fatalf("a node that restarts would not register: %v", err)
					}
					if _, err := s.Register(t.Context(), api.Registration{}); err != nil {
						t.Fatal(err)
					}
					if f.stored["small"].Verdict != api.WrongAnswer {
						t.Fatal("the report behind it waits")
					}
				}
				got, stored := f.stored["bulky"]
				if !stored || got.Verdict != tt.verdict || len(spooledFiles(t, s)) != 0 {
					t.Fatalf("stored %v, verdict %q, want %q; spool %q", stored, got.Verdict, tt.verdict,
						spooledFiles(t, s))
				}
				if got, want := f.replaced.Load() == 1, tt.verdict == api.InternalError; got != want {
					t.Errorf("%d reports are counted as replaced, want %v", f.replaced.Load(), want)
				}
				if tt.verdict == api.InternalError {
					if !strings.Contains(got.Message, `node "n"`) || got.Host == nil || len(got.Tests) != 0 {
						t.Errorf("IE %q of host %v with %d tests", got.Message, got.Host, len(got.Tests))
					}
				} else if r := got.Tests[2]; (r.StdoutHead != nil) != tt.heads || (r.Transcript != nil) != tt.heads ||
					len(r.Runs) != tt.runs || len(got.Tests) != 3 {
					t.Errorf("%d tests; heads %v, want %v; %d runs, want %d", len(got.Tests), r.StdoutHead != nil,
						tt.heads, len(r.Runs), tt.runs)
				}
				after, err := json.Marshal(q.Report)
				if err != nil || string(after) != string(before) {
					t.Errorf("the caller's report has changed: %v", err)
				}
			})
		}
	}
}

// TestBusyFront checks that a report is not shortened because the front has had no memory for it for long.
func TestBusyFront(t *testing.T) {
	t.Parallel()
	left := 2 * maxTrouble
	f := newStrict(t, func(_ string, size int, _ api.FinishRequest) (int, string) {
		if size > 3_000 && left > 0 {
			left--
			return http.StatusServiceUnavailable, "not-ready"
		}
		return 0, ""
	})
	s := f.source(filepath.Join(t.TempDir(), "spool"))
	if err := s.spool.store(bulky("bulky")); err != nil {
		t.Fatal(err)
	}
	for range 3 * maxTrouble {
		if err := s.HandIn(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Register(t.Context(), api.Registration{}); err != nil {
			t.Fatal(err)
		}
	}
	if got := f.stored["bulky"]; got.Verdict != api.Accepted || len(got.Tests) != 3 || got.Tests[2].StdoutHead == nil {
		t.Errorf("verdict %q, message %.70q, %d tests", got.Verdict, got.Message, len(got.Tests))
	}
}

// TestReportWithoutJSON checks that a report that cannot be encoded is not retried.
func TestReportWithoutJSON(t *testing.T) {
	f := newStrict(t, func(string, int, api.FinishRequest) (int, string) { return 0, "" })
	s := f.source(filepath.Join(t.TempDir(), "spool"))
	inf := math.Inf(1)
	err := s.Finish(t.Context(), api.Lease{ID: "a", Attempt: 1}, api.Report{Verdict: api.Accepted, Score: &inf})
	if got := f.stored["a"]; err != nil || got.Verdict != api.InternalError || !strings.Contains(got.Message, "encode") {
		t.Errorf("stored %+v, %v", got, err)
	}
}

// TestFrontAway checks that while no front responds, no report is given up, and not every report is tried.
func TestFrontAway(t *testing.T) {
	for _, status := range []int{hangUp, http.StatusServiceUnavailable, http.StatusUnauthorized, http.StatusForbidden,
		http.StatusInternalServerError, http.StatusTooManyRequests} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			f := newStrict(t, func(string, int, api.FinishRequest) (int, string) {
				return status, cmp.Or(map[int]string{401: "unauthorized", 403: "forbidden"}[status], "other")
			})
			s := f.source(filepath.Join(t.TempDir(), "spool"))
			head := "written"
			for _, id := range []string{"a", "b", "c"} {
				q := api.FinishRequest{Hold: api.Hold{ID: id, Attempt: 1}, Report: api.Report{Verdict: api.Accepted,
					Tests: []api.TestReport{{StdoutHead: &head}}}}
				if err := s.spool.store(q); err != nil {
					t.Fatal(err)
				}
			}
			for range 3 * maxTrouble {
				if err := s.HandIn(t.Context()); !errors.Is(err, api.ErrUnavailable) {
					t.Fatalf("hand in: %v", err)
				}
			}
			if f.asked["finish a"] != 3*maxTrouble || f.asked["finish b"] != 0 || len(f.stored) != 0 {
				t.Errorf("asked %v, stored %d", f.asked, len(f.stored))
			}
			f.refuse = func(string, int, api.FinishRequest) (int, string) { return 0, "" }
			if err := s.HandIn(t.Context()); err != nil || len(f.stored) != 3 || f.stored["a"].Verdict != api.Accepted ||
				f.stored["a"].Tests[0].StdoutHead == nil {
				t.Errorf("after that: %v, stored %d", err, len(f.stored))
			}
		})
	}
}

// TestStuckReportIsNotWanted checks that a report that cannot be delivered is dropped as soon as its job is lost.
func TestStuckReportIsNotWanted(t *testing.T) {
	for _, kind := range []string{"stale", "final"} {
		f := newStrict(t, func(verb string, _ int, _ api.FinishRequest) (int, string) {
			if verb == "finish" {
				return hangUp, ""
			}
			return http.StatusConflict, kind
		})
		s := f.source(filepath.Join(t.TempDir(), "spool"))
		if err := s.spool.store(bulky("a")); err != nil {
			t.Fatal(err)
		}
		if err := s.HandIn(t.Context()); err != nil || len(spooledFiles(t, s)) != 0 || f.asked["finish a"] != 1 {
			t.Errorf("%s: %v, spool %q, asked %v", kind, err, spooledFiles(t, s), f.asked)
		}
	}
}

// TestUnusableSpool checks that a file that can never be sent is set aside and does not block the others, and that
// neither does a partially written file.
func TestUnusableSpool(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	future := bulky("future")
	future.Protocol = api.FleetProtocols().Newest + 1
	foreign, _ := json.Marshal(bulky("../../other"))
	newer, _ := json.Marshal(future)
	other, _ := json.Marshal(bulky("z"))
	for name, content := range map[string][]byte{"empty.1.json": nil, "half.1.json": []byte(`{"id":"half"`),
		"array.1.json": []byte("[]"), "null.1.json": []byte("null"), "future.1.json": newer, "outside.1.json": foreign,
		"y.1.json": other, "new-123": []byte("{"), "text": []byte("by somebody")} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := newStrict(t, func(string, int, api.FinishRequest) (int, string) { return 0, "" })
	s := f.source(dir)
	for _, id := range []string{"b", "z", "new-1"} {
		if err := s.spool.store(bulky(id)); err != nil {
			t.Fatal(err)
		}
	}
	s = f.source(dir) // a file whose name starts like that of an unfinished one is kept
	for range 2 {
		if err := s.HandIn(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(f.stored) != 3 || f.asked["finish b"] != 1 || f.asked["finish z"] != 1 || f.asked["finish new-1"] != 1 {
		t.Errorf("%d reports stored, asked %v", len(f.stored), f.asked)
	}
	want := []string{"array.1.unusable", "empty.1.unusable", "future.1.unusable", "half.1.unusable", "null.1.unusable",
		"outside.1.unusable", "text", "y.1.unusable"}
	if diff := gocmp.Diff(want, spooledFiles(t, s)); diff != "" {
		t.Errorf("spool (-want +got):\n%s", diff)
	}
}

// TestTestsDoNotWait checks that tests are sent while a report is being sent, and that a refused event is sent only
// once.
func TestTestsDoNotWait(t *testing.T) {
	sent, release := make(chan string, 10), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "finish") {
			<-release
		}
		sent <- r.URL.Path
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	}))
	defer server.Close()
	defer close(release)
	s, err := NewSource(Options{Front: client.Client{Base: server.URL}, Node: "n",
		Spool: filepath.Join(t.TempDir(), "spool"), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.spool.store(bulky("a")); err != nil {
		t.Fatal(err)
	}
	go s.Run(t.Context())
	for n := range 2 {
		if err := s.Emit(api.Lease{ID: "a", Attempt: 1}, n+1, api.TestReport{}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		select {
		case path := <-sent:
			if path != "/v1/work/emit" {
				t.Errorf("sent to %s first", path)
			}
		case <-time.After(time.Minute):
			t.Fatal("no test was sent")
		}
	}
}
