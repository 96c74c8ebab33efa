package judgehost

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/engine/judge"
	"judged/internal/engine/problem"
	"judged/internal/host/slots"
	"judged/internal/testkit"
	"judged/internal/testkit/domserver"
)

// recordingEngine records which tests are judged, and when.
type recordingEngine struct {
	OwnSlots

	mu           sync.Mutex // guards the fields below
	job          judge.Task
	tests        []problem.Test
	begun, ended time.Time
}

func (e *recordingEngine) Judge(ctx context.Context, l *slots.Lease, t judge.Task, decided func(api.TestReport)) (
	api.Report, error) {
	e.mu.Lock()
	if e.begun.IsZero() {
		e.begun = time.Now()
	}
	e.job = t
	e.tests = append(e.tests, t.Tests...)
	e.mu.Unlock()
	r, err := e.OwnSlots.Judge(ctx, l, t, decided)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended = time.Now()
	return r, err
}

// TestOverhead logs how long 100 tests of a short program take for a DOMjudge server, in batches of 25, as a ratio to
// the same tests with the same checker as one job of the engine.
func TestOverhead(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.StaticGCC)
	const tests, rounds = 100, 4
	w := newNativeWorld(t)
	w.Batch = 25
	p := w.problem()
	for i := range tests {
		p.Tests = append(p.Tests, w.AddTestcase(fmt.Sprintln(i), fmt.Sprintln(2*i)))
	}
	e := &recordingEngine{OwnSlots: openEngine(t, w.world, 1)}
	w.start(e)
	var served, alone []time.Duration
	for round := range rounds { // the first round fetches the test cases
		e.tests, e.begun = nil, time.Time{}
		id := w.Submit(domserver.Submission{Language: w.c, Problem: p,
			Files: []domserver.File{{Name: "a.c", Content: doubles}}})
		if j := w.await(id); j.Result != "correct" || len(e.tests) != tests {
			t.Fatalf("result %q after %d tests", j.Result, len(e.tests))
		}
		served = append(served, e.ended.Sub(e.begun))
		job := e.job
		job.Tests = nil
		for i, c := range e.tests {
			c.Name = fmt.Sprint(i)
			job.Tests = append(job.Tests, c)
		}
		start := time.Now()
		report, err := e.Engine.Judge(t.Context(), e.Slots()[0], job, func(api.TestReport) {})
		if err != nil || report.Verdict != api.Accepted {
			t.Fatalf("verdict %s, %v", report.Verdict, err)
		}
		alone = append(alone, time.Since(start))
		t.Logf("round %d: %v for the server, %v alone", round, served[round], alone[round])
	}
	t.Logf("ratio %.2f", float64(slices.Min(served))/float64(slices.Min(alone)))
}
