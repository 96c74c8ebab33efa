package main

import (
	"io"

	"judged/internal/job"
	"judged/internal/render"
)

// progress tells people at a terminal how far a job is.
type progress struct {
	w     io.Writer // nil is nobody
	total int
	done  int
}

func (a *app) newProgress(total int) *progress {
	if !isTerminal(a.err) {
		return &progress{}
	}
	return &progress{w: a.err, total: total}
}

func (p *progress) test(t job.TestReport) {
	p.done++
	render.Line{W: p.w}.Show("%d of %d  %s %s", p.done, p.total, render.Printable(t.Name), t.Verdict)
}

// end clears the line.
func (p *progress) end() { render.Line{W: p.w}.Clear() }
