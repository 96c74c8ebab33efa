package daemon

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/client"
	"judged/internal/testkit"
)

// frontSettings returns the settings of a front on a port that it reuses after a restart.
func frontSettings(t testing.TB) config.Config {
	c := settings(t)
	c.Fleet.Role = config.RoleFront
	c.HTTP.Listen = freePort(t)
	return c
}

func nodeSettings(t *testing.T, front config.Config, name string) config.Config {
	c := settings(t)
	c.Fleet = config.Fleet{Role: config.RoleJudge, Front: "http://" + front.HTTP.Listen, Node: name}
	return c
}

// nodes returns the state of each node: up, drained, ready.
func (i *instance) nodes() map[string][3]bool {
	i.t.Helper()
	list, err := client.ListNodes(i.ctx, i.Client)
	if err != nil {
		i.t.Fatal(err)
	}
	all := map[string][3]bool{}
	for _, n := range list {
		all[n.Name] = [3]bool{n.Up, n.Drained, n.Ready}
	}
	return all
}

// TestFleet checks that a node judges that knows only its front.
func TestFleet(t *testing.T) {
	w := watchTraces(t)
	c := frontSettings(t)
	front := serving(t, c)
	w.add(front.process)
	front.submit("early", front.sum(1, false))
	if err := front.Ready(front.ctx); err == nil || !strings.Contains(err.Error(), "of 0 judge nodes") {
		t.Errorf("readiness without nodes: %v", err)
	}
	if _, err := front.Slots(front.ctx); !client.NotFound(err) {
		t.Errorf("slots of a front: %v, want 404", err)
	}

	node := serving(t, nodeSettings(t, c, "judge-1"))
	w.add(node.process)
	if r := front.finish("early"); r.Verdict != api.Accepted || r.Attempt != 1 || len(r.Tests) != 1 ||
		len(r.Tests[0].Runs) == 0 || r.Host == nil || r.Host.Name == "" {
		t.Errorf("report of a job that waited for a node: %+v", r)
	}
	if diff := cmp.Diff([]string{"queued", "running", "done"}, count1(front.feed("early", 0).types())); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	testkit.WaitFor(t, patience, "the front to be ready", func() bool { return front.Ready(front.ctx) == nil })
	if diff := cmp.Diff(map[string][3]bool{"judge-1": {true, false, true}}, front.nodes()); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	if got := values(front.scrape()["judged_node_up"]); got["node=judge-1 pool=default"] != 1 || len(got) != 1 {
		t.Errorf("judged_node_up: %v", got)
	}
	t.Run("jobs of a node", func(t *testing.T) {
		if _, err := node.Submit(node.ctx, "x", front.sum(2, false)); !client.NotFound(err) {
			t.Errorf("submit to a judge node: %v, want 404", err)
		}
	})
	t.Run("events of tests", func(t *testing.T) {
		script := "#!/bin/sh\nread -r x\necho \"$x\"\n"
		front.submit("tests", api.Job{Program: *text(script), Stop: api.StopNever, Tests: []api.Test{
			{Name: "1", Input: text("1\n"), Answer: text("1\n")}, {Name: "2", Input: text("2\n"), Answer: text("3\n")}}})
		if r := front.finish("tests"); r.Verdict != api.WrongAnswer || len(r.Tests) != 2 {
			t.Errorf("report: %+v", r)
		}
	})
	t.Run("languages", func(t *testing.T) {
		source := api.Job{Program: *text("int main(void) { return 0; }\n"), Language: "c", Tests: []api.Test{{Name: "1"}}}
		front.submit("source", source)
		if r := front.finish("source"); r.Verdict != api.Accepted {
			t.Errorf("report of a source: %+v", r)
		}
		testkit.WaitFor(t, patience, "the judge to list its languages", func() bool {
			list, err := client.ListNodes(front.ctx, front.Client)
			return err == nil && len(list) == 1 && len(list[0].Languages) > 0
		})
		source.Language = "unheard-of"
		_, err := front.Submit(front.ctx, "unheard-of", source)
		if p := (*client.Problem)(nil); !errors.As(err, &p) || p.Status != http.StatusUnprocessableEntity {
			t.Errorf("submit in a language that no node has: %v, want 422", err)
		}
	})
	// The front validates reports against their jobs; it must accept those of every kind.
	for name, run := range map[string]func(*testing.T, *instance){"hostile text": hostileText, "kept outputs": keptOutputs,
		"kept messages":        keptMessages,
		"verdicts":             verdicts,
		"programs of the jury": juryPrograms, "interactors": interactors, "passes": multiPass, "points": pointsProblem,
		"limits of tests": limitsOfTests} {
		t.Run(name, func(t *testing.T) { run(t, front.in(t)) })
	}
	t.Run("compile options", func(t *testing.T) { compileOptions(t, front.in(t)) }) // the node has listed them
	t.Run("cancel", func(t *testing.T) {
		front.submit("long", front.busy(60_000))
		front.reach("long", api.Running)
		if r, err := front.Cancel(front.ctx, "long"); err != nil || r.State != api.CancelledState {
			t.Errorf("cancel: %+v, %v", r, err)
		}
		node.idle()
	})
	t.Run("drain", func(t *testing.T) { drainNode(t, front) })
	node.drain()
	front.drain()
	w.none()
}

