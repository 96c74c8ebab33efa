package main

import (
	"fmt"
	"io"

	"judged/internal/api"
	"judged/internal/service/render"
)

// progress shows the progress of a job on a terminal.
type progress struct {
	w     io.Writer // nil prints nothing
	total int
	done  int
	runs  int // of the current test
}

func (a *app) newProgress(total int) *progress {
	if !isTerminal(a.err) {
		return &progress{}
	}
	return &progress{w: a.err, total: total}
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
	render.Line{W: p.w}.Show("%d of %d  %s  run %d%s", p.done, p.total, render.Printable(test), p.runs, of)
}

func (p *progress) test(t api.TestReport) {
	p.done++
	p.runs = 0
	render.Line{W: p.w}.Show("%d of %d  %s %s", p.done, p.total, render.Printable(t.Name), t.Verdict)
}

// clear erases the line.
func (p *progress) clear() { render.Line{W: p.w}.Clear() }
