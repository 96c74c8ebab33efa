package httpapi

import (
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/base/units"
	"judged/internal/client"
	"judged/internal/fleet/judge"
	"judged/internal/jobs"
)

// TestReportOfALiar checks that what a node reports about itself is replaced by what the front records, and that a
// report that cannot be true ends the job as IE that names the node. Each front has to read the job that the other one
// has given to the node.
func TestReportOfALiar(t *testing.T) {
	t.Parallel()
	store := openStore(t)
	front, other := frontWith(t, store, 64<<20), frontWith(t, store, 64<<20)
	node, err := judge.NewSource(judge.Options{Front: front, Node: "n", Spool: filepath.Join(t.TempDir(), "spool"),
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	sum := strings.Repeat("ab", 32)
	registration := api.Registration{Pool: "default", Fingerprint: sum, Ready: true}
	if _, err := node.Register(t.Context(), registration); err != nil {
		t.Fatal(err)
	}
	now := time.Second
	honest := api.Report{Verdict: api.Accepted, Tests: []api.TestReport{{Name: "1", Verdict: api.Accepted,
		CPUTime: &now}}}
	foreign := honest
	foreign.Host = &api.HostReport{Name: "h", Node: "other", Pool: "contest", Fingerprint: strings.Repeat("cd", 32),
		Admitted: true}
	foreign.Screening = &api.Screening{Pool: "contest", Decided: true}
	foreign.CrossCheck = &api.CrossCheck{Decision: api.HostsAgree}
	foreign.Rejudging = &api.AppliedRejudging{ID: "r"}
	foreign.Problem = &api.ProblemVersion{ID: "p"}
	foreign.Language = &api.LanguageReport{ID: "<b>", Findings: []string{strings.Repeat("x", 2<<20)}}
	markup, many, reason := honest, honest, honest
	markup.Verdict = "<script>"
	many.Tests = make([]api.TestReport, 20_000)
	reason.Message = strings.Repeat("x", 2<<20)
	for name, tt := range map[string]struct {
		report api.Report
		want   api.Verdict
	}{
		"honest": {honest, api.Accepted}, "of another host": {foreign, api.Accepted}, "markup": {markup,
			api.InternalError},
		"tests of no job": {many, api.InternalError}, "a long reason": {reason, api.InternalError},
	} {
		for _, at := range []string{"first front", "other front"} {
			id := strings.ReplaceAll(name+at, " ", "-")
			j := api.Job{CPUs: 1, Tests: []api.Test{{Name: "1"}}}
			if _, _, err := store.Put(t.Context(), jobs.Submission{ID: id, Job: j}); err != nil {
				t.Fatal(err)
			}
			w, err := node.Take(t.Context(), api.Want{Pool: "default", Width: 1, CPUs: "2"})
			if err != nil {
				t.Fatal(err)
			}
			sender := node
			if at == "other front" {
				sender, err = judge.NewSource(judge.Options{Front: other, Node: "n",
					Spool: filepath.Join(t.TempDir(), "spool"), Log: slog.New(slog.DiscardHandler)})
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := sender.Finish(t.Context(), w.Lease, tt.report); err != nil {
				t.Errorf("%s: %v", id, err)
			}
			rec, err := store.Get(t.Context(), id)
			r := rec.Report
			if err != nil || r.Verdict != tt.want {
				t.Errorf("%s: verdict %q, want %q; %v", id, r.Verdict, tt.want, err)
				continue
			}
			if h := r.Host; h == nil || h.Node != "n" || h.Pool != "default" || h.Fingerprint != sum || h.Admitted {
				t.Errorf("%s: host %+v", id, h)
			}
			if r.Screening != nil || r.CrossCheck != nil || r.Rejudging != nil || r.Problem != nil ||
				r.Language != nil {
				t.Errorf("%s: the node has decided what fronts decide: %+v", id, r)
			}
			if r.Verdict == api.InternalError && (r.Fault != api.JudgedFault || !strings.Contains(r.Message,
				`node "n"`) ||
				!strings.Contains(r.Message, "invalid report") || len(r.Tests) != 0) {
				t.Errorf("%s: IE of %q: %q", id, r.Fault, r.Message)
			}
		}
	}
}

// TestRequestsOfALiar checks that absurd requests are refused and change nothing.
func TestRequestsOfALiar(t *testing.T) {
	t.Parallel()
	store := openStore(t)
	front := frontWith(t, store, 64<<20)
	if _, _, err := store.Put(t.Context(), jobs.Submission{ID: "a", Job: api.Job{CPUs: 1, Head: units.Bytes(1),
		Tests: []api.Test{{Name: "1"}}}}); err != nil {
		t.Fatal(err)
	}
	caller := api.Caller{Node: "n", Protocol: api.FleetProtocols().Newest}
	take := func(q api.TakeRequest) (api.TakeAnswer, error) {
		q.Caller = caller
		return client.Post[api.TakeAnswer](t.Context(), front, "/v1/work/take", q, time.Minute)
	}
	long := strings.Repeat("x", 2<<20)
	for name, q := range map[string]api.TakeRequest{"CPUs": {Width: 1, CPUs: long}, "no CPUs": {Width: 1, CPUs: "<b>"},
		"width": {Width: 1 << 40}, "negative width": {Width: -1}, "key": {Width: 1, Key: long}} {
		if _, err := take(q); client.ClassOf(err) != client.Refused || err == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A wait that overflows in the conversion becomes the longest wait, not zero.
	answer, err := take(api.TakeRequest{Width: 1, CPUs: "2", WaitMS: 1 << 62})
	if err != nil || answer.Work == nil {
		t.Fatalf("take: %+v, %v", answer, err)
	}
	hold := api.Hold{Caller: caller, ID: "a", Attempt: answer.Work.Attempt}
	head := long
	for name, ask := range map[string]struct {
		verb string
		body any
	}{
		"delay":          {"return", api.ReturnRequest{Hold: hold, DelayMS: 1e15}},
		"negative delay": {"return", api.ReturnRequest{Hold: hold, DelayMS: -1}},
		"a test too many": {"emit", api.EmitRequest{Hold: hold, N: 2,
			Test: api.TestReport{Name: "1", Verdict: api.Accepted}}},
		"head": {"emit", api.EmitRequest{Hold: hold, N: 1, Test: api.TestReport{Name: "1", Verdict: api.Accepted,
			StdoutHead: &head}}},
		"verdict": {"emit", api.EmitRequest{Hold: hold, N: 1, Test: api.TestReport{Name: "1", Verdict: "<b>"}}},
		"reason":  {"register", api.Registration{Caller: caller, Pool: "default", Reason: long}},
		"version": {"register", api.Registration{Caller: caller, Pool: "default", Version: "\x1b[2J"}},
		"slots": {"register", api.Registration{Caller: caller, Pool: "default", Slots: make([]api.NodeSlot,
			100_000)}},
		"a slot": {"register", api.Registration{Caller: caller, Pool: "default", Slots: []api.NodeSlot{{CPUs: "<b>"}}}},
		"state": {"register", api.Registration{Caller: caller, Pool: "default",
			Slots: []api.NodeSlot{{State: long}}}},
		"fingerprint": {"register", api.Registration{Caller: caller, Pool: "default", Fingerprint: long}},
		"hardware": {"register", api.Registration{Caller: caller, Pool: "default",
			Hardware: map[string]string{"\x1b[2J": "x"}}},
		"kernel": {"register", api.Registration{Caller: caller, Pool: "default", Kernels: &api.KernelTimes{
			CPUTime: map[string]time.Duration{"\x1b[2J": 1}}}},
		"kernels": {"register", api.Registration{Caller: caller, Pool: "default",
			Kernels: &api.KernelTimes{Program: "\x1b[2J"}}},
		"blobs": {"register", api.Registration{Caller: caller, Pool: "default",
			Prefetch: &api.PrefetchProgress{ID: "p", Blobs: -1}}},
		"prefetch": {"register", api.Registration{Caller: caller, Pool: "default",
			Prefetch: &api.PrefetchProgress{Error: long}}},
	} {
		_, err := client.Post[json.RawMessage](t.Context(), front, "/v1/work/"+ask.verb, ask.body, 0)
		p, answered := errors.AsType[*client.Problem](err)
		if !answered || client.ClassOf(err) != client.Refused || len(p.Detail) > 1000 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if list, err := client.Get[api.NodeList](t.Context(), front, "/v1/nodes"); err != nil || len(list.Nodes) != 0 {
		t.Errorf("nodes %+v, %v", list, err)
	}
	rec, err := store.Get(t.Context(), "a")
	if err != nil || rec.Report.State != api.Running || len(rec.Report.Tests) != 0 {
		t.Errorf("the job is %s with %d tests, %v", rec.Report.State, len(rec.Report.Tests), err)
	}
	// After a refused request the node still holds the job and can send another one.
	if _, err := client.Post[api.Nothing](t.Context(), front, "/v1/work/return", api.ReturnRequest{Hold: hold,
		DelayMS: 60_000, Uncounted: true}, 0); err != nil {
		t.Error(err)
	}
}
