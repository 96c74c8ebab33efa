package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"judged/internal/base/config"
	"judged/internal/engine"
	"judged/internal/lab/bench"
	"judged/internal/sandbox"
	"judged/internal/service/render"
)

// openEngine opens an engine with one slot, to measure a program.
func (a *app) openEngine(c config.Config, width int, program string) (*engine.Engine, error) {
	options, err := engineOptions(c, a, "measure "+program)
	if err != nil {
		return nil, err
	}
	options.Count, options.Width = 1, width
	eng, err := engine.Open(options)
	return eng, asUsage(err)
}

// measureOurs runs an experiment with judged's own programs.
func (a *app) measureOurs(ctx context.Context, c config.Config, f *measureFlags) error {
	what := "measure --experiment " + f.experiment
	if f.flips {
		what = "measure --flips"
	}
	options, err := engineOptions(c, a, what)
	if err != nil {
		return err
	}
	options.Root = sandbox.RootHost // they need its gcc and python3
	m := a.newMeter(0)
	r, err := f.experimentOf(ctx, bench.ExperimentOptions{
		N: f.n, Scale: f.scale, Seed: f.seed,
		Open: func(width int) (*engine.Engine, error) {
			o := options
			o.Count, o.Width = 1, width
			return engine.Open(o)
		},
		Seen: func(done, total int, next string) {
			m.total = total
			m.seen(done, next)
		},
	})
	m.Clear()
	if err != nil {
		return interrupted(ctx, asUsage(err))
	}
	if err := a.publish(f, r, r.Name, r.Chart(), func(w io.Writer) error { return render.Experiment(w, r) }); err != nil {
		return err
	}
	if r.Partial {
		return errPartial
	}
	if !r.Measured() {
		return errNo
	}
	return nil
}

func (f *measureFlags) experimentOf(ctx context.Context, o bench.ExperimentOptions) (bench.ExperimentResult, error) {
	if f.flips {
		return bench.Flips(ctx, o)
	}
	return bench.RunExperiment(ctx, f.experiment, o)
}

// measured is a result that can be written to files.
type measured interface{ WriteCSV(w io.Writer) error }

// publish writes the files for --out and prints the result.
func (a *app) publish(f *measureFlags, r measured, name string, chart bench.Chart, table func(io.Writer) error) error {
	if f.out != "" {
		if err := writeFiles(f.out, name, r, chart); err != nil {
			return err
		}
	}
	if f.json {
		return a.printJSON(r)
	}
	return table(a.out)
}

// writeFiles writes NAME.json, NAME.csv and NAME.svg into a folder. It creates the folder if necessary.
func writeFiles(dir, name string, r measured, chart bench.Chart) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return &usageError{err}
	}
	for suffix, write := range map[string]func(io.Writer) error{
		".json": func(w io.Writer) error { return writeJSON(w, r) },
		".csv":  r.WriteCSV,
		".svg":  chart.WriteSVG,
	} {
		if err := writeFile(filepath.Join(dir, name+suffix), write); err != nil {
			return err
		}
	}
	return nil
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return &usageError{err}
	}
	if err := write(f); err != nil {
		f.Close()
		return fmt.Errorf("write %q: %w", path, err)
	}
	return f.Close()
}
