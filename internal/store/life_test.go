package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"judged/internal/base/job"
	"judged/internal/broker"
	"judged/internal/queue"
	"judged/internal/store"
)

// parts is what a daemon has of this floor.
type parts struct {
	broker *broker.Broker
	store  *store.Store
	queue  *queue.Queue
}

func open(t testing.TB, o broker.Options, so store.Options) *parts {
	t.Helper()
	b, err := broker.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), b, so)
	if err != nil {
		t.Fatal(err)
	}
	q, err := queue.Open(t.Context(), b, queue.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := &parts{b, s, q}
	t.Cleanup(p.close)
	return p
}

func (p *parts) close() {
	_ = p.store.Close()
	_ = p.broker.Close()
}

// BenchmarkLife measures the whole life of a job, step by step, with nothing
// stored and with 10 000 finished jobs. The figures are medians.
func BenchmarkLife(b *testing.B) {
	for _, stored := range []int{0, 10000} {
		b.Run(fmt.Sprintf("stored=%d", stored), func(b *testing.B) {
			p := open(b, broker.Options{Dir: b.TempDir()}, store.Options{})
			for i := range stored {
				p.finishOne(b, fmt.Sprintf("old-%d", i))
			}
			var steps []life
			for i := range 100 {
				p.live(b, fmt.Sprintf("warm-%d", i))
			}
			b.ResetTimer()
			for i := range b.N {
				steps = append(steps, p.live(b, fmt.Sprintf("new-%d", i)))
			}
			b.StopTimer()
			for i, name := range lifeSteps {
				report(b, name, steps, func(l life) time.Duration { return l[i] })
			}
			report(b, "life", steps, func(l life) (sum time.Duration) {
				for _, d := range l {
					sum += d
				}
				return sum
			})
		})
	}
}

var lifeSteps = [...]string{"create", "put", "take", "begin", "finish", "ack"}

type life [len(lifeSteps)]time.Duration

func report(b *testing.B, name string, steps []life, of func(life) time.Duration) {
	all := make([]time.Duration, len(steps))
	for i, s := range steps {
		all[i] = of(s)
	}
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2].Nanoseconds()), name+"-p50-ns")
}

func (p *parts) finishOne(b *testing.B, id string) {
	rec := store.Record{ID: id, BodyDigest: "digest", Job: sampleJob()}
	if _, err := p.store.Create(b.Context(), rec); err != nil {
		b.Fatal(err)
	}
	rec, err := p.store.Begin(b.Context(), id, 1, "1")
	if err != nil {
		b.Fatal(err)
	}
	if err := p.store.Finish(b.Context(), rec, sampleReport(3, 1)); err != nil {
		b.Fatal(err)
	}
}

func (p *parts) live(b *testing.B, id string) (l life) {
	ctx := b.Context()
	rec := store.Record{ID: id, BodyDigest: "digest", Job: sampleJob()}
	rep := sampleReport(3, 1)
	var d *queue.Delivery
	for i, step := range []func() error{
		func() error { _, err := p.store.Create(ctx, rec); return err },
		func() error { return p.queue.Put(ctx, id, job.Practice) },
		func() (err error) { d, err = p.queue.Take(ctx); return err },
		func() (err error) { rec, err = p.store.Begin(ctx, d.ID, d.Attempt, "1"); return err },
		func() error { return p.store.Finish(ctx, rec, rep) },
		func() error { return d.Ack(ctx) },
	} {
		start := time.Now()
		if err := step(); err != nil {
			b.Fatal(lifeSteps[i], err)
		}
		l[i] = time.Since(start)
	}
	return l
}

func sampleJob() job.Job {
	const digest = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
	j := job.Job{Program: job.File{Blob: digest}, Priority: job.Practice, Labels: map[string]string{"team": "a"}}
	for i := range 3 {
		j.Tests = append(j.Tests, job.Test{Name: fmt.Sprint(i), Input: &job.File{Blob: digest}, Answer: &job.File{Blob: digest}})
	}
	return j
}

func sampleReport(tests, runs int) job.Report {
	rep := job.Report{Verdict: job.Accepted, Host: &job.Host{Name: "host", Kernel: "6.18", CPUModel: "model", Isolation: "none", Turbo: "off"}}
	for i := range tests {
		t := job.TestReport{Name: fmt.Sprint(i), Verdict: job.Accepted}
		for j := range runs {
			n := int64(i*7919+j*104729)%1000 + 1
			d := time.Duration(n * 12345)
			t.Runs = append(t.Runs, job.Run{
				CPUTime: d, UserTime: &d, SystemTime: &d, WallTime: d, CPUs: "1", Disturbed: []job.Cause{}, Kept: true,
				Evidence: job.Evidence{RunDelay: &d, ForeignTime: &d, VoluntarySwitches: &n, InvoluntarySwitches: &n,
					Migrations: &n, MinorFaults: &n, MajorFaults: &n, Interrupts: map[string]int64{"LOC": n, "RES": n, "TLB": n}},
			})
		}
		rep.Tests = append(rep.Tests, t)
	}
	return rep
}
