package daemon

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"judged/internal/base/job"
	"judged/internal/jobs/client"
	"judged/internal/jobs/fleet"
	"judged/internal/testkit"
	"judged/internal/testkit/postgres"
	"judged/internal/testkit/simjudge"
)

// simulated are the judges of a benchmark. They accept a job as soon as they have it.
type simulated struct {
	b        *testing.B
	front    *instance
	client   client.Client
	finished atomic.Int64
	failed   atomic.Int64 // requests without an answer
}

func simulate(b *testing.B, front *instance) *simulated {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost, transport.MaxIdleConns = 4096, 0
	b.Cleanup(transport.CloseIdleConnections)
	c := client.Client{Base: front.Base, HTTP: &http.Client{Transport: transport}}
	return &simulated{b: b, front: front, client: c}
}

// judges starts judges with the numbers from first to last-1, and returns once all of
// them have registered. stop ends them.
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

// load submits jobs with as many clients at once, and waits until they are finished.
func (s *simulated) load(name string, clients, number int) {
	s.b.Helper()
	target := s.finished.Load() + int64(number)
	var group errgroup.Group
	for c := range clients {
		group.Go(func() error {
			for n := c; n < number; n += clients {
				j := job.Job{Command: []string{"true"}, Tests: []job.Test{{Name: "1"}}}
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

// BenchmarkFleet measures what a job costs on the front and its database with 10 and with
// 1,000 judges that wait for jobs, in turns, and how many jobs go through one front.
// Judges and clients are simulated, on the same CPUs as the front and the database.
func BenchmarkFleet(b *testing.B) {
	const few, many, turn = 10, 1000, 500
	c := frontSettings(b)
	c.Audit.Percent = 0
	server := postgres.Start(b)
	c.Database.URL = server.Database(b)
	front := serving(b, c)
	front.ctx = b.Context()
	s := simulate(b, front)
	stopAll := s.judges(0, few)
	costs := func() (ofFront, ofDatabase float64) {
		return float64(front.cpuTicks()) * tick, float64(server.CPUTicks(b)) * tick
	}
	cost := func() float64 { f, d := costs(); return f + d }
	// measure is the cost of a job in µs, and of a second without jobs.
	measure := func(name string) (ofJob, ofSecond float64) {
		const window = 2 * fleet.RegisterEvery
		before := cost()
		time.Sleep(window) // this is what is measured
		ofSecond = (cost() - before) / window.Seconds()
		before, begin := cost(), time.Now()
		s.load(name, 2, turn)
		return (cost() - before - ofSecond*time.Since(begin).Seconds()) / turn, ofSecond
	}
	s.load("warm", 8, turn)
	var sums [2][2]float64
	var took time.Duration
	var ofFront, ofDatabase float64
	rounds := 0
	for b.Loop() {
		for i, judges := range []int{few, many} {
			stop := s.judges(few, judges)
			rest(b.Context(), fleet.RegisterEvery) // until their registrations are spread
			ofJob, ofSecond := measure(fmt.Sprintf("cost-%d-%d", rounds, judges))
			sums[i][0] += ofJob
			sums[i][1] += ofSecond
			stop()
		}
		stop := s.judges(few, 64)
		f, d := costs()
		begin := time.Now()
		s.load(fmt.Sprint("rate-", rounds), 32, 4*turn)
		took += time.Since(begin)
		fAfter, dAfter := costs()
		ofFront, ofDatabase = ofFront+fAfter-f, ofDatabase+dAfter-d
		stop()
		rounds++
	}
	for i, judges := range []int{few, many} {
		b.ReportMetric(sums[i][0]/float64(rounds), fmt.Sprintf("CPU-us/job-with-%d", judges))
		b.ReportMetric(sums[i][1]/float64(rounds)/1e4, fmt.Sprintf("idle-CPU-percent-with-%d", judges))
	}
	b.ReportMetric(sums[1][0]/sums[0][0], "many/few")
	b.ReportMetric(float64(rounds*4*turn)/took.Seconds(), "jobs/s")
	b.ReportMetric(ofFront/float64(rounds*4*turn), "front-CPU-us/job")
	b.ReportMetric(ofDatabase/float64(rounds*4*turn), "database-CPU-us/job")
	b.ReportMetric(float64(s.failed.Load()), "failed-requests")
	stopAll()
	front.drain()
}
