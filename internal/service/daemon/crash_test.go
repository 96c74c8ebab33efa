package daemon

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/client"
	"judged/internal/testkit"
)

const (
	crashJobs  = 500
	crashKills = 10
	crashSeed  = 20260729
)

// crash is a daemon that is killed repeatedly, and what its platform does meanwhile.
type crash struct {
	t        *testing.T
	config   config.Config
	server   *testkit.PostgresServer // nil with SQLite
	random   *rand.Rand
	traces   *traces
	ctx      context.Context
	now      *instance // the running daemon
	platform *platform
	accepted atomic.Int64
}

// TestCrash submits jobs while the daemon is killed at random moments: while it takes jobs, while it only judges, and
// while it starts. A PostgreSQL server is killed too. Each accepted job ends with exactly one report, and each callback
// arrives.
func TestCrash(t *testing.T) {
	t.Parallel() // measures nothing
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		testCrash(t, settings(t), nil)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		server := testkit.StartPostgres(t, "fsync=off") // loses nothing when processes are killed
		c := settings(t)
		c.Database.URL = server.Database(t)
		testCrash(t, c, server)
	})
}

func testCrash(t *testing.T, settings config.Config, server *testkit.PostgresServer) {
	w := watchTraces(t)
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	c := &crash{
		t:      t,
		config: settings,
		server: server,
		traces: w,
		ctx:    ctx,
		random: rand.New(rand.NewPCG(crashSeed, 0)),
	}
	t.Logf("seed %d", crashSeed)
	c.config.HTTP.Listen = freePort(t)
	c.config.Queue.MaxDeliver = 2 * crashKills // several kills may hit one job
	c.platform = newPlatform(t, &c.config)
	c.start()
	program := c.now.program("sum/AC-sum.c")

	submitters, submitting := errgroup.WithContext(ctx)
	for k := range 4 {
		submitters.Go(func() error { return c.submitAll(submitting, program, k, 4) })
	}
	c.killAndStart()
	if err := submitters.Wait(); err != nil {
		t.Fatal(err)
	}
	c.check()
	c.checkCallbacks()
	c.now.drain()
	w.none()
	if left, _ := filepath.Glob(filepath.Join(c.config.DataDir, "blobs", "tmp", "*")); len(left) > 0 {
		t.Errorf("uploads were left: %q", left)
	}
}

// ports is the number of ports that freePort has tried.
var ports atomic.Int64

// freePort returns an address that nothing listens on. Every process of a daemon uses the same one, as in production,
// so that clients find it again. The kernel gives it to no other process meanwhile: ports that it chooses are above.
func freePort(t testing.TB) string {
	t.Helper()
	for {
		port := 10_000 + (os.Getpid()*100+int(ports.Add(1)))%20_000
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port))
		if err == nil {
			defer l.Close()
			return l.Addr().String()
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			t.Fatal(err)
		}
	}
}

func (c *crash) start() {
	c.t.Helper()
	c.now = serving(c.t, c.config)
	c.traces.add(c.now.process)
}

// crashJob returns the n-th job and its expected verdict.
func crashJob(n int, program api.File) (string, api.Job, api.Verdict) {
	verdict, answer := api.Accepted, 1+n
	if n%5 == 0 {
		verdict, answer = api.WrongAnswer, n
	}
	return fmt.Sprintf("crash-%03d", n), api.Job{
		Program: program,
		Tests:   []api.Test{{Name: "1", Input: text(fmt.Sprintf("2\n1 %d\n", n)), Answer: text(fmt.Sprint(answer))}},
		Labels:  map[string]string{"n": fmt.Sprint(n)}, Priority: api.Priorities()[n%4],
	}, verdict
}

// submitAll submits every step-th job until it is accepted, as a platform does: under the same ID, however often the
// daemon dies meanwhile.
func (c *crash) submitAll(ctx context.Context, program api.File, first, step int) error {
	platform := newClient(c.t, "http://"+c.config.HTTP.Listen)
	for n := first; n < crashJobs; n += step {
		id, j, _ := crashJob(n, program)
		j.Callback = c.callbackOf(n)
		for {
			_, err := platform.Submit(ctx, id, j)
			if err == nil {
				break
			}
			if lost := (*client.Unreachable)(nil); !errors.As(err, &lost) {
				return fmt.Errorf("submit %s: %w", id, err)
			}
		}
		c.accepted.Add(1)
	}
	return nil
}

