package front

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/jobs"
	"judged/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Run(m)) }

// cluster is a real store with simulated nodes, whose times are random.
type cluster struct {
	t        *testing.T
	store    *jobs.Store
	registry *Registry
	auditor  *Auditor
	r        *rand.Rand
	ahead    time.Duration
	slow     map[string]float64 // node -> slowdown; 0.03 means 3 % slower
	names    []string
	jobs     int
	usable   int // number of usable audits
	judged   []judged
	retired  []string
}

// judged holds the knowledge of the oracle about a user's job.
type judged struct {
	id, node string
	at       time.Time
	off      float64 // time / limit - 1
	flipped  bool    // the verdict differs because the node is slow
}

func newCluster(t *testing.T, nodes int, with func(*AuditorOptions)) *cluster {
	c := &cluster{t: t, r: rand.New(rand.NewPCG(16, 3)), slow: map[string]float64{}}
	store, err := jobs.Open(t.Context(), jobs.Options{File: filepath.Join(t.TempDir(), "judged.db"), Now: c.now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	c.store, c.registry = store, NewRegistry(store, c.now)
	for i := range nodes {
		c.names = append(c.names, fmt.Sprintf("n%d", i))
	}
	o := AuditorOptions{Store: store, Nodes: c.registry, Observer: c, Holder: "front", Share: whole,
		Interval: time.Hour, Now: c.now, Log: slog.New(slog.DiscardHandler)}
	o.Screen = NewScreen(ScreenOptions{})
	if with != nil {
		with(&o)
	}
	c.auditor = NewAuditor(o)
	c.register()
	c.step()
	return c
}

func (c *cluster) now() time.Time { return time.Now().Add(c.ahead) }

func (c *cluster) AuditDone(_ string, usable bool) {
	if usable {
		c.usable++
	}
}

func (c *cluster) NodeRetired(_, node string) { c.retired = append(c.retired, node) }

func (c *cluster) register() {
	c.t.Helper()
	for _, n := range c.names {
		_, err := c.registry.Seen(c.t.Context(), api.Registration{Caller: api.Caller{Node: n}, Pool: "default",
			Ready: true, Time: c.now()})
		if err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c *cluster) step() {
	c.t.Helper()
	if err := c.auditor.Step(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
}

// submit queues a job.
func (c *cluster) submit() {
	c.t.Helper()
	c.jobs++
	_, _, err := c.store.Put(c.t.Context(), jobs.Submission{ID: fmt.Sprint("job-", c.jobs),
		Job: api.Job{Tests: []api.Test{{Name: "1"}}, Keep: api.Keep{Stdout: api.KeepAlways}}})
	if err != nil {
		c.t.Fatal(err)
	}
}

// judge lets a node judge the next job that it may take. It returns false if it may take none.
func (c *cluster) judge(node string) bool {
	c.t.Helper()
	if drained, err := c.registry.Drained(c.t.Context(), node); err != nil || drained {
		return false
	}
	return c.finish(node)
}

// finish is like judge, also for a drained node.
func (c *cluster) finish(node string) bool {
	c.t.Helper()
	w, err := c.store.Take(&once{Context: c.t.Context()}, api.Want{Host: "node/" + node, Node: node})
	if err != nil {
		return false
	}
	if audits := w.Report.Priority == api.Audit; audits == w.Job.KeepsOutput() {
		c.t.Errorf("job %s: audit %t, keeps output %t", w.ID, audits, w.Job.KeepsOutput())
	}
	ratio := math.Exp(0.005 * c.r.NormFloat64())
	cpu := time.Duration(float64(200*time.Millisecond) * (1 + c.slow[node]) * ratio)
	limit := 400 * time.Millisecond
	if c.r.IntN(2) == 0 {
		limit = time.Duration(float64(200*time.Millisecond) * (0.9 + 0.3*c.r.Float64()))
	}
	verdict := api.Accepted
	if cpu > limit {
		verdict = api.TimeLimit
	}
	if w.Report.Priority != api.Audit {
		c.judged = append(c.judged, judged{w.ID, node, c.now(), float64(cpu)/float64(limit) - 1,
			cpu > limit && float64(cpu)/(1+c.slow[node]) <= float64(limit)})
	}
	rep := api.Report{Verdict: verdict, Host: &api.HostReport{Name: "host", Node: node}, Tests: []api.TestReport{
		{Name: "1", Verdict: verdict, CPUTime: &cpu, Timing: &api.Timing{Limit: limit},
			Runs: []api.Run{{CPUTime: cpu, Kept: true, Disturbed: []api.Cause{}}}}}}
	if err := c.store.Finish(c.t.Context(), w.Lease, rep); err != nil {
		c.t.Fatal(err)
	}
	return true
}

// once is a context that is done when it is checked for the second time, so that Take queries the database once.
type once struct {
	context.Context
	done, err int
}

func (o *once) Done() <-chan struct{} {
	if o.done++; o.done == 1 {
		return nil
	}
	ended := make(chan struct{})
	close(ended)
	return ended
}

func (o *once) Err() error {
	if o.err++; o.err == 1 {
		return nil
	}
	return context.Canceled
}

// hour simulates an hour of the cluster, in which n jobs are judged, audited and compared.
func (c *cluster) hour(n int) {
	c.t.Helper()
	for range n {
		c.submit()
	}
	c.idle()
	c.ahead += time.Minute
	c.register()
	c.step() // queues audits, including those of a confirmation
	c.idle()
	c.ahead += time.Hour
	c.register()
	c.step()
}

// idle lets all nodes judge, in random order, until nothing is left to judge.
func (c *cluster) idle() {
	c.t.Helper()
	for busy := true; busy; {
		busy = false
		for _, i := range c.r.Perm(len(c.names)) {
			busy = c.judge(c.names[i]) || busy
		}
	}
}

func (c *cluster) state() auditState {
	c.t.Helper()
	var s auditState
	if _, err := c.store.Value(c.t.Context(), &s, poolValue, "default"); err != nil {
		c.t.Fatal(err)
	}
	return s
}

// TestRetirement slows a node down. It checks that the node is compared with others and drained, and that its jobs
// since then are listed.
func TestRetirement(t *testing.T) {
	c := newCluster(t, 4, nil)
	for range 6 {
		c.hour(20)
	}
	if len(c.retired) > 0 || c.usable < 80 {
		t.Fatalf("equal nodes: retired %q, %d audits", c.retired, c.usable)
	}
	c.slow["n1"] = 0.04
	slowed := c.now()
	for n := 0; len(c.retired) == 0; n++ {
		if n == 20 {
			t.Fatalf("not retired after %d hours: %+v", n, c.state())
		}
		c.hour(20)
	}
	if diff := cmp.Diff([]string{"n1"}, c.retired); diff != "" {
		t.Errorf("retired (-want +got):\n%s", diff)
	}
	nodes, err := c.registry.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		if n.Drained != (n.Name == "n1") || n.Deviation == nil || n.Deviation.Low > n.Deviation.Ratio {
			t.Errorf("node %+v, deviation %+v", n, n.Deviation)
		}
	}
	r := c.state().Retired[0]
	if math.Abs(r.Effect-0.04) > 0.01 || r.Since.After(slowed) || slowed.Sub(r.Since) > 5*time.Hour {
		t.Errorf("retirement %+v, slowed down at %v by 0.04", r, slowed)
	}
	audits, err := c.store.Audits(t.Context(), "default", jobs.RoutineAudit, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range audits {
		if a.Node == a.Origin || a.Node == "" {
			t.Errorf("node %q audited a job of %q", a.Node, a.Origin)
		}
	}
	c.checkRejudgingSet(slowed)
	// Jobs that it had started before it was drained belong to the set too.
	for range 40 {
		c.submit()
		c.finish("n1")
	}
	c.hour(0)
	c.checkRejudgingSet(slowed)
	// After a repair, the old audits no longer count.
	c.slow["n1"] = 0
	if err := c.registry.SetDrained(t.Context(), "n1", false); err != nil {
		t.Fatal(err)
	}
	c.ahead += 25 * time.Hour
	for range 4 {
		c.hour(20)
	}
	if s := c.state(); len(c.retired) > 1 || s.Alarm != "" || s.Confirming != nil {
		t.Errorf("after the repair: retired %q, %+v", c.retired, s)
	}
}

// checkRejudgingSet compares the set of n1 with the oracle: it contains every verdict that the slow node changed, and
// equals the set that the rule selects from the times of all jobs.
func (c *cluster) checkRejudgingSet(slowed time.Time) {
	c.t.Helper()
	set, err := c.registry.RejudgingSet(c.t.Context(), "n1")
	if err != nil {
		c.t.Fatal(err)
	}
	var got, want []string
	for _, j := range set.Jobs {
		got = append(got, j.ID)
	}
	ideal, flipped := 0, 0
	for _, j := range c.judged {
		if j.node != "n1" {
			continue
		}
		if !j.at.Before(set.Since) && math.Abs(j.off) <= set.Window {
			want = append(want, j.id)
		}
		if !j.at.Before(slowed) && math.Abs(j.off) <= 2*c.slow["n1"] {
			ideal++
		}
		if j.flipped {
			flipped++
			if !slices.Contains(got, j.id) {
				c.t.Errorf("job %s has another verdict because of the slow node, and is not to be judged again", j.id)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		c.t.Errorf("rejudging set (-want +got):\n%s", diff)
	}
	c.t.Logf("%d jobs to judge again, %d with the true time and size of the change, %d other verdicts", len(got), ideal,
		flipped)
	if flipped == 0 || len(got) > 2*ideal+5 {
		c.t.Errorf("%d jobs to judge again, want at most twice the %d of the oracle; %d other verdicts", len(got), ideal,
			flipped)
	}
	if _, err := c.registry.RejudgingSet(c.t.Context(), "n0"); !errors.Is(err, api.ErrUnknownNode) {
		c.t.Errorf("rejudging set of a node that was not drained: %v", err)
	}
}

// TestUnconfirmed checks a node whose jobs are slow because they differ: its audits suggest that it is slow, and the
// direct comparison does not confirm it.
func TestUnconfirmed(t *testing.T) {
	c := newCluster(t, 4, nil)
	c.slow["n1"] = 0.04
	for n := 0; c.state().Confirming == nil; n++ {
		if n == 20 {
			t.Fatalf("no suspicion after %d hours: %+v", n, c.state())
		}
		c.hour(20)
	}
	c.slow["n1"] = 0
	c.hour(1)
	c.hour(1)
	s := c.state()
	if len(c.retired) > 0 || s.Rejected == nil || s.Rejected.Node != "n1" || s.Confirming != nil {
		t.Errorf("retired %q, %+v", c.retired, s)
	}
}

// TestShadow checks that a deviating node is not drained in the first month.
func TestShadow(t *testing.T) {
	c := newCluster(t, 4, func(o *AuditorOptions) { o.Shadow = 720 * time.Hour })
	c.slow["n1"] = 0.04
	for n := 0; c.state().Alarm == ""; n++ {
		if n == 20 {
			t.Fatalf("no alarm after %d hours: %+v", n, c.state())
		}
		c.hour(20)
	}
	if s := c.state(); len(c.retired) > 0 || s.Confirming != nil {
		t.Errorf("retired %q, %+v", c.retired, s)
	}
}

// TestNoAudits checks that no job is judged twice without a second node, or with a share of 0.
func TestNoAudits(t *testing.T) {
	for name, c := range map[string]*cluster{
		"one node": newCluster(t, 1, nil), "share 0": newCluster(t, 3, func(o *AuditorOptions) {
			o.Share = func(string) float64 { return 0 }
		}),
	} {
		c.hour(5)
		page, _, err := c.store.List(t.Context(), jobs.Filter{Audits: true})
		if len(page) != 5 || err != nil {
			t.Errorf("%s: %d jobs, %v; want 5", name, len(page), err)
		}
	}
}

// TestStale checks that audits for a node that does not return are cancelled.
func TestStale(t *testing.T) {
	c := newCluster(t, 2, nil)
	c.submit()
	if !c.judge("n0") {
		t.Fatal("nothing to judge")
	}
	c.ahead += time.Minute
	c.register()
	c.step()
	open := func() (n int) {
		n, err := c.store.OpenAudits(t.Context(), "default", jobs.RoutineAudit)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := open(); n != 1 {
		t.Errorf("%d open audits, want 1", n)
	}
	c.ahead += confirmFor
	c.step()
	if n := open(); n != 0 || c.judge("n1") {
		t.Errorf("%d open audits after %v, want none to judge", n, confirmFor)
	}
}

// whole returns a share of 1, so that all jobs are audited.
func whole(string) float64 { return 1 }
