package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/units"
	"judged/internal/jobs"
	"judged/internal/jobs/blobs"
)

// batchFixture is a server with a real store.
func batchFixture(t *testing.T, change ...func(*Options)) (*fixture, *jobs.Store) {
	store := openStore(t)
	return newFixture(t, append(change, func(o *Options) { o.Jobs = store; o.Config.HTTP.MaxBody = 4 << 20 })...), store
}

// outcomes returns the results of a batch, as STATUS ID or STATUS PROBLEM.
func outcomes(results []batchResult) (list []string) {
	for _, r := range results {
		text := fmt.Sprint(r.Status, " ", r.ID)
		if r.Problem != nil {
			text = fmt.Sprint(r.Problem.Status, " ", strings.TrimPrefix(r.Problem.Type, problemType))
		}
		list = append(list, text)
	}
	return list
}

const batchPath = "/v1/jobs:batch"

func TestBatch(t *testing.T) {
	f, store := batchFixture(t)
	f.submit("PUT", "/v1/jobs/there", small)
	missing := digestText("nowhere")
	body := `{"jobs": [
{"id": "a", "job": ` + small + `},
{"id": "there", "job": ` + small + `},
{"id": "there", "job": ` + strings.Replace(small, "sh", "bash", 1) + `},
{"id": "-", "job": ` + small + `},
{"id": "b", "job": {"program": {"text": "x"}, "testss": []}},
{"id": "c", "job": {"program": {"blob": "` + missing + `"}, "tests": [{"name": "1"}]}},
{"id": "d", "job": {"program": {"text": "d"}, "language": "kotlin", "tests": [{"name": "1"}]}},
{"id": "e", "job": {"problem": "none", "program": {"text": "x"}}},
{"id": "f", "idempotency_key": "f", "job": ` + small + `},
{"id": "g", "job": {"program": {"part": "x"}, "tests": [{"name": "1"}]}},
{"id": "h", "job": {"program": {"text": "\ud800"}, "tests": [{"name": "1"}]}},
{"id": "i", "job": {"program": {"text": "` + strings.Repeat("x", 5<<10) + `"}, "tests": [{"name": "1"}]}},
{"id": "j", "job": {"program": {"text": "of this batch"}, "tests": [{"name": "1"}]}},
{"id": "k", "job": {"program": {"blob": "` + digestText("of this batch") + `"}, "tests": [{"name": "1"}]}},
{"id": "l"},
{"idempotency_key": "key", "job": ` + small + `}
]}`
	keyed := keyedID("", "key")
	want := []string{"202 a", "200 there", "409 conflict", "400 bad-request", "400 invalid-job", "422 missing-blob",
		"422 missing-language", "422 missing-problem", "400 bad-request", "400 invalid-job", "400 invalid-job",
		"413 too-large", "202 j", "202 k", "400 bad-request", "202 " + keyed}
	w := f.submit("POST", batchPath, body)
	got := answer[batchAnswer](t, w)
	if diff := cmp.Diff(want, outcomes(got.Results)); diff != "" || w.Code != 200 || got.Accepted != 5 {
		t.Fatalf("status %d, %d accepted, results (-want +got):\n%s", w.Code, got.Accepted, diff)
	}
	if r := got.Results[0]; r.Location != "/v1/jobs/a" || r.Problem != nil {
		t.Errorf("result %+v", r)
	}
	if p := got.Results[4].Problem; len(p.Errors) != 1 || p.Errors[0].Field != "testss" || p.NextStep == "" {
		t.Errorf("problem %+v", p)
	}
	if alone := f.submit("POST", "/v1/jobs", small, "Idempotency-Key: key"); alone.Code != 200 {
		t.Errorf("the key alone: status %d", alone.Code)
	}
	one, err := store.Get(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	other, err := store.Get(t.Context(), "there")
	if diff := cmp.Diff(other.Job, one.Job); diff != "" || err != nil {
		t.Errorf("%v: differs from a job sent alone:\n%s", err, diff)
	}
	path, err := f.blobs.Path(digestText("of this batch"))
	if err != nil || path == "" {
		t.Errorf("blob of the batch: %v", err)
	}
	for i, text := range want {
		want[i] = strings.Replace(text, "202", "200", 1)
	}
	again := answer[batchAnswer](t, f.submit("POST", batchPath, body))
	if diff := cmp.Diff(want, outcomes(again.Results)); diff != "" {
		t.Errorf("the same batch again (-want +got):\n%s", diff)
	}
}

// batchOf returns a batch of n jobs without ids.
func batchOf(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`{"job": {"program": {"text": "program %d"}, "tests": [{"name": "1"}]}}`, i)
	}
	return `{"jobs": [` + strings.Join(list, ",") + `]}`
}