// killAndStart kills the daemon six times at random numbers of accepted jobs, twice while it starts, and twice when all
// jobs are accepted and some of them wait.
func (c *crash) killAndStart() {
	kills := 0
	kill := func() {
		// Includes moments within the work on one job, which takes a few milliseconds.
		moment := time.Now().Add(time.Duration(c.random.IntN(20_000)) * time.Microsecond)
		testkit.WaitFor(c.t, patience, "the moment to kill", func() bool { return time.Now().After(moment) })
		c.now.kill()
		kills++
	}
	for i := range 6 {
		if i == 3 {
			c.killServer()
		}
		target := min(c.accepted.Load()+1+int64(c.random.IntN(crashJobs/6)), crashJobs)
		testkit.WaitFor(c.t, patience, "jobs to be accepted", func() bool { return c.accepted.Load() >= target })
		kill()
		if kills%3 == 0 {
			p := launch(c.t, c.config)
			c.traces.add(p)
			c.now = &instance{process: p}
			kill()
		}
		c.start()
	}
	testkit.WaitFor(c.t, patience, "all jobs to be accepted", func() bool { return c.accepted.Load() == crashJobs })
	c.killServer()
	for kills < crashKills {
		before := c.waiting()
		c.t.Logf("%d jobs wait before kill %d", before, kills+1)
		target := max(before-1-c.random.IntN(max(before/3, 1)), 0)
		testkit.WaitFor(c.t, patience, "jobs to be judged", func() bool { return c.waiting() <= target })
		kill()
		c.start()
	}
	c.t.Logf("killed %d times", kills)
}

// killServer kills the database server under a working daemon, and starts it again.
func (c *crash) killServer() {
	if c.server == nil {
		return
	}
	c.server.Kill(c.t)
	testkit.WaitFor(c.t, patience, "the daemon to notice", func() bool { return c.now.Ready(c.ctx) != nil })
	c.server.Restart(c.t)
	testkit.WaitFor(c.t, patience, "the daemon to recover", func() bool { return c.now.Ready(c.ctx) == nil })
}

func (c *crash) waiting() int {
	depth, err := c.now.Waiting(c.ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	n := 0
	for _, d := range depth {
		n += d
	}
	return n
}

// check checks that each job has one report with the expected verdict, and one final event.
func (c *crash) check() {
	attempts := map[int]int{}
	for n := range crashJobs {
		id, want, verdict := crashJob(n, api.File{})
		r := c.now.finish(id)
		if r.State != api.Done || r.Verdict != verdict || r.Attempt < 1 || r.Labels["n"] != want.Labels["n"] ||
			len(r.Tests) != 1 {
			c.t.Errorf("job %s: state %s, verdict %s, attempt %d, labels %v; want %s\n%s", id, r.State, r.Verdict,
				r.Attempt, r.Labels, verdict, r.Message)
		}
		attempts[r.Attempt]++
		types := c.now.feed(id, 0).types()
		got := count(types)
		if got["queued"] != 1 || got["running"] != 1 || got["done"] != 1 || got["cancelled"] != 0 ||
			types[len(types)-1] != "done" {
			c.t.Errorf("job %s: events %q after %d attempts", id, types, r.Attempt)
		}
	}
	c.t.Logf("jobs by attempts: %v", attempts)
	if attempts[1] == crashJobs {
		c.t.Error("no job was begun twice; the kills hit nothing")
	}
	if diff := cmp.Diff(map[api.Priority]int{api.Contest: 0, api.Practice: 0, api.Rejudge: 0,
		api.Background: 0}, c.depth()); diff != "" {
		c.t.Errorf("queue (-want +got):\n%s", diff)
	}
	seen := map[string]int{}
	for f := (client.Filter{Limit: 100}); ; {
		page, err := c.now.List(c.ctx, f)
		if err != nil {
			c.t.Fatal(err)
		}
		for _, r := range page.Jobs {
			seen[r.ID]++
		}
		if f.After = page.Next; page.Next == "" {
			break
		}
	}
	for id, n := range seen {
		if n != 1 {
			c.t.Errorf("job %s is listed %d times", id, n)
		}
	}
	if len(seen) != crashJobs {
		c.t.Errorf("%d jobs are listed, want %d", len(seen), crashJobs)
	}
}

// callbackOf returns the callback of every third job.
func (c *crash) callbackOf(n int) *api.Callback {
	if n%3 > 0 {
		return nil
	}
	return &api.Callback{URL: c.platform.URL}
}

// checkCallbacks checks that each job with a callback was reported with its verdict, and no other job.
func (c *crash) checkCallbacks() {
	missing := func() (n int) {
		for n := range crashJobs {
			id, _, verdict := crashJob(n, api.File{})
			if got := c.platform.got(id); (c.callbackOf(n) != nil) != (len(got) > 0) {
				return n + 1
			} else if len(got) > 0 && (got[0].Data.Verdict != verdict || got[0].Type != "job.done") {
				c.t.Errorf("job %s: callback %+v, want %s", id, got[0], verdict)
			}
		}
		return 0
	}
	testkit.WaitFor(c.t, patience, "all callbacks", func() bool { return missing() == 0 })
	repeated := 0
	for n := range crashJobs {
		id, _, _ := crashJob(n, api.File{})
		repeated += max(0, len(c.platform.got(id))-1)
	}
	c.t.Logf("%d callbacks arrived more than once", repeated)
}

func (c *crash) depth() map[api.Priority]int {
	depth, err := c.now.Waiting(c.ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	return depth
}
