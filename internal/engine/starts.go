package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"judged/internal/api"
	"judged/internal/base/poll"
	"judged/internal/engine/checker"
	"judged/internal/engine/judge"
	"judged/internal/engine/measure"
	"judged/internal/engine/problem"
	"judged/internal/sandbox"
)

// startRuns is how often an empty program runs; the median counts.
const startRuns = 3

// startLimits are those of an empty program.
var startLimits = api.Limits{CPUTimeMS: 20_000, WallTimeMS: 60_000, Memory: 1 << 30, Output: 64 << 20, Stack: 64 << 20,
	Processes: 64}

// starts has what the start of each language's runtime costs. They are measured in the background, after a list of
// languages was asked for, and again once a compiler has another version.
type starts struct {
	mu      sync.Mutex           // guards the fields below
	known   map[string]startCost // by language
	running bool
	cancel  context.CancelFunc // of the latest measurement
	done    sync.WaitGroup
}

// startCost is the cost with a version; nil if it could not be measured.
type startCost struct {
	version string
	cost    *api.StartCost
}

// addStarts adds the known costs to a list, and starts to measure the others.
func (e *Engine) addStarts(list []api.LanguageStatus) {
	e.starts.mu.Lock()
	defer e.starts.mu.Unlock()
	var missing []api.LanguageStatus
	for i, l := range list {
		known, ok := e.starts.known[l.ID]
		switch {
		case !l.Available || e.options.Languages.Catalogue[l.ID].Empty == "":
		case ok && known.version == l.Version:
			list[i].Start = known.cost
		default:
			missing = append(missing, l)
		}
	}
	if len(missing) == 0 || e.starts.running {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	e.starts.running, e.starts.cancel = true, cancel
	e.starts.done.Go(func() {
		defer cancel()
		e.measureStarts(ctx, missing)
		e.starts.mu.Lock()
		defer e.starts.mu.Unlock()
		e.starts.running = false
	})
}

// idleEvery is how often the measurement checks whether the slots are idle.
const idleEvery = time.Second

// awaitIdle waits until no slot judges, or until ctx ends: the housekeeping CPUs are for jobs first.
func (e *Engine) awaitIdle(ctx context.Context) {
	for e.judging.Load() > 0 && ctx.Err() == nil {
		poll.Sleep(ctx, idleEvery)
	}
}

// measureStarts measures languages one after the other, while no slot judges, until ctx ends.
func (e *Engine) measureStarts(ctx context.Context, list []api.LanguageStatus) {
	for _, l := range list {
		e.awaitIdle(ctx)
		cost, err := e.startCost(ctx, l.ID)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			e.options.Log.Warn("cannot measure the start of a language", "language", l.ID, "error", err)
		}
		e.starts.mu.Lock()
		if e.starts.known == nil {
			e.starts.known = map[string]startCost{}
		}
		e.starts.known[l.ID] = startCost{l.Version, cost}
		e.starts.mu.Unlock()
	}
}

// startCost runs the empty program of a language on a housekeeping CPU. It returns nil if noise hides the cost.
func (e *Engine) startCost(ctx context.Context, id string) (*api.StartCost, error) {
	dir, err := os.MkdirTemp("", "judged-empty-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	source := filepath.Join(dir, "source")
	if err := os.WriteFile(source, []byte(e.options.Languages.Catalogue[id].Empty), 0o600); err != nil {
		return nil, err
	}
	tokens, err := checker.Parse(checker.DefaultKind)
	if err != nil {
		return nil, err
	}
	report, err := e.JudgeAside(ctx, judge.Task{Language: id, Files: []sandbox.File{{Path: source}}, Checker: tokens,
		Tests: []problem.Test{{Name: "start"}}, Limits: startLimits,
		Repeats: api.Repeats{Min: startRuns, Max: startRuns, Policy: api.Single}}, func(api.TestReport) {})
	if errors.As(err, new(*measure.NoiseError)) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	t := report.Tests[0]
	if report.Verdict != api.Accepted || t.CPUTime == nil || t.WallTime == nil {
		return nil, errors.New("the empty program is " + string(report.Verdict) + ": " + report.Message + t.Message)
	}
	return &api.StartCost{CPUTime: *t.CPUTime, WallTime: *t.WallTime}, nil
}

// stopStarts ends the measurement.
func (e *Engine) stopStarts() {
	e.starts.mu.Lock()
	cancel := e.starts.cancel
	e.starts.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	e.starts.done.Wait()
}