// TestBatchKey checks that a batch with a key is stored once, and that keys of callers and positions differ.
func TestBatchKey(t *testing.T) {
	f, store := batchFixture(t, func(o *Options) { o.Tokens = twoTokens(t) })
	ids := map[string]bool{}
	send := func(n int, headers ...string) []batchResult {
		t.Helper()
		w := f.submit("POST", batchPath, batchOf(n), headers...)
		if w.Code != 200 {
			t.Fatal(w.Body)
		}
		results := answer[batchAnswer](t, w).Results
		for _, r := range results {
			ids[r.ID] = true
		}
		return results
	}
	const key, a, b = "Idempotency-Key: night", "Authorization: Bearer a", "Authorization: Bearer b"
	first, second := send(20, key, a), send(20, key, a)
	for i := range first {
		first[i].Status = 200
	}
	if diff := cmp.Diff(first, second); diff != "" || len(ids) != 20 {
		t.Errorf("%d ids, the same batch again:\n%s", len(ids), diff)
	}
	send(20, key, b)
	send(20, a)
	send(20, a)
	page, _, err := store.List(t.Context(), jobs.Filter{Limit: 500})
	if len(ids) != 80 || len(page) != 80 || err != nil {
		t.Errorf("%d ids, %d jobs, want 80: %v", len(ids), len(page), err)
	}
}

