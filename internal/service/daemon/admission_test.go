package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/client"
	"judged/internal/engine/measure"
	"judged/internal/fleet/judge"
	"judged/internal/host/machine"
	"judged/internal/jobs"
	"judged/internal/testkit"
	"judged/internal/timing/stats"
)

// TestAdmission checks that a simulated judge with another kernel than the real one gets no job until it is admitted,
// and that its reports say that it was admitted.
func TestAdmission(t *testing.T) {
	c := frontSettings(t)
	front := serving(t, c)
	node := serving(t, nodeSettings(t, c, "judge-1"))
	testkit.WaitFor(t, patience, "the judge", func() bool { return len(front.nodes()) == 1 })
	source, err := judge.NewSource(judge.Options{Front: front.Client, Node: "judge-2", Spool: t.TempDir(),
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		t.Fatal(err)
	}
	register := func() api.NodeCommands {
		t.Helper()
		commands, err := source.Register(t.Context(), api.Registration{Pool: "default", Fingerprint: "f",
			Ready: true, Time: time.Now(), Slots: []api.NodeSlot{{CPUs: "1", State: "idle"}},
			Hardware: map[string]string{"kernel": "other"}})
		if err != nil {
			t.Fatal(err)
		}
		return commands
	}
	if c := register(); c.KeptOut == "" || c.Drained {
		t.Errorf("commands for another kernel: %+v", c)
	}
	want := api.NodeDifference{Member: "kernel", Node: "other", Pool: strings.TrimSpace(string(release))}
	list, err := client.ListNodes(front.ctx, front.Client)
	if err != nil || len(list) != 2 {
		t.Fatalf("nodes %+v, %v", list, err)
	}
	if !slices.Contains(list[1].Differs, want) || list[0].Differs != nil {
		t.Errorf("differences %+v and %+v, want none and %+v", list[0].Differs, list[1].Differs, want)
	}

	node.drain()
	front.submit("job", front.sum(1, false))
	take := func(wait time.Duration) (api.Work, error) {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		defer cancel()
		return source.Take(ctx, api.Want{Pool: "default", Width: 1, CPUs: "1"})
	}
	// Longer than a front may take to notice, shorter than the test's timeout.
	if w, err := take(2 * time.Second); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a node that differs takes %q, %v", w.ID, err)
	}
	if _, err := client.AdmitNode(front.ctx, front.Client, "nobody"); !client.NotFound(err) {
		t.Errorf("admit an unknown node: %v, want 404", err)
	}
	if _, err := client.AdmitNode(front.ctx, front.Client, "judge-2"); err != nil {
		t.Fatal(err)
	}
	if c := register(); c.KeptOut != "" {
		t.Errorf("commands for an admitted node: %+v", c)
	}
	work, err := take(patience)
	if err != nil {
		t.Fatal(err)
	}
	if err := source.Finish(t.Context(), work.Lease, api.Report{Verdict: api.Accepted, Host: &api.HostReport{Name: "x",
		Fingerprint: "f", Kernel: "other", CPUModel: "x", Isolation: "none", Turbo: "off"},
		Tests: []api.TestReport{{Name: "1", Verdict: api.Accepted}}}); err != nil {
		t.Fatal(err)
	}
	if r := front.finish("job"); r.Host == nil || r.Host.Node != "judge-2" || !r.Host.Admitted {
		t.Errorf("host in the report of an admitted node: %+v", r.Host)
	}
	front.drain()
}

