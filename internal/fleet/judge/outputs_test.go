package judge

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/client"
	"judged/internal/jobs/blobs"
)

// TestSendOutputs checks that outputs are sent before the report that names them, and what a report names when a front
// accepts only some of them or a copy is gone.
func TestSendOutputs(t *testing.T) {
	finish := func(outputs ...api.Output) api.FinishRequest {
		return api.FinishRequest{Hold: api.Hold{ID: "a", Attempt: 1},
			Report: api.Report{Verdict: api.Accepted, Outputs: outputs}}
	}
	one := api.Output{Test: "1", Stream: api.StdoutStream, Blob: "one", Bytes: 3}
	lost := api.Output{Test: "1", Stream: api.StdoutStream, Bytes: 3, Truncated: true}
	other := api.Output{Test: "2", Stream: api.FileStream, Name: "out", Missing: true}
	answer := func(verb string, status int, kind string) func(string, int, api.FinishRequest) (int, string) {
		return func(asked string, _ int, _ api.FinishRequest) (int, string) {
			if asked == verb {
				return status, kind
			}
			return 0, ""
		}
	}
	for name, tt := range map[string]struct {
		refuse func(string, int, api.FinishRequest) (int, string)
		given  []api.Output
		want   []api.Output // nil if no report is stored
		asked  string
	}{
		"accepted": {answer("", 0, ""), []api.Output{one, one, other}, []api.Output{one, one, other},
			"keep a 1, finish a 1"},
		"none": {answer("", 0, ""), nil, nil, "keep a 0, finish a 1"},
		"refused": {answer("keep", http.StatusUnprocessableEntity, "invalid-report"), []api.Output{one, other},
			[]api.Output{lost, other}, "keep a 1, finish a 1"},
		"an older front": {answer("keep", http.StatusNotFound, "not-found"), []api.Output{one}, []api.Output{lost},
			"keep a 1, finish a 1"},
		"no copy": {answer("", 0, ""), []api.Output{{Test: "1", Stream: api.StdoutStream, Blob: "gone", Bytes: 3}},
			[]api.Output{lost}, "keep a 0, finish a 1"},
		"job lost": {answer("keep", http.StatusConflict, "stale"), []api.Output{one}, nil, "keep a 1, finish a 0"},
		"front away": {answer("keep", http.StatusServiceUnavailable, "no-space"), []api.Output{one}, nil,
			"keep a 1, finish a 0"},
		"report unwelcome": {answer("finish", http.StatusServiceUnavailable, "no-space"), []api.Output{one}, nil,
			"keep a 1, finish a 1"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newStrict(t, tt.refuse)
			s := f.source(t.TempDir())
			s.o.Outputs = copies(t)
			q := finish(tt.given...)
			_ = s.Finish(t.Context(), q.Lease(), q.Report)
			if diff := gocmp.Diff(tt.want, f.stored["a"].Outputs); diff != "" {
				t.Errorf("outputs (-want +got):\n%s", diff)
			}
			if got := fmt.Sprintf("keep a %d, finish a %d", f.asked["keep a"], f.asked["finish a"]); got != tt.asked {
				t.Errorf("asked %s, want %s", got, tt.asked)
			}
		})
	}
}

// TestSpooledOutputs checks that a report that waits for its front in the spool brings its outputs along, also after a
// restart of the node.
func TestSpooledOutputs(t *testing.T) {
	away := true
	f := newStrict(t, func(string, int, api.FinishRequest) (int, string) {
		if away {
			return http.StatusServiceUnavailable, "not-ready"
		}
		return 0, ""
	})
	spool := t.TempDir()
	rep := api.Report{Verdict: api.Accepted, Outputs: []api.Output{{Test: "1", Stream: api.StderrStream, Blob: "one"}}}
	first := f.source(spool)
	first.o.Outputs = copies(t)
	if err := first.Finish(t.Context(), api.Lease{ID: "a", Attempt: 1}, rep); err == nil {
		t.Fatal("no error from a front that is away")
	}
	f.mu.Lock()
	away = false
	f.mu.Unlock()
	s, err := NewSource(Options{Front: client.Client{Base: f.server.URL}, Node: "n", Spool: spool, Outputs: copies(t),
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.HandIn(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(rep.Outputs, f.stored["a"].Outputs); diff != "" || f.asked["keep a"] != 2 {
		t.Errorf("%d sent, outputs (-want +got):\n%s", f.asked["keep a"], diff)
	}
}

// copies returns the copies of a node, which has one.
func copies(t *testing.T) func(string) (string, error) {
	path := filepath.Join(t.TempDir(), "one")
	if err := os.WriteFile(path, []byte(strings.Repeat("x", 3)), 0o600); err != nil {
		t.Fatal(err)
	}
	return func(digest string) (string, error) {
		if digest != "one" {
			return "", blobs.ErrNotFound
		}
		return path, nil
	}
}
