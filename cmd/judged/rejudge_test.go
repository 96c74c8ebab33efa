package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/client"
)

// TestRejudgeOfNode: a list that is not complete is not judged again as if it were.
func TestRejudgeOfNode(t *testing.T) {
	since := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	for _, truncated := range []bool{false, true} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(api.RejudgingSet{Node: "n", Since: since, Until: since.Add(time.Hour),
				Jobs: []api.RejudgedJob{{ID: "a"}, {ID: "b"}}, Truncated: truncated})
		}))
		defer server.Close()
		f := rejudgeFlags{node: "n"}
		q, err := f.request(t.Context(), client.Client{Base: server.URL, HTTP: server.Client()}, nil)
		got := fmt.Sprint(q.Jobs, err)
		want := "[a b] <nil>"
		if truncated {
			want = "more jobs from 2026-11-20T09:00:00Z to 2026-11-20T10:00:00Z than the 2 that are listed"
		}
		if !strings.Contains(got, want) || (err != nil) != truncated {
			t.Errorf("truncated %t: %s, want %q", truncated, got, want)
		}
	}
}

// TestRejudgingLost: an output that cannot be written is an error, also without a table.
func TestRejudgingLost(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	a := &app{out: full, err: io.Discard}
	for name, v := range map[string]api.Rejudging{"summary": {ID: "s"},
		"skipped": {ID: "s", SkippedN: 1, Skipped: []api.SkippedJob{{Job: "a", Reason: "gone"}}}} {
		if err := a.printRejudging(v, false); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
