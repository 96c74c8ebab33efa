package daemon

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"judged/internal/base/job"
	"judged/internal/jobs"
	"judged/internal/jobs/client"
	"judged/internal/jobs/fleet"
	"judged/internal/testkit"
)

// TestAdmission has a real judge, and a simulated one with another kernel: it gets no job until it is admitted, and its
// reports say that it was.
func TestAdmission(t *testing.T) {
	c := frontSettings(t)
	front := serving(t, c)
	node := serving(t, nodeSettings(t, c, "judge-1"))
	testkit.WaitFor(t, patience, "the judge", func() bool { return len(front.nodes()) == 1 })
	source, err := fleet.NewSource(fleet.Options{Front: front.Client, Node: "judge-2", Spool: t.TempDir(),
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		t.Fatal(err)
	}
	register := func() fleet.Commands {
		t.Helper()
		commands, err := source.Register(t.Context(), fleet.Registration{Pool: "default", Fingerprint: "f",
			Ready: true, Time: time.Now(), Slots: []fleet.Slot{{CPUs: "1", State: "idle"}},
			Hardware: map[string]string{"kernel": "other"}})
		if err != nil {
			t.Fatal(err)
		}
		return commands
	}
	if c := register(); c.KeptOut == "" || c.Drained {
		t.Errorf("commands for another kernel: %+v", c)
	}
	want := fleet.Difference{Member: "kernel", Node: "other", Pool: strings.TrimSpace(string(release))}
	list, err := fleet.List(front.ctx, front.Client)
	if err != nil || len(list) != 2 {
		t.Fatalf("nodes %+v, %v", list, err)
	}
	if !slices.Contains(list[1].Differs, want) || list[0].Differs != nil {
		t.Errorf("differences %+v and %+v, want none and %+v", list[0].Differs, list[1].Differs, want)
	}

	node.drain()
	front.submit("job", front.sum(1, false))
	take := func(wait time.Duration) (jobs.Work, error) {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		defer cancel()
		return source.Take(ctx, jobs.Want{Pool: "default", Width: 1, CPUs: "1"})
	}
	// Longer than a front may take to notice, shorter than the test's patience.
	if w, err := take(2 * time.Second); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a node that differs takes %q, %v", w.ID, err)
	}
	if _, err := fleet.Admit(front.ctx, front.Client, "nobody"); !client.NotFound(err) {
		t.Errorf("admit an unknown node: %v, want 404", err)
	}
	if _, err := fleet.Admit(front.ctx, front.Client, "judge-2"); err != nil {
		t.Fatal(err)
	}
	if c := register(); c.KeptOut != "" {
		t.Errorf("commands for an admitted node: %+v", c)
	}
	work, err := take(patience)
	if err != nil {
		t.Fatal(err)
	}
	if err := source.Finish(t.Context(), work.Lease, job.Report{Verdict: job.Accepted, Host: &job.HostReport{Name: "x",
		Fingerprint: "f", Kernel: "other", CPUModel: "x", Isolation: "none", Turbo: "off"},
		Tests: []job.TestReport{{Name: "1", Verdict: job.Accepted}}}); err != nil {
		t.Fatal(err)
	}
	if r := front.finish("job"); r.Host == nil || r.Host.Node != "judge-2" || !r.Host.Admitted {
		t.Errorf("host in the report of an admitted node: %+v", r.Host)
	}
	front.drain()
}