// TestEquivalence checks that a judge whose pool has times of reference kernels gets no job until it has its own times,
// and only if they are equal.
func TestEquivalence(t *testing.T) {
	c := frontSettings(t)
	front := serving(t, c)
	member := serving(t, nodeSettings(t, c, "judge-1"))
	testkit.WaitFor(t, patience, "the member", func() bool { return len(front.nodes()) == 1 })
	source, err := judge.NewSource(judge.Options{Front: front.Client, Node: "judge-1", Spool: t.TempDir(),
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	times := &api.KernelTimes{Program: canaryDigest(t), CPUTime: map[string]time.Duration{}}
	for _, kernel := range measure.OwnKernels() {
		times.CPUTime[kernel] = 50 * time.Millisecond
	}
	commands, err := source.Register(t.Context(), api.Registration{Pool: "default", Ready: true, Time: time.Now(),
		Kernels: times})
	if err != nil || !commands.KernelsKnown {
		t.Fatalf("commands %+v, %v", commands, err)
	}
	member.drain()

	own := nodeSettings(t, c, "judge-2")
	own.Canary.Interval = time.Hour
	// starts starts a judge and checks which properties differ.
	starts := func(want ...string) *instance {
		t.Helper()
		judge := serving(t, own)
		testkit.WaitFor(t, patience, fmt.Sprintf("a judge with the differences %q", want), func() bool {
			list, err := client.ListNodes(front.ctx, front.Client)
			if err != nil || len(list) != 2 {
				return false
			}
			var differs []string
			for _, d := range list[1].Differs {
				differs = append(differs, d.Member+": "+d.Node)
			}
			return slices.Equal(differs, want)
		})
		return judge
	}
	judge := starts("reference kernels: being measured")
	list, err := judge.Slots(judge.ctx)
	if err != nil {
		t.Fatal(err)
	}
	cpus := list[0].CPUs
	judge.drain()

	haveLearned(t, own, cpus, 60*time.Millisecond)
	var slower []string
	for _, kernel := range slices.Sorted(slices.Values(measure.OwnKernels())) {
		slower = append(slower, "reference kernel "+kernel+": 60.00 ms, +20.0 %")
	}
	starts(slower...).drain()

	haveLearned(t, own, cpus, 50*time.Millisecond)
	judge = starts()
	front.submit("job", front.sum(1, false))
	if r := front.finish("job"); r.Host == nil || r.Host.Node != "judge-2" || r.Host.Admitted {
		t.Errorf("host of the report: %+v", r.Host)
	}
	judge.drain()
	front.drain()
}

// TestKnown checks that hardware and times are sent until a front has them, again to a front that lacks them, and once
// a month.
func TestKnown(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	hardware := map[string]string{"kernel": "6.1"}
	var k known
	for i, step := range []struct {
		after             time.Duration
		times             string
		known             bool // by the front that responds
		hardware, kernels bool // whether they are sent
	}{
		{times: "a", hardware: true, kernels: true},
		{times: "a", known: true, hardware: true, kernels: true},
		{times: "a", known: true},
		{times: "b", known: true, kernels: true},
		{times: "b"}, // another front
		{times: "b", known: true, hardware: true, kernels: true},
		{after: sendAgainAfter, times: "b", known: true},
		{after: 1, times: "b", known: true, hardware: true, kernels: true},
		{times: "b", known: true},
	} {
		now = now.Add(step.after)
		r := api.Registration{Time: now}
		k.add(&r, hardware, &api.KernelTimes{Program: step.times})
		if (r.Hardware != nil) != step.hardware || (r.Kernels != nil) != step.kernels {
			t.Errorf("step %d: sends %v and %v", i, r.Hardware, r.Kernels)
		}
		k.note(r, api.NodeCommands{HardwareKnown: step.known, KernelsKnown: step.known})
	}
}

func canaryDigest(t *testing.T) string {
	t.Helper()
	c, err := measure.NewCanary(machine.Topology{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.Digest()
}

// haveLearned stores baselines for a daemon that is not running.
func haveLearned(t *testing.T, c config.Config, cpus string, took time.Duration) {
	t.Helper()
	s, err := jobs.Open(t.Context(), jobs.Options{File: filepath.Join(c.DataDir, "judged.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, kernel := range measure.OwnKernels() {
		h := stats.Health{State: stats.Steady, Baseline: stats.Baseline{Center: took, Sigma: 0.01, Guard: 0.03}}
		if err := s.SetValue(t.Context(), h, "canary", host, canaryDigest(t), cpus, kernel); err != nil {
			t.Fatal(err)
		}
	}
}
