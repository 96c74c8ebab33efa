package judge

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"judged/internal/api"
	"judged/internal/client"
	"judged/internal/jobs/blobs"
	"judged/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Run(m)) }

// answer is the response of a front to every request.
type answer struct {
	status int
	kind   string // kind of problem details
}

// frontOf starts a front that gives all requests the same response, and returns a source for it.
func frontOf(t *testing.T, a answer) (*Source, *atomic.Int64) {
	t.Helper()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		if a.status == http.StatusOK {
			_, _ = w.Write([]byte("{}"))
			return
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(a.status)
		_ = json.NewEncoder(w).Encode(map[string]any{"type": "urn:judged:" + a.kind, "status": a.status})
	}))
	t.Cleanup(server.Close)
	s, err := NewSource(Options{Front: client.Client{Base: server.URL}, Node: "n",
		Spool: filepath.Join(t.TempDir(), "spool"), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return s, &asked
}

func spooledFiles(t *testing.T, s *Source) []string {
	t.Helper()
	entries, err := os.ReadDir(s.spool.dir)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestFinish checks the error for each response of a front, and whether the report stays in the spool.
func TestFinish(t *testing.T) {
	tests := []struct {
		name    string
		answer  answer
		want    error
		spooled bool
	}{
		{"stored", answer{http.StatusOK, ""}, nil, false},
		{"another attempt", answer{http.StatusConflict, "stale"}, api.ErrStale, false},
		{"cancelled", answer{http.StatusConflict, "final"}, api.ErrFinal, false},
		{"deleted", answer{http.StatusNotFound, "not-found"}, api.ErrNotFound, false},
		{"daemon of another role", answer{http.StatusNotFound, "path"}, api.ErrUnavailable, true},
		{"database away", answer{http.StatusServiceUnavailable, "temporary-failure"}, api.ErrUnavailable, true},
		{"token revoked", answer{http.StatusUnauthorized, "unauthorized"}, api.ErrUnavailable, true},
		{"error of the front", answer{http.StatusInternalServerError, "internal"}, api.ErrUnavailable, true},
		{"error of a proxy", answer{http.StatusBadGateway, "proxy"}, api.ErrUnavailable, true},
		{"always refused", answer{http.StatusUnprocessableEntity, "invalid-report"}, api.ErrRefused, false},
		{"always too large", answer{http.StatusRequestEntityTooLarge, "too-large"}, api.ErrRefused, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := frontOf(t, tt.answer)
			err := s.Finish(t.Context(), api.Lease{ID: "a", Attempt: 3}, api.Report{Verdict: api.Accepted})
			if !errors.Is(err, tt.want) || tt.want == nil && err != nil {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			want := []string{}
			if tt.spooled {
				want = []string{"a.3.json"}
			}
			if diff := cmp.Diff(want, spooledFiles(t, s)); diff != "" {
				t.Errorf("spool (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHandIn checks that a spooled report is sent once, and stays while no front responds.
func TestHandIn(t *testing.T) {
	away, _ := frontOf(t, answer{http.StatusServiceUnavailable, "not-ready"})
	for attempt := range 3 {
		err := away.Finish(t.Context(), api.Lease{ID: "a", Attempt: attempt + 1}, api.Report{Verdict: api.WrongAnswer})
		if !errors.Is(err, api.ErrUnavailable) {
			t.Fatal(err)
		}
	}
	if err := away.HandIn(t.Context()); !errors.Is(err, api.ErrUnavailable) || len(spooledFiles(t, away)) != 3 {
		t.Errorf("hand in without a front: %v, spool %q", err, spooledFiles(t, away))
	}
	for name, a := range map[string]answer{"stored": {http.StatusOK, ""}, "stale": {http.StatusConflict, "stale"}} {
		back, asked := frontOf(t, a)
		if err := os.CopyFS(back.spool.dir, os.DirFS(away.spool.dir)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := back.HandIn(t.Context()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if n := asked.Load(); n != 3 || len(spooledFiles(t, back)) != 0 {
			t.Errorf("%s: %d requests, spool %q; want 3 and none", name, n, spooledFiles(t, back))
		}
	}
}

// TestCache checks that many jobs that want a blob cause one download, and that wrong content is refused.
func TestCache(t *testing.T) {
	content := bytes.Repeat([]byte("judged"), 1<<16)
	sum := sha256.Sum256(content)
	digest := hex.EncodeToString(sum[:])
	var asked atomic.Int64
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		switch strings.TrimPrefix(r.URL.Path, "/v1/blobs/") {
		case digest:
			<-release
			_, _ = w.Write(content)
		case strings.Repeat("a", 64):
			_, _ = w.Write([]byte("something else"))
		case strings.Repeat("b", 64):
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"type":"urn:judged:not-found"}`))
		default:
			http.Error(w, "default backend", http.StatusNotFound)
		}
	}))
	defer server.Close()
	store, err := blobs.Open(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	damaged := 0
	c := &blobs.Cache{Store: store, Fetch: Fetch(client.Client{Base: server.URL}), Life: t.Context(),
		Damaged: func(context.Context, string) error { damaged++; return nil }}
	var waiting errgroup.Group
	for range 20 {
		waiting.Go(func() error {
			path, err := c.Path(digest)
			if err != nil {
				return err
			}
			got, err := os.ReadFile(path)
			if err == nil && !bytes.Equal(got, content) {
				err = errors.New("other content")
			}
			return err
		})
	}
	close(release)
	if err := waiting.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := c.Path(digest); err != nil || asked.Load() != 1 {
		t.Errorf("again: %v, %d downloads, want 1", err, asked.Load())
	}
	if _, err := c.Path(strings.Repeat("a", 64)); !errors.Is(err, blobs.ErrAway) || damaged != 1 {
		t.Errorf("a content with another digest: %v; the front was asked %d times to look at it", err, damaged)
	}
	if _, err := c.Path(strings.Repeat("b", 64)); !errors.Is(err, blobs.ErrNotFound) {
		t.Errorf("a blob that the front does not have: %v", err)
	}
	_, err = c.Path(strings.Repeat("c", 64))
	if errors.Is(err, blobs.ErrNotFound) || !errors.Is(err, api.ErrUnavailable) {
		t.Errorf("a proxy without a front: %v", err)
	}
}

// TestProtocols checks that a node falls back to the version of the front that it reaches, and tries its newest again
// when it registers.
func TestProtocols(t *testing.T) {
	for _, tt := range []struct {
		name        string
		node, front api.Protocols
		want        []int // versions of a registration, a return, a return and a registration
		fails       bool
	}{
		{"same", api.Protocols{Oldest: 1, Newest: 1}, api.Protocols{Oldest: 1, Newest: 1}, []int{1, 1, 1, 1}, false},
		{"newer node", api.Protocols{Oldest: 1, Newest: 2}, api.Protocols{Oldest: 1, Newest: 1}, []int{2, 1, 1, 1, 2,
			1}, false},
		{"newer front", api.Protocols{Oldest: 1, Newest: 1}, api.Protocols{Oldest: 1, Newest: 2}, []int{1, 1, 1, 1},
			false},
		{"both newer", api.Protocols{Oldest: 1, Newest: 2}, api.Protocols{Oldest: 1, Newest: 2}, []int{2, 2, 2, 2},
			false},
		{"too far apart", api.Protocols{Oldest: 2, Newest: 3}, api.Protocols{Oldest: 1, Newest: 1}, []int{3, 2, 3, 2,
			3, 2, 3, 2}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var versions []int
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var c api.Caller
				if err := json.NewDecoder(r.Body).Decode(&c); err != nil || c.Node != "n" {
					t.Errorf("caller %+v: %v", c, err)
				}
				versions = append(versions, c.Protocol)
				if tt.front.Has(c.Protocol) {
					_, _ = w.Write([]byte("{}"))
					return
				}
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(http.StatusBadRequest)
				_ = json.NewEncoder(w).Encode(map[string]any{"type": "urn:judged:protocol", "status": 400})
			}))
			defer server.Close()
			s, err := NewSource(Options{Front: client.Client{Base: server.URL}, Node: "n", Protocols: tt.node,
				Spool: filepath.Join(t.TempDir(), "spool"), Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			register := func() error { _, err := s.Register(t.Context(), api.Registration{}); return err }
			giveBack := func() error {
				return s.Return(t.Context(), api.Lease{ID: "1", Attempt: 1}, api.Returned{Uncounted: true})
			}
			for _, ask := range []func() error{register, giveBack, giveBack, register} {
				if err := ask(); (err != nil) != tt.fails || err != nil && !errors.Is(err, api.ErrUnavailable) {
					t.Errorf("error %v, want one: %v", err, tt.fails)
				}
			}
			if diff := cmp.Diff(tt.want, versions); diff != "" {
				t.Errorf("versions (-want +got):\n%s", diff)
			}
		})
	}
}