func twoTokens(t *testing.T) *Tokens {
	tokens, err := ParseTokens(strings.NewReader("a submit " + digestText("a") + "\nb submit " + digestText("b")))
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

// TestBatchRefused checks batches without an accepted job.
func TestBatchRefused(t *testing.T) {
	bad := `{"job": {"program": {"text": "x"}}}`
	lost := `{"job": {"problem": "none", "program": {"text": "x"}}}`
	for _, tt := range []struct {
		name, body, kind string
		results          []string
		headers          []string
	}{
		{"no JSON", "{", "bad-request", nil, nil},
		{"no jobs", `{}`, "bad-request", nil, nil},
		{"empty", `{"jobs": []}`, "bad-request", nil, nil},
		{"unknown key", `{"jobs": [` + bad + `], "all": true}`, "bad-request", nil, nil},
		{"empty item id", `{"jobs": [{"id": "", "job": {}}]}`, "bad-request", nil, nil},
		{"empty item key", `{"jobs": [{"idempotency_key": "", "job": {}}]}`, "bad-request", nil, nil},
		{"unknown key of an item", `{"jobs": [{"jb": {}}]}`, "bad-request", nil, nil},
		{"too many", batchOf(maxBatch + 1), "bad-request", nil, nil},
		{"long", `{"jobs": [` + strings.Repeat(" ", 5<<20) + `]}`, "too-large", nil, nil},
		{"empty key", batchOf(1), "bad-request", nil, []string{"Idempotency-Key: "}},
		{"long key", batchOf(1), "bad-request", nil, []string{"Idempotency-Key: " + strings.Repeat("k", 256)}},
		{"invalid", `{"jobs": [` + bad + `]}`, "invalid-job", []string{"400 invalid-job"}, nil},
		{"two kinds", `{"jobs": [` + bad + `,` + lost + `]}`, "invalid-batch",
			[]string{"400 invalid-job", "422 missing-problem"}, nil},
		{"full queue", batchOf(1), "queue-full", []string{"429 queue-full"}, nil},
		{"long item key", `{"jobs": [{"idempotency_key": "` + strings.Repeat("k", 256) + `", "job": {}}]}`, "bad-request",
			[]string{"400 bad-request"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, store := batchFixture(t)
			if tt.kind == "queue-full" {
				store.SetMaxWaiting(1)
				f.submit("PUT", "/v1/jobs/first", small)
			}
			before, _, _ := store.List(t.Context(), jobs.Filter{})
			w := f.submit("POST", batchPath, tt.body, tt.headers...)
			wantProblem(t, w, tt.kind)
			if diff := cmp.Diff(tt.results, outcomes(answer[batchProblem](t, w).Results)); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
			if retry := w.Header().Get("Retry-After"); (retry != "") != (tt.kind == "queue-full") {
				t.Errorf("Retry-After %q", retry)
			}
			if after, _, err := store.List(t.Context(), jobs.Filter{}); len(after) != len(before) || err != nil {
				t.Errorf("%d jobs, before %d: %v", len(after), len(before), err)
			}
		})
	}
}

// counting counts what a batch does to a store.
type counting struct {
	problems, stats, puts, putAlls, transactions int
}

// TestBatchIsOneTransaction checks that the largest batch costs one transaction of the store and one of the blobs, and
// reads its problem once.
func TestBatchIsOneTransaction(t *testing.T) {
	store := openStore(t)
	files, err := blobs.Open(filepath.Join(t.TempDir(), "blobs"), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	p := api.Problem{ID: "double", Version: digestText("1"), Limits: api.Limits{CPUTimeMS: 1000}}
	for i := range 20 {
		digest, _, _, err := files.Put(t.Context(), "", strings.NewReader(fmt.Sprint("input ", i)))
		if err != nil {
			t.Fatal(err)
		}
		p.Tests = append(p.Tests, api.Test{Name: fmt.Sprint(i), Input: &api.File{Blob: digest}})
	}
	if _, _, err := store.PutProblem(t.Context(), p, jobs.Editor{}); err != nil {
		t.Fatal(err)
	}
	count := &counting{}
	f := newFixture(t, func(o *Options) {
		o.Jobs, o.Blobs, o.Config.HTTP.MaxBody = countingJobs{store, count}, countingBlobs{files, count}, 4<<20
	})
	var sent batchRequest
	for i := range maxBatch {
		job := fmt.Sprintf(`{"problem": "double", "program": {"text": "program %d"}}`, i)
		sent.Jobs = append(sent.Jobs, batchItem{ID: fmt.Sprint("job", i), Job: json.RawMessage(job)})
	}
	body, err := json.Marshal(sent)
	if err != nil {
		t.Fatal(err)
	}
	w := f.submit("POST", batchPath, string(body))
	if got := answer[batchAnswer](t, w); w.Code != 200 || got.Accepted != maxBatch {
		t.Fatalf("status %d, %d accepted", w.Code, got.Accepted)
	}
	got := [...]int{count.problems, count.puts, count.putAlls, count.transactions}
	if want := [...]int{1, 0, 1, 1}; got != want || count.stats > maxBatch+2*len(p.Tests) {
		t.Errorf("problems read, blobs put, put together, transactions: got %v, want %v; %d lookups of blobs", got, want,
			count.stats)
	}
	if rec, err := store.Get(t.Context(), "job999"); err != nil || len(rec.Job.Tests) != len(p.Tests) {
		t.Errorf("%d tests, %v", len(rec.Job.Tests), err)
	}
}

// heldMemory checks how much memory of bodies is reserved while a batch is stored.
type heldMemory struct {
	Jobs
	free func() bool // all of it is free
	held bool
}

func (h *heldMemory) PutAll(ctx context.Context, list []jobs.Packed) ([]jobs.Stored, error) {
	h.held = !h.free()
	return h.Jobs.PutAll(ctx, list)
}

// TestBatchHoldsMemory checks that the body of a batch has its memory reserved until its jobs are stored: it stays in
// memory while other batches are stored.
func TestBatchHoldsMemory(t *testing.T) {
	held := &heldMemory{Jobs: openStore(t)}
	f := newFixture(t, func(o *Options) { o.Jobs = held })
	all := bodiesAtOnce * int64(f.config.HTTP.MaxBody)
	held.free = func() bool {
		if !f.memory.TryAcquire(all) {
			return false
		}
		f.memory.Release(all)
		return true
	}
	if w := f.submit("POST", batchPath, batchOf(2)); w.Code != 200 {
		t.Fatalf("status %d %s", w.Code, w.Body)
	}
	if !held.held || !held.free() {
		t.Errorf("reserved while the jobs are stored: %t, free afterwards: %t", held.held, held.free())
	}
}

// TestBatchDuringOutage checks that an error of the store refuses the whole batch, and stores none of it.
func TestBatchDuringOutage(t *testing.T) {
	f := newFixture(t)
	f.jobs.fail = api.ErrUnavailable
	wantProblem(t, f.submit("POST", batchPath, batchOf(2)), "temporary-failure")
	f.jobs.fail, f.unfit = nil, fmt.Errorf("draining")
	wantProblem(t, f.submit("POST", batchPath, batchOf(2)), "not-ready")
	f.unfit = nil
	f.Server = newFixture(t, func(o *Options) { o.Jobs = noProblems{f.jobs} }).Server
	wantProblem(t, f.submit("POST", batchPath, strings.TrimSuffix(batchOf(2), "]}")+
		`,{"job": {"problem": "double", "program": {"text": "x"}}}]}`), "temporary-failure")
	if len(f.jobs.records) != 0 {
		t.Errorf("stored %v", f.jobs.records)
	}
	if w := f.submit("POST", batchPath, batchOf(2)); w.Code != http.StatusOK || len(f.jobs.records) != 2 {
		t.Errorf("status %d, %d jobs", w.Code, len(f.jobs.records))
	}
}

// noProblems is a store that cannot read problems.
type noProblems struct{ Jobs }

func (noProblems) Problem(context.Context, string) (api.Problem, error) {
	return api.Problem{}, api.ErrUnavailable
}

// TestHaveBlobs also checks that the request counts as a use, so that no sweep deletes the blob before it is named.
func TestHaveBlobs(t *testing.T) {
	f := newFixture(t)
	f.ask("PUT", "/v1/blobs/"+digestText("hello"), "hello")
	there, absent := digestText("hello"), digestText("absent")
	path, err := f.blobs.Path(there)
	if err == nil {
		err = os.Chtimes(path, noon, noon)
	}
	if err != nil {
		t.Fatal(err)
	}
	w := f.submit("POST", "/v1/blobs:have", fmt.Sprintf(`{"sha256": ["%s", "%s", "%[1]s"]}`, absent, there))
	want := haveAnswer{Stored: []blobInfo{{SHA256: there, Size: 5}}, Missing: []string{absent}}
	if diff := cmp.Diff(want, answer[haveAnswer](t, w)); diff != "" || w.Code != 200 {
		t.Errorf("status %d (-want +got):\n%s", w.Code, diff)
	}
	if info, err := os.Stat(path); err != nil || time.Since(info.ModTime()) > time.Hour {
		t.Errorf("the request is no use of the blob: %v, %v", info.ModTime(), err)
	}
	many := strings.TrimSuffix(strings.Repeat(`"`+absent+`",`, maxHave+1), ",")
	big := newFixture(t, func(o *Options) { o.Config.HTTP.MaxBody = 1 << 20 })
	for body, kind := range map[string]string{
		`{}`:                           "bad-request",
		`{"sha256": []}`:               "bad-request",
		`{"sha256": ["x"]}`:            "bad-request",
		`{"blobs": ["` + there + `"]}`: "bad-request",
		`{"sha256": [` + many + `]}`:   "bad-request",
	} {
		wantProblem(t, big.submit("POST", "/v1/blobs:have", body), kind)
	}
}

type countingJobs struct {
	Jobs
	count *counting
}

func (c countingJobs) Problem(ctx context.Context, id string) (api.Problem, error) {
	c.count.problems++
	return c.Jobs.Problem(ctx, id)
}

func (c countingJobs) PutAll(ctx context.Context, list []jobs.Packed) ([]jobs.Stored, error) {
	c.count.transactions++
	return c.Jobs.PutAll(ctx, list)
}

type countingBlobs struct {
	Blobs
	count *counting
}

func (c countingBlobs) Put(ctx context.Context, digest string, r io.Reader) (string, units.Bytes, bool, error) {
	c.count.puts++
	return c.Blobs.Put(ctx, digest, r)
}

func (c countingBlobs) PutAll(ctx context.Context, contents map[string][]byte) error {
	c.count.putAlls++
	return c.Blobs.PutAll(ctx, contents)
}

func (c countingBlobs) Stat(digest string) (units.Bytes, error) {
	c.count.stats++
	return c.Blobs.Stat(digest)
}
