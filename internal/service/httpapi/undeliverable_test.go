package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/base/units"
	"judged/internal/client"
	"judged/internal/fleet/front"
	"judged/internal/fleet/judge"
	"judged/internal/jobs"
)

// registryNodes provides the nodes of a registry without screening pools.
type registryNodes struct{ *front.Registry }

func (registryNodes) OpenScreen(context.Context, string) error { return nil }

// frontWith returns a front with a store.
func frontWith(t *testing.T, store *jobs.Store, maxBody units.Bytes) client.Client {
	t.Helper()
	return frontOf(t, store, func(o *Options) { o.Config.HTTP.MaxBody = maxBody })
}

func frontOf(t *testing.T, store *jobs.Store, change func(*Options)) client.Client {
	t.Helper()
	o := Options{Config: config.Default(), Jobs: store, Work: store, Protocols: api.FleetProtocols(),
		Nodes:   registryNodes{front.NewRegistry(store, time.Now, "default")},
		Accepts: func() error { return nil }, Ready: func() error { return nil }}
	change(&o)
	server := httptest.NewServer(New(o))
	t.Cleanup(server.Close)
	return client.Client{Base: server.URL}
}

// TestReportThatDoesNotFit checks that a report of an accepted job that is larger than http.max_body still ends its job
// and keeps its verdict, and that its node continues to judge: jobs can be cancelled, and a restarted node registers.
func TestReportThatDoesNotFit(t *testing.T) {
	t.Parallel()
	store := openStore(t)
	front := frontWith(t, store, 1<<20)
	spool := filepath.Join(t.TempDir(), "spool")
	node := func() *judge.Source {
		s, err := judge.NewSource(judge.Options{Front: front, Node: "n", Spool: spool,
			Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	const tests = 24
	take := func(id string) api.Work {
		j := api.Job{CPUs: 1, Head: 64 << 10}
		for i := range tests {
			j.Tests = append(j.Tests, api.Test{Name: string(rune('a' + i))})
		}
		if _, _, err := store.Put(t.Context(), jobs.Submission{ID: id, Job: j}); err != nil {
			t.Fatal(err)
		}
		w, err := node().Take(t.Context(), api.Want{Pool: "default", Width: 1, CPUs: "2"})
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	head := strings.Repeat("\x01", 64<<10)
	rep := api.Report{Verdict: api.Accepted, Host: &api.HostReport{Name: "h"}}
	for i := range tests {
		rep.Tests = append(rep.Tests, api.TestReport{Name: string(rune('a' + i)), Verdict: api.Accepted,
			StdoutHead: &head, StderrHead: &head})
	}

	w := take("kept")
	if err := node().Finish(t.Context(), w.Lease, rep); err != nil {
		t.Error(err)
	}
	rec, err := store.Get(t.Context(), "kept")
	if err != nil || rec.Report.Verdict != api.Accepted || len(rec.Report.Tests) != tests ||
		rec.Report.Tests[0].StdoutHead != nil || rec.Report.Message == "" {
		t.Errorf("verdict %q, %d tests, message %q, %v", rec.Report.Verdict, len(rec.Report.Tests), rec.Report.Message,
			err)
	}

	w = take("cancelled")
	if _, err := store.Cancel(t.Context(), "cancelled"); err != nil {
		t.Fatal(err)
	}
	if err := node().Finish(t.Context(), w.Lease, rep); !errors.Is(err, api.ErrFinal) {
		t.Errorf("finish a cancelled job: %v", err)
	}

	w = take("spooled")
	away, err := judge.NewSource(judge.Options{Front: client.Client{Base: "http://127.0.0.1:1"}, Node: "n", Spool: spool,
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := away.Finish(t.Context(), w.Lease, rep); !errors.Is(err, api.ErrUnavailable) {
		t.Fatal(err)
	}
	restarted := node()
	if err := restarted.HandIn(t.Context()); err != nil {
		t.Errorf("hand in after a restart: %v", err)
	}
	if _, err := restarted.Register(t.Context(), api.Registration{Pool: "default", Started: true}); err != nil {
		t.Errorf("register after a restart: %v", err)
	}
	if rec, err := store.Get(t.Context(), "spooled"); err != nil || rec.Report.State != api.Done ||
		rec.Report.Verdict != api.Accepted {
		t.Errorf("spooled: %s %s, %v", rec.Report.State, rec.Report.Verdict, err)
	}
}
