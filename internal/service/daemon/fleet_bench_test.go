package daemon

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"judged/internal/api"
	"judged/internal/base/poll"
	"judged/internal/client"
	"judged/internal/testkit"
	"judged/internal/testkit/simjudge"
)

// simulated runs the judges of a benchmark. They accept a job as soon as they have it.
type simulated struct {
	b        *testing.B
	front    *instance
	client   client.Client
	finished atomic.Int64
	failed   atomic.Int64 // requests without a response
}

func simulate(b *testing.B, front *instance) *simulated {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost, transport.MaxIdleConns = 4096, 0
	b.Cleanup(transport.CloseIdleConnections)
	c := client.Client{Base: front.Base, HTTP: &http.Client{Transport: transport}}
	return &simulated{b: b, front: front, client: c}
}

// judges starts judges with the numbers first to last-1, and returns once all of them have registered. stop ends them.
func (s *simulated) judges(first, last int) (stop func()) {
	ctx, cancel := context.WithCancel(s.b.Context())
	var running, joining errgroup.Group
	joining.SetLimit(16)
	for n := first; n < last; n++ {
		joining.Go(func() error {
			j := &simjudge.Judge{Name: fmt.Sprint("judge-", n), Front: s.client, Finished: &s.finished, Failed: &s.failed}
			if err := j.Join(ctx); err != nil {
				return err
			}
			running.Go(func() error { return j.Run(ctx) })
			return nil
		})
	}
	if err := joining.Wait(); err != nil {
		s.b.Fatal(err)
	}
	return func() {
		cancel()
		if err := running.Wait(); err != nil {
			s.b.Error(err)
		}
	}
}

// load submits jobs from the given number of concurrent clients, and waits until they are finished.
func (s *simulated) load(name string, clients, number, tests int) {
	s.b.Helper()
	target := s.finished.Load() + int64(number)
	var group errgroup.Group
	for c := range clients {
		group.Go(func() error {
			for n := c; n < number; n += clients {
				j := api.Job{Command: []string{"true"}}
				for t := range tests {
					j.Tests = append(j.Tests, api.Test{Name: fmt.Sprintf("%02d", t)})
				}
				if _, err := s.client.Submit(s.front.ctx, fmt.Sprintf("%s-%d", name, n), j); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		s.b.Fatal(err)
	}
	testkit.WaitFor(s.b, 5*patience, "all jobs to be finished", func() bool { return s.finished.Load() >= target })
}

// BenchmarkFleet measures the cost of a job for the front and its database with an increasing number of judges that
// wait for jobs, next to a million finished jobs, with one test and with 50, and the throughput of one front. Judges
// and clients are simulated, on the same CPUs as the front and the database.
func BenchmarkFleet(b *testing.B) {
	if b.N > 1 {
		b.Fatal("the jobs of a second round would be those of the first; use -benchtime 1x")
	}
	const finished, turn, rateTurn, manyTests = 1_000_000, 400, 2000, 50
	counts := []int{10, 100, 1000}
	c := frontSettings(b)
	c.Audit.Percent = 0
	server := testkit.StartPostgres(b, "max_wal_size=4GB")
	c.Database.URL = server.Database(b)
	front := serving(b, c)
	front.ctx = b.Context()
	s := simulate(b, front)
	stopAll := s.judges(0, counts[0])
	costs := func() (ofFront, ofDatabase float64) {
		return float64(front.cpuTicks()) * tick, float64(server.CPUTicks(b)) * tick
	}
	// measure reports the cost of a job in µs, and that of a second without jobs.
	measure := func(name string, tests int) {
		const window = 2 * api.RegisterEvery
		frontBefore, databaseBefore := costs()
		time.Sleep(window) // the period that is measured
		frontIdle, databaseIdle := costs()
		begin := time.Now()
		s.load(name, 2, turn, tests)
		took := time.Since(begin).Seconds()
		frontAfter, databaseAfter := costs()
		idle := func(before, after float64) float64 { return (after - before) / window.Seconds() }
		ofFront := (frontAfter - frontIdle - idle(frontBefore, frontIdle)*took) / turn
		ofDatabase := (databaseAfter - databaseIdle - idle(databaseBefore, databaseIdle)*took) / turn
		b.ReportMetric(ofFront, name+"-front-CPU-us/job")
		b.ReportMetric(ofDatabase, name+"-database-CPU-us/job")
		b.ReportMetric((idle(frontBefore, frontIdle)+idle(databaseBefore, databaseIdle))/1e4, name+"-idle-CPU-percent")
	}
	s.load("warm", 8, turn, 1)
	for _, judges := range counts {
		begin := time.Now()
		stop := s.judges(counts[0], judges)
		b.ReportMetric(time.Since(begin).Seconds(), fmt.Sprintf("join-%d-s", judges))
		poll.Sleep(b.Context(), api.RegisterEvery) // until their registrations are spread out
		measure(fmt.Sprintf("%d-judges", judges), 1)
		stop()
	}
	s.manyFinished(c.Database.URL, finished)
	measure("million-jobs", 1)
	measure("50-tests", manyTests)
	stop := s.judges(counts[0], 64)
	begin := time.Now()
	s.load("rate", 32, rateTurn, 1)
	b.ReportMetric(rateTurn/time.Since(begin).Seconds(), "jobs/s")
	stop()
	b.ReportMetric(float64(s.failed.Load()), "failed-requests")
	stopAll()
	front.drain()
}

// manyFinished adds finished jobs, as copies of a judged one.
func (s *simulated) manyFinished(url string, n int) {
	s.b.Helper()
	db, err := sql.Open("pgx", url)
	if err != nil {
		s.b.Fatal(err)
	}
	defer db.Close()
	for _, text := range []string{
		fmt.Sprintf(`INSERT INTO jobs (id, digest, state, priority, pool, width, attempt, due, host, created, started, finished,
	verdict, labels, head, job, tests)
SELECT 'copy-' || i, digest, state, priority, pool, width, attempt, due, host, created - i * 1000, started, finished - i * 1000,
	verdict, labels, head, job, tests
FROM (SELECT * FROM jobs WHERE finished > 0 ORDER BY finished LIMIT 1) AS one, generate_series(1, %d) AS i`, n),
		`VACUUM ANALYZE jobs`, `CHECKPOINT`,
	} {
		if _, err := db.ExecContext(s.b.Context(), text); err != nil {
			s.b.Fatal(err)
		}
	}
}
