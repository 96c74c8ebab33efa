package main

import (
	"fmt"

	"judged/internal/api"
	"judged/internal/service/render"
)

// progress shows the progress of a job on a terminal.
type progress struct {
	render.Line
	total int
	done  int
	runs  int // of the current test
}

func (a *app) newProgress(total int) *progress {
	return &progress{Line: render.Line{W: a.err}, total: total}
}

// run counts a run of the current test, and shows it if the test is repeated.
func (p *progress) run(test string, r api.Repeats) {
	if p.runs++; p.runs == 1 && r.Max == 1 {
		return
	}
	of := ""
	if r.Min > 0 && r.Min == r.Max {
		of = fmt.Sprintf(" of %d", r.Max)
	}
	p.Show("%d of %d  %s  run %d%s", p.done, p.total, test, p.runs, of)
}

func (p *progress) test(t api.TestReport) {
	p.done++
	p.runs = 0
	p.Show("%d of %d  %s %s", p.done, p.total, t.Name, t.Verdict)
}
