package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"judged/internal/api"
	"judged/internal/base/units"
	"judged/internal/service/render"
)

// verifyProgress says how far a verification is: on a terminal in one line that changes with each test, else in a line
// for each submission as it ends.
type verifyProgress struct {
	w     io.Writer
	line  render.Line // without a writer unless w is a terminal
	start time.Time

	mu            sync.Mutex // guards the fields below
	done, total   int        // submissions
	current       string
	tests, ofTest int // of the current submission
}

func newVerifyProgress(w io.Writer) *verifyProgress {
	p := &verifyProgress{w: w, start: time.Now()}
	if isTerminal(w) {
		p.line.W = w
	}
	return p
}

// begin starts a round of submissions.
func (p *verifyProgress) begin(total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done, p.total = 0, total
}

// clear erases the line.
func (p *verifyProgress) clear() { p.line.Clear() }

// submission says which one is judged now, and on how many tests at most.
func (p *verifyProgress) submission(name string, tests int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current, p.tests, p.ofTest = name, 0, tests
	p.show()
}

// test counts a test of the current submission.
func (p *verifyProgress) test(api.TestReport) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tests++
	p.show()
}

// show shows what is judged now, how long it has been going on, and about how long the submissions that are left take.
func (p *verifyProgress) show() {
	elapsed := time.Since(p.start)
	left := ""
	if p.done > 0 {
		rest := elapsed / time.Duration(p.done) * time.Duration(p.total-p.done)
		left = fmt.Sprintf(", about %s left", units.Duration(rest.Round(time.Second)))
	}
	p.line.Show("%d of %d  %s  test %d of %d  %s%s", p.done+1, p.total, render.Printable(p.current),
		min(p.tests+1, p.ofTest), p.ofTest, units.Duration(elapsed.Round(time.Second)), left)
}

// judged counts a submission.
func (p *verifyProgress) judged(x solution) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	if p.line.W != nil {
		return
	}
	verdict := string(x.Verdict)
	if !x.judged {
		verdict = "not judged"
	}
	fmt.Fprintf(p.w, "%d of %d  %s  %s  %s\n", p.done, p.total, render.Printable(x.Name), verdict,
		units.Duration(x.CPUTime))
}
