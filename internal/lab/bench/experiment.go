package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"judged/internal/api"
	"judged/internal/engine"
	"judged/internal/timing/stats"
)

// ExperimentOptions configure an experiment.
type ExperimentOptions struct {
	N     int     // runs of every case; 0 selects the experiment's default
	Scale float64 // size of the programs; 1 is that of the publication
	Seed  uint64
	// Open opens an engine whose slots have the given number of CPUs. Only one engine is open at a time.
	Open func(width int) (*engine.Engine, error)
	// Seen is called before every run with the number of completed runs, the total, and the name of the next one.
	Seen func(done, total int, next string)
}

// ExperimentResult is the result of an experiment.
type ExperimentResult struct {
	Name  string  `json:"experiment"`
	Scale float64 `json:"scale"`
	Result
	Tables []Table      `json:"tables"`
	Notes  []string     `json:"notes"`
	Flips  []Flip       `json:"flips,omitempty"`
	Guard  *stats.Guard `json:"guard,omitempty"` // band with which the flips were judged

	chart Chart
}

// Table is a table for people: every cell or its column has a unit.
type Table struct {
	Title   string     `json:"title"`
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
}

// Chart returns the chart of the experiment.
func (r ExperimentResult) Chart() Chart {
	c := r.chart
	c.Source = fmt.Sprintf("%s, scale %g", r.Source(), r.Scale)
	return c
}

// experiment is one published experiment.
type experiment struct {
	name  string
	title string
	n     int // runs of every case
	run   func(*lab) error
}

func experiments() []experiment {
	return []experiment{
		{"consistency", "The same code, the same time (Yandex.Contest 2020)", 20, consistency},
		{"gil", "A threaded CPython server, free and on one CPU (Koder 2013, Mirantis 2014)", 7, gil},
		{"concurrency", "Threads, processes, async on few and many CPUs (Vera 2021)", 3, concurrency},
		{"affinity", "Pinned threads against the scheduler, by their number (2009)", 3, affinity},
	}
}

// ExperimentIDs returns the names of the experiments.
func ExperimentIDs() []string {
	var ids []string
	for _, p := range experiments() {
		ids = append(ids, p.name)
	}
	return ids
}

// RunExperiment runs an experiment. A part for which the host lacks something is omitted with a note. It returns an
// error only if judged fails, or if ctx ends before the first run. If ctx ends later, it returns a partial result.
func RunExperiment(ctx context.Context, name string, o ExperimentOptions) (ExperimentResult, error) {
	for _, p := range experiments() {
		if p.name != name {
			continue
		}
		if o.N == 0 {
			o.N = p.n
		}
		l := &lab{ctx: ctx, ExperimentOptions: o, result: ExperimentResult{Name: p.name, Scale: o.Scale,
			Result: Result{Title: p.title, N: o.N, Seed: o.Seed}}}
		err := p.run(l)
		if err != nil && ctx.Err() != nil && len(l.result.Cases) > 0 {
			err = l.partial()
		}
		return l.result, errors.Join(err, l.close())
	}
	return ExperimentResult{}, fmt.Errorf("find experiment %q: unknown", name)
}

// partial completes the result from the runs so far: a chart, the host, and the tables that are complete.
func (l *lab) partial() error {
	l.result.Partial = true
	l.result.chart = l.result.Result.Chart()
	if l.result.Host != nil || l.eng == nil {
		return nil
	}
	return l.tellHost()
}

// sized returns a published size at the scale of the options, at least 1.
func (l *lab) sized(n int) int { return max(1, int(float64(n)*l.Scale)) }

// note adds a remark.
func (l *lab) note(format string, args ...any) {
	l.result.Notes = append(l.result.Notes, fmt.Sprintf(format, args...))
}

// leave records what is not possible on this host.
func (l *lab) leave(what, reason string) {
	l.result.LeftOut = append(l.result.LeftOut, LeftOut{ID: what, Reason: reason})
}

// table adds a table.
func (l *lab) table(t Table) { l.result.Tables = append(l.result.Tables, t) }

// find returns the outcome of a case, or nil.
func find(cases []Outcome, name string) *Outcome {
	for i := range cases {
		if cases[i].Case == name {
			return &cases[i]
		}
	}
	return nil
}

func wall(r api.Run) time.Duration { return r.WallTime }

// Measured reports whether there is a result: every run was accepted and, if verdicts are counted, some count.
func (r ExperimentResult) Measured() bool {
	if r.Flips != nil && !slices.ContainsFunc(r.Flips, Flip.counts) {
		return false
	}
	ended := len(r.Cases) == 0 || r.AllAccepted() // without cases, verdicts are counted and tables computed
	return ended && len(r.Tables) > 0
}

// WriteCSV writes one line per run, or per verdict if verdicts are counted.
func (r ExperimentResult) WriteCSV(w io.Writer) error {
	if r.Flips != nil {
		return writeFlips(w, r.Flips)
	}
	return r.Result.WriteCSV(w)
}
