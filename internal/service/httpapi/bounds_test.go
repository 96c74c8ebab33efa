package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/fleet/front"
)

// TestUnknownKeys checks that a package with many unknown keys is refused, and that for a few keys the first are
// reported.
func TestUnknownKeys(t *testing.T) {
	for _, n := range []int{400, 60_000} {
		f := newFixture(t, func(o *Options) { o.Blobs, o.Config.HTTP.MaxBlob = openBlobs(t.TempDir(), 4<<20), 4<<20 })
		var keys strings.Builder
		for i := range n {
			fmt.Fprintf(&keys, "k%d:\n", i)
		}
		w := f.ask("PUT", "/v1/problems/double", packageOf(t, doubling("problem.yaml", "name: x\n"+keys.String())))
		if n > 500 {
			if p := wantProblem(t, w, "invalid-problem"); !strings.Contains(p.Detail, "more than 500 keys") {
				t.Errorf("detail %q", p.Detail)
			}
			continue
		}
		if p := answer[api.Problem](t, w); w.Code != 201 || len(p.Findings) != 101 {
			t.Errorf("status %d, %d findings", w.Code, len(p.Findings))
		}
	}
}

// leavers is a blob store whose caller disconnects when a blob is looked up.
type leavers struct {
	Blobs
	leave func()
}

func (l leavers) Path(digest string) (string, error) {
	l.leave()
	return l.Blobs.Path(digest)
}

// TestPackageOfACallerWhoHangsUp checks that a package is not read for a caller that has disconnected, and does not
// block others.
func TestPackageOfACallerWhoHangsUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f := newFixture(t, func(o *Options) { o.Blobs = leavers{openBlobs(t.TempDir(), 1<<20), cancel} })
	r := httptest.NewRequestWithContext(ctx, "PUT", "/v1/problems/double", strings.NewReader(packageOf(t, doubling())))
	r.Host = "127.0.0.1:8080"
	f.ServeHTTP(discard{http.Header{}}, r)
	if len(f.jobs.problems) != 0 {
		t.Errorf("stored %+v", f.jobs.problems)
	}
	if !f.unpacking.TryAcquire(1) {
		t.Error("other packages cannot be read")
	}
	if logged := f.logged.String(); strings.Contains(logged, "failed") {
		t.Errorf("log %s", logged)
	}
}

// TestMissingBlobsAreBounded checks a job with many missing blobs, one of them named often.
func TestMissingBlobsAreBounded(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Config.HTTP.MaxBody = 1 << 20 })
	for n, want := range map[int]int{1: 1, 100: 100, 300: 101} {
		var tests []string
		for i := range n {
			tests = append(tests, fmt.Sprintf(`{"name": "%d", "input": {"blob": "%s"}}`, i, digestText(fmt.Sprint(i%7))))
		}
		p := wantProblem(t, f.submit("PUT", "/v1/jobs/a",
			`{"program": {"text": "x"}, "tests": [`+strings.Join(tests, ",")+`]}`), "missing-blob")
		if len(p.Errors) != want {
			t.Errorf("%d files: %d findings, want %d", n, len(p.Errors), want)
		}
	}
}

// TestLabelsOfFilters checks that a filter has at most as many labels as a job: each is a query.
func TestLabelsOfFilters(t *testing.T) {
	f := newFixture(t)
	values, labels := url.Values{}, []string{}
	for i := range 33 {
		values.Add("label", fmt.Sprintf("k%d=v", i))
		labels = append(labels, fmt.Sprintf(`"k%d": "v"`, i))
	}
	wantProblem(t, f.ask("GET", "/v1/jobs?"+values.Encode(), ""), "bad-request")
	wantProblem(t, f.submit("POST", "/v1/rejudgings", `{"filter": {"labels": {`+strings.Join(labels, ", ")+`}}}`),
		"bad-request")
	values["label"] = values["label"][1:]
	if w := f.ask("GET", "/v1/jobs?"+values.Encode(), ""); w.Code != 200 {
		t.Errorf("32 labels: %d %s", w.Code, w.Body)
	}
}

// TestNodesHaveMemory checks that bodies of platforms, which can be slow, leave memory for those of judge nodes.
func TestNodesHaveMemory(t *testing.T) {
	store := openStore(t)
	server := New(Options{Config: config.Default(), Jobs: store, Work: store, Protocols: api.FleetProtocols(),
		Nodes: registryNodes{front.NewRegistry(store, time.Now, "default")}, Blobs: openBlobs(t.TempDir(), 1<<20),
		Accepts: func() error { return nil }, Ready: func() error { return nil }})
	for n := int64(1) << 40; n > 0; n /= 2 { // all of it
		for server.memory.TryAcquire(n) {
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/work/register", strings.NewReader(fmt.Sprintf(
		`{"node": "n", "protocol": %d, "pool": "default", "ready": true}`, api.FleetProtocols().Newest)))
	r.Host = "127.0.0.1"
	w := httptest.NewRecorder()
	server.ServeHTTP(w, r)
	if w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	// Large reports take all of that memory. A node that cannot extend its leases would lose its jobs.
	for n := int64(1) << 40; n > 0; n /= 2 {
		for server.nodeMemory.TryAcquire(n) {
		}
	}
	for size, want := range map[int]int{100: 200, smallBody - 200: 200, smallBody + 1: 503} {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/work/take", strings.NewReader(fmt.Sprintf(
			`{"node": "n", "protocol": %d, "padding": %q}`, api.FleetProtocols().Newest, strings.Repeat("x", size))))
		r.Host = "127.0.0.1"
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("body of %d bytes: %d %s, want %d", size, w.Code, w.Body, want)
		}
	}
}