// TestOwnNode checks that a daemon that is both front and judge is a node too, and can be drained like one.
func TestOwnNode(t *testing.T) {
	t.Parallel() // measures nothing
	c := settings(t)
	c.Fleet.Node = "host-1"
	d := serving(t, c)
	testkit.WaitFor(t, patience, "the registration", func() bool { return len(d.nodes()) == 1 })
	if _, err := client.SetNodeDrained(d.ctx, d.Client, "host-1", true); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string][3]bool{"host-1": {true, true, true}}, d.nodes()); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	d.submit("1", d.sum(1, false)) // its slot may have asked for a job before the drain
	d.submit("2", d.sum(2, false))
	if _, err := client.SetNodeDrained(d.ctx, d.Client, "host-1", false); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"1", "2"} {
		if r := d.finish(id); r.Verdict != api.Accepted {
			t.Errorf("job %s: %+v", id, r)
		}
	}
	d.drain()
}

// count1 returns the types without those of test events.
func count1(types []string) (kept []string) {
	for _, t := range types {
		if t != "test" {
			kept = append(kept, t)
		}
	}
	return kept
}

func drainNode(t *testing.T, front *instance) {
	if _, err := client.SetNodeDrained(front.ctx, front.Client, "nobody", true); !client.NotFound(err) {
		t.Errorf("drain an unknown node: %v, want 404", err)
	}
	if _, err := client.SetNodeDrained(front.ctx, front.Client, "judge-1", true); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string][3]bool{"judge-1": {true, true, true}}, front.nodes()); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	if err := front.Ready(front.ctx); err == nil {
		t.Error("the front is ready although its only node is drained")
	}
	if _, err := client.SetNodeDrained(front.ctx, front.Client, "judge-1", false); err != nil {
		t.Fatal(err)
	}
	front.submit("after", front.sum(3, false))
	if r := front.finish("after"); r.Verdict != api.Accepted {
		t.Errorf("job after the drain: %+v", r)
	}
}

