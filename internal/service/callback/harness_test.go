package callback

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/jobs"
	"judged/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Run(m)) }

const patience = time.Minute

// secret is the secret of jobs without a tenant, and oldSecret the previous one.
var (
	secret    = "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("n", 32)))
	oldSecret = "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("o", 24)))
)

// fixture is a store with a deliverer.
type fixture struct {
	t     *testing.T
	store *jobs.Store
	log   strings.Builder
	mu    sync.Mutex // guards results
	// results counts the tries by result.
	results map[api.CallbackResult]int
}

func open(t *testing.T, o jobs.Options) *fixture {
	t.Helper()
	if o.URL == "" {
		o.File = filepath.Join(t.TempDir(), "judged.db")
	}
	s, err := jobs.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &fixture{t: t, store: s, results: map[api.CallbackResult]int{}}
}

// settings returns settings with secrets that may reach the listed addresses.
func settings(t *testing.T, allow ...string) Settings {
	t.Helper()
	policy, err := NewPolicy(config.Callbacks{Allow: allow})
	if err != nil {
		t.Fatal(err)
	}
	secrets, err := ParseSecrets(strings.NewReader(oldSecret + "\n" + secret))
	if err != nil {
		t.Fatal(err)
	}
	return Settings{policy, secrets}
}

// deliverer returns a deliverer with short pauses, in which a receiver on a busy machine has time to answer.
func (f *fixture) deliverer(s Settings) *Deliverer {
	quick := standard
	quick.Limit = patience
	quick.Pauses = slices.Repeat([]time.Duration{10 * time.Millisecond}, 4)
	return New(Options{Store: f.store, Settings: s, Tried: f.tried, standard: quick,
		Log: slog.New(slog.NewTextHandler(&f.log, nil))})
}

func (f *fixture) tried(r api.CallbackResult) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.results[r]++
}

// run runs a deliverer until the returned function is called, or the test ends.
func (f *fixture) run(d *Deliverer) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { d.Run(ctx) })
	stop = func() { cancel(); work.Wait() }
	f.t.Cleanup(stop)
	return stop
}

// judge submits a job with a callback and finishes it.
func (f *fixture) judge(id, url string) {
	f.t.Helper()
	f.judgeFor(id, api.Callback{URL: url})
}

func (f *fixture) judgeFor(id string, c api.Callback) {
	f.t.Helper()
	f.putFor(id, c)
	w, err := f.store.Take(f.t.Context(), api.Want{Host: "host"})
	if err == nil {
		err = f.store.Finish(f.t.Context(), w.Lease, api.Report{Verdict: api.WrongAnswer, Message: "no"})
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) put(id, url string) {
	f.t.Helper()
	f.putFor(id, api.Callback{URL: url})
}

func (f *fixture) putFor(id string, c api.Callback) {
	f.t.Helper()
	j := api.Job{Tests: []api.Test{{Name: "1"}}, Labels: map[string]string{"team": "7"}, Callback: &c}
	if _, _, err := f.store.Put(f.t.Context(), jobs.Submission{ID: id, Job: j}); err != nil {
		f.t.Fatal(err)
	}
}

// callback returns the callback of a job.
func (f *fixture) callback(id string) api.CallbackLog {
	f.t.Helper()
	list, err := f.store.Callbacks(f.t.Context(), id)
	if err != nil || len(list) != 1 {
		f.t.Fatalf("callbacks of %s: %+v, %v", id, list, err)
	}
	return list[0]
}

// reach waits until a callback has a state.
func (f *fixture) reach(id string, want api.CallbackState) api.CallbackLog {
	f.t.Helper()
	testkit.WaitFor(f.t, patience, fmt.Sprintf("the callback of %s to be %s", id, want), func() bool {
		return f.callback(id).State == want
	})
	return f.callback(id)
}

// call is a request to a receiver.
type call struct {
	id     string
	header http.Header
	body   string
}

// receiver is the server of a platform.
type receiver struct {
	*httptest.Server
	t *testing.T
	// answer returns the status for the n-th call, from 1; 0 means that it has written the response. nil means 204.
	answer func(n int, w http.ResponseWriter, r *http.Request) int
	mu     sync.Mutex // guards calls
	calls  []call
}

func receive(t *testing.T, answer func(int, http.ResponseWriter, *http.Request) int) *receiver {
	r := &receiver{t: t, answer: answer}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		r.t.Error(err)
	}
	hook, err := webhooks.NewWebhook(secret)
	if err == nil {
		err = hook.Verify(body, q.Header)
	}
	if err != nil {
		r.t.Errorf("signature: %v", err)
	}
	r.mu.Lock()
	r.calls = append(r.calls, call{q.Header.Get("webhook-id"), q.Header, string(body)})
	n := len(r.calls)
	r.mu.Unlock()
	status := http.StatusNoContent
	if r.answer != nil {
		status = r.answer(n, w, q)
	}
	if status != 0 {
		w.WriteHeader(status)
	}
}

func (r *receiver) got() []call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}
