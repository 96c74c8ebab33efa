package judge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/client"
)

// saying starts a front with one response to all requests, and returns a source for it.
func saying(t *testing.T, body string) (*Source, *atomic.Int64) {
	t.Helper()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	s, err := NewSource(Options{Front: client.Client{Base: server.URL}, Node: "n",
		Spool: filepath.Join(t.TempDir(), "spool"), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return s, &asked
}

// TestTakeUnusable: a node takes no job whose attempt it could not name in its requests and in its spool.
func TestTakeUnusable(t *testing.T) {
	for work, ok := range map[string]bool{
		`{"id":"a","attempt":1}`:       true,
		`{"id":"@key-a","attempt":3}`:  true,
		`{}`:                           false,
		`{"id":"a"}`:                   false,
		`{"id":"a","attempt":0}`:       false,
		`{"id":"a","attempt":-1}`:      false,
		`{"attempt":1}`:                false,
		`{"id":"../../a","attempt":1}`: false,
		`{"id":"a/b","attempt":1}`:     false,
		`{"id":"` + strings.Repeat("a", 65) + `","attempt":1}`: false,
		`{"id":"a","attempt":1.5}`:                             false,
		`{"id":"a","attempt":9223372036854775808}`:             false,
	} {
		s, _ := saying(t, `{"work":`+work+`}`)
		got, err := s.Take(t.Context(), api.Want{CPUs: "2"})
		if (err == nil) != ok || err != nil && !errors.Is(err, api.ErrUnavailable) {
			t.Errorf("%s: %+v, %v", work, got, err)
		}
	}
}

// TestPolls: a front that answers long polls at once, because it stops or is something else, is not asked without a pause.
func TestPolls(t *testing.T) {
	for name, ask := range map[string]func(context.Context, *Source) error{
		"take": func(ctx context.Context, s *Source) error { _, err := s.Take(ctx, api.Want{CPUs: "2"}); return err },
		"lost": func(ctx context.Context, s *Source) error { return s.Lost(ctx, api.Lease{ID: "a", Attempt: 1}) },
	} {
		s, asked := saying(t, "{}")
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		if err := ask(ctx, s); err == nil {
			t.Errorf("%s: no error", name)
		}
		cancel()
		if n := asked.Load(); n > 2 {
			t.Errorf("%s: %d requests in half a second", name, n)
		}
	}
}
