package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"judged/internal/base/units"
	"judged/internal/lab/bench"
)

// makeFolder makes the folder for writeFiles, before anything is judged.
func makeFolder(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return &usageError{err}
	}
	return nil
}

// writeFiles writes verify.json and verify.svg into a folder; "" writes nothing.
func (r *verification) writeFiles(dir string) error {
	if dir == "" {
		return nil
	}
	err := writeFile(filepath.Join(dir, "verify.json"), func(w io.Writer) error { return writeJSON(w, r) })
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, "verify.svg"), r.chart().WriteSVG)
}

// chart returns a chart with a lane for each submission, which shows all runs of all tests.
func (r *verification) chart() bench.Chart {
	c := bench.Chart{Title: r.Package, Subtitle: "submissions of the jury, the runs of all tests", Axis: "CPU time, ms",
		Solid: "run", Hollow: "ended at the limit", Tick: "slowest test", Marks: r.marks()}
	for _, s := range r.Submissions {
		if !s.judged {
			continue
		}
		lane := bench.Lane{Name: s.Name, Note: fmt.Sprintf("%s, %.2f of the limit", s.Verdict, s.part(r.TimeLimit))}
		if s.CPUTime > 0 {
			lane.Interval = &bench.Interval{Low: ms(s.Low), Center: ms(s.CPUTime), High: ms(s.High)}
		}
		for _, t := range s.Tests {
			for _, run := range t.Runs {
				lane.Dots = append(lane.Dots, bench.Dot{Value: ms(run), Hollow: t.Verdict.JudgementType() == "TLE",
					Name: t.Name})
			}
		}
		c.Lanes = append(c.Lanes, lane)
	}
	return c
}

// marks returns the time limit, and the safety margins that the format requires.
func (r *verification) marks() []bench.Mark {
	marks := []bench.Mark{{Value: ms(r.TimeLimit), Name: "limit " + units.Duration(r.TimeLimit)}}
	for _, m := range []struct {
		name   string
		factor float64
	}{{"accepted", 1 / r.rule.Accepted}, {"too slow", r.rule.Rejected}} {
		if m.factor != 1 {
			marks = append(marks, bench.Mark{Value: m.factor * ms(r.TimeLimit), Name: m.name})
		}
	}
	return marks
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
