package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"judged/internal/api"
	"judged/internal/client"
	"judged/internal/service/render"
	"judged/internal/testkit"
	"judged/internal/testkit/simjudge"
)

// Limits and sizes of the fleet demo.
const (
	slowJudge = "judge-2"
	slowBy    = 0.05
	clients   = 4
	// fleetPatience bounds each wait.
	fleetPatience = 90 * time.Second
)

var judgeNames = []string{"judge-1", slowJudge, "judge-3"}

// fleetSettings makes a front compare judges within seconds instead of hours.
const fleetSettings = `[database]
url = %q
[blobs]
url = %q
[audit]
percent = 40
interval = "1s"
shadow = "0s"
`

// showFleet starts two fronts behind a load balancer and three judges. It kills one front while jobs are
// submitted, and waits until the slow judge is detected and drained.
func (d *demo) showFleet(ctx context.Context, s *scene) (err error) {
	line := render.Line{W: d.err}
	defer line.Clear()
	line.Show("starting PostgreSQL, two fronts and three judges")
	fmt.Fprintf(d.out, "PostgreSQL, two fronts behind a load balancer, and three judges on this machine.\n"+
		"The judges are simulated: they take jobs and report as judges do, but run no program. They draw the times from a\n"+
		"model, as this machine is not three equal hosts; those of %s are %.0f %% longer. All else is real.\n\n",
		slowJudge, 100*slowBy)
	database, err := testkit.OpenPostgres()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, database.Close()) }()
	fronts, err := d.startFronts(s, database)
	for _, f := range fronts {
		defer func() {
			if !f.killed {
				err = errors.Join(err, f.stop(ctx.Err() != nil))
			}
		}()
	}
	if err != nil {
		return err
	}
	balancer, err := testkit.OpenProxy(address(fronts[0]), address(fronts[1]))
	if err != nil {
		return err
	}
	defer balancer.Close()
	f := &fleetDemo{demo: d, Client: client.Client{Base: balancer.URL(), HTTP: &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: 16}}}}
	defer f.HTTP.CloseIdleConnections()
	judging, stopJudges := context.WithCancel(ctx)
	var judges errgroup.Group
	defer func() { stopJudges(); err = errors.Join(err, judges.Wait()) }()
	for n, name := range judgeNames {
		slow := 0.0
		if name == slowJudge {
			slow = slowBy
		}
		j := &simjudge.Judge{Name: name, Front: f.Client, Report: simjudge.Times(slow, uint64(n))}
		if err := j.Join(ctx); err != nil {
			return err
		}
		judges.Go(func() error { return j.Run(judging) })
	}
	line.Show("submitting %d jobs", d.fleet)
	if err := f.submitAll(ctx, fronts[0]); err != nil {
		return err
	}
	line.Show("judging %d jobs", d.fleet)
	if err := f.tellReports(ctx); err != nil {
		return err
	}
	line.Show("comparing the judges")
	if err := f.waitDrained(ctx); err != nil {
		return err
	}
	line.Clear()
	return f.tellNodes(ctx)
}

// startFronts starts two fronts that share a database and a blob folder.
func (d *demo) startFronts(s *scene, database *testkit.PostgresServer) (fronts []*daemon, err error) {
	url, err := database.NewDatabase()
	if err != nil {
		return nil, err
	}
	settings := filepath.Join(s.dir, "front.toml")
	text := fmt.Sprintf(fleetSettings, url, "file://"+filepath.Join(s.dir, "blobs"))
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		return nil, err
	}
	for _, name := range []string{"front-1", "front-2"} {
		front, err := startDaemon(d.judged, s, name, "--role", "front", "--config", settings)
		if err != nil {
			return fronts, err
		}
		fronts = append(fronts, front)
	}
	return fronts, nil
}

func address(f *daemon) string { return strings.TrimPrefix(f.url, "http://") }

// fleetDemo submits jobs to a fleet and queries it.
type fleetDemo struct {
	*demo
	client.Client // connected to the load balancer
}

func (f *fleetDemo) id(n int) string { return fmt.Sprintf("job-%03d", n) }