// TestFleetTokens checks a node whose token permits only one pool.
func TestFleetTokens(t *testing.T) {
	t.Parallel() // measures nothing
	c := frontSettings(t)
	secrets := tokenFile(t, &c, "judge-1 node:default", "platform submit,read")
	front := serving(t, c)
	front.Token = secrets["platform"]

	settingsOf := nodeSettings(t, c, "judge-1")
	settingsOf.Fleet.TokenFile = filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(settingsOf.Fleet.TokenFile, []byte(secrets["judge-1"]+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	node := serving(t, settingsOf)
	front.submit("1", front.sum(1, false))
	if r := front.finish("1"); r.Verdict != api.Accepted {
		t.Errorf("report: %+v", r)
	}
	front.submit("held", front.busy(2000))
	front.reach("held", api.Running)

	stolen := newClient(t, front.Base)
	stolen.Token = secrets["judge-1"]
	as := func(name string) api.Caller { return api.Caller{Node: name, Protocol: 1} }
	hold := api.Hold{Caller: as("judge-1"), ID: "held", Attempt: 1}
	foreign := hold
	foreign.Node = "judge-2"
	for what, test := range map[string]struct {
		client client.Client
		path   string
		body   any
		status int
	}{
		"another node's name": {stolen, "take", api.TakeRequest{Caller: as("judge-2"), Pool: "default"},
			http.StatusForbidden},
		"another pool": {stolen, "take", api.TakeRequest{Caller: as("judge-1"), Pool: "metal"},
			http.StatusForbidden},
		"another node's job": {stolen, "finish", api.FinishRequest{Hold: foreign}, http.StatusForbidden},
		"an old attempt": {stolen, "finish", api.FinishRequest{Hold: api.Hold{Caller: as("judge-1"), ID: "held",
			Attempt: 7}}, http.StatusConflict},
		"another protocol": {stolen, "register", api.Registration{Caller: api.Caller{Node: "judge-1",
			Protocol: 99}, Pool: "default"}, http.StatusBadRequest},
		"a platform's token": {front.Client, "take", api.TakeRequest{Caller: as("platform")}, http.StatusForbidden},
	} {
		_, err := client.Post[api.Nothing](front.ctx, test.client, "/v1/work/"+test.path, test.body, 0)
		if p := (*client.Problem)(nil); !errors.As(err, &p) || p.Status != test.status {
			t.Errorf("%s: %v, want %d", what, err, test.status)
		}
	}
	if _, err := stolen.Submit(front.ctx, "x", front.sum(2, false)); err == nil {
		t.Error("a token of scope node may submit jobs")
	}
	if r := front.finish("held"); r.Verdict != api.Accepted || r.Attempt != 1 {
		t.Errorf("report after the attempts of others: %+v", r)
	}
	node.drain()
}

// TestFleetFrontAway kills the front while a node judges, and the node once it has spooled the report. It checks that
// the job still has one report, from its first attempt.
func TestFleetFrontAway(t *testing.T) {
	t.Parallel() // measures nothing
	c := frontSettings(t)
	front := serving(t, c)
	settingsOf := nodeSettings(t, c, "judge-1")
	node := serving(t, settingsOf)
	front.submit("runs", front.busy(5000))
	front.reach("runs", api.Running)
	testkit.WaitFor(t, patience, "the node to have the program", func() bool {
		files, _ := filepath.Glob(filepath.Join(settingsOf.DataDir, "blobs", "??", "*"))
		return len(files) == 1
	})
	waiting := front.sum(1, false)
	front.submit("waits", waiting)
	front.kill()
	testkit.WaitFor(t, patience, "the report to be spooled", func() bool {
		files, _ := filepath.Glob(filepath.Join(settingsOf.DataDir, "spool", "runs.1.json"))
		return len(files) == 1
	})
	node.kill()
	front = serving(t, c)
	node = serving(t, settingsOf)
	for _, id := range []string{"runs", "waits"} {
		if r := front.finish(id); r.State != api.Done || r.Verdict != api.Accepted || r.Attempt != 1 {
			t.Errorf("job %s: %+v", id, r)
		}
	}
	testkit.WaitFor(t, patience, "the spool to be empty", func() bool {
		files, _ := filepath.Glob(filepath.Join(settingsOf.DataDir, "spool", "*"))
		return len(files) == 0
	})
	node.drain()
	front.drain()
}

// TestFleetNodeLost stops a node in the middle of a job. It checks that another node judges the job after the lease
// expires, and that the first one changes nothing when it continues.
func TestFleetNodeLost(t *testing.T) {
	t.Parallel() // measures nothing, and waits for a lease to end
	c := frontSettings(t)
	front := serving(t, c)
	first := serving(t, nodeSettings(t, c, "judge-1"))
	front.submit("job", front.busy(5000))
	front.reach("job", api.Running)
	first.signal(syscall.SIGSTOP)
	second := serving(t, nodeSettings(t, c, "judge-2"))
	r := front.finish("job")
	if r.State != api.Done || r.Attempt != 2 || len(r.Tests) != 1 {
		t.Errorf("report of the second node: %+v", r)
	}
	first.signal(syscall.SIGCONT)
	first.idle()
	if diff := cmp.Diff(r, front.finish("job")); diff != "" {
		t.Errorf("the report changed when the first node woke up (-before +after):\n%s", diff)
	}
	for n := range 4 {
		id := fmt.Sprint("next-", n)
		front.submit(id, front.sum(n, false))
		if r := front.finish(id); r.Verdict != api.Accepted {
			t.Errorf("job %s: %+v", id, r)
		}
	}
	first.drain()
	second.drain()
	front.drain()
}

// TestFleetCrash kills the front and its node alternately while jobs are submitted and judged, and checks that each job
// ends with one report.
func TestFleetCrash(t *testing.T) {
	t.Parallel() // measures nothing
	const number, kills = 120, 6
	c := frontSettings(t)
	c.Queue.MaxDeliver = 2 * kills
	settingsOf := nodeSettings(t, c, "judge-1")
	front, node := serving(t, c), serving(t, settingsOf)
	program := front.program("sum/AC-sum.c")
	var accepted atomic.Int64
	platform := newClient(t, front.Base)
	submitting, ctx := errgroup.WithContext(front.ctx)
	submitting.Go(func() error {
		for n := range number {
			id, j, _ := crashJob(n, program)
			for {
				_, err := platform.Submit(ctx, id, j)
				if err == nil {
					break
				}
				if lost := (*client.Unreachable)(nil); !errors.As(err, &lost) {
					return fmt.Errorf("submit %s: %w", id, err)
				}
			}
			accepted.Add(1)
		}
		return nil
	})
	for k := range kills {
		target := int64((k + 1) * number / (kills + 1))
		testkit.WaitFor(t, patience, "jobs to be accepted", func() bool { return accepted.Load() >= target })
		if k%2 == 0 {
			front.kill()
			front = serving(t, c)
		} else {
			node.kill()
			node = serving(t, settingsOf)
		}
	}
	if err := submitting.Wait(); err != nil {
		t.Fatal(err)
	}
	attempts := map[int]int{}
	for n := range number {
		id, _, verdict := crashJob(n, program)
		r := front.finish(id)
		if r.State != api.Done || r.Verdict != verdict || len(r.Tests) != 1 {
			t.Errorf("job %s: %s %s after %d attempts, want %s: %s", id, r.State, r.Verdict, r.Attempt, verdict,
				r.Message)
		}
		attempts[r.Attempt]++
	}
	t.Logf("jobs by attempts: %v", attempts)
	node.drain()
	front.drain()
}

// tokenFile configures a token for each line "NAME SCOPES", and returns the secrets by name.
func tokenFile(t *testing.T, c *config.Config, lines ...string) map[string]string {
	t.Helper()
	secrets := map[string]string{}
	var text strings.Builder
	for _, line := range lines {
		name, _, _ := strings.Cut(line, " ")
		secrets[name] = "secret-of-" + name
		fmt.Fprintf(&text, "%s %x\n", line, sha256.Sum256([]byte(secrets[name])))
	}
	c.HTTP.TokenFile = filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(c.HTTP.TokenFile, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return secrets
}
