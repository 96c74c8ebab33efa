package bench

import (
	"context"
	"fmt"

	"judged/internal/api"
	"judged/internal/engine/judge"
)

// Case is a program in a placement.
type Case struct {
	Name      string
	Placement Placement
	Task      judge.Task // with one test
}

// Options configure a measurement.
type Options struct {
	N    int    // runs of every case
	Seed uint64 // determines the order
	// Seen is called before every run with the number of completed runs and the name of the next one.
	Seen func(done int, next string)
}

// NotExecutable means that a program cannot be measured because it cannot be executed.
type NotExecutable struct{ Message string }

func (e *NotExecutable) Error() string { return e.Message }

// EachPlacement returns a case of the program for every placement.
func (s *Site) EachPlacement(task judge.Task) []Case {
	var cases []Case
	for _, p := range s.Placements {
		cases = append(cases, Case{p.ID, p, task})
	}
	return cases
}

// Run runs every case N times, in turns. It returns an error only if judged fails, a program cannot be executed at all,
// or ctx ends. The runs made before that are returned anyway; a case without runs is omitted.
func (s *Site) Run(ctx context.Context, cases []Case, o Options) ([]Outcome, error) {
	if err := s.warmUp(ctx, cases, o); err != nil {
		return nil, err
	}
	runs := make([][]Run, len(cases))
	err := s.turns(ctx, cases, o, runs)
	var outcomes []Outcome
	for i, c := range cases {
		if len(runs[i]) > 0 {
			outcomes = append(outcomes, Outcome{Case: c.Name, Placement: c.Placement, Summary: Summarize(runs[i]),
				Runs: runs[i]})
		}
	}
	return outcomes, err
}

// turns makes the runs and adds each to those of its case.
func (s *Site) turns(ctx context.Context, cases []Case, o Options, runs [][]Run) error {
	done := 0
	for round, order := range Plan(o.N, len(cases), o.Seed) {
		for turn, i := range order {
			c := cases[i]
			o.Seen(done, c.Name)
			r, err := s.Once(ctx, c.Placement, c.Task)
			if err != nil {
				return fmt.Errorf("measure %q: %w", c.Name, err)
			}
			runs[i] = append(runs[i], Run{Round: round + 1, Turn: turn + 1, Verdict: r.Verdict, Stdout: r.StdoutHead,
				Run: r.Runs[0]})
			done++
		}
	}
	return nil
}

// warmUp makes a run that does not count: it does work that later runs find done, such as reading libraries from the
// disk.
func (s *Site) warmUp(ctx context.Context, cases []Case, o Options) error {
	if len(cases) == 0 {
		return nil
	}
	o.Seen(0, "warming up")
	r, err := s.Once(ctx, cases[0].Placement, cases[0].Task)
	if err == nil && (r.Verdict == api.NotExecutable || r.Verdict == api.InternalError) {
		err = &NotExecutable{r.Message}
	}
	return err
}