// submitAll submits the jobs and kills a front after a third of them. Requests without an answer are repeated
// with the same ID.
func (f *fleetDemo) submitAll(ctx context.Context, front *daemon) error {
	var submitted, repeated atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for c := range clients {
		group.Go(func() error {
			for n := c; n < f.fleet; n += clients {
				j := api.Job{Command: []string{"true"}, Tests: []api.Test{{Name: "1"}}}
				for {
					_, err := f.Submit(ctx, f.id(n), j)
					if lost := (*client.Unreachable)(nil); !errors.As(err, &lost) {
						if err != nil {
							return fmt.Errorf("submit %s: %w", f.id(n), err)
						}
						break
					}
					repeated.Add(1)
				}
				if submitted.Add(1) == int64(f.fleet/3) {
					front.killed = true
					front.kill()
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	fmt.Fprintf(f.out, "%d jobs accepted; after %d of them front-1 was killed, and clients repeated %d requests\n",
		submitted.Load(), f.fleet/3, repeated.Load())
	return nil
}

// tellReports waits for the report of each job and checks that each job is listed once.
func (f *fleetDemo) tellReports(ctx context.Context) error {
	for n := range f.fleet {
		_, err := f.Wait(ctx, f.id(n))
		if _, lost := errors.AsType[*client.Unreachable](err); lost {
			_, err = f.Wait(ctx, f.id(n)) // the connection was to the killed front
		}
		if err != nil {
			return fmt.Errorf("wait for %s: %w", f.id(n), err)
		}
	}
	finished, again, byJudge := map[string]bool{}, 0, map[string]int{}
	for filter, more := (client.Filter{Limit: 100}), true; more; more = filter.After != "" {
		page, err := f.List(ctx, filter)
		if err != nil {
			return fmt.Errorf("list jobs: %w", err)
		}
		for _, r := range page.Jobs {
			if finished[r.ID] || r.State != api.Done || r.Verdict != api.Accepted || r.Host == nil {
				fmt.Fprintf(f.out, "not as expected: %s is %s %s, listed before: %t\n", r.ID, r.State, r.Verdict,
					finished[r.ID])
				return errNo
			}
			finished[r.ID] = true
			byJudge[r.Host.Node]++
			if r.Attempt > 1 {
				again++
			}
		}
		filter.After = page.Next
	}
	fmt.Fprintf(f.out, "%d of %d jobs are finished, each once: %d by judge-1, %d by judge-2, %d by judge-3; "+
		"%d needed a second attempt\n", len(finished), f.fleet, byJudge["judge-1"], byJudge["judge-2"],
		byJudge["judge-3"], again)
	if len(finished) != f.fleet {
		return errNo
	}
	return nil
}

// waitDrained waits until the slow judge is drained.
func (f *fleetDemo) waitDrained(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, fleetPatience,
		fmt.Errorf("compare the judges: %s is not drained after %s", slowJudge, fleetPatience))
	defer cancel()
	for {
		nodes, err := client.ListNodes(ctx, f.Client)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for _, n := range nodes {
			if err == nil && n.Drained {
				return nil
			}
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// tellNodes prints the output of judged nodes, and makes it write the chart.
func (f *fleetDemo) tellNodes(ctx context.Context) error {
	picture := filepath.Join(filepath.Dir(f.judged), "demo-fleet.svg")
	list := exec.CommandContext(ctx, f.judged, "nodes", "--url", f.Base, "--plot", picture)
	text, err := list.CombinedOutput()
	if err != nil {
		return fmt.Errorf("list nodes: %w: %s", err, text)
	}
	fmt.Fprintf(f.out, "\n%s\nthe picture of the judges against their pool: %s\n", text, picture)
	nodes, err := client.ListNodes(ctx, f.Client)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if n.Drained != (n.Name == slowJudge) {
			fmt.Fprintf(f.out, "not as expected: %s is drained: %t\n", n.Name, n.Drained)
			return errNo
		}
	}
	_, err = fmt.Fprintf(f.out, "%s deviates, was compared directly with the others, and is drained\n", slowJudge)
	return err
}
